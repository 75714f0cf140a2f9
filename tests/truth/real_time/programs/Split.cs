using System;
using System.Diagnostics;

/// <summary>
/// Work in known parts, each in a stretch of its own, so that the clock is read twice for thousands of calls. Lines
/// `PART nanoseconds` say how long each took in a round that is longer than but a tenth of all: no other process had a part
/// in it. Of the program as it was written, that is the truth.
/// </summary>
static class Split
{
    const int Rounds = 3000;
    const int Times = 10;
    static int sink;

    static void Main(string[] arguments)
    {
        bool isShort = arguments.Length > 0 && arguments[0] == "tiny";
        // Through the JIT's tiers.
        for (int i = 0; i < 5; i++)
        {
            Round(isShort, Times);
        }
        System.Threading.Thread.Sleep(300);
        long[][] parts = { new long[Rounds], new long[Rounds], new long[Rounds] };
        for (int i = 0; i < Rounds; i++)
        {
            long[] round = Round(isShort, Times);
            for (int part = 0; part < parts.Length; part++)
            {
                parts[part][i] = round[part];
            }
        }
        string[] names = isShort ? new[] { "Heavy", "Light", "" } : new[] { "Real", "Accessors", "Fib" };
        for (int part = 0; part < parts.Length; part++)
        {
            if (names[part].Length > 0)
            {
                Array.Sort(parts[part]);
                Console.WriteLine(names[part] + " " + (long)(parts[part][Rounds / 10] * 1e9 / Stopwatch.Frequency));
            }
        }
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static long[] Round(bool isShort, int times)
    {
        long[] parts = new long[3];
        long start = Stopwatch.GetTimestamp();
        if (isShort)
        {
            HeavyStretch(times * 10);
            long middle = Stopwatch.GetTimestamp();
            LightStretch(times * 10);
            parts[0] = middle - start;
            parts[1] = Stopwatch.GetTimestamp() - middle;
            return parts;
        }
        RealStretch(times);
        long first = Stopwatch.GetTimestamp();
        Accessors(times);
        long second = Stopwatch.GetTimestamp();
        FibStretch(times);
        parts[0] = first - start;
        parts[1] = second - first;
        parts[2] = Stopwatch.GetTimestamp() - second;
        return parts;
    }

    static void HeavyStretch(int times)
    {
        for (int i = 0; i < times; i++)
        {
            sink ^= Heavy(i);
        }
    }

    static int Heavy(int seed)
    {
        int value = seed;
        for (int i = 0; i < 600; i++)
        {
            value = value * 31 + (value >> 3);
        }
        return value;
    }

    static void LightStretch(int times)
    {
        for (int i = 0; i < times; i++)
        {
            sink ^= Light(i);
        }
    }

    /// <summary>
    /// Of so few rounds that a processor foresees the last: of fifty, Mono's took 58 ns or 105, by where its code was.
    /// </summary>
    static int Light(int seed)
    {
        int value = seed;
        for (int i = 0; i < 10; i++)
        {
            value = Tiny(Tiny(Tiny(Tiny(Tiny(value)))));
        }
        return value;
    }

    /// <summary>Too short to be woven by default.</summary>
    static int Tiny(int value)
    {
        return value * 31 + (value >> 3);
    }

    static void RealStretch(int times)
    {
        for (int i = 0; i < times; i++)
        {
            sink ^= Real(i);
        }
    }

    static int Real(int seed)
    {
        int value = seed;
        for (int i = 0; i < 24000; i++)
        {
            value = value * 31 + (value >> 3);
        }
        return value;
    }

    sealed class Point
    {
        int x;

        public int X
        {
            get { return x; }
            set { x = value; }
        }
    }

    static void Accessors(int times)
    {
        Point point = new Point();
        for (int i = 0; i < times * 600; i++)
        {
            point.X = point.X * 31 + i;
        }
        sink ^= point.X;
    }

    static void FibStretch(int times)
    {
        for (int i = 0; i < times; i++)
        {
            sink ^= Fib(12);
        }
    }

    static int Fib(int n)
    {
        return n < 2 ? n : Fib(n - 1) + Fib(n - 2);
    }
}
