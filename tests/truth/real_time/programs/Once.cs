using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

/// <summary>
/// A method whose first call takes long, and others short. Lines are `NAME number`.
/// </summary>
static class Once
{
    const int Calls = 2000;
    static bool isReady;
    static int sink;

    static void Main()
    {
        long first = Timed(() => Use(1));
        long others = Timed(() =>
        {
            for (int i = 1; i < Calls; i++)
            {
                Use(i);
            }
        });
        Console.WriteLine("First " + first);
        Console.WriteLine("Others " + others / (Calls - 1));
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static long Timed(Action work)
    {
        long start = Stopwatch.GetTimestamp();
        work();
        return (long)((Stopwatch.GetTimestamp() - start) * 1e9 / Stopwatch.Frequency);
    }

    /// <summary>Makes itself ready when it is first used, as what reads tables or compiles expressions does.</summary>
    static void Use(int seed)
    {
        if (!isReady)
        {
            isReady = true;
            Spin(80);
        }
        int value = seed;
        for (int i = 0; i < 5000; i++)
        {
            value = value * 31 + (value >> 3);
        }
        sink ^= value;
    }

    static void Spin(int milliseconds)
    {
        long end = Stopwatch.GetTimestamp() + milliseconds * Stopwatch.Frequency / 1000;
        while (Stopwatch.GetTimestamp() < end)
        {
            sink++;
        }
    }
}
