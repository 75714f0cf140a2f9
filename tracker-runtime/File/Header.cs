using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>The profile's first block (see docs/profile-format.md).</summary>
    [StructLayout(LayoutKind.Explicit, Size = HeaderLayout.Block)]
    internal unsafe struct Header
    {
        [FieldOffset(HeaderLayout.MagicAt)] public ulong Magic;
        [FieldOffset(HeaderLayout.VersionAt)] public int Version;
        [FieldOffset(HeaderLayout.FlagsAt)] public int Flags;
        [FieldOffset(HeaderLayout.PidAt)] public int ProcessId;
        [FieldOffset(HeaderLayout.PointerSizeAt)] public int PointerSize;
        [FieldOffset(HeaderLayout.ClockAt)] public int Clock;
        [FieldOffset(HeaderLayout.SizeAt)] public int HeaderSize;
        [FieldOffset(HeaderLayout.TicksPerSecondAt)] public long TicksPerSecond;
        /// <summary>The clock at the first probe.</summary>
        [FieldOffset(HeaderLayout.StartAt)] public long StartTicks;
        /// <summary>The clock when last looked at.</summary>
        [FieldOffset(HeaderLayout.EndAt)] public long LastTicks;
        /// <summary>UTC at the first probe, in 100 ns since the year 1.</summary>
        [FieldOffset(HeaderLayout.TimeAt)] public long StartTime;
        [FieldOffset(HeaderLayout.MaxNodesAt)] public int MaxNodes;
        [FieldOffset(HeaderLayout.ModeAt)] public int Mode;
        /// <summary>The own time of a call that does nothing, in ticks.</summary>
        [FieldOffset(HeaderLayout.ProbeInsideAt)] public double CostInside;
        /// <summary>The time that a call adds to its caller beside that, in ticks.</summary>
        [FieldOffset(HeaderLayout.ProbeOutsideAt)] public double CostOutside;
        /// <summary>One read of the clock, in ticks.</summary>
        [FieldOffset(HeaderLayout.ClockReadAt)] public double CostOfClock;
        [FieldOffset(HeaderLayout.HistogramShiftAt)] public int HistogramShift;
        [FieldOffset(HeaderLayout.EventShiftAt)] public int EventShift;
        [FieldOffset(HeaderLayout.PausedAt)] public long PausedTicks;
        /// <summary>The process's CPU time at the last look, in ns; -1 if it isn't known.</summary>
        [FieldOffset(HeaderLayout.CpuAt)] public long CpuTime;
        [FieldOffset(HeaderLayout.ProcessesAt)] public long Heartbeats;

        /// <summary>Incremented by the tool when there is another command.</summary>
        [FieldOffset(HeaderLayout.ControlAt + ControlLayout.SequenceAt)] public int CommandSequence;
        [FieldOffset(HeaderLayout.ControlAt + ControlLayout.CommandAt)] public int Command;
        /// <summary>The last command that was obeyed.</summary>
        [FieldOffset(HeaderLayout.ControlAt + ControlLayout.AcknowledgedAt)] public int AcknowledgedSequence;
        /// <summary>1 while paused.</summary>
        [FieldOffset(HeaderLayout.ControlAt + ControlLayout.PausedAt)] public int State;

        /// <summary>The last command that was begun: from then on the tool does not take it back.</summary>
        [FieldOffset(HeaderLayout.ControlAt + ControlLayout.BegunAt)] public int BegunSequence;

        [FieldOffset(HeaderLayout.PausesAt)] public long Pauses;

        /// <summary>The strings of the header: they are written once.</summary>
        public static void WriteStrings(Header* header, params string[] strings)
        {
            byte* at = (byte*)header + HeaderLayout.StringsAt;
            byte* end = (byte*)header + HeaderLayout.ControlAt;
            foreach (string text in strings)
            {
                int room = (int)(end - at) - 4;
                *(int*)at = room < 0 ? 0 : Utf8.Put(at + 4, text, room < HeaderLayout.MaxString ? room : HeaderLayout.MaxString);
                at += 4 + *(int*)at;
            }
        }

        /// <summary>Notes the cost of a call that is only counted, and of its leave probe, in ticks of its caller's time.</summary>
        public static void SetCostOfCounting(Header* header, double ticks, double ofLeave)
        {
            *(double*)((byte*)header + HeaderLayout.CountingAt) = ticks;
            *(double*)((byte*)header + HeaderLayout.CountingLeaveAt) = ofLeave;
        }

        /// <summary>Notes the smallest step of the clock, in ticks.</summary>
        public static void SetClockStep(Header* header, double ticks)
        {
            *(double*)((byte*)header + HeaderLayout.ClockStepAt) = ticks;
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
            byte* at = (byte*)header + HeaderLayout.ControlAt + ControlLayout.NameAt;
            int length = *(int*)at;
            return Utf8.Text(at + 4, length < 0 || length > ControlLayout.MaxName ? 0 : length);
        }

        /// <summary>Notes that tracking pauses from now on; beyond the number of pauses that there is room for, only their sum is kept.</summary>
        public static void BeginPause(Header* header, long now)
        {
            // Others can write to the file: a count is used when it is one.
            long count = header->Pauses;
            if (count >= 0 && count < HeaderLayout.MaxPauses)
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
            if (count > 0 && count <= HeaderLayout.MaxPauses && pair[1] == 0)
            {
                pair[1] = now;
            }
        }
    }
}
