using System;

namespace Ilinst
{
    /// <summary>What the environment says.</summary>
    internal static class Settings
    {
        private const string OutputVariable = "ILINST_OUTPUT";
        private const string LogVariable = "ILINST_LOG";
        private const string StartVariable = "ILINST_START";
        private const string WriteVariable = "ILINST_WRITE";
        private const string MaxNodesVariable = "ILINST_MAX_NODES";

        /// <summary>Whether tracking is to begin when it is asked to.</summary>
        public static bool StartsPaused
        {
            get { return Environment.GetEnvironmentVariable(StartVariable) == "paused"; }
        }

        /// <summary>Whether no file is wanted before the end.</summary>
        public static bool WritesAtEnd
        {
            get { return Environment.GetEnvironmentVariable(WriteVariable) == "end"; }
        }

        /// <summary>How many nodes all call trees may have together.</summary>
        public static int MaxNodes(int otherwise)
        {
            string text = Environment.GetEnvironmentVariable(MaxNodesVariable);
            long number = 0;
            foreach (char digit in text == null ? "" : text.Trim())
            {
                if (digit < '0' || digit > '9')
                {
                    return otherwise;
                }
                number = Math.Min(number * 10 + (digit - '0'), int.MaxValue);
            }
            return number > 0 ? (int)number : otherwise;
        }

        /// <summary>Where the profile is wanted; empty if that isn't said.</summary>
        public static string Output()
        {
            return Text(OutputVariable);
        }

        /// <summary>Where the tracker is to say what it does; empty if nowhere.</summary>
        public static string Log()
        {
            return Text(LogVariable);
        }

        private static string Text(string variable)
        {
            string text = Environment.GetEnvironmentVariable(variable);
            return text == null ? "" : text;
        }
    }
}
