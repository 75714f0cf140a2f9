using System;
using System.Runtime.InteropServices;
using System.Threading;

/// <summary>
/// Two workers, one of which spends most of its time in Hot; the first thread waits for both. Lines `NAME nanoseconds` are CPU
/// time by the system's clock of threads.
/// </summary>
static class Waits
{
    const int ThreadCpu = 3;
    static long hot;
    static long all;
    static int sink;
    static readonly object gate = new object();

    static void Main()
    {
        DateTime start = DateTime.UtcNow;
        Thread first = new Thread(First);
        Thread second = new Thread(Second);
        first.Start();
        second.Start();
        first.Join();
        second.Join();
        Console.WriteLine("Joined " + (long)(DateTime.UtcNow - start).TotalMilliseconds * 1000000);
        start = DateTime.UtcNow;
        Locked();
        Console.WriteLine("Slept " + (long)(DateTime.UtcNow - start).TotalMilliseconds * 1000000);
        Console.WriteLine("Hot " + hot);
        Console.WriteLine("All " + all);
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static void First()
    {
        long start = Cpu();
        for (int i = 0; i < 70; i++)
        {
            long before = Cpu();
            sink ^= Hot(i);
            hot += Cpu() - before;
            if (i % 7 < 3)
            {
                sink ^= Rest(i);
            }
        }
        Interlocked.Add(ref all, Cpu() - start);
    }

    static void Second()
    {
        long start = Cpu();
        for (int i = 0; i < 100; i++)
        {
            sink ^= Rest(i);
        }
        Interlocked.Add(ref all, Cpu() - start);
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
