namespace Ilinst
{
    /// <summary>When tracking was paused. The time of calls that were open meanwhile goes on without it.</summary>
    internal static class Pauses
    {
        private const int Kept = 64;
        /// <summary>Begins and ends of the last ones.</summary>
        private static readonly long[] begins = new long[Kept];
        private static readonly long[] ends = new long[Kept];
        private static int count;
        /// <summary>The end of the last one, or what is later than any call's start while one is on; 0 before the first.</summary>
        private static long last;

        public static void Begin(long now)
        {
            begins[count % Kept] = now;
            ends[count % Kept] = long.MaxValue;
            count++;
            last = long.MaxValue;
            Recording.Pause();
        }

        public static void End(long now)
        {
            ends[(count + Kept - 1) % Kept] = now;
            last = now;
            Recording.Resume(now);
        }

        /// <summary>The ticks between, without those of pauses; not negative.</summary>
        public static long Elapsed(long from, long to)
        {
            long ticks = to - from;
            if (from < last)
            {
                for (int i = 0; i < Kept && i < count; i++)
                {
                    long begin = begins[i] > from ? begins[i] : from;
                    long end = ends[i] < to ? ends[i] : to;
                    ticks -= end > begin ? end - begin : 0;
                }
            }
            return ticks > 0 ? ticks : 0;
        }
    }
}
