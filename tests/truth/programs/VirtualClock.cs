using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// The clock that the tracker reads in tests: time passes only when the program says so, and all of it is known. Compiled into
/// each program and not instrumented. It calls <c>Program.Run</c>.
/// </summary>
static class VirtualClock
{
    public const long Millisecond = 1000000;
    /// <summary>Only a broken tracker takes longer: the program ends then, and does not hang.</summary>
    const int LimitInSeconds = 600;

    /// <summary>In nanoseconds. A field, as a method that calls nothing may add to it.</summary>
    public static long Now = 1000 * Millisecond;

    static int Main(string[] arguments)
    {
        AppDomain.CurrentDomain.SetData("Ilinst.Clock", new Converter<object, long>(Read));
        Program.Run(arguments);
        Records.Print();
        return 0;
    }

    public static void Advance(long nanoseconds)
    {
        Interlocked.Add(ref Now, nanoseconds);
    }

    // Threads. Of a thread that waits, another has to know that it has begun to: that its probe has read the clock.

    sealed class Reads
    {
        public int Count;
        public long Advance;
    }

    [ThreadStatic]
    static Reads reads;

    static Reads OfThisThread()
    {
        return reads ?? (reads = new Reads());
    }

    static long Read(object unused)
    {
        Reads mine = OfThisThread();
        long now = Volatile.Read(ref Now);
        if (mine.Advance != 0)
        {
            Advance(mine.Advance);
            mine.Advance = 0;
        }
        Interlocked.Increment(ref mine.Count);
        return now;
    }

    /// <summary>The next call with a probe of the thread that asks for it.</summary>
    public sealed class Call
    {
        readonly Reads reads = OfThisThread();
        readonly int before;

        public Call()
        {
            before = reads.Count;
        }

        /// <summary>Whether its probe has read the clock.</summary>
        public bool HasBegun
        {
            get { return Volatile.Read(ref reads.Count) != before; }
        }
    }

    /// <summary>Waits until another thread has said which call of its comes next, and that has begun.</summary>
    public static void AwaitBegun(ref Call call)
    {
        DateTime limit = DateTime.UtcNow.AddSeconds(LimitInSeconds);
        while (Volatile.Read(ref call) == null)
        {
            Turn(limit);
        }
        while (!Volatile.Read(ref call).HasBegun)
        {
            Turn(limit);
        }
    }

    /// <summary>Waits until a thread waits for an event.</summary>
    public static void AwaitBlocked(Thread thread)
    {
        DateTime limit = DateTime.UtcNow.AddSeconds(LimitInSeconds);
        while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0)
        {
            Turn(limit);
        }
    }

    static void Turn(DateTime limit)
    {
        Thread.Sleep(0);
        if (DateTime.UtcNow > limit)
        {
            Console.Error.WriteLine("what was waited for did not happen");
            Environment.Exit(3);
        }
    }

    /// <summary>In the next call of this thread so much time passes.</summary>
    public static void AdvanceInNextCall(int milliseconds)
    {
        OfThisThread().Advance = milliseconds * Millisecond;
    }

    static Thread helper;

    /// <summary>When this thread is in its next call, another lets time pass, and then ends what the call waits for.</summary>
    public static void ReleaseNextCall(int milliseconds, Action release)
    {
        ReleaseNextCall(milliseconds, delegate { }, release);
    }

    /// <param name="before">The first action of the other thread, such as taking a lock.</param>
    public static void ReleaseNextCall(int milliseconds, Action before, Action release)
    {
        ManualResetEvent isReady = new ManualResetEvent(false);
        Call call = null;
        helper = new Thread(delegate()
        {
            before();
            isReady.Set();
            AwaitBegun(ref call);
            Advance(milliseconds * Millisecond);
            release();
        });
        helper.IsBackground = true;
        helper.Start();
        isReady.WaitOne();
        Volatile.Write(ref call, new Call());
    }

    /// <summary>The call was released: the other thread ends before more time passes.</summary>
    public static void AwaitReleased()
    {
        helper.Join();
    }

    // Async methods: one thread runs all of them in turn, and lets time pass to when the next timer is due. No two threads run
    // at the same time.

    sealed class Context : SynchronizationContext
    {
        public override void Post(SendOrPostCallback callback, object state)
        {
            // As those of user interfaces do.
            ExecutionContext flow = ExecutionContext.Capture();
            lock (posted)
            {
                posted.Enqueue(delegate { ExecutionContext.Run(flow, delegate { Run(callback, state); }, null); });
            }
        }

        /// <summary>With this context, which is in what flows on some runtimes, and not on others.</summary>
        void Run(SendOrPostCallback callback, object state)
        {
            SetSynchronizationContext(this);
            callback(state);
        }

        public override void Send(SendOrPostCallback callback, object state)
        {
            throw new NotSupportedException();
        }
    }

    public sealed class Timer
    {
        public long Due;
        public Action Action;
    }

    static readonly Queue<Action> posted = new Queue<Action>();
    static readonly Queue<Action> forOthers = new Queue<Action>();
    static readonly List<Timer> timers = new List<Timer>();

    /// <summary>Runs an async method to its end.</summary>
    public static void RunAsync(Func<Task> method)
    {
        Context context = new Context();
        SynchronizationContext.SetSynchronizationContext(context);
        Task task = method();
        DateTime limit = DateTime.UtcNow.AddSeconds(LimitInSeconds);
        while (!task.IsCompleted)
        {
            SynchronizationContext.SetSynchronizationContext(context);
            if (posted.Count > 0)
            {
                posted.Dequeue()();
                continue;
            }
            // Without a context what awaits in none goes on at once, and all else is posted.
            SynchronizationContext.SetSynchronizationContext(null);
            if (forOthers.Count > 0)
            {
                Thread other = new Thread(new ThreadStart(forOthers.Dequeue()));
                other.Start();
                other.Join();
                continue;
            }
            if (timers.Count == 0)
            {
                // A method that the runtime suspends without a context continues in the thread pool.
                Turn(limit);
                continue;
            }
            Timer next = timers[0];
            foreach (Timer timer in timers)
            {
                next = timer.Due < next.Due ? timer : next;
            }
            timers.Remove(next);
            Now = Math.Max(Now, next.Due);
            next.Action();
        }
        SynchronizationContext.SetSynchronizationContext(null);
        task.GetAwaiter().GetResult();
    }

    /// <summary>Does something in so many milliseconds.</summary>
    public static Timer After(int milliseconds, Action action)
    {
        Timer timer = new Timer { Due = Now + milliseconds * Millisecond, Action = action };
        timers.Add(timer);
        return timer;
    }

    public static Task Delay(int milliseconds)
    {
        return Delay(milliseconds, CancellationToken.None);
    }

    public static Task Delay(int milliseconds, CancellationToken token)
    {
        TaskCompletionSource<bool> source = new TaskCompletionSource<bool>();
        Timer timer = After(milliseconds, delegate { source.SetResult(true); });
        token.Register(delegate
        {
            timers.Remove(timer);
            source.SetCanceled();
        });
        return source.Task;
    }

    /// <summary>Another thread does something, with what flows here, when this one has nothing to do.</summary>
    public static void Elsewhere(Action action)
    {
        ExecutionContext flow = ExecutionContext.Capture();
        forOthers.Enqueue(delegate { ExecutionContext.Run(flow, delegate { action(); }, null); });
    }

    /// <summary>Another thread calls an async method.</summary>
    public static Task RunElsewhere(Func<Task> method)
    {
        TaskCompletionSource<bool> source = new TaskCompletionSource<bool>();
        Elsewhere(delegate
        {
            method().ContinueWith(delegate { source.SetResult(true); }, TaskContinuationOptions.ExecuteSynchronously);
        });
        return source.Task;
    }
}

