using System;
using System.IO;
using System.Reflection;
using System.Text;

namespace Ilinst
{
    /// <summary>
    /// Writes the names of the methods that a profile mentions, by reflection over the woven modules. It looks at no
    /// parameters: their types might have to be loaded, and the program would notice.
    /// </summary>
    internal sealed class NameWriter
    {
        private const byte ModuleRecord = 1;
        private const byte MethodRecord = 2;
        private const int RowBits = 24;
        private const int RowMask = (1 << RowBits) - 1;
        private const int MethodDefTable = 0x06000000;

        private readonly BinaryWriter writer;
        private readonly long[] methodIds;

        public NameWriter(BinaryWriter writer, long[] methodIds)
        {
            this.writer = writer;
            this.methodIds = methodIds;
        }

        public void WriteModules()
        {
            foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
            {
                try
                {
                    if (!MayBeWoven(assembly))
                    {
                        continue;
                    }
                    foreach (Module module in assembly.GetLoadedModules(false))
                    {
                        WriteModule(module);
                    }
                }
                catch (Exception)
                {
                    // An assembly made at run time has nothing of what was asked for.
                }
            }
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

        private void WriteModule(Module module)
        {
            object[] marks = module.GetCustomAttributes(typeof(WovenAttribute), false);
            if (marks.Length == 0)
            {
                return;
            }
            WovenAttribute mark = (WovenAttribute)marks[0];
            // All that may throw comes before the record: half of one would spoil those behind it.
            byte[] mvid = VersionId(module).ToByteArray();
            string assembly = module.Assembly.FullName;
            string name = module.ScopeName;
            writer.Write(ModuleRecord);
            writer.Write(mark.ModuleKey);
            writer.Write(mvid);
            WriteString(writer, assembly);
            WriteString(writer, name);
            WriteString(writer, mark.Tool == null ? "" : mark.Tool);
            foreach (long id in methodIds)
            {
                // The key's highest bits are the id's: an id may be negative.
                if (((id >> RowBits) & 0xFFFFFFFFFF) == mark.ModuleKey)
                {
                    WriteMethod(module, id);
                }
            }
        }

        private void WriteMethod(Module module, long id)
        {
            string type;
            string name;
            try
            {
                MethodBase method = module.ResolveMethod(MethodDefTable | (int)(id & RowMask));
                type = method.DeclaringType == null ? "<Module>" : FullName(method.DeclaringType);
                name = Name(method);
            }
            catch (Exception)
            {
                return;
            }
            writer.Write(MethodRecord);
            writer.Write(id);
            WriteString(writer, type);
            WriteString(writer, name);
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

        /// <summary>A count of bytes, then UTF-8.</summary>
        public static void WriteString(BinaryWriter writer, string text)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(text);
            writer.Write(bytes.Length);
            writer.Write(bytes);
        }
    }
}
