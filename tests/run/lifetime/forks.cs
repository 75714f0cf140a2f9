using System.Runtime.InteropServices;
using System.Threading;

/// <summary>
/// Forks while its threads work. Each child works where its parent goes on, in the same methods and on the same thread, and ends itself
/// by a signal. It compiles nothing, and collects nothing: of the runtime's threads it has none.
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
        int status;
        Child(0);
        waitpid(-1, out status, 0);
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
        int ended = 0;
        for (int i = 0; i < Children; i++)
        {
            ended += Fork() ? 1 : 0;
        }
        foreach (Thread thread in threads)
        {
            thread.Join();
        }
        return ended == Children ? 9 : 1;
    }

    /// <summary>Whether the child comes to its end.</summary>
    static bool Fork()
    {
        int child = fork();
        if (child == 0)
        {
            Child(Kill);
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
