using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>The clock that times calls: the stopwatch, unless the settings name another one.</summary>
    internal static class Clock
    {
        public delegate long Reader();

        /// <summary>A <see cref="ClockKind"/>.</summary>
        public static int Kind;

        /// <summary>Reads the clock; null if it is the stopwatch.</summary>
        public static Reader Read;

        private static long frequency;

        /// <summary>Ticks of <see cref="Now"/> in a second.</summary>
        public static long Frequency
        {
            get { return Read != null ? frequency : Stopwatch.Frequency; }
        }

        /// <summary>Takes another clock than the stopwatch, or measures its frequency anew.</summary>
        public static void Use(int kind, Reader reader, long ticksPerSecond)
        {
            frequency = ticksPerSecond;
            Kind = kind;
            Read = reader;
        }

        [MethodImpl((MethodImplOptions)256)]
        public static long Now()
        {
            return Read != null ? Read() : OfStopwatch();
        }

        /// <summary>Apart, as <see cref="Probes"/> says.</summary>
        [MethodImpl((MethodImplOptions)512 | MethodImplOptions.NoInlining)]
        public static long OfStopwatch()
        {
            return Stopwatch.GetTimestamp();
        }
    }
}