/// <summary>Waits, each longer than those before, which note how long they are.</summary>
static class Waits
{
    static int milliseconds = 10;

    /// <summary>Another thread ends the wait that comes next.</summary>
    public static void Released(string member, Action release)
    {
        Held(member, delegate { }, release);
    }

    /// <summary>... which is for what that thread takes before.</summary>
    public static void Held(string member, Action take, Action release)
    {
        Note(member);
        VirtualClock.ReleaseNextCall(milliseconds, take, release);
    }

    /// <summary>So much time passes in the call that comes next.</summary>
    public static void Passed(string member)
    {
        Note(member);
        VirtualClock.AdvanceInNextCall(milliseconds);
    }

    static void Note(string member)
    {
        milliseconds++;
        Records.Add(member, 1, milliseconds * VirtualClock.Millisecond);
    }
}

/// <summary>The record that a program keeps of itself: lines `NAME number ...`.</summary>
static class Records
{
    static readonly SortedDictionary<string, List<long>> records = new SortedDictionary<string, List<long>>(StringComparer.Ordinal);

    static List<long> Of(string name, int length)
    {
        List<long> record;
        if (!records.TryGetValue(name, out record))
        {
            records[name] = record = new List<long>();
        }
        while (record.Count < length)
        {
            record.Add(0);
        }
        return record;
    }

    /// <summary>Adds to a record, number by number.</summary>
    public static void Add(string name, params long[] numbers)
    {
        lock (records)
        {
            List<long> record = Of(name, numbers.Length);
            for (int i = 0; i < numbers.Length; i++)
            {
                record[i] += numbers[i];
            }
        }
    }

    /// <summary>Notes one more number behind those of a record.</summary>
    public static void Append(string name, long number)
    {
        lock (records)
        {
            Of(name, 0).Add(number);
        }
    }

    /// <summary>Lets time pass that is a method's own.</summary>
    public static void Spend(string method, long nanoseconds)
    {
        VirtualClock.Advance(nanoseconds);
        Add(method, 0, nanoseconds);
    }

    /// <summary>A call of a method: <see cref="Spend"/> has the second number of its record.</summary>
    /// <returns>The argument for <see cref="Left"/>.</returns>
    public static long Entered(string method)
    {
        Add(method, 1, 0, 0, 1);
        return VirtualClock.Now;
    }

    /// <summary>A method that is entered again meanwhile counts its own time once.</summary>
    public static void Left(string method, long since)
    {
        lock (records)
        {
            List<long> record = Of(method, 4);
            record[3]--;
            record[2] += record[3] == 0 ? VirtualClock.Now - since : 0;
        }
    }

    public static void Print()
    {
        foreach (KeyValuePair<string, List<long>> record in records)
        {
            Console.WriteLine(record.Key + " " + string.Join(" ", record.Value));
        }
    }
}
