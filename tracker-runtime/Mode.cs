namespace Ilinst
{
    /// <summary>What is measured, chosen at the first probe.</summary>
    internal static unsafe class Mode
    {
        public const int Exact = 0;
        public const int Sampled = 1;
        public const int Count = 2;
        public const int Trace = 3;

        public const int ByStopwatch = 0;
        public const int Sampling = 1;
        public const int Counting = 2;
        public const int Timing = 3;

        /// <summary>As in the header.</summary>
        public static readonly int Kind = Settings.Mode();

        /// <summary>Which probes do that. Fields like these are constants for whoever compiles once they are set.</summary>
        public static readonly int Probe = ProbeFor(Kind);

        private static int chosen;

        /// <summary>Whether each call is timed.</summary>
        public static bool IsTimed
        {
            get { return Kind != Sampled; }
        }

        /// <summary>Has the fields above set.</summary>
        public static void Choose()
        {
            chosen = Probe;
        }

        /// <summary>The profile is there.</summary>
        public static void Start()
        {
            Header* header = Arena.Header;
            Statistics.Shift = Statistics.ShiftFor(Clock.Frequency);
            header->HistogramShift = Statistics.Shift;
            header->Mode = Kind;
            if (Kind == Count)
            {
                Counters.Start();
            }
            if (Kind == Sampled)
            {
                Sampler.Start();
            }
            if (Kind == Trace)
            {
                Events.Start(Settings.TraceSize());
            }
            Calibration.Start();
            Automute.Start();
        }

        private static int ProbeFor(int kind)
        {
            if (Settings.WantsTimeStampCounter())
            {
                string reason = TimeStampCounter.Start();
                Log.Write(reason == null ? "clock: time stamp counter" : "clock: stopwatch, as " + reason);
            }
            return kind == Sampled ? Sampling : kind == Count ? Counting : kind == Trace || Clock.Kind != 0 ? Timing : ByStopwatch;
        }
    }
}
