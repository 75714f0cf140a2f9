using System;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;

namespace Ilinst
{
    /// <summary>
    /// Facts about the process. Nothing here, nor elsewhere in the tracker, may ask for a culture, as numbers made text and
    /// AssemblyName do: .NET Core ends the process if it finds no ICU then, and the program may not need one.
    /// </summary>
    internal static class ThisProcess
    {
        /// <summary>Whether this is .NET Core or later.</summary>
        public static readonly bool IsCore = !typeof(object).Assembly.FullName.StartsWith("mscorlib,", StringComparison.Ordinal);

        /// <summary>Whether this is Mono, which .NET's own later one for browsers does not say.</summary>
        public static readonly bool IsMono = Type.GetType("Mono.Runtime") != null;

        private const string NotInNames = "\"<>|:*?\\";

        /// <summary>Whether a program can catch a stack overflow, and so should: by Mono's guard pages on Unix.</summary>
        public static bool CatchesStackOverflows
        {
            get { return Libc.IsThere && IsMono; }
        }

        /// <summary>The process id, or 0.</summary>
        public static int Id()
        {
            try
            {
                return Libc.IsThere ? Libc.getpid() : Kernel32.GetCurrentProcessId();
            }
            catch (Exception)
            {
                return 0;
            }
        }

        /// <summary>The program's name without its extension, fit for a file name.</summary>
        public static string ProgramName()
        {
            string fit = "";
            foreach (char character in IsCore ? EntryName() : DomainName())
            {
                bool isFit = character != '/' && (Libc.IsThere ? character != 0 : character >= ' ' && NotInNames.IndexOf(character) < 0);
                fit += isFit ? character : '_';
            }
            return fit.Length == 0 ? "program" : fit;
        }

        /// <summary>For people: ".NET 8.0.4, Unix"; or, as its files do not say all of such a program, ".NET 10.0.0, Unix, trimmed".</summary>
        public static string RuntimeName()
        {
            string published = !IsCore ? "" : IsNative() ? ", native AOT" : IsTrimmed() ? ", trimmed" : "";
            string platform = Sandbox.IsHere ? "browser" : Environment.OSVersion.Platform.ToString();
            return NameAndVersion() + ", " + platform + published;
        }

        /// <summary>The path of the program's file, or of this one where another runtime is the program; empty if there is none.</summary>
        [UnconditionalSuppressMessage("Trimming", "IL3000")]
        public static string ProgramPath()
        {
            try
            {
                Assembly entry = Assembly.GetEntryAssembly();
                return (entry == null ? typeof(ThisProcess).Assembly : entry).Location;
            }
            catch (Exception)
            {
                return "";
            }
        }

        /// <summary>A number that is not negative, as text.</summary>
        public static string Digits(int number)
        {
            string text = "";
            do
            {
                text = (char)('0' + number % 10) + text;
                number /= 10;
            }
            while (number > 0);
            return text;
        }

        /// <summary>Whether the program is compiled to native code, with the runtime in it.</summary>
        private static bool IsNative()
        {
            return typeof(object).Assembly.GetType().Name.StartsWith("NativeFormat", StringComparison.Ordinal);
        }

        /// <summary>
        /// Whether the program's library is not all of it: a type is gone that all versions have, and hardly a program uses. The
        /// trimmer is not to find its name here.
        /// </summary>
        [UnconditionalSuppressMessage("Trimming", "IL2057")]
        private static bool IsTrimmed()
        {
            string calendar = "LunisolarCalendar";
            foreach (string country in new string[] { "Korean", "Taiwan" })
            {
                if (Type.GetType("System.Globalization." + country + calendar) != null)
                {
                    return false;
                }
            }
            return true;
        }

        private static string EntryName()
        {
            Assembly entry = Assembly.GetEntryAssembly();
            return entry == null ? "" : entry.FullName.Split(',')[0];
        }

        private static string DomainName()
        {
            string name = AppDomain.CurrentDomain.FriendlyName;
            foreach (string extension in new string[] { ".exe", ".dll" })
            {
                if (name.EndsWith(extension, StringComparison.OrdinalIgnoreCase))
                {
                    name = name.Substring(0, name.Length - extension.Length);
                }
            }
            return name;
        }

        private static string NameAndVersion()
        {
            Type mono = Type.GetType("Mono.Runtime");
            MethodInfo monoName = mono == null ? null : mono.GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
            if (monoName != null)
            {
                // Environment.Version is that of the .NET Framework it stands in for; its own is "6.8.0.105 (Debian ...)".
                return "Mono " + ((string)monoName.Invoke(null, null)).Split(' ')[0];
            }
            return IsCore ? ".NET " + CoreVersion() : ".NET Framework " + Environment.Version;
        }

        /// <summary>The source of Environment.Version: the host, or else the core library.</summary>
        private static string CoreVersion()
        {
            object said = AppDomain.CurrentDomain.GetData("FX_PRODUCT_VERSION");
            object[] marks = typeof(object).Assembly.GetCustomAttributes(typeof(AssemblyInformationalVersionAttribute), false);
            if (said == null && marks.Length > 0)
            {
                said = ((AssemblyInformationalVersionAttribute)marks[0]).InformationalVersion;
            }
            return ((string)said ?? "").Split('+')[0];
        }
    }
}
