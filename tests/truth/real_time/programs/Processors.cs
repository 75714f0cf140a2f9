using System;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;

/// <summary>
/// Threads that take as long by the clock, of which one computes, one sleeps, and one does both in turn. Lines `NAME nanoseconds`
/// are the CPU time of the thread of that name, by the system's clock.
/// </summary>
static class Processors
{
    const int ThreadCpu = 3;
    const int Turns = 40;
    static int sink;

    static void Main()
    {
        Thread[] threads = { new Thread(Computes), new Thread(Sleeps), new Thread(DoesBoth) };
        string[] names = { "Computes", "Sleeps", "DoesBoth" };
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i].Name = names[i];
            threads[i].Start();
        }
        foreach (Thread thread in threads)
        {
            thread.Join();
        }
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static void Computes()
    {
        for (int i = 0; i < Turns; i++)
        {
            Compute(10);
        }
        Say("Computes");
    }

    static void Sleeps()
    {
        for (int i = 0; i < Turns; i++)
        {
            Thread.Sleep(10);
        }
        Say("Sleeps");
    }

    static void DoesBoth()
    {
        for (int i = 0; i < Turns / 2; i++)
        {
            Compute(10);
            Thread.Sleep(10);
        }
        Say("DoesBoth");
    }

    static void Compute(int milliseconds)
    {
        long end = Stopwatch.GetTimestamp() + milliseconds * Stopwatch.Frequency / 1000;
        int value = milliseconds;
        while (Stopwatch.GetTimestamp() < end)
        {
            value = value * 31 + (value >> 3);
        }
        Interlocked.Add(ref sink, value & 2);
    }

    static void Say(string name)
    {
        long[] time = new long[2];
        clock_gettime(ThreadCpu, time);
        lock (typeof(Processors))
        {
            Console.WriteLine(name + " " + (time[0] * 1000000000 + time[1]));
        }
    }

    [DllImport("libc")]
    static extern int clock_gettime(int clock, [Out] long[] time);
}
