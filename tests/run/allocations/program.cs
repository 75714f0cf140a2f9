using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

/// A program that notes what its methods allocate: around each allocation, by the runtime's count. It prints `METHOD BYTES` for
/// each method, of what the method alone allocated, and as `whole` what Measured did with all that it calls.
static class Program
{
    private delegate long Counter();

    private static readonly Counter count = (Counter)Delegate.CreateDelegate(
        typeof(Counter),
        typeof(GC).GetMethod(
            "GetAllocatedBytesForCurrentThread", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic));

    private static readonly string[] names = {
        "Arrays", "Boxes", "Strings", "Closures", "Depth", "Many", "Fails", "Catches", "Finally", "OnThread", "Loads", "Loop",
        "BeforePhase", "InPhase",
    };
    private static readonly long[] notes = new long[names.Length];
    /// The bytes of Measured with all that it calls.
    private static long whole;
    private static object sink;

    static int Main(string[] arguments)
    {
        bool waits = arguments.Length > 0 && arguments[0] == "wait";
        if (waits)
        {
            Console.WriteLine("ready");
            Console.ReadLine();
        }
        // The runtime allocates at a first use: here, and not between notes.
        Note(0, count() - count());
        for (int i = 1; i < 20; i++)
        {
            Arrays(i);
            Boxes(i);
            Strings(i);
            Closures(i);
            Depth(i);
            Many<byte>(i);
            Many<string>(i);
            Catches(i);
        }
        Loop(3000);
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(OnThread);
            threads[i].Start();
            threads[i].Join();
        }
        Asynchronous();
        WarmUp();
        WarmUp();
        long before = count();
        Measured();
        whole = count() - before;
        BeforePhase(1000);
        if (arguments.Length > 0 && !waits)
        {
            MethodInfo mark = Type.GetType("Ilinst.Profile, Ilinst.Tracker", true).GetMethod("Mark");
            Again(mark, 2000);
        }
        Print();
        Open(123456);
        return 0;
    }

    private static void Note(int method, long bytes)
    {
        notes[method] += bytes;
    }

    private static void Print()
    {
        for (int i = 0; i < names.Length; i++)
        {
            Console.WriteLine(names[i] + " " + notes[i]);
        }
        Console.WriteLine("whole " + whole);
    }

    private static void Arrays(int n)
    {
        long before = count();
        sink = new byte[n * 100];
        sink = new long[n];
        sink = new string[n, 3];
        notes[0] += count() - before;
    }

    private static void Boxes(int n)
    {
        long before = count();
        sink = n;
        sink = (long)n;
        sink = new KeyValuePair<int, object>(n, null);
        notes[1] += count() - before;
    }

    private static void Strings(int n)
    {
        long before = count();
        sink = new string('x', n * 7);
        sink = "n" + sink + "m";
        notes[2] += count() - before;
    }

    private static void Closures(int n)
    {
        long before = count();
        {
            int captured = n;
            sink = new Func<int, int>(x => x + captured);
        }
        notes[3] += count() - before;
    }

    private static int Depth(int n)
    {
        if (n == 0)
        {
            return 0;
        }
        long before = count();
        sink = new byte[n];
        notes[4] += count() - before;
        int below = Depth(n - 1);
        before = count();
        sink = new byte[n * 2];
        notes[4] += count() - before;
        return below + 1;
    }

    private static void Many<T>(int n)
    {
        long before = count();
        sink = new T[n];
        notes[5] += count() - before;
    }

    private static void Catches(int n)
    {
        long before = count();
        sink = new byte[n * 3];
        notes[7] += count() - before;
        try
        {
            Finally(n);
        }
        catch (InvalidOperationException)
        {
            before = count();
            sink = new byte[n * 5];
            notes[7] += count() - before;
        }
    }

    private static void Finally(int n)
    {
        try
        {
            Fails(n);
        }
        finally
        {
            long before = count();
            sink = new byte[n * 11];
            notes[8] += count() - before;
        }
    }

    private static void Fails(int n)
    {
        long before = count();
        InvalidOperationException exception = new InvalidOperationException("no");
        sink = new byte[n * 13];
        notes[6] += count() - before;
        throw exception;
    }

    private static void OnThread()
    {
        long before = count();
        sink = new byte[10000];
        notes[9] += count() - before;
        Arrays(5);
    }

    /// Enough calls for the fast path of the probes, and for their calibration.
    private static void Loop(int n)
    {
        for (int i = 0; i < n; i++)
        {
            Boxes(i);
            if (i % 3 == 0)
            {
                Depth(2);
            }
        }
        long before = count();
        sink = new byte[77];
        notes[11] += count() - before;
    }

    private static void Asynchronous()
    {
        Task<int>[] tasks = { Loads(1), Loads(2), Loads(3) };
        Turn.RunAll();
        for (int i = 0; i < tasks.Length; i++)
        {
            sink = tasks[i].Result;
        }
    }

    private static async Task<int> Loads(int n)
    {
        long before = count();
        sink = new byte[n * 1000];
        notes[10] += count() - before;
        await new Turn();
        before = count();
        sink = new byte[n * 2000];
        notes[10] += count() - before;
        Arrays(n);
        await new Turn();
        before = count();
        sink = new byte[n * 4000];
        notes[10] += count() - before;
        return n;
    }

    /// Warms up what Measured calls: compilers and first uses allocate, too.
    private static void WarmUp()
    {
        Chain(1);
    }

    private static void Measured()
    {
        Chain(5);
    }

    private static void Chain(int n)
    {
        for (int i = 0; i < n; i++)
        {
            Task<int> task = Outer(i);
            Turn.RunHere();
            sink = task.Result;
        }
    }

    private static async Task<int> Outer(int n)
    {
        int sum = await Steps(n);
        await Task.FromResult(1);
        return sum + await Steps(n + 1);
    }

    private static async Task<int> Steps(int n)
    {
        for (int i = 0; i < 4; i++)
        {
            sink = new byte[n];
            await new Turn();
        }
        return n;
    }

    private static void BeforePhase(int n)
    {
        long before = count();
        sink = new byte[n];
        notes[12] += count() - before;
    }

    /// The call is open while a phase begins.
    private static void Again(MethodInfo mark, int n)
    {
        sink = new byte[n];
        mark.Invoke(null, new object[] { "second" });
        InPhase(n);
    }

    private static void InPhase(int n)
    {
        long before = count();
        sink = new byte[n];
        notes[13] += count() - before;
    }

    /// The process ends in this call, behind a probe.
    private static void Open(int n)
    {
        sink = new byte[n];
        Depth(0);
        Environment.Exit(0);
    }
}

/// Something to await: what goes on waits for its turn, on other threads by turns.
struct Turn : INotifyCompletion
{
    private static readonly List<Action> waiting = new List<Action>();

    public bool IsCompleted
    {
        get { return false; }
    }

    public Turn GetAwaiter()
    {
        return this;
    }

    public void GetResult()
    {
    }

    public void OnCompleted(Action next)
    {
        waiting.Add(next);
    }

    public static void RunAll()
    {
        for (int i = 0; waiting.Count > 0; i++)
        {
            Action next = Next();
            if (i % 2 == 0)
            {
                Thread thread = new Thread(new ThreadStart(next));
                thread.Start();
                thread.Join();
            }
            else
            {
                next();
            }
        }
    }

    private static Action Next()
    {
        Action next = waiting[0];
        waiting.RemoveAt(0);
        return next;
    }

    public static void RunHere()
    {
        while (waiting.Count > 0)
        {
            Next()();
        }
    }
}
