using System;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;

/// <summary>
/// Two workers, one of which spends most of its time in Hot; the first thread waits for both. Lines `NAME nanoseconds` are time
/// by the clock, as the profile has it: what other processes take of it is in both. `Cpu` is CPU time of the workers.
/// </summary>
static class Waits
{
    const int ThreadCpu = 3;
    static long hot;
    static long all;
    static long cpu;
    static int sink;
    static readonly object gate = new object();

    static void Main()
    {
        long start = Stopwatch.GetTimestamp();
        Thread first = new Thread(First);
        Thread second = new Thread(Second);
        first.Start();
        second.Start();
        long started = Stopwatch.GetTimestamp();
        first.Join();
        second.Join();
        long joined = Stopwatch.GetTimestamp();
        Locked();
        long slept = Stopwatch.GetTimestamp();
        Say("Main", started - start);
        Say("Joined", joined - started);
        Say("Slept", slept - joined);
        Say("Hot", hot);
        Say("All", all);
        Console.WriteLine("Cpu " + cpu);
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static void Say(string name, long ticks)
    {
        Console.WriteLine(name + " " + (long)(ticks * 1e9 / Stopwatch.Frequency));
    }

    static void First()
    {
        long before = Cpu();
        long start = Stopwatch.GetTimestamp();
        for (int i = 0; i < 70; i++)
        {
            long called = Stopwatch.GetTimestamp();
            sink ^= Hot(i);
            hot += Stopwatch.GetTimestamp() - called;
            if (i % 7 < 3)
            {
                sink ^= Rest(i);
            }
        }
        Interlocked.Add(ref all, Stopwatch.GetTimestamp() - start);
        Interlocked.Add(ref cpu, Cpu() - before);
    }

    static void Second()
    {
        long before = Cpu();
        long start = Stopwatch.GetTimestamp();
        for (int i = 0; i < 100; i++)
        {
            sink ^= Rest(i);
        }
        Interlocked.Add(ref all, Stopwatch.GetTimestamp() - start);
        Interlocked.Add(ref cpu, Cpu() - before);
    }

    static int Hot(int seed)
    {
        int value = seed;
        for (int i = 0; i < 3000000; i++)
        {
            value = value * 31 + (value >> 3);
        }
        return value;
    }

    static int Rest(int seed)
    {
        int value = seed;
        for (int i = 0; i < 3000000; i++)
        {
            value = value * 31 + (value >> 3);
        }
        return value;
    }

    static void Locked()
    {
        lock (gate)
        {
            Thread.Sleep(150);
        }
    }

    static long Cpu()
    {
        long[] time = new long[2];
        clock_gettime(ThreadCpu, time);
        return time[0] * 1000000000 + time[1];
    }

    [DllImport("libc")]
    static extern int clock_gettime(int clock, [Out] long[] time);
}
