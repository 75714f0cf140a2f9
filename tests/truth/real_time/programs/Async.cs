using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// Async methods of all kinds. Lines `NAME calls milliseconds` say how often each was called, and how long it took from its
/// start to its completion, all calls together.
/// </summary>
static class Async
{
    static readonly Dictionary<string, KeyValuePair<int, double>> record = new Dictionary<string, KeyValuePair<int, double>>();

    static async Task Main()
    {
        await Timed("Handler", Handler);
        await Timed("All", All);
        await Timed("Parallel", Parallel);
        await Timed("Cancelled", () => Swallow(Cancelled()));
        await Timed("Faulted", () => Swallow(Faulted()));
        await Timed("Void", () =>
        {
            TaskCompletionSource<int> done = new TaskCompletionSource<int>();
            Void(done);
            return done.Task;
        });
        await Timed("Synchronous", Synchronous);
        await Timed("Many", Many);
        await Timed("Awaits", Awaits);
        Task unseen;
        using (ExecutionContext.SuppressFlow())
        {
            unseen = Unseen();
        }
        await unseen;
        foreach (KeyValuePair<string, KeyValuePair<int, double>> entry in record)
        {
            Console.WriteLine(entry.Key + " " + entry.Value.Key + " " + (long)(entry.Value.Value * 1000));
        }
    }

    /// <summary>Measures what is to be measured by the weaver too, from outside.</summary>
    static async Task Timed(string name, Func<Task> call)
    {
        long start = Stopwatch.GetTimestamp();
        await call();
        Note(name, start);
    }

    static void Note(string name, long start)
    {
        double milliseconds = (Stopwatch.GetTimestamp() - start) * 1e3 / Stopwatch.Frequency;
        lock (record)
        {
            KeyValuePair<int, double> old;
            record.TryGetValue(name, out old);
            record[name] = new KeyValuePair<int, double>(old.Key + 1, old.Value + milliseconds);
        }
    }

    static async Task Swallow(Task task)
    {
        try
        {
            await task;
        }
        catch (Exception)
        {
        }
    }

    static async Task Db()
    {
        await Task.Delay(100).ConfigureAwait(false);
    }

    static async Task Handler()
    {
        await Db();
        Cpu(30);
    }

    static async Task Other()
    {
        await Db();
        Cpu(10);
        await Db();
    }

    static async Task All()
    {
        await Task.WhenAll(Other(), Other());
    }

    static async Task Parallel()
    {
        await Task.Run(() => InTask());
    }

    static async Task InTask()
    {
        Cpu(20);
        await Task.Delay(50);
        Cpu(20);
    }

    static async Task Cancelled()
    {
        using (CancellationTokenSource source = new CancellationTokenSource(80))
        {
            await Task.Delay(10000, source.Token);
        }
    }

    static async Task Faulted()
    {
        await Task.Delay(60);
        throw new InvalidOperationException("as meant");
    }

    static async void Void(TaskCompletionSource<int> done)
    {
        await Task.Delay(70);
        done.SetResult(1);
    }

    static async Task<int> Synchronous()
    {
        for (int i = 0; i < 100; i++)
        {
            await Nothing(i);
        }
        return 0;
    }

    static async Task<int> Nothing(int value)
    {
        await Task.CompletedTask;
        return value + 1;
    }

    static async Task Many()
    {
        List<Task> tasks = new List<Task>();
        for (int i = 0; i < 50; i++)
        {
            tasks.Add(One(i));
        }
        await Task.WhenAll(tasks);
    }

    static async Task One(int number)
    {
        await Task.Delay(40 + number % 5);
        await Task.Yield();
    }

    static async Task Awaits()
    {
        await new Awaiter(true);
        Cpu(10);
        await new Awaiter(true);
        Cpu(10);
        await new Awaiter(false);
        Cpu(10);
    }

    /// <summary>One of the program's own: what is to go on it gives to another thread, or does it at once.</summary>
    sealed class Awaiter : INotifyCompletion
    {
        readonly bool isElsewhere;

        public Awaiter(bool isElsewhere)
        {
            this.isElsewhere = isElsewhere;
        }

        public bool IsCompleted
        {
            get { return false; }
        }

        public Awaiter GetAwaiter()
        {
            return this;
        }

        public void OnCompleted(Action continuation)
        {
            Cpu(5);
            if (isElsewhere)
            {
                ThreadPool.QueueUserWorkItem(delegate { continuation(); });
            }
            else
            {
                continuation();
            }
        }

        public void GetResult()
        {
        }
    }

    static async Task Unseen()
    {
        await Task.Delay(30).ConfigureAwait(false);
        Cpu(10);
        await Task.Delay(30).ConfigureAwait(false);
    }

    /// <summary>Works for so many milliseconds.</summary>
    static int Cpu(int milliseconds)
    {
        long end = Stopwatch.GetTimestamp() + milliseconds * Stopwatch.Frequency / 1000;
        int value = milliseconds;
        while (Stopwatch.GetTimestamp() < end)
        {
            value = value * 31 + 7;
        }
        return value;
    }
}
