using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;

namespace Ilinst
{
    /// <summary>What the environment says.</summary>
    internal static class Settings
    {
        private const string OutputVariable = "ILINST_OUTPUT";
        private const string MaxNodesVariable = "ILINST_MAX_NODES";
        private const string Extension = ".ilprof";

        /// <summary>How many nodes all call trees may have together.</summary>
        public static int MaxNodes(int otherwise)
        {
            int value;
            string text = Environment.GetEnvironmentVariable(MaxNodesVariable);
            bool isNumber = int.TryParse(text, NumberStyles.Integer, CultureInfo.InvariantCulture, out value);
            return isNumber && value > 0 ? value : otherwise;
        }

        /// <summary>Where the profile goes, given the folder the program was started in.</summary>
        public static string OutputPath(string startFolder)
        {
            string program = ProgramName();
            string pid = ProcessId().ToString(CultureInfo.InvariantCulture);
            string fileName = program + "-" + pid + Extension;
            string wish = Environment.GetEnvironmentVariable(OutputVariable);
            if (string.IsNullOrEmpty(wish))
            {
                return Unused(Path.Combine(startFolder, fileName));
            }
            wish = Path.Combine(startFolder, wish.Replace("%p", pid).Replace("%n", program));
            char last = wish[wish.Length - 1];
            bool isFolder = last == '/' || last == '\\' || Directory.Exists(wish);
            return isFolder ? Unused(Path.Combine(wish, fileName)) : wish;
        }

        /// <summary>The program's name without its extension, fit for a file name.</summary>
        public static string ProgramName()
        {
            string name = AppDomain.CurrentDomain.FriendlyName;
            foreach (string extension in new string[] { ".exe", ".dll" })
            {
                if (name.EndsWith(extension, StringComparison.OrdinalIgnoreCase))
                {
                    name = name.Substring(0, name.Length - extension.Length);
                }
            }
            foreach (char bad in Path.GetInvalidFileNameChars())
            {
                name = name.Replace(bad, '_');
            }
            return name.Length == 0 ? "program" : name;
        }

        public static int ProcessId()
        {
            try
            {
                using (Process process = Process.GetCurrentProcess())
                {
                    return process.Id;
                }
            }
            catch (Exception)
            {
                return 0;
            }
        }

        /// <summary>The path, or with a number where it is taken: by another AppDomain of this process.</summary>
        private static string Unused(string path)
        {
            string free = path;
            for (int number = 2; File.Exists(free) && number < 1000; number++)
            {
                string suffix = "-" + number.ToString(CultureInfo.InvariantCulture) + Extension;
                free = path.Substring(0, path.Length - Extension.Length) + suffix;
            }
            return free;
        }
    }
}
