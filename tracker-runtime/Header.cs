using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>The profile's first block (see docs/profile-format.md).</summary>
    [StructLayout(LayoutKind.Explicit, Size = Header.Size)]
    internal unsafe struct Header
    {
        public const int Size = 64 * 1024;
        public const int FormatVersion = 2;

        public const int CleanExit = 1;
        public const int UnhandledException = 2;
        public const int NamesComplete = 4;
        public const int InMemory = 8;
        /// <summary>A copy that was made while the program ran.</summary>
        public const int Snapshot = 16;
        /// <summary>The disk was full: what came last was in memory alone.</summary>
        public const int Incomplete = 32;
        public const int FlagsAt = 12;

        private const int StringsAt = 128;
        private const int ControlAt = 4096;
        private const int CommandNameAt = 16;
        private const int MaxCommandName = 240;
        private const int BegunAt = CommandNameAt + 4 + MaxCommandName;
        private const int PausesAt = 8192;
        private const int MaxPauses = 2000;
        private const int CostOfCountingAt = 48 * 1024;

        [FieldOffset(0)] public ulong Magic;
        [FieldOffset(8)] public int Version;
        [FieldOffset(FlagsAt)] public int Flags;
        [FieldOffset(16)] public int ProcessId;
        [FieldOffset(20)] public int PointerSize;
        [FieldOffset(24)] public int Clock;
        [FieldOffset(28)] public int HeaderSize;
        [FieldOffset(32)] public long TicksPerSecond;
        /// <summary>The clock at the first probe.</summary>
        [FieldOffset(40)] public long StartTicks;
        /// <summary>The clock when last looked at.</summary>
        [FieldOffset(48)] public long LastTicks;
        /// <summary>UTC at the first probe, in 100 ns since the year 1.</summary>
        [FieldOffset(56)] public long StartTime;
        [FieldOffset(64)] public int MaxNodes;
        [FieldOffset(68)] public int Mode;
        /// <summary>What a call that does nothing shows as its own time, in ticks.</summary>
        [FieldOffset(72)] public double CostInside;
        /// <summary>What a call adds to its caller beside that, in ticks.</summary>
        [FieldOffset(80)] public double CostOutside;
        /// <summary>One read of the clock, in ticks.</summary>
        [FieldOffset(88)] public double CostOfClock;
        [FieldOffset(96)] public int HistogramShift;
        [FieldOffset(100)] public int EventShift;
        [FieldOffset(104)] public long PausedTicks;
        /// <summary>The process's CPU time at the last look, in ns; -1 if it isn't known.</summary>
        [FieldOffset(112)] public long CpuTime;
        [FieldOffset(120)] public long Heartbeats;

        /// <summary>Incremented by the tool when there is another command.</summary>
        [FieldOffset(ControlAt)] public int CommandSequence;
        [FieldOffset(ControlAt + 4)] public int Command;
        /// <summary>The last command that was obeyed.</summary>
        [FieldOffset(ControlAt + 8)] public int AcknowledgedSequence;
        /// <summary>1 while paused.</summary>
        [FieldOffset(ControlAt + 12)] public int State;

        /// <summary>The last command that was begun: from then on the tool does not take it back.</summary>
        [FieldOffset(ControlAt + BegunAt)] public int BegunSequence;

        [FieldOffset(PausesAt)] public long Pauses;

        /// <summary>The strings of the header: they are written once.</summary>
        public static void WriteStrings(Header* header, params string[] strings)
        {
            byte* at = (byte*)header + StringsAt;
            byte* end = (byte*)header + ControlAt;
            foreach (string text in strings)
            {
                int room = (int)(end - at) - 4;
                *(int*)at = room < 0 ? 0 : Utf8.Put(at + 4, text, room < 1200 ? room : 1200);
                at += 4 + *(int*)at;
            }
        }

        /// <summary>Notes the cost of a call that is only counted, in ticks of its caller's time.</summary>
        public static void SetCostOfCounting(Header* header, double ticks)
        {
            *(double*)((byte*)header + CostOfCountingAt) = ticks;
        }

        /// <summary>Whether two files begin alike: they are of the same process, and of the same time.</summary>
        public static bool IsSame(byte* one, byte* other)
        {
            Header* first = (Header*)one;
            Header* second = (Header*)other;
            return first->ProcessId == second->ProcessId && first->StartTicks == second->StartTicks && first->StartTime == second->StartTime;
        }

        /// <summary>The name that comes with a command.</summary>
        public static string CommandName(Header* header)
        {
            byte* at = (byte*)header + ControlAt + CommandNameAt;
            int length = *(int*)at;
            return Utf8.Text(at + 4, length < 0 || length > MaxCommandName ? 0 : length);
        }

        /// <summary>Notes that tracking pauses from now on; beyond the number of pauses that there is room for, only their sum is kept.</summary>
        public static void BeginPause(Header* header, long now)
        {
            // Others can write to the file: a count is used when it is one.
            long count = header->Pauses;
            if (count >= 0 && count < MaxPauses)
            {
                long* pair = &header->Pauses + 1 + 2 * count;
                pair[0] = now;
                pair[1] = 0;
                header->Pauses = count + 1;
            }
        }

        /// <summary>Notes that a pause has ended.</summary>
        public static void EndPause(Header* header, long from, long now)
        {
            header->PausedTicks += now - from;
            long count = header->Pauses;
            long* pair = &header->Pauses + 2 * count - 1;
            if (count > 0 && count <= MaxPauses && pair[1] == 0)
            {
                pair[1] = now;
            }
        }
    }
}
