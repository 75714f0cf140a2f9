//! The first block of a file: its header, and the control page.

layout! {
    /// The first block. The offset of a number ends in `_AT`.
    header: "HeaderLayout" {
        /// The first bytes of a profile, as a number: `ILPROF` CR LF.
        MAGIC: u64 = u64::from_le_bytes(*b"ILPROF\r\n");
        /// The version of the format.
        VERSION: u32 = 2;
        /// The size of a block. Parts of the file begin at multiples of it, and the header takes one.
        BLOCK: usize = 64 << 10;
        /// u64: MAGIC.
        MAGIC_AT: usize = 0;
        /// u32: VERSION.
        VERSION_AT: usize = 8;
        /// u32: HeaderFlags.
        FLAGS_AT: usize = 12;
        /// u32: the process id.
        PID_AT: usize = 16;
        /// u32: the size of a pointer.
        POINTER_SIZE_AT: usize = 20;
        /// u32: ClockKind.
        CLOCK_AT: usize = 24;
        /// u32: BLOCK.
        SIZE_AT: usize = 28;
        /// u64: ticks per second of the clock.
        TICKS_PER_SECOND_AT: usize = 32;
        /// i64: the clock at the first probe.
        START_AT: usize = 40;
        /// i64: the clock when it was last read.
        END_AT: usize = 48;
        /// i64: the time of day at the first probe, in 100 ns since the year 1, UTC.
        TIME_AT: usize = 56;
        /// u32: the limit of nodes.
        MAX_NODES_AT: usize = 64;
        /// u32: RecordingMode.
        MODE_AT: usize = 68;
        /// f64, in ticks: the overhead of a probe within the time of its call.
        PROBE_INSIDE_AT: usize = 72;
        /// f64, in ticks: the overhead of a probe within the time of the caller.
        PROBE_OUTSIDE_AT: usize = 80;
        /// f64, in ticks: the time to read the clock.
        CLOCK_READ_AT: usize = 88;
        /// u32: the number of bits by which times are shifted right for a histogram.
        HISTOGRAM_SHIFT_AT: usize = 96;
        /// u32: the number of bits by which times are shifted right in events.
        EVENT_SHIFT_AT: usize = 100;
        /// i64, in ticks: the time without recording.
        PAUSED_AT: usize = 104;
        /// i64, in ns: CPU time of the process; -1 if it is not known.
        CPU_AT: usize = 112;
        /// u64: the number of updates of END; of a merged file, the number of processes.
        PROCESSES_AT: usize = 120;
        /// Strings: the name of the program, its runtime, its path.
        STRINGS_AT: usize = 128;
        /// The largest size of such a string.
        MAX_STRING: usize = 1200;
        /// The control page.
        CONTROL_AT: usize = 4096;
        /// u64: the number of pauses. A pair for each follows: i64 from, i64 to (0: not ended).
        PAUSES_AT: usize = 8192;
        /// The largest number of such pairs.
        MAX_PAUSES: usize = 2000;
        /// f64, in ticks: the overhead of a call that is only counted, in its caller's time.
        COUNTING_AT: usize = 49152;
        /// f64, in ticks: the same of its leave probe, which runs only in calls that can have callees.
        COUNTING_LEAVE_AT: usize = 49160;
        /// f64, in ticks: the smallest step of the clock, as measured. Browsers show coarser times than their clock's unit.
        CLOCK_STEP_AT: usize = 49168;
        /// u64: the number of samples for which there was no room.
        LOST_SAMPLES_AT: usize = 49176;
        /// u64: the number of samples that came later than their time, and may stand for methods that were called before.
        LATE_SAMPLES_AT: usize = 49184;
        /// u64: the number of threads that could not be sampled.
        UNSAMPLED_THREADS_AT: usize = 49192;
    }
}

