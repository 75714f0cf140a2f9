using System;
using System.Threading;

// Mono walks the stacks of threads that it aborts, here of deep calls with handlers.
static class Aborting
{
    static volatile int sum;

    static int Main(string[] arguments)
    {
        int times = int.Parse(arguments[1]);
        for (int i = 0; i < times; i++)
        {
            if (arguments[0] == "threads")
            {
                AbortThread();
            }
            else
            {
                AppDomain domain = AppDomain.CreateDomain("domain " + i);
                domain.DoCallBack(StartThreads);
                AppDomain.Unload(domain);
            }
        }
        Console.WriteLine("done");
        return 0;
    }

    static void AbortThread()
    {
        Thread thread = Start(false);
        thread.Abort();
        thread.Join();
    }

    static void StartThreads()
    {
        for (int i = 0; i < 3; i++)
        {
            Start(true);
        }
    }

    static Thread Start(bool isBackground)
    {
        ManualResetEvent ready = new ManualResetEvent(false);
        Thread thread = new Thread(() => Run(ready));
        thread.IsBackground = isBackground;
        thread.Start();
        ready.WaitOne();
        return thread;
    }

    static void Run(ManualResetEvent ready)
    {
        try
        {
            ready.Set();
            Deep(40);
        }
        catch (ThreadAbortException)
        {
            Thread.ResetAbort();
        }
    }

    static int Deep(int depth)
    {
        return depth == 0 ? Spin() : Deep(depth - 1) + 1;
    }

    static int Spin()
    {
        while (true)
        {
            try
            {
                sum++;
            }
            finally
            {
                sum--;
            }
        }
    }
}
