using System.Threading;

/// <summary>
/// Two workers, of which the second waits for the first; the main thread waits for both. Lines `thread.NAME running waiting` are
/// in nanoseconds, and `METHOD calls self`.
/// </summary>
static class Program
{
    static readonly ManualResetEvent handover = new ManualResetEvent(false);
    static VirtualClock.Call joiningFirst;
    static VirtualClock.Call joiningSecond;
    static VirtualClock.Call waiting;

    public static void Run(string[] arguments)
    {
        All();
    }

    static void All()
    {
        Records.Spend("Program::All", 1000007);
        Thread first = new Thread(First) { Name = "First" };
        Thread second = new Thread(Second) { Name = "Second" };
        first.Start();
        second.Start();
        Volatile.Write(ref joiningFirst, new VirtualClock.Call());
        first.Join();
        Volatile.Write(ref joiningSecond, new VirtualClock.Call());
        second.Join();
        Records.Spend("Program::All", 5);
        Records.Add("Program::All", 1);
        Records.Add("thread.", 1000012, 30000000 + 5000000);
        Records.Add("thread.First", 30000000, 0);
        Records.Add("thread.Second", 5000000, 30000000);
    }

    static void First()
    {
        VirtualClock.AwaitBegun(ref joiningFirst);
        VirtualClock.AwaitBegun(ref waiting);
        for (int i = 0; i < 4; i++)
        {
            Hot();
        }
        Rest(10000000);
        handover.Set();
    }

    static void Second()
    {
        Volatile.Write(ref waiting, new VirtualClock.Call());
        handover.WaitOne();
        // The other one has ended by then.
        VirtualClock.AwaitBegun(ref joiningSecond);
        Rest(5000000);
    }

    static void Hot()
    {
        Records.Add("Program::Hot", 1);
        Records.Spend("Program::Hot", 5000000);
    }

    static void Rest(long nanoseconds)
    {
        Records.Add("Program::Rest", 1);
        Records.Spend("Program::Rest", nanoseconds);
    }
}
