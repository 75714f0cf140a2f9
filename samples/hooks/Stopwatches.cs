// A hook that needs no allocation: what Enter returns, a struct, is kept in a local and given to Leave.
using System;
using System.Diagnostics;

namespace Samples
{
    public struct Started
    {
        public long Ticks;
        public string Name;
    }

    public static class Stopwatches
    {
        public static Started Enter(string fullName)
        {
            return new Started { Ticks = Stopwatch.GetTimestamp(), Name = fullName };
        }

        public static void Leave(Started started, object returnValue)
        {
            long ticks = Stopwatch.GetTimestamp() - started.Ticks;
            Console.Error.WriteLine("{0} took {1} us, returned {2}", started.Name, ticks * 1000000 / Stopwatch.Frequency, returnValue);
        }
    }
}
