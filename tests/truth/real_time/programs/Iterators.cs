using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading.Tasks;

/// <summary>
/// An iterator and an async iterator, which are asked for each item, and once to find that there are no more; who asks works too.
/// Lines `NAME calls microseconds` say how often each was asked, and how long its own work took, as it saw it itself.
/// </summary>
static class Iterators
{
    static long inNumbers;
    static long inLater;

    static async Task Main()
    {
        int sum = 0;
        for (int turn = 0; turn < 3; turn++)
        {
            foreach (int item in Numbers(5))
            {
                sum += item;
                Work(6);
            }
        }
        for (int turn = 0; turn < 2; turn++)
        {
            await foreach (int item in Later(4))
            {
                sum += item;
                Work(6);
            }
        }
        // One that is left before its end is not asked again.
        foreach (int item in Numbers(5))
        {
            sum += item;
            if (item == 2)
            {
                break;
            }
        }
        Say("Numbers", 3 * (5 + 1) + 3, inNumbers);
        Say("Later", 2 * (4 + 1), inLater);
        Console.Error.Write(sum == 1 ? " " : "");
    }

    static void Say(string name, int calls, long ticks)
    {
        Console.WriteLine(name + " " + calls + " " + (long)(ticks * 1e6 / Stopwatch.Frequency));
    }

    static IEnumerable<int> Numbers(int count)
    {
        for (int i = 0; i < count; i++)
        {
            inNumbers += Work(4);
            yield return i;
        }
    }

    static async IAsyncEnumerable<int> Later(int count)
    {
        for (int i = 0; i < count; i++)
        {
            inLater += Work(4);
            await Task.Delay(15).ConfigureAwait(false);
            inLater += Work(4);
            yield return i;
        }
    }

    /// <summary>Works for so many milliseconds.</summary>
    /// <returns>How long that took.</returns>
    static long Work(int milliseconds)
    {
        long start = Stopwatch.GetTimestamp();
        long took;
        do
        {
            took = Stopwatch.GetTimestamp() - start;
        }
        while (took < milliseconds * Stopwatch.Frequency / 1000);
        return took;
    }
}
