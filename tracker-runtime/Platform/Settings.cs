using System;

namespace Ilinst
{
    /// <summary>The settings in the environment.</summary>
    internal static class Settings
    {
        private const string OutputVariable = "ILINST_OUTPUT";
        private const string LogVariable = "ILINST_LOG";
        private const string StartVariable = "ILINST_START";
        private const string WriteVariable = "ILINST_WRITE";
        private const string MaxNodesVariable = "ILINST_MAX_NODES";
        private const string ModeVariable = "ILINST_MODE";
        private const string ClockVariable = "ILINST_CLOCK";
        private const string TraceSizeVariable = "ILINST_TRACE_SIZE";
        private const string CountBelowVariable = "ILINST_COUNT_BELOW";
        private const string AllocationsVariable = "ILINST_ALLOCATIONS";

        /// <summary>Variables, and behind each the only values that it can have.</summary>
        private static readonly string[][] fixedValues = new string[][]
        {
            new string[] { ModeVariable, "exact", "sampled", "count", "trace" },
            new string[] { ClockVariable, "tsc", "stopwatch", "program" },
            new string[] { StartVariable, "paused" },
            new string[] { WriteVariable, "end" },
            new string[] { AllocationsVariable, "0", "1" },
        };

        /// <summary>Says for people which one is wrong; null if none is.</summary>
        public static string Wrong()
        {
            foreach (string[] words in fixedValues)
            {
                string value = Text(words[0]);
                string known = "";
                bool isKnown = value.Length == 0;
                for (int i = 1; i < words.Length; i++)
                {
                    isKnown |= value == words[i];
                    known += (i == 1 ? "" : i < words.Length - 1 ? ", " : " and ") + words[i];
                }
                if (!isKnown)
                {
                    return "nothing is recorded: " + words[0] + " is '" + value + "'; the known values are: " + known;
                }
            }
            string mode = Text(ModeVariable);
            return Ilinst.Allocations.AreWanted && (mode == "sampled" || mode == "count")
                ? "nothing is recorded: allocated bytes (--allocations) need " + ModeVariable + "=exact (the default) or trace, and not "
                    + mode + ", which does not see each call begin and end; " + AllocationsVariable + "=0 counts no bytes"
                : null;
        }

        /// <summary>"1" if allocated bytes are to be counted, "0" if not; empty if the marks of modules decide.</summary>
        public static string Allocations
        {
            get { return Text(AllocationsVariable); }
        }

        /// <summary>Whether tracking is to begin when it is asked to.</summary>
        public static bool StartsPaused
        {
            get { return Text(StartVariable) == "paused"; }
        }

        /// <summary>Whether no file is wanted before the end.</summary>
        public static bool WritesAtEnd
        {
            get { return Text(WriteVariable) == "end"; }
        }

        /// <summary>How many nodes all call trees may have together.</summary>
        public static int MaxNodes(int otherwise)
        {
            long number = Number(MaxNodesVariable);
            return number > 0 ? (int)number : otherwise;
        }

        /// <summary>The mode of measurement: one of the constants of <see cref="Ilinst.Mode"/>.</summary>
        public static int Mode()
        {
            switch (Environment.GetEnvironmentVariable(ModeVariable))
            {
                case "sampled":
                    return Ilinst.RecordingMode.Sampled;
                case "count":
                    return Ilinst.RecordingMode.Count;
                case "trace":
                    return Ilinst.RecordingMode.Trace;
                default:
                    return Ilinst.RecordingMode.Exact;
            }
        }

        /// <summary>The clock that times calls: one of the constants of <see cref="Ilinst.Clock"/>.</summary>
        public static int Clock()
        {
            switch (Environment.GetEnvironmentVariable(ClockVariable))
            {
                case "stopwatch":
                    return Ilinst.ClockKind.Stopwatch;
                case "program":
                    return Ilinst.ClockKind.Program;
                default:
                    return Ilinst.ClockKind.Tsc;
            }
        }

        /// <summary>How many bytes of events are kept, about.</summary>
        public static long TraceSize()
        {
            long number = Number(TraceSizeVariable);
            return number > 0 ? number : 64 * 1024 * 1024;
        }

        /// <summary>In ns: a call path that takes less time is only counted after a while; 0: each call is timed.</summary>
        public static long CountBelow(long otherwise)
        {
            return Text(CountBelowVariable).Length == 0 ? otherwise : Number(CountBelowVariable);
        }

        /// <summary>0 if it isn't said, or no number.</summary>
        private static long Number(string variable)
        {
            string text = Environment.GetEnvironmentVariable(variable);
            long number = 0;
            foreach (char digit in text == null ? "" : text.Trim())
            {
                if (digit < '0' || digit > '9')
                {
                    return 0;
                }
                number = Math.Min(number * 10 + (digit - '0'), int.MaxValue);
            }
            return number;
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
