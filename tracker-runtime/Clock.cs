using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>What calls are timed by.</summary>
    internal static class Clock
    {
        /// <summary>Ticks of <see cref="Now"/> in a second.</summary>
        public static long Frequency
        {
            get { return TimeStampCounter.Read != null ? TimeStampCounter.Frequency : Stopwatch.Frequency; }
        }

        /// <summary>As in the header: 0 the stopwatch, 1 the processor's time stamp counter.</summary>
        public static int Kind
        {
            get { return TimeStampCounter.Read != null ? 1 : 0; }
        }

        [MethodImpl((MethodImplOptions)256)]
        public static long Now()
        {
            return TimeStampCounter.Read != null ? TimeStampCounter.Read() : OfStopwatch();
        }

        /// <summary>Apart, as <see cref="Probes"/> says.</summary>
        [MethodImpl((MethodImplOptions)512 | MethodImplOptions.NoInlining)]
        public static long OfStopwatch()
        {
            return Stopwatch.GetTimestamp();
        }
    }
}
