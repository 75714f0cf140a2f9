using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// Async methods of all kinds, and an iterator. Lines `METHOD calls latency steps own total`, in nanoseconds: from start to
/// completion; in its steps, with what they called; in it alone; and in it and all that it called, whenever that ran.
/// Lines `of.METHOD nanoseconds ...` have the latencies of single calls; `iterator.METHOD` says how often it was asked for an item,
/// the time in it, and how often it was called.
/// </summary>
static class Program
{
    public static void Run(string[] arguments)
    {
        VirtualClock.RunAsync(All);
        // Not by a step: it is left before its end once.
        Iterate();
    }

    static async Task All()
    {
        await Handler();
        await Concurrent();
        await Parallel();
        await Swallow(Cancelled());
        await Swallow(Faulted());
        TaskCompletionSource<int> done = new TaskCompletionSource<int>();
        Void(done);
        await done.Task;
        await VirtualClock.Delay(1);
        await Synchronous();
        await Many();
#if !RUNTIME_ASYNC
        // The runtime calls awaiters when the step has ended.
        await Awaits();
#endif
        Never(new TaskCompletionSource<int>().Task);
        Task unseen;
        using (ExecutionContext.SuppressFlow())
        {
            unseen = Unseen();
        }
        await unseen;
    }

    /// <summary>Times are in milliseconds.</summary>
    static void Done(string method, long start, int steps, int own, int total)
    {
        long latency = VirtualClock.Now - start;
        Records.Append("of." + method, latency);
        const long Ms = VirtualClock.Millisecond;
        Records.Add(method, 1, latency, steps * Ms, own * Ms, total * Ms);
    }

    /// <summary>A method that the runtime suspends would go on in the thread pool, beside this thread.</summary>
#if RUNTIME_ASYNC
    static Task Anywhere(Task task)
    {
        return task;
    }
#else
    static ConfiguredTaskAwaitable Anywhere(Task task)
    {
        return task.ConfigureAwait(false);
    }
#endif

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
        long start = VirtualClock.Now;
        Cpu(2);
        await Anywhere(VirtualClock.Delay(100));
        Cpu(3);
        Done("Program::Db", start, 5, 0, 5);
    }

    /// <summary>Computing is running, waiting for others is not; what a callee does later is in no step of its caller.</summary>
    static async Task Handler()
    {
        long start = VirtualClock.Now;
        await Db();
        VirtualClock.Advance(30 * VirtualClock.Millisecond);
        Done("Program::Handler", start, 2 + 30, 30, 5 + 30);
    }

    static async Task Other()
    {
        long start = VirtualClock.Now;
        await Db();
        Cpu(10);
        await Db();
        Done("Program::Other", start, 2 + 10 + 2, 0, 5 + 10 + 5);
    }

    static async Task Concurrent()
    {
        long start = VirtualClock.Now;
        await Task.WhenAll(Other(), Other());
        Done("Program::Concurrent", start, 2 * 2, 0, 2 * 20);
    }

    static async Task Parallel()
    {
        long start = VirtualClock.Now;
        await VirtualClock.RunElsewhere(InTask);
        Done("Program::Parallel", start, 0, 0, 40);
    }

    static async Task InTask()
    {
        long start = VirtualClock.Now;
        Cpu(20);
        await VirtualClock.Delay(50);
        Cpu(20);
        Done("Program::InTask", start, 40, 0, 40);
    }

    static async Task Cancelled()
    {
        long start = VirtualClock.Now;
        using (CancellationTokenSource source = new CancellationTokenSource())
        {
            VirtualClock.After(80, source.Cancel);
            try
            {
                await VirtualClock.Delay(10000, source.Token);
            }
            finally
            {
                Done("Program::Cancelled", start, 0, 0, 0);
            }
        }
    }

    static async Task Faulted()
    {
        long start = VirtualClock.Now;
        await VirtualClock.Delay(60);
        VirtualClock.Advance(VirtualClock.Millisecond);
        Done("Program::Faulted", start, 1, 1, 1);
        throw new InvalidOperationException("as meant");
    }

    /// <summary>A method that waits for it goes on inside of its last step, and is no part of it.</summary>
    static async void Void(TaskCompletionSource<int> done)
    {
        long start = VirtualClock.Now;
        await VirtualClock.Delay(70);
        Cpu(4);
        done.SetResult(1);
        Cpu(5);
        Done("Program::Void", start, 9, 0, 9);
    }

    static async Task<int> Synchronous()
    {
        long start = VirtualClock.Now;
        for (int i = 0; i < 100; i++)
        {
            await Nothing(i);
        }
        Done("Program::Synchronous", start, 100, 0, 100);
        return 0;
    }

    static async Task<int> Nothing(int value)
    {
        long start = VirtualClock.Now;
        VirtualClock.Advance(VirtualClock.Millisecond);
        await Task.CompletedTask;
        Done("Program::Nothing", start, 1, 1, 1);
        return value + 1;
    }

    static async Task Many()
    {
        long start = VirtualClock.Now;
        List<Task> tasks = new List<Task>();
        for (int i = 0; i < 50; i++)
        {
            tasks.Add(One(i));
        }
        await Task.WhenAll(tasks);
        Done("Program::Many", start, 0, 0, 50 * 2);
    }

    static async Task One(int number)
    {
        long start = VirtualClock.Now;
        await VirtualClock.Delay(40 + number * 7 % 50);
        VirtualClock.Advance(VirtualClock.Millisecond);
        await Task.Yield();
        VirtualClock.Advance(VirtualClock.Millisecond);
        Done("Program::One", start, 2, 2, 2);
    }

    static async Task Awaits()
    {
        long start = VirtualClock.Now;
        await new Awaiter(true);
        Cpu(10);
        await new Awaiter(true);
        Cpu(10);
        await new Awaiter(false);
        Cpu(10);
        // The last step goes on inside of the awaiter that the step before has called, and is in the time of that one too.
        Done("Program::Awaits", start, 3 * 5 + 3 * 10 + 10, 0, 3 * 5 + 3 * 10);
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
                VirtualClock.Elsewhere(continuation);
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

    static async void Never(Task never)
    {
        VirtualClock.Advance(VirtualClock.Millisecond);
        await never;
    }

    static async Task Unseen()
    {
        await Anywhere(VirtualClock.Delay(30));
        Cpu(10);
        await Anywhere(VirtualClock.Delay(30));
    }

    static void Cpu(int milliseconds)
    {
        VirtualClock.Advance(milliseconds * VirtualClock.Millisecond);
    }

    static void Iterate()
    {
        for (int turn = 0; turn < 4; turn++)
        {
            foreach (int item in Numbers(5))
            {
                Cpu(6);
                if (turn == 3 && item == 2)
                {
                    break;
                }
            }
        }
        Records.Add("iterator.Program::Numbers", 3 * (5 + 1) + 3, (3 * 5 + 3) * 4 * VirtualClock.Millisecond, 4);
    }

    static IEnumerable<int> Numbers(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Cpu(4);
            yield return i;
        }
    }
}
