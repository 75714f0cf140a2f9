using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// A method and an async method that take known times, which are others in each of two phases. Lines `PHASE.NAME count min p50
/// p95 p99 max`, in microseconds, are of the calls as who calls them sees it; the first calls are before the phases.
/// </summary>
static class Latencies
{
    static readonly List<double> all = new List<double>();
    static readonly List<double> allRequests = new List<double>();

    static void Main()
    {
        Phase("first", 1, 30, 30);
        Ilinst.Profile.Mark("short");
        Phase("short", 20, 1, 10);
        Ilinst.Profile.Mark("long");
        Phase("long", 20, 8, 40);
        Ilinst.Profile.Mark("rest");
        Say("all.Work", all);
        Say("all.Request", allRequests);
    }

    static void Phase(string name, int calls, int work, int wait)
    {
        List<double> works = new List<double>();
        List<double> requests = new List<double>();
        for (int i = 0; i < calls; i++)
        {
            // One in ten takes three times as long.
            int times = i % 10 == 9 ? 3 : 1;
            long start = Stopwatch.GetTimestamp();
            Work(work * times);
            works.Add(Since(start));
            // Seen by the thread that completes it: this one may be woken late.
            start = Stopwatch.GetTimestamp();
            Task<double> seen = Request(wait * times).ContinueWith(
                task => Since(start), TaskContinuationOptions.ExecuteSynchronously);
            requests.Add(seen.Result);
        }
        if (calls == 1)
        {
            return;
        }
        Say(name + ".Work", works);
        Say(name + ".Request", requests);
        all.AddRange(works);
        allRequests.AddRange(requests);
    }

    static double Since(long start)
    {
        return (Stopwatch.GetTimestamp() - start) * 1e6 / Stopwatch.Frequency;
    }

    static void Say(string name, List<double> times)
    {
        times.Sort();
        string line = name + " " + times.Count + " " + (long)times[0];
        foreach (int percent in new int[] { 50, 95, 99, 100 })
        {
            line += " " + (long)times[(times.Count * percent + 99) / 100 - 1];
        }
        Console.WriteLine(line);
    }

    static void Work(int milliseconds)
    {
        Spin(milliseconds);
    }

    static void Spin(int milliseconds)
    {
        long end = Stopwatch.GetTimestamp() + milliseconds * Stopwatch.Frequency / 1000;
        while (Stopwatch.GetTimestamp() < end)
        {
        }
    }

    /// <summary>A part of it is work, on whatever thread.</summary>
    static async Task Request(int milliseconds)
    {
        await Task.Delay(milliseconds).ConfigureAwait(false);
        Spin(1);
    }
}
