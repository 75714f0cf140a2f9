using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Steps;

/// <summary>
/// Does known work and ends in the way that its argument names. Its own record is the last line `steps N` that it prints.
/// </summary>
static class Ending
{
    const int Steps = 1000;
    static readonly List<byte[]> kept = new List<byte[]>();

    static int Main(string[] arguments)
    {
        string way = arguments[0];
        Work.Run(Steps);
        Thread other = new Thread(() => Work.Run(Steps));
        other.Start();
        other.Join();
        Say();
        switch (way)
        {
            case "return":
                return 5;
            case "exit":
                Environment.Exit(42);
                break;
            case "exit-of-a-thread":
                Start(() => Environment.Exit(42)).Join();
                break;
            case "handler":
                AppDomain.CurrentDomain.ProcessExit += delegate
                {
                    Work.Run(Steps);
                    Say();
                };
                return 5;
            case "background":
                Start(() => Work.Run(int.MaxValue)).IsBackground = true;
                Thread.Sleep(100);
                Say();
                return 5;
            case "unhandled":
                throw new InvalidOperationException("nobody catches this");
            case "unhandled-of-a-thread":
                Start(() => { throw new InvalidOperationException("nobody catches this"); }).Join();
                break;
            case "failfast":
                AwaitNames();
                Environment.FailFast("enough");
                break;
            case "overflow":
                return Down(1);
            case "abort":
                Abort();
                break;
            case "memory":
                while (true)
                {
                    kept.Add(new byte[1 << 20]);
                }
            case "wait":
                Ready();
                break;
            case "busy":
                Start(() => Work.Run(int.MaxValue));
                Thread.Sleep(100);
                Say();
                Ready();
                break;
            case "finalizers":
                AddLate();
                return 5;
            case "thread-abort":
                AbortThread();
                return 5;
            case "domain":
                UnloadDomain();
                return 5;
            case "context":
                UnloadContexts();
                return 5;
            case "terminate":
                AwaitNames();
                TerminateProcess(GetCurrentProcess(), 7);
                break;
        }
        return 1;
    }

    static void Say()
    {
        Console.WriteLine("steps " + Work.Taken);
    }

    /// <summary>Waits to be ended from outside.</summary>
    static void Ready()
    {
        AwaitNames();
        Console.WriteLine("ready");
        // The test that waits for the end gives up before that.
        Thread.Sleep(TimeSpan.FromHours(1));
    }

    static Thread Start(ThreadStart work)
    {
        Thread thread = new Thread(work);
        thread.Start();
        return thread;
    }

    static int Down(int depth)
    {
        return Down(depth + 1) + Down(depth + 2) + depth;
    }

    /// <summary>
    /// On Windows, waits until the methods' names are in the profile: a report that is made elsewhere finds none by its paths.
    /// </summary>
    static void AwaitNames()
    {
        if (Path.DirectorySeparatorChar != '/')
        {
            Thread.Sleep(2500);
        }
    }

    static void Abort()
    {
        if (Path.DirectorySeparatorChar == '/')
        {
            abort();
        }
        AwaitNames();
        AbortOnWindows();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AddLate()
    {
        GC.KeepAlive(new Late());
    }

    /// <summary>Its finalizer runs when the process ends, if then at all.</summary>
    sealed class Late
    {
        ~Late()
        {
            Work.Run(Steps);
            Say();
        }
    }

    static void AbortThread()
    {
        Thread thread = Start(() =>
        {
            try
            {
                Work.Run(int.MaxValue);
            }
            catch (ThreadAbortException)
            {
                Thread.ResetAbort();
            }
            Work.Run(Steps);
        });
        Thread.Sleep(100);
        thread.Abort();
        thread.Join();
        // How far it came differs from run to run, and whether the call that was aborted came to its own record.
        File.WriteAllText("record", Work.Taken + ".." + Work.Begun);
    }

    static void UnloadDomain()
    {
        AppDomain domain = AppDomain.CreateDomain("other");
        domain.DoCallBack(InDomain);
        AppDomain.Unload(domain);
        Work.Run(Steps);
        Console.WriteLine("steps " + (Work.Taken + Steps));
    }

    static void InDomain()
    {
        Work.Run(Steps);
    }

    /// <summary>Plug-ins each in a context of its own, and each with the tracker beside it, if there is one.</summary>
    static void UnloadContexts()
    {
        int taken = 0;
        foreach (string name in new[] { "first", "second" })
        {
            WeakReference context = RunInContext(name, ref taken);
            // A thread of the tracker's may hold it for a moment.
            for (int i = 0; i < 10000 && context.IsAlive; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                Thread.Sleep(1);
            }
            Console.WriteLine(name + (context.IsAlive ? " is alive" : " is collected"));
        }
        Console.WriteLine("steps " + (Work.Taken + taken));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference RunInContext(string name, ref int taken)
    {
        Type type = Type.GetType("System.Runtime.Loader.AssemblyLoadContext");
        object context = Activator.CreateInstance(type, new object[] { name, true });
        string plugin = Path.Combine(AppDomain.CurrentDomain.BaseDirectory, "plugins", "Steps.dll");
        MethodInfo load = type.GetMethod("LoadFromAssemblyPath");
        string tracker = Path.Combine(Path.GetDirectoryName(plugin), "Ilinst.Tracker.dll");
        if (File.Exists(tracker))
        {
            load.Invoke(context, new object[] { tracker });
        }
        Assembly assembly = (Assembly)load.Invoke(context, new object[] { plugin });
        Type work = assembly.GetType("Steps.Work");
        work.GetMethod("Run").Invoke(null, new object[] { Steps });
        taken += (int)work.GetProperty("Taken").GetValue(null, null);
        type.GetMethod("Unload").Invoke(context, null);
        return new WeakReference(context);
    }

    [DllImport("libc")]
    static extern void abort();

    [DllImport("ucrtbase", EntryPoint = "abort")]
    static extern void AbortOnWindows();

    [DllImport("kernel32")]
    static extern IntPtr GetCurrentProcess();

    [DllImport("kernel32")]
    static extern int TerminateProcess(IntPtr process, int code);
}
