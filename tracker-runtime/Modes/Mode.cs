namespace Ilinst
{
    /// <summary>The mode of measurement, chosen at the first probe.</summary>
    internal static unsafe class Mode
    {
        /// <summary>The kinds of <see cref="Probes"/>: values of <see cref="ProfileInfoTracker.probe"/>.</summary>
        public const int ByStopwatch = 0;
        public const int Sampling = 1;
        public const int Counting = 2;
        public const int ByReader = 3;
        public const int Tracing = 4;
        public const int Allocating = 5;
        public const int AllocatingAndTracing = 6;

        /// <summary>A <see cref="RecordingMode"/>.</summary>
        public static int Kind;

        /// <summary>Whether each call is timed.</summary>
        public static bool IsTimed
        {
            get { return Kind != RecordingMode.Sampled; }
        }

        /// <summary>By the settings: first the clock, which the profile begins with.</summary>
        public static void Choose()
        {
            Kind = Settings.Mode();
            if (Kind == RecordingMode.Sampled && Sandbox.IsHere)
            {
                Log.Write("mode exact: a sampler needs threads, which there are none of here");
                Kind = RecordingMode.Exact;
            }
            int clock = Settings.Clock();
            if (clock != ClockKind.Stopwatch)
            {
                bool isCounter = clock == ClockKind.Tsc;
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
            if (Kind == RecordingMode.Count)
            {
                Counters.Start();
                if (Sandbox.IsHere)
                {
                    Sandbox.WriteRegularly();
                }
            }
            if (Kind == RecordingMode.Sampled)
            {
                Sampler.Start();
            }
            if (Kind == RecordingMode.Trace)
            {
                Events.Start(Settings.TraceSize());
            }
            ProfileInfoTracker.probe = Kind == RecordingMode.Sampled ? Sampling : Kind == RecordingMode.Count ? Counting
                : Kind == RecordingMode.Trace ? Allocations.AreCounted ? AllocatingAndTracing : Tracing
                : Allocations.AreCounted ? Allocating : Clock.Kind != ClockKind.Stopwatch ? ByReader : ByStopwatch;
            Calibration.Start();
            Adaptive.Start();
            JitTime.Start();
        }
    }
}
