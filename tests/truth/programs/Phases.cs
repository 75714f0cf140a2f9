using System;
using System.Threading;
using Ilinst;

/// <summary>
/// Calls that are open when a phase begins, when tracking pauses or goes on, or when all before is dropped. Lines
/// `PHASE.METHOD calls self waiting` are in nanoseconds; a call belongs to the phase that it began in. `none` is before the first
/// phase; `Paused` says for how long nothing was tracked. With an argument all that was before is dropped.
/// </summary>
static class Program
{
    static readonly ManualResetEvent signal = new ManualResetEvent(false);

    static Thread main;

    public static void Run(string[] arguments)
    {
        main = Thread.CurrentThread;
        if (arguments.Length > 0)
        {
            Spans(0);
        }
        Spans(1);
    }

    static void Spans(int turn)
    {
        if (turn == 0)
        {
            Work(9000000);
            VirtualClock.Advance(1000000);
            Profile.Reset();
            Records.Spend("none.Program::Spans", 77);
            return;
        }
        Records.Add("none.Program::Spans", 1);
        Records.Spend("none.Program::Spans", 1001);
        Records.Add("none.Program::Work", 1, 20);
        Work(20);
        Profile.Mark("one");
        Records.Spend("one.Program::Spans", 2002);
        Records.Add("one.Program::Across", 1);
        Across();
        Records.Add("two.Program::Work", 2, 70);
        Work(30);
        Work(40);
        Pausing();
        Records.Add("two.Program::Waits", 1);
        Waits();
        Records.Spend("three.Program::Spans", 500);
        Profile.Mark("four");
        Records.Add("four.Program::Work", 1, 60);
        Work(60);
    }

    static void Across()
    {
        Records.Spend("one.Program::Across", 300);
        Profile.Mark("two");
        Records.Spend("two.Program::Across", 400);
    }

    /// <summary>The call that is open goes on without the time of the pause; what is called meanwhile is not counted.</summary>
    static void Pausing()
    {
        Records.Add("two.Program::Pausing", 1);
        Records.Spend("two.Program::Pausing", 11);
        Records.Add("two.Program::Ends", 1);
        Ends();
        Records.Spend("Paused", 1000000);
        Records.Add("Paused", 0, 2000000);
        Work(2000000);
        Begins();
        Records.Spend("two.Program::Pausing", 13);
        Profile.Pause();
        Records.Spend("Paused", 3000000);
        Profile.Resume();
        Records.Spend("two.Program::Pausing", 15);
    }

    /// <summary>Ends while tracking is paused.</summary>
    static void Ends()
    {
        Records.Spend("two.Program::Ends", 21);
        Profile.Pause();
        Records.Spend("Paused", 500000);
    }

    /// <summary>Begins while tracking is paused: what it does then is its caller's.</summary>
    static void Begins()
    {
        Records.Spend("Paused", 700000);
        Profile.Resume();
        Records.Spend("two.Program::Pausing", 23);
    }

    /// <summary>Another thread begins a phase while this one waits.</summary>
    static void Waits()
    {
        Records.Spend("two.Program::Waits", 7);
        VirtualClock.ReleaseNextCall(6, Release);
        signal.WaitOne();
        VirtualClock.AwaitReleased();
        Records.Add("two.WaitHandle::WaitOne", 1, 0, 6000000);
        Records.Add("three.WaitHandle::WaitOne", 0, 0, 4000000);
    }

    static void Release()
    {
        VirtualClock.AwaitBlocked(main);
        Profile.Mark("three");
        VirtualClock.Advance(4000000);
        signal.Set();
    }

    static void Work(long nanoseconds)
    {
        VirtualClock.Advance(nanoseconds);
    }
}
