using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>
    /// Finds the names of methods in the marks of woven modules, or else by reflection over these, as far as the marks say that a
    /// row still is the method's. It looks at no parameters: their types might have to be loaded, and the program would notice.
    /// The reader finds other names elsewhere, by the module's key.
    /// </summary>
    internal sealed class NameWriter
    {
        private const int CallSite = 0x800000;
        private const int CallSiteRows = 0x3FFFFF;
        private const int MethodDefTable = 0x06000000;
        private const int MemberRefTable = 0x0A000000;

        private const int LooksBetween = 10;

        private int looks;
        /// <summary>By key: those that wait for a name.</summary>
        private readonly Dictionary<long, List<long>> waiting = new Dictionary<long, List<long>>();
        /// <summary>By key: the modules found; held so that a context of its own can still go.</summary>
        private readonly Dictionary<long, WeakReference> modules = new Dictionary<long, WeakReference>();
        private readonly List<WeakReference> assemblies = new List<WeakReference>();
        /// <summary>By key: what the modules' marks say of names.</summary>
        private readonly Dictionary<long, WovenNames> names = new Dictionary<long, WovenNames>();

        /// <summary>Writes the names of methods, and of modules that were not met before.</summary>
        /// <param name="ids">It is empty behind this: those without a name are kept here.</param>
        public void Write(List<long> ids)
        {
            bool isNew = ids.Count > 0;
            foreach (long id in ids)
            {
                long key = MethodIds.ModuleKey(id);
                List<long> ofModule;
                if (!waiting.TryGetValue(key, out ofModule))
                {
                    waiting[key] = ofModule = new List<long>();
                }
                ofModule.Add(id);
            }
            ids.Clear();
            bool isMissing = false;
            foreach (long key in new List<long>(waiting.Keys))
            {
                isMissing |= !WriteMethods(key);
            }
            // A module that was not found may be loaded by now, or may never be.
            bool isTime = isNew || ++looks % LooksBetween == 0;
            if (isMissing && isTime && FindModules())
            {
                foreach (long key in new List<long>(waiting.Keys))
                {
                    WriteMethods(key);
                }
            }
        }

        /// <summary>Whether the module is known, and there is room, so that all is written that can be.</summary>
        private bool WriteMethods(long key)
        {
            WeakReference found;
            if (!modules.TryGetValue(key, out found))
            {
                return false;
            }
            Module module = (Module)found.Target;
            if (module == null)
            {
                // Unloaded; or at its end Mono has finalized the reference, as all that there is.
                modules.Remove(key);
                assemblies.Clear();
                return false;
            }
            List<long> ids = waiting[key];
            WovenNames ofModule;
            names.TryGetValue(key, out ofModule);
            while (ids.Count > 0 && WriteMethod(module, ofModule, ids[ids.Count - 1]))
            {
                ids.RemoveAt(ids.Count - 1);
            }
            return ids.Count == 0 && waiting.Remove(key);
        }

        /// <summary>Looks at assemblies that were not there before.</summary>
        /// <returns>Whether a woven module was found.</returns>
        private bool FindModules()
        {
            bool isFound = false;
            foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
            {
                try
                {
                    if (IsNew(assembly) && MayBeWoven(assembly))
                    {
                        foreach (Module module in ModulesOf(assembly))
                        {
                            isFound |= WriteModule(module);
                        }
                    }
                }
                catch (Exception)
                {
                    // An assembly made at run time has nothing of what was asked for.
                }
            }
            return isFound;
        }

        private bool IsNew(Assembly assembly)
        {
            for (int i = assemblies.Count - 1; i >= 0; i--)
            {
                object known = assemblies[i].Target;
                if (known == (object)assembly)
                {
                    return false;
                }
                if (known == null)
                {
                    assemblies.RemoveAt(i);
                }
            }
            assemblies.Add(new WeakReference(assembly));
            return true;
        }

        /// <summary>
        /// The marks of an assembly; one made at run time has none. A module that several were merged into may have the mark of each.
        /// </summary>
        public static List<WovenAttribute> MarksOf(Assembly assembly)
        {
            List<WovenAttribute> marks = new List<WovenAttribute>();
            try
            {
                if (MayBeWoven(assembly))
                {
                    foreach (Module module in ModulesOf(assembly))
                    {
                        foreach (WovenAttribute mark in module.GetCustomAttributes(typeof(WovenAttribute), false))
                        {
                            marks.Add(mark);
                        }
                    }
                }
            }
            catch (Exception)
            {
                // An assembly made at run time refuses to say.
            }
            return marks;
        }

        /// <summary>
        /// Whether it has the tracker in it, or refers to it. On .NET Core AssemblyName has a culture: there its marks alone tell.
        /// </summary>
        private static bool MayBeWoven(Assembly assembly)
        {
            Assembly own = typeof(NameWriter).Assembly;
            return ThisProcess.IsCore || assembly == own || Refers(assembly, own.GetName().Name);
        }

        // Members that a trimmed program may lack are used in methods of their own: such a method fails when it is compiled.

        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL2026")]
        private static bool Refers(Assembly assembly, string name)
        {
            foreach (AssemblyName reference in assembly.GetReferencedAssemblies())
            {
                if (reference.Name == name)
                {
                    return true;
                }
            }
            return false;
        }

        private static Module[] ModulesOf(Assembly assembly)
        {
            try
            {
                return LoadedModules(assembly);
            }
            catch (MissingMethodException)
            {
                return new Module[] { assembly.ManifestModule };
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Module[] LoadedModules(Assembly assembly)
        {
            return assembly.GetLoadedModules(false);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL2026")]
        private static MethodBase Resolve(Module module, int token)
        {
            return module.ResolveMethod(token);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static byte[] VersionId(Module module)
        {
            return module.ModuleVersionId.ToByteArray();
        }

        private bool WriteModule(Module module)
        {
            // One that several were merged into may have the mark of each.
            object[] marks = module.GetCustomAttributes(typeof(WovenAttribute), false);
            foreach (WovenAttribute mark in marks)
            {
                WeakReference known;
                if (!modules.TryGetValue(mark.ModuleKey, out known) || known.Target == null)
                {
                    modules[mark.ModuleKey] = new WeakReference(module);
                    if (mark.Names != null)
                    {
                        names[mark.ModuleKey] = new WovenNames(mark.Names);
                    }
                    Describe(module, mark);
                }
            }
            return marks.Length > 0;
        }

        /// <summary>Unless another tracker of the process has, or this one, when it was loaded before.</summary>
        private static void Describe(Module module, WovenAttribute mark)
        {
            bool isKnown = false;
            NameRecords.ForEach(delegate { }, delegate(long key) { isKnown |= key == mark.ModuleKey; });
            if (!isKnown)
            {
                NameRecords.Append(
                    NameKind.Module, mark.ModuleKey, 8, VersionIdOrNone(module),
                    module.Assembly.FullName, module.ScopeName, mark.Tool == null ? "" : mark.Tool, PathOf(module));
            }
        }

        /// <returns>False if there is no room for it now.</returns>
        private static bool WriteMethod(Module module, WovenNames names, long id)
        {
            string type;
            string name;
            int number = MethodIds.Row(id);
            if (names != null && names.Find(number, out type, out name))
            {
                return NameRecords.Append(NameKind.Method, id, 8, null, type, name);
            }
            try
            {
                int token = (number & CallSite) != 0 ? MemberRefTable | (number & CallSiteRows) : MethodDefTable | number;
                MethodBase method = Resolve(module, token);
                type = method.DeclaringType == null ? "<Module>" : FullName(method.DeclaringType);
                name = Name(method);
            }
            catch (Exception)
            {
                return true;
            }
            if (names != null && !names.Fits(number, type, name))
            {
                type = Unescaped(type);
                if (!names.Fits(number, type, name))
                {
                    return true;
                }
            }
            return NameRecords.Append(NameKind.Method, id, 8, null, type, name);
        }

        /// <summary>.NET puts a backslash before each character of a type's name that has a meaning in Type.GetType.</summary>
        private static string Unescaped(string name)
        {
            int at = name.IndexOf('\\');
            while (at >= 0 && at + 1 < name.Length)
            {
                name = name.Remove(at, 1);
                at = name.IndexOf('\\', at + 1);
            }
            return name;
        }

        /// <summary>Zeros for a module without a GUID heap.</summary>
        private static byte[] VersionIdOrNone(Module module)
        {
            try
            {
                return VersionId(module);
            }
            catch (Exception)
            {
                return new byte[16];
            }
        }

        /// <summary>One that came from no file has none.</summary>
        private static string PathOf(Module module)
        {
            try
            {
                return FullyQualifiedName(module);
            }
            catch (Exception)
            {
                return "";
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL3002")]
        private static string FullyQualifiedName(Module module)
        {
            return module.FullyQualifiedName;
        }

        /// <summary>Mono has no word for a name that is no UTF-8.</summary>
        private static string Name(MethodBase method)
        {
            try
            {
                return method.Name;
            }
            catch (Exception)
            {
                return "?";
            }
        }

        /// <summary>Namespace.Outer/Inner, as metadata has it: FullName would put marks of its own into odd names.</summary>
        public static string FullName(Type type)
        {
            string name = type.Name;
            while (type.DeclaringType != null)
            {
                type = type.DeclaringType;
                name = type.Name + "/" + name;
            }
            return string.IsNullOrEmpty(type.Namespace) ? name : type.Namespace + "." + name;
        }
    }
}
