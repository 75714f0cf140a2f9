using System;
using System.Diagnostics;
using System.Threading.Tasks;

/// <summary>
/// Known work without threads: `NAME calls nanoseconds` says how often a method was called, and how long its calls took together
/// by the program's own stopwatch, which is read twice for many of them.
/// </summary>
static class Page
{
    const int Stretches = 40;
    static int sink;

    static async Task<int> Main()
    {
        long[] ticks = new long[3];
        for (int i = 0; i < Stretches; i++)
        {
            long start = Stopwatch.GetTimestamp();
            Repeat(2, 1000000, true);
            long first = Stopwatch.GetTimestamp();
            Repeat(20, 50000, false);
            long second = Stopwatch.GetTimestamp();
            await Task.Delay(1);
            ticks[0] += first - start;
            ticks[1] += second - first;
        }
        Console.WriteLine("Page::Heavy " + 2 * Stretches + " " + Nanoseconds(ticks[0]));
        Console.WriteLine("Page::Light " + 20 * Stretches + " " + Nanoseconds(ticks[1]));
        return sink == 1 ? 1 : 5;
    }

    static long Nanoseconds(long ticks)
    {
        return (long)(ticks * (1e9 / Stopwatch.Frequency));
    }

    static void Repeat(int times, int steps, bool isHeavy)
    {
        for (int i = 0; i < times; i++)
        {
            sink ^= isHeavy ? Heavy(steps) : Light(steps);
        }
    }

    static int Heavy(int steps)
    {
        int value = steps;
        for (int i = 0; i < steps; i++)
        {
            value = value * 31 + (value >> 3);
        }
        return value;
    }

    static int Light(int steps)
    {
        int value = steps;
        for (int i = 0; i < steps; i++)
        {
            value = value * 31 + (value >> 3);
        }
        return value;
    }
}
