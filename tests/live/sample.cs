using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
#if !MONO
using System.Runtime.Loader;
#endif
using System.Threading;
using System.Threading.Tasks;

/// Programs that a sampler must not harm. Each prints a checksum that does not depend on time.
static class Sample
{
    [StructLayout(LayoutKind.Sequential)] struct Poll { public int Fd; public short Events, Returned; }
    [DllImport("libc", SetLastError = true)] static extern int poll(ref Poll fds, ulong count, int timeout);
    [DllImport("libc", SetLastError = true)] static extern int usleep(uint microseconds);
    [DllImport("libc")] static extern int fork();
    [DllImport("libc")] static extern int waitpid(int process, out int status, int options);
    [DllImport("libc")] static extern void _exit(int code);

    class Node { public int Value; }

    [MethodImpl(MethodImplOptions.NoInlining)] static int Value(Node node) => node.Value;

    static string Nulls(int count)
    {
        int[] caught = new int[4];
        var threads = Enumerable.Range(0, caught.Length).Select(number => new Thread(() =>
        {
            for (int i = 0; i < count; i++)
                try { Value(i % 2 == 0 ? null : new Node()); } catch (NullReferenceException) { caught[number]++; }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        return string.Join(" ", caught);
    }

#if MONO
    /// Mono unloads application domains.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int InContext(string path, int number)
    {
        var domain = AppDomain.CreateDomain("domain " + number);
        var there = (Remote)domain.CreateInstanceFromAndUnwrap(path, typeof(Remote).FullName);
        int sum = there.Work(2000000);
        AppDomain.Unload(domain);
        return sum;
    }

    class Remote : MarshalByRefObject { public int Work(int count) => Sample.Work(count); }
#else
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int InContext(string path, int number)
    {
        var context = new AssemblyLoadContext("context " + number, isCollectible: true);
        var assembly = context.LoadFromAssemblyPath(path);
        int sum = (int)assembly.GetType("Sample").GetMethod("Work", BindingFlags.Static | BindingFlags.NonPublic).Invoke(null, new object[] { 20000 });
        context.Unload();
        return sum;
    }
#endif

    static int Work(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++) sum = unchecked(sum * 31 + Step(i));
        return sum;
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Step(int i) => i ^ (i >> 3);

    static string Contexts(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++)
        {
            sum += InContext(typeof(Sample).Assembly.Location, i);
            if (i % 4 == 0) { GC.Collect(); GC.WaitForPendingFinalizers(); }
        }
        return sum.ToString();
    }

    static string Dynamic(int count)
    {
        long sum = 0;
        for (int i = 0; i < count; i++)
        {
            var number = Expression.Parameter(typeof(int));
            var call = Expression.Lambda<Func<int, int>>(Expression.Add(number, Expression.Constant(i)), number).Compile();
            for (int k = 0; k < 20000; k++) sum += call(k);
            if (i % 50 == 0) { GC.Collect(); GC.WaitForPendingFinalizers(); }
        }
        return sum.ToString();
    }

    static string Garbage(int seconds)
    {
        int[] sums = new int[6];
        var threads = Enumerable.Range(0, sums.Length).Select(number => new Thread(() =>
        {
            var random = new Random(number);
            for (int round = 0; round < 300 * seconds; round++)
            {
                var list = new List<string>();
                for (int i = 0; i < 2000; i++) list.Add(new string((char)('a' + i % 26), 1 + random.Next(50)));
                sums[number] += list.Sum(text => text.Length);
                if (round % 20 == 0) GC.Collect(round % 3);
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        return string.Join(" ", sums);
    }

    /// Native calls that a signal may interrupt: none of them may see EINTR from a timer of CPU time.
    static string Polls(int count)
    {
        int interrupted = 0;
        var threads = Enumerable.Range(0, 2).Select(number => new Thread(() =>
        {
            for (int i = 0; i < count; i++)
            {
                var none = new Poll { Fd = -1 };
                if (poll(ref none, 1, 10) < 0 && Marshal.GetLastWin32Error() == 4) Interlocked.Increment(ref interrupted);
                if (usleep(5000) < 0 && Marshal.GetLastWin32Error() == 4) Interlocked.Increment(ref interrupted);
                Work(2000000);
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        return "interrupted " + interrupted;
    }

    static string Processes(int count)
    {
        int ended = 0, forked = 0;
        for (int i = 0; i < count; i++)
        {
            using (var process = Process.Start(new ProcessStartInfo("/bin/sh", "-c \"exit 7\"") { UseShellExecute = false }))
            {
                Work(3000000);
                process.WaitForExit();
                ended += process.ExitCode == 7 ? 1 : 0;
            }
            int child = fork();
            if (child == 0) _exit(9);
            waitpid(child, out var status, 0);
            forked += status >> 8 == 9 ? 1 : 0;
        }
        return ended + " ended, " + forked + " forked";
    }

    static string Threads(int count)
    {
        long sum = 0;
        using (var all = new Barrier(count))
        {
            var threads = Enumerable.Range(0, count).Select(number => new Thread(() =>
            {
                all.SignalAndWait();
                Interlocked.Add(ref sum, Work(100000));
            }, 128 << 10)).ToList();
            threads.ForEach(thread => thread.Start());
            threads.ForEach(thread => thread.Join());
        }
        // Threads that begin and end one after another.
        for (int i = 0; i < count; i++)
        {
            var thread = new Thread(() => Interlocked.Add(ref sum, Work(10000)));
            thread.Start();
            thread.Join();
        }
        return sum.ToString();
    }

    static int Deep(int depth) => depth == 0 ? Work(1000000) : 1 + Deep(depth - 1);

    static string Recursion(int count)
    {
        long sum = 0;
        for (int i = 0; i < count; i++) sum += Deep(3000);
        return sum.ToString();
    }

    static async Task<int> Fork(int depth)
    {
        if (depth == 0) { await Task.Yield(); return Work(2000); }
        var both = await Task.WhenAll(Fork(depth - 1), Fork(depth - 1));
        return both[0] + both[1];
    }

    [StructLayout(LayoutKind.Sequential)] struct Timespec { public long Seconds, Nanoseconds; }
    [DllImport("libc")] static extern int clock_gettime(int clock, out Timespec time);

    /// CPU time of this thread, in seconds.
    static double Cpu() { clock_gettime(3, out var time); return time.Seconds + time.Nanoseconds * 1e-9; }

    static int sink;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Steps10(int n) { for (int i = 0; i < 10; i++) n = n * 31 + i; return n; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Steps100(int n) { for (int i = 0; i < 100; i++) n = n * 31 + i; return n; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Steps10000(int n) { for (int i = 0; i < 10000; i++) n = n * 31 + i; return n; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Short(double end) { while (Cpu() < end) for (int i = 0; i < 20000; i++) sink += Steps10(i); }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Middle(double end) { while (Cpu() < end) for (int i = 0; i < 3000; i++) sink += Steps100(i); }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Long(double end) { while (Cpu() < end) for (int i = 0; i < 30; i++) sink += Steps10000(i); }

    /// Three phases of equal CPU time, which differ in the length of their methods.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Phases(int milliseconds)
    {
        double start = Cpu(), each = milliseconds / 1000.0;
        Short(start + each);
        Middle(start + 2 * each);
        Long(start + 3 * each);
        return "done";
    }

    [DllImport("libc")] static extern int close(int file);
    [DllImport("libc")] static extern int open(string path, int flags);
    [DllImport("libc")] static extern IntPtr read(int file, byte[] buffer, UIntPtr size);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Reader(double end, int file, byte[] buffer)
    {
        while (Cpu() < end) for (int i = 0; i < 30; i++) read(file, buffer, (UIntPtr)buffer.Length);
    }

    /// Turns of 7 ms of CPU time each: in the kernel, and in a method. The period of samples is no part of them.
    static string Kernel(int turns)
    {
        int zeros = open("/dev/zero", 0);
        byte[] buffer = new byte[1 << 18];
        for (int i = 0; i < turns; i++) { Reader(Cpu() + 0.007, zeros, buffer); Long(Cpu() + 0.007); }
        return "done";
    }

    /// Programs that become daemons close all files, those of others among them.
    static string Closed(int milliseconds)
    {
        for (int file = 1024; file < 2048; file++) close(file);
        Short(Cpu() + milliseconds / 1000.0);
        return "done";
    }

    [DllImport("libc")] static extern IntPtr mmap(IntPtr at, UIntPtr size, int access, int kind, int file, IntPtr offset);
    [DllImport("libc")] static extern int munmap(IntPtr at, UIntPtr size);
    [DllImport("libc")] static extern int pthread_attr_init(byte[] attributes);
    [DllImport("libc")] static extern int pthread_attr_setstack(byte[] attributes, IntPtr at, UIntPtr size);
    [DllImport("libc")] static extern int pthread_create(out IntPtr thread, byte[] attributes, Start start, IntPtr argument);
    [DllImport("libc")] static extern int pthread_join(IntPtr thread, IntPtr result);

    delegate IntPtr Start(IntPtr argument);

    /// Threads of native code, whose stacks end where more memory was before.
    static string Stacks(int count)
    {
        const int Size = 4 << 20, ReadAndWrite = 3, PrivateAndAnonymous = 0x22;
        Start work = _ => { Short(Cpu() + 0.05); return IntPtr.Zero; };
        byte[] attributes = new byte[64];
        for (int i = 0; i < count; i++)
        {
            IntPtr memory = mmap(IntPtr.Zero, (UIntPtr)(2 * Size), ReadAndWrite, PrivateAndAnonymous, -1, IntPtr.Zero);
            // New code has the sampler read the list of mappings.
            Dynamic(1);
            usleep(60000);
            munmap(memory + Size, (UIntPtr)Size);
            pthread_attr_init(attributes);
            pthread_attr_setstack(attributes, memory, (UIntPtr)Size);
            if (pthread_create(out IntPtr thread, attributes, work, IntPtr.Zero) != 0) return "no thread";
            pthread_join(thread, IntPtr.Zero);
            munmap(memory, (UIntPtr)Size);
        }
        GC.KeepAlive(work);
        return "done";
    }

    [DllImport("libc")] static extern int pthread_sigmask(int how, ulong[] signals, IntPtr before);

    /// Threads of native libraries often block all signals. This one blocks the sampler's, SIGRTMIN.
    static string Blocked(int milliseconds)
    {
        const int Block = 0, Signal = 34;
        ulong[] signals = new ulong[16];
        signals[0] = 1UL << Signal - 1;
        var thread = new Thread(() => { pthread_sigmask(Block, signals, IntPtr.Zero); Short(Cpu() + milliseconds / 1000.0); });
        thread.Start();
        thread.Join();
        return "done";
    }

    static volatile bool isOver;

    /// Sleeps as long as the main thread works, however busy the machine is.
    [MethodImpl(MethodImplOptions.NoInlining)] static void Sleeper(object milliseconds) { while (!isOver) Thread.Sleep((int)milliseconds); }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Waiter(object all) => ((ManualResetEvent)all).WaitOne();

    /// One thread works, others wait.
    static string Waits(int milliseconds)
    {
        using (var all = new ManualResetEvent(false))
        {
            var threads = Enumerable.Range(0, 4).Select(number => new Thread(number % 2 == 0 ? (ParameterizedThreadStart)Sleeper : Waiter)).ToList();
            for (int i = 0; i < threads.Count; i++) threads[i].Start(i % 2 == 0 ? (object)milliseconds : all);
            Short(Cpu() + milliseconds / 1000.0);
            isOver = true;
            all.Set();
            threads.ForEach(thread => thread.Join());
        }
        return "done";
    }

    /// Works a while for each line.
    static string Steps()
    {
        int steps = 0;
        Console.WriteLine("ready");
        while (Console.ReadLine() != null) { Short(Cpu() + 0.3); steps++; Console.WriteLine("done"); }
        return steps.ToString();
    }

    /// `late` before other arguments: their work waits for a line, and the program's end for another.
    static int Main(string[] args)
    {
        bool isLate = args[0] == "late";
        if (isLate)
        {
            args = args.Skip(1).ToArray();
            Console.WriteLine("ready");
            Console.ReadLine();
        }
        int count = args.Length > 1 ? int.Parse(args[1]) : 0;
        string result = args[0] switch
        {
            "nulls" => Nulls(count),
            "contexts" => Contexts(count),
            "dynamic" => Dynamic(count),
            "garbage" => Garbage(count),
            "polls" => Polls(count),
            "processes" => Processes(count),
            "threads" => Threads(count),
            "recursion" => Recursion(count),
            "async" => Fork(count).Result.ToString(),
            "phases" => Phases(count),
            "kernel" => Kernel(count),
            "closed" => Closed(count),
            "stacks" => Stacks(count),
            "blocked" => Blocked(count),
            "waits" => Waits(count),
            "steps" => Steps(),
            _ => throw new ArgumentException(args[0]),
        };
        if (isLate)
        {
            Console.WriteLine("done");
            Console.ReadLine();
        }
        Console.WriteLine(args[0] + ": " + result);
        return 0;
    }
}