layout! {
    /// The control page: commands to the program that writes the file. Offsets are from the beginning of the page.
    control: "ControlLayout" {
        /// u32: the number of the last command given. It is written last.
        SEQUENCE_AT: usize = 0;
        /// u32: Command.
        COMMAND_AT: usize = 4;
        /// u32: the number of the last command that was carried out.
        ACKNOWLEDGED_AT: usize = 8;
        /// u32: 1 while recording is paused.
        PAUSED_AT: usize = 12;
        /// String: the name of a mark.
        NAME_AT: usize = 16;
        /// The largest size of such a name.
        MAX_NAME: usize = 240;
        /// u32: the number of the last command that was begun.
        BEGUN_AT: usize = NAME_AT + 4 + MAX_NAME;
        /// The size of the used part.
        SIZE: usize = BEGUN_AT + 4;
    }
}

flags! {
    /// Flags of the header.
    HeaderFlags: u32 {
        /// The program ended normally.
        CLEAN_EXIT = 1,
        /// An unhandled exception ended the program. CLEAN_EXIT may be set too.
        UNHANDLED_EXCEPTION = 2,
        /// All names are in the file.
        NAMES_COMPLETE = 4,
        /// The profile was in memory until the end.
        IN_MEMORY = 8,
        /// The file is a copy that was taken while the program ran.
        COPY = 16,
        /// The disk was full: the last records are not in the file.
        DISK_FULL = 32,
        /// The file is merged from the profiles of several processes.
        MERGED = 64,
        /// In a merged file: some of its sources had captured calls.
        CAPTURED = 128,
        /// Each block behind the header is compressed as a block of LZ4, with its size before it.
        PACKED = 256,
        /// Allocated bytes were counted: each slot of a chunk of nodes has a second slot behind it, with its bytes.
        ALLOCATIONS = 512,
        /// Allocated bytes were to be counted, but the runtime cannot count those of a thread.
        NO_ALLOCATIONS = 1024,
    }
}

kinds! {
    /// The clock that times are read from.
    ClockKind: u32 {
        /// .NET's Stopwatch.
        Stopwatch = 0,
        /// The processor's time stamp counter.
        Tsc = 1,
        /// A clock of the program's own, whose time may be simulated.
        Program = 2,
    }
}

kinds! {
    /// The mode of measurement.
    RecordingMode: u32 {
        /// Each call is counted and timed.
        Exact = 0,
        /// Each call is counted; a sampler measures time.
        Sampled = 1,
        /// Calls are counted by method, without paths and times.
        Count = 2,
        /// As exact, and the beginning and end of each call are recorded.
        Trace = 3,
        /// A sampler measures CPU time, without probes. Calls are not counted.
        Cpu = 4,
        /// A sampler measures elapsed time, without probes. Calls are not counted.
        Wall = 5,
    }
}

impl ClockKind {
    /// Returns its word in options and documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stopwatch => "stopwatch",
            Self::Tsc => "tsc",
            Self::Program => "program",
        }
    }
}

impl RecordingMode {
    /// Returns its word in documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Sampled => "sampled",
            Self::Count => "count",
            Self::Trace => "trace",
            Self::Cpu => "cpu",
            Self::Wall => "wall",
        }
    }

    /// Returns the option that sets the mode.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Exact => "ILINST_MODE=exact",
            Self::Sampled => "ILINST_MODE=sampled",
            Self::Count => "ILINST_MODE=count",
            Self::Trace => "ILINST_MODE=trace",
            Self::Cpu => "--sample",
            Self::Wall => "--sample --wall",
        }
    }

    /// Returns whether a sampler measured the times.
    pub const fn has_samples(self) -> bool {
        matches!(self, Self::Sampled | Self::Cpu | Self::Wall)
    }

    /// Returns whether times were measured.
    pub const fn has_times(self) -> bool {
        !matches!(self, Self::Count)
    }

    /// Returns whether calls were counted.
    pub const fn has_calls(self) -> bool {
        !matches!(self, Self::Cpu | Self::Wall)
    }
}

kinds! {
    /// A command on the control page.
    Command: u32 {
        /// Pause recording.
        Pause = 1,
        /// Resume recording.
        Resume = 2,
        /// Discard the recording so far: reports omit it.
        Reset = 3,
        /// Begin a phase of this name.
        Mark = 4,
    }
}
