namespace Ilinst
{
    /// <summary>What is measured, chosen at the first probe.</summary>
    internal static unsafe class Mode
    {
        public const int Exact = 0;
        public const int Sampled = 1;
        public const int Count = 2;
        public const int Trace = 3;

        /// <summary>Which of <see cref="Probes"/> those are: <see cref="ProfileInfoTracker.probe"/>.</summary>
        public const int ByStopwatch = 0;
        public const int Sampling = 1;
        public const int Counting = 2;
        public const int ByReader = 3;
        public const int Tracing = 4;

        /// <summary>As in the header.</summary>
        public static int Kind;

        /// <summary>Whether each call is timed.</summary>
        public static bool IsTimed
        {
            get { return Kind != Sampled; }
        }

        /// <summary>By the settings: first the clock, which the profile begins with.</summary>
        public static void Choose()
        {
            Kind = Settings.Mode();
            int clock = Settings.Clock();
            if (clock != Clock.ByStopwatch)
            {
                bool isCounter = clock == Clock.ByCounter;
                string reason = isCounter ? TimeStampCounter.Start() : ProgramClock.Start();
                string name = isCounter ? "clock: time stamp counter" : "clock: the program's";
                Log.Write(reason == null ? name : "clock: stopwatch, as " + reason);
            }
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
            ProfileInfoTracker.probe = Kind == Sampled ? Sampling : Kind == Count ? Counting
                : Kind == Trace ? Tracing : Clock.Kind != Clock.ByStopwatch ? ByReader : ByStopwatch;
            Calibration.Start();
            Adaptive.Start();
        }
    }
}
