using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

// Each way of running ends with a line that says how often Work was called, where it can know.
static class App
{
    static long calls;
    // Repeat makes such an array at each call.
    const int ArraySize = 1000;
    static byte[] array;

    static int Main(string[] arguments)
    {
        // A test that starts it by way of another program does not know its number.
        string file = Environment.GetEnvironmentVariable("APP_PROCESS");
        if (file != null)
        {
            System.IO.File.WriteAllText(file, System.Diagnostics.Process.GetCurrentProcess().Id.ToString());
        }
        switch (arguments[0])
        {
            case "threads": Threads(int.Parse(arguments[1]), int.Parse(arguments[2])); break;
            case "deep": Console.WriteLine(Deep(int.Parse(arguments[1]))); break;
            case "exceptions": Exceptions(); break;
            case "unhandled": Work(1); throw new InvalidOperationException("nobody handles it");
            case "failfast": Work(1); Environment.FailFast("enough"); break;
            case "dynamic": Dynamic(); break;
            case "collectible": Collectible(arguments[1]); break;
            case "unloading": Unloading(arguments[1]); break;
            case "awaits": Awaits(); break;
            case "memory": Memory(arguments[1]); break;
            case "registers": Registers(); break;
            case "wait": Wait(); break;
            case "steps": Steps(); break;
            case "sleeps": Sleeps(); break;
            case "rounds": Rounds(true); break;
            case "rounds-that-return": Rounds(false); break;
            case "once": break;
        }
        Console.WriteLine("work " + Interlocked.Read(ref calls));
        return 42;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Work(int number)
    {
        Interlocked.Increment(ref calls);
        int sum = 0;
        for (int i = 0; i < 3; i++)
        {
            sum += i * number;
        }
        return sum;
    }

    // Works when it is told to, and says so.
    static void Steps()
    {
        Console.WriteLine("ready");
        while (Console.ReadLine() != null)
        {
            Repeat(100);
            Console.WriteLine("done");
        }
    }

    // Sleeps when it is told to, and says so.
    static void Sleeps()
    {
        Console.WriteLine("ready");
        while (Console.ReadLine() != null)
        {
            Nap();
            Disturbed();
            Console.WriteLine("done");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Nap()
    {
        Thread.Sleep(50);
    }

    // An exception ends its sleep.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Disturbed()
    {
        Thread.CurrentThread.Interrupt();
        try
        {
            Thread.Sleep(Timeout.Infinite);
        }
        catch (ThreadInterruptedException)
        {
            Work(1);
        }
    }

    // Works when it is told to.
    static void Rounds(bool throws)
    {
        Console.WriteLine("ready");
        while (Console.ReadLine() != null)
        {
            Threads(16, 100);
            Deep(10);
            if (throws)
            {
                Exceptions();
            }
        }
    }

    static void Threads(int threads, int times)
    {
        for (int done = 0; done < threads; done += 8)
        {
            var some = new Thread[8];
            for (int i = 0; i < some.Length; i++)
            {
                some[i] = new Thread(() => Repeat(times));
                some[i].Start();
            }
            foreach (Thread thread in some)
            {
                thread.Join();
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Repeat(int times)
    {
        array = new byte[ArraySize];
        for (int i = 0; i < times; i++)
        {
            Work(i);
        }
    }

    static int Deep(int depth)
    {
        return depth == 0 ? Work(1) : Deep(depth - 1) + Work(2);
    }

    // Rethrown, thrown in a finally block and in a handler, past a filter, and caught three levels up.
    static void Exceptions()
    {
        for (int i = 0; i < 10; i++)
        {
            try
            {
                First(i);
            }
            catch (Exception)
            {
                Work(1);
            }
            Work(2);
        }
    }

    static void First(int number)
    {
        try
        {
            Second(number);
        }
        catch (ArgumentException)
        {
            Work(3);
            throw new InvalidOperationException();
        }
    }

    static void Second(int number)
    {
        try
        {
            Third(number);
        }
        catch (Exception e) when (IsWanted(e))
        {
            Work(4);
        }
        finally
        {
            Work(5);
        }
        throw new ArgumentException();
    }

    static bool IsWanted(Exception e)
    {
        Work(6);
        return e is FormatException;
    }

    static void Third(int number)
    {
        try
        {
            Work(7);
            if (number % 3 == 0)
            {
                throw new FormatException();
            }
            throw new TimeoutException();
        }
        catch (TimeoutException)
        {
            try
            {
                Fourth();
            }
            finally
            {
                Work(8);
            }
        }
    }

    static void Fourth()
    {
        try
        {
            throw new NotSupportedException();
        }
        finally
        {
            Throws(new ArgumentException());
        }
    }

    static void Throws(Exception e)
    {
        for (int i = 0; i < 2; i++)
        {
            Work(9);
        }
        throw e;
    }

    static void Dynamic()
    {
        var method = new DynamicMethod("Made", typeof(int), new[] { typeof(int) }, typeof(App).Module);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, typeof(App).GetMethod("Work"));
        il.Emit(OpCodes.Ret);
        var made = (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
        for (int i = 0; i < 100; i++)
        {
            made(i);
        }
    }

    // Loads this program again and again, into contexts that go.
    static void Collectible(string path)
    {
        for (int i = 0; i < 20; i++)
        {
            Load(path);
            for (int j = 0; j < 2; j++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Load(string path)
    {
        Type type = Type.GetType("System.Runtime.Loader.AssemblyLoadContext", true);
        object context = Activator.CreateInstance(type, new object[] { "collectible", true });
        var assembly = (Assembly)type.GetMethod("LoadFromAssemblyPath").Invoke(context, new object[] { path });
        MethodInfo work = assembly.GetType("App").GetMethod("Work");
        for (int i = 0; i < 10; i++)
        {
            work.Invoke(null, new object[] { i });
            Interlocked.Increment(ref calls);
        }
        type.GetMethod("Unload").Invoke(context, null);
    }

    // Does so until its input ends.
    static void Unloading(string path)
    {
        bool isOver = false;
        Console.WriteLine("ready");
        var reader = new Thread(() =>
        {
            while (Console.ReadLine() != null)
            {
            }
            Volatile.Write(ref isOver, true);
        });
        reader.Start();
        for (int i = 0; !Volatile.Read(ref isOver); i++)
        {
            Load(path);
            if (i % 4 == 0)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
        reader.Join();
    }

    // Waits for five async calls when it is told to, and says so.
    static void Awaits()
    {
        Console.WriteLine("ready");
        while (Console.ReadLine() != null)
        {
            for (int i = 0; i < 5; i++)
            {
                Twice(i).Wait();
            }
            Console.WriteLine("done");
        }
    }

    // It has three steps: a yield is never there at once.
    static async Task<int> Twice(int number)
    {
        await Task.Yield();
        await Task.Yield();
        return Work(number);
    }

    // Loads this program from bytes, which have no file.
    static void Memory(string path)
    {
        MethodInfo work = Assembly.Load(System.IO.File.ReadAllBytes(path)).GetType("App").GetMethod("Work");
        for (int i = 0; i < 10; i++)
        {
            work.Invoke(null, new object[] { i });
        }
    }

    struct Pair
    {
        public long First;
        public double Second;
    }

    struct Large
    {
        public long A, B, C, D;
    }

    // Arguments and results of all kinds of registers, on several threads, while others force collections.
    static void Registers()
    {
        bool isEnough = false;
        var collector = new Thread(() =>
        {
            while (!Volatile.Read(ref isEnough))
            {
                GC.Collect(0);
                // All others stand still meanwhile, and had better come further than that.
                Thread.Sleep(1);
            }
        });
        collector.Start();
        var sums = new double[4];
        var threads = new Thread[4];
        for (int t = 0; t < threads.Length; t++)
        {
            int number = t;
            threads[t] = new Thread(() => sums[number] = Checksum());
            threads[t].Start();
        }
        foreach (Thread thread in threads)
        {
            thread.Join();
        }
        isEnough = true;
        collector.Join();
        foreach (double sum in sums)
        {
            Console.WriteLine(sum.ToString("R"));
        }
    }

    static double Checksum()
    {
        double sum = 0;
        for (int i = 0; i < 20000; i++)
        {
            string text = Many((byte)i, i, i * 2L, "s" + i, i * .5f, i * .25, (short)i, new object[] { i }, 1.5, 2.5, 3.5, 4.5, 5.5, i, 7, "x");
            Pair pair = MakePair(i, text);
            Large large = MakeLarge(pair);
            decimal money = MakeDecimal(large.C);
            sum += text.Length + pair.Second + pair.First + large.D + (double)money + MakeFloat(i);
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Many(byte a, int b, long c, string d, float e, double f, short g, object[] h, double i, double j, double k, double l, double m, int n, int o, string p)
    {
        double sum = a + b + c + e + f + g + (int)h[0] + i + j + k + l + m + n + o;
        return d + (long)sum + p;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Pair MakePair(int number, string text)
    {
        return new Pair { First = text.Length + number, Second = number * .125 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Large MakeLarge(Pair pair)
    {
        return new Large { A = pair.First, B = 2, C = pair.First * 3, D = (long)pair.Second };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static decimal MakeDecimal(long number)
    {
        return number / 4m;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static float MakeFloat(int number)
    {
        return number * .75f;
    }

    static void Wait()
    {
        Repeat(1000);
        Console.WriteLine("ready");
        Console.Out.Flush();
        Console.In.ReadLine();
    }
}
