// Calls the tracker as woven code does, with ids of its own. What it does, its argument says.
using System;
using System.Diagnostics;
using System.Threading;
using Ilinst;

static class Program
{
    const long Key = 0x1234567890L << 24;

    static void Main(string[] arguments)
    {
        long began = Stopwatch.GetTimestamp();
        long paused = 0;
        IntPtr token = ProfileInfoTracker.WhenEntering(Key | 1);
        switch (arguments[0])
        {
            case "fan":
                for (int round = 0; round < 3; round++)
                {
                    for (int callee = 0; callee < 100000; callee++)
                    {
                        Call(1000 + callee);
                    }
                }
                break;
            case "fibonacci":
                Fibonacci(15);
                Spin(20);
                break;
            case "short":
                // Until its input ends, and once more.
                bool isOver = false;
                Thread reader = new Thread(delegate() { Console.In.ReadToEnd(); Volatile.Write(ref isOver, true); });
                reader.Start();
                bool wasOver;
                do
                {
                    wasOver = Volatile.Read(ref isOver);
                    for (int i = 0; i < 1000; i++)
                    {
                        Call(2);
                    }
                }
                while (!wasOver);
                break;
            case "paused":
                Spin(20);
                Profile.Pause();
                paused = Stopwatch.GetTimestamp();
                Spin(50);
                Call(4);
                paused = Stopwatch.GetTimestamp() - paused;
                Profile.Resume();
                Call(5);
                break;
            case "overflow":
                // Each calls all: far more paths than nodes, and calls within calls beyond the limit.
                Nest(7);
                break;
        }
        ProfileInfoTracker.WhenLeaving(token);
        if (paused > 0)
        {
            Console.WriteLine(Milliseconds(Stopwatch.GetTimestamp() - began) + " " + Milliseconds(paused));
        }
        Console.WriteLine("done");
    }

    static string Milliseconds(long ticks)
    {
        return (ticks * 1e3 / Stopwatch.Frequency).ToString("R", System.Globalization.CultureInfo.InvariantCulture);
    }

    static void Call(long method)
    {
        ProfileInfoTracker.WhenLeaving(ProfileInfoTracker.WhenEntering(Key + method));
    }

    static int Fibonacci(int number)
    {
        IntPtr token = ProfileInfoTracker.WhenEntering(Key | 2);
        try
        {
            return number < 2 ? number : Fibonacci(number - 1) + Fibonacci(number - 2);
        }
        finally
        {
            ProfileInfoTracker.WhenLeaving(token);
        }
    }

    static void Spin(int milliseconds)
    {
        IntPtr token = ProfileInfoTracker.WhenEntering(Key | 3);
        for (Stopwatch watch = Stopwatch.StartNew(); watch.ElapsedMilliseconds < milliseconds;)
        {
        }
        ProfileInfoTracker.WhenLeaving(token);
    }

    static void Nest(int depth)
    {
        for (int method = 10; method < 14 && depth > 0; method++)
        {
            IntPtr token = ProfileInfoTracker.WhenEntering(Key + method);
            Nest(depth - 1);
            ProfileInfoTracker.WhenLeaving(token);
        }
    }
}
