using System;
using System.Collections.Generic;
using System.Reflection;

namespace Ilinst
{
    /// <summary>
    /// Finds the names of methods by reflection over the woven modules. It looks at no parameters: their types might have to be
    /// loaded, and the program would notice. What cannot be had, as in a trimmed program, the reader finds elsewhere by the
    /// module's key.
    /// </summary>
    internal sealed class NameWriter
    {
        private const int RowBits = 24;
        private const int CallSite = 0x800000;
        private const int CallSiteRows = 0x3FFFFF;
        private const int MethodDefTable = 0x06000000;
        private const int MemberRefTable = 0x0A000000;

        /// <summary>By key: those that wait for a name.</summary>
        private readonly Dictionary<long, List<long>> waiting = new Dictionary<long, List<long>>();
        /// <summary>By key: the modules found; held so that a context of its own can still go.</summary>
        private readonly Dictionary<long, WeakReference> modules = new Dictionary<long, WeakReference>();
        private readonly List<WeakReference> assemblies = new List<WeakReference>();

        /// <summary>Writes the names of methods, and of modules that were not met before.</summary>
        public void Write(List<long> ids)
        {
            foreach (long id in ids)
            {
                // The key's highest bits are the id's: an id may be negative.
                long key = (id >> RowBits) & 0xFFFFFFFFFF;
                List<long> ofModule;
                if (!waiting.TryGetValue(key, out ofModule))
                {
                    waiting[key] = ofModule = new List<long>();
                }
                ofModule.Add(id);
            }
            bool isMissing = false;
            foreach (long key in new List<long>(waiting.Keys))
            {
                isMissing |= !WriteMethods(key);
            }
            if (isMissing && FindModules())
            {
                foreach (long key in new List<long>(waiting.Keys))
                {
                    WriteMethods(key);
                }
            }
        }

        /// <summary>Whether the module is known, so that all is written that can be.</summary>
        private bool WriteMethods(long key)
        {
            WeakReference found;
            if (!modules.TryGetValue(key, out found))
            {
                return false;
            }
            Module module = (Module)found.Target;
            foreach (long id in waiting[key])
            {
                if (module != null)
                {
                    WriteMethod(module, id);
                }
            }
            waiting.Remove(key);
            return true;
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
                        foreach (Module module in assembly.GetLoadedModules(false))
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

        /// <summary>Whether it refers to the tracker. On .NET Core AssemblyName has a culture: there its marks alone tell.</summary>
        private static bool MayBeWoven(Assembly assembly)
        {
            if (ThisProcess.IsCore)
            {
                return true;
            }
            string tracker = typeof(NameWriter).Assembly.GetName().Name;
            foreach (AssemblyName reference in assembly.GetReferencedAssemblies())
            {
                if (reference.Name == tracker)
                {
                    return true;
                }
            }
            return false;
        }

        private bool WriteModule(Module module)
        {
            object[] marks = module.GetCustomAttributes(typeof(WovenAttribute), false);
            if (marks.Length == 0)
            {
                return false;
            }
            WovenAttribute mark = (WovenAttribute)marks[0];
            if (!modules.ContainsKey(mark.ModuleKey))
            {
                modules[mark.ModuleKey] = new WeakReference(module);
                NameRecords.Append(
                    NameRecords.Module, mark.ModuleKey, 8, VersionId(module).ToByteArray(),
                    module.Assembly.FullName, module.ScopeName, mark.Tool == null ? "" : mark.Tool, PathOf(module));
            }
            return true;
        }

        private static void WriteMethod(Module module, long id)
        {
            string type;
            string name;
            try
            {
                int number = (int)id & 0xFFFFFF;
                int token = (number & CallSite) != 0 ? MemberRefTable | (number & CallSiteRows) : MethodDefTable | number;
                MethodBase method = module.ResolveMethod(token);
                type = method.DeclaringType == null ? "<Module>" : FullName(method.DeclaringType);
                name = Name(method);
            }
            catch (Exception)
            {
                return;
            }
            NameRecords.Append(NameRecords.Method, id, 8, null, type, name);
        }

        /// <summary>A module without a GUID heap has none.</summary>
        private static Guid VersionId(Module module)
        {
            try
            {
                return module.ModuleVersionId;
            }
            catch (Exception)
            {
                return Guid.Empty;
            }
        }

        /// <summary>One that came from no file has none.</summary>
        private static string PathOf(Module module)
        {
            try
            {
                return module.FullyQualifiedName;
            }
            catch (Exception)
            {
                return "";
            }
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
        private static string FullName(Type type)
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
