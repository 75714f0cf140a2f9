using System;
using System.Threading.Tasks;
using Ilinst;

/// <summary>
/// Calls of known lengths, from 50 ns to seconds, in two phases. Lines `PHASE.METHOD nanoseconds ...` are of each call in order.
/// First calls are before the phases: `first.METHOD`.
/// </summary>
static class Program
{
    static uint state = 4711;

    public static void Run(string[] arguments)
    {
        Phase("first", 0, 1, 1);
        Once();
        Profile.Mark("short");
        Phase("short", 700, 50, 5000000);
        Profile.Mark("long");
        Phase("long", 300, 20000, 3000000000);
        Profile.Mark("rest");
    }

    /// <summary>A quarter of the calls by another path.</summary>
    static void Phase(string name, int calls, long least, long most)
    {
        if (name == "first")
        {
            Work("first", 80 * VirtualClock.Millisecond);
            Other(5 * VirtualClock.Millisecond);
            Ask("first", 30);
        }
        for (int i = 0; i < calls; i++)
        {
            long length = Random(least, most);
            if (i % 4 == 3)
            {
                Records.Append(name + ".Work", length);
                Other(length);
            }
            else
            {
                Work(name, length);
            }
        }
        for (int i = 0; i < calls / 10; i++)
        {
            int length = (int)(Random(least, most) / 1000000) + i % 3;
            Ask(name, length);
        }
    }

    static void Ask(string phase, int milliseconds)
    {
        VirtualClock.RunAsync(() => Request(phase, milliseconds));
    }

    /// <summary>As many of each length, whatever its magnitude.</summary>
    static long Random(long least, long most)
    {
        double times = (double)most / least;
        state = state * 1664525 + 1013904223;
        return (long)(least * Math.Pow(times, (state >> 8) / 16777216.0));
    }

    static void Work(string phase, long length)
    {
        Records.Append(phase + ".Work", length);
        Spend(length);
    }

    /// <summary>Its first call of Spend is the first by its path, and not the longest of the first ones.</summary>
    static void Other(long length)
    {
        Spend(length);
    }

    static void Spend(long length)
    {
        VirtualClock.Advance(length);
    }

    static void Once()
    {
        VirtualClock.Advance(123456789);
    }

    static async Task Request(string phase, int milliseconds)
    {
        long start = VirtualClock.Now;
        VirtualClock.Advance(2 * VirtualClock.Millisecond);
        await VirtualClock.Delay(milliseconds);
        VirtualClock.Advance(VirtualClock.Millisecond);
        Records.Append(phase + ".Request", VirtualClock.Now - start);
    }
}
