using System.Runtime.InteropServices;
using System.Threading;

/// <summary>
/// Forks while its threads work. Each child works where its parent goes on, in the same methods and on the same thread, and ends itself
/// by a signal. It compiles nothing, and collects nothing: of the runtime's threads it has none. It takes no lock of the runtime's, as
/// a thread that its parent alone has may hold it: so the parent has gone each of its ways before the threads begin.
/// </summary>
static class Forks
{
    const int Threads = 3;
    const int Children = 5;
    const int Times = 50000;
    const int Kill = 9;

    static int begun;

    [DllImport("libc")]
    static extern int fork();

    [DllImport("libc")]
    static extern int raise(int signal);

    [DllImport("libc")]
    static extern int waitpid(int process, out int status, int options);

    static int Main()
    {
        Fork(0);
        int ended = Fork(Kill) ? 1 : 0;
        Thread[] threads = new Thread[Threads];
        for (int i = 0; i < Threads; i++)
        {
            threads[i] = new Thread(Run);
            threads[i].Start();
        }
        while (Thread.VolatileRead(ref begun) < Threads)
        {
            Thread.Sleep(1);
        }
        for (int i = 1; i < Children; i++)
        {
            ended += Fork(Kill) ? 1 : 0;
        }
        foreach (Thread thread in threads)
        {
            thread.Join();
        }
        return ended == Children ? 9 : 1;
    }

    /// <summary>Whether the child comes to its end. Without a signal, its parent itself goes the way of a child.</summary>
    static bool Fork(int signal)
    {
        int child = signal == 0 ? 0 : fork();
        if (child == 0)
        {
            Child(signal);
        }
        if (signal == 0)
        {
            return true;
        }
        Repeat();
        int status;
        return waitpid(child, out status, 0) == child && (status & 0x7F) == Kill;
    }

    static void Run()
    {
        Work(0);
        Interlocked.Increment(ref begun);
        Repeat();
    }

    static void Child(int signal)
    {
        Repeat();
        raise(signal);
    }

    static void Repeat()
    {
        for (int i = 0; i < Times; i++)
        {
            Work(i);
        }
    }

    static int Work(int number)
    {
        return Add(number, 1);
    }

    static int Add(int number, int more)
    {
        return number + more;
    }
}
