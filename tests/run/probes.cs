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
                Spin(150);
                break;
            case "short":
                // In a second and more the tracker has looked whether any is called too often.
                for (Stopwatch watch = Stopwatch.StartNew(); watch.ElapsedMilliseconds < 2500;)
                {
                    for (int i = 0; i < 1000; i++)
                    {
                        Call(2);
                    }
                }
                Spin(20);
                break;
            case "paused":
                Spin(50);
                Profile.Pause();
                Spin(300);
                Call(4);
                Profile.Resume();
                Call(5);
                break;
            case "overflow":
                // Each calls all: far more paths than nodes, and calls within calls beyond the limit.
                Nest(7);
                break;
        }
        ProfileInfoTracker.WhenLeaving(token);
        Console.WriteLine("done");
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
