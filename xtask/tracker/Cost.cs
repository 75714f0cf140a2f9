using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// The cost of calls, woven or not. Prints `NAME figure figure ...`: a figure for each turn, in ns of the threads' CPU time a call.
/// Arguments: how many threads, and of what. What is measured is woven, the loops around are not short.
/// </summary>
static class Cost
{
    const int Turns = 7;
    const int ThreadCpu = 3;
    static int sink;
    static int counter;

    static void Main(string[] arguments)
    {
        int threads = int.Parse(arguments[0]);
        switch (arguments[1])
        {
            case "calls":
                Measure("empty", threads, 400000, Empties);
                Measure("fib", threads, 12 * 57313, Fibs);
                break;
            case "async":
                Measure("synchronous", threads, 20000, Synchronous);
                Measure("suspended", threads, 20000, Suspended);
                Measure("ten awaits", threads, 5000, TenAwaits);
                break;
            case "depth":
                Depth();
                break;
            case "peers":
                Measure("clock twice", threads, 400000, Clocks);
                Measure("Interlocked counter", threads, 2000000, Interlockeds);
                Measure("MethodTimer's shape", threads, 400000, Timers);
#if ACTIVITIES
                Measure("unlistened ActivitySource", threads, 400000, Activities);
#endif
                break;
        }
    }

    /// <summary>Threads do the same at once, through the JIT's tiers first.</summary>
    static void Measure(string name, int threads, int calls, Action<int> work)
    {
        for (int i = 0; i < 4; i++)
        {
            work(calls / 4);
            Thread.Sleep(150);
        }
        string figures = name.Replace(' ', '_');
        for (int turn = 0; turn < Turns; turn++)
        {
            long[] took = new long[threads];
            Thread[] workers = new Thread[threads];
            using (Barrier barrier = new Barrier(threads))
            {
                for (int i = 0; i < threads; i++)
                {
                    int number = i;
                    workers[i] = new Thread(() =>
                    {
                        work(calls / 10);
                        barrier.SignalAndWait();
                        long start = Now();
                        work(calls);
                        took[number] = Now() - start;
                    });
                    workers[i].Start();
                }
                foreach (Thread worker in workers)
                {
                    worker.Join();
                }
            }
            long sum = 0;
            foreach (long time in took)
            {
                sum += time;
            }
            figures += " " + ((double)sum / threads / calls).ToString("R");
        }
        Console.WriteLine(figures);
    }

    static void Empties(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Empty();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Empty()
    {
    }

    /// <summary>fib(22) is 57,313 calls.</summary>
    static void Fibs(int calls)
    {
        for (int i = 0; i < calls / 57313; i++)
        {
            sink ^= Fib(22);
        }
        // The rest of the calls that were asked for.
        for (int i = calls / 57313 * 57313; i < calls; i++)
        {
            sink ^= Fib(1);
        }
    }

    static int Fib(int n)
    {
        return n < 2 ? n : Fib(n - 1) + Fib(n - 2);
    }

    static void Clocks(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            sink ^= (int)(Stopwatch.GetTimestamp() - Stopwatch.GetTimestamp());
        }
    }

    static void Interlockeds(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Counted();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Counted()
    {
        Interlocked.Increment(ref counter);
    }

    static void Timers(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Timed();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Timed()
    {
        Stopwatch watch = Stopwatch.StartNew();
        try
        {
            sink++;
        }
        finally
        {
            watch.Stop();
            Log("Cost.Timed", watch.ElapsedMilliseconds);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Log(string method, long milliseconds)
    {
    }

#if ACTIVITIES
    static readonly ActivitySource source = new ActivitySource("Cost");

    static void Activities(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            WithActivity();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WithActivity()
    {
        using (source.StartActivity("Cost.WithActivity"))
        {
            sink++;
        }
    }
#endif

    static void Synchronous(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            sink ^= Complete(i).Result;
        }
    }

    static async Task<int> Complete(int value)
    {
        await Task.CompletedTask;
        return value;
    }

    static void Suspended(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Task task = Suspend();
            Pump.Run();
            sink ^= task.IsCompleted ? 0 : 1;
        }
    }

    static async Task Suspend()
    {
        await default(Pump);
    }

    static void TenAwaits(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Task task = SuspendTenTimes();
            Pump.Run();
            sink ^= task.IsCompleted ? 0 : 1;
        }
    }

    static async Task SuspendTenTimes()
    {
        for (int i = 0; i < 10; i++)
        {
            await default(Pump);
        }
    }

    /// <summary>Always to be waited for; what comes next runs when the same thread asks for it.</summary>
    struct Pump : ICriticalNotifyCompletion
    {
        [ThreadStatic]
        static Queue<Action> queue;

        public Pump GetAwaiter()
        {
            return this;
        }

        public bool IsCompleted
        {
            get { return false; }
        }

        public void GetResult()
        {
        }

        public void OnCompleted(Action continuation)
        {
            UnsafeOnCompleted(continuation);
        }

        public void UnsafeOnCompleted(Action continuation)
        {
            (queue ?? (queue = new Queue<Action>())).Enqueue(continuation);
        }

        public static void Run()
        {
            while (queue.Count > 0)
            {
                queue.Dequeue()();
            }
        }
    }

    /// <summary>Bytes of stack that a call takes.</summary>
    static unsafe void Depth()
    {
        string figures = "bytes";
        for (int i = 0; i < 200; i++)
        {
            Descend(100, 1, 2);
        }
        Thread.Sleep(400);
        for (int turn = 0; turn < Turns; turn++)
        {
            byte here;
            figures += " " + ((double)((long)&here - Descend(1000, turn, 2)) / 1000).ToString("R");
        }
        Console.WriteLine(figures);
    }

    /// <summary>The address of the deepest call's local.</summary>
    static unsafe long Descend(int depth, int one, int other)
    {
        byte here;
        if (depth == 0)
        {
            return (long)&here;
        }
        long deepest = Descend(depth - 1, other, one + other);
        sink ^= one;
        return deepest;
    }

    static unsafe long Now()
    {
        long* time = stackalloc long[2];
        clock_gettime(ThreadCpu, time);
        return time[0] * 1000000000 + time[1];
    }

    [DllImport("libc")]
    static extern unsafe int clock_gettime(int clock, long* time);
}
