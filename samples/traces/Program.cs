// Stack traces with their line numbers, through every kind of method whose lines a compiler or a weaver could lose.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

static class Program
{
    static int Main()
    {
        Trace("recursion", () => Depth(3));
        Trace("async", () => Async(2).GetAwaiter().GetResult());
        Trace("iterator", () => { foreach (int number in Iterator(2)) { } });
        Trace("early return", () => EarlyReturn(2));
        Trace("switch", () => EarlyReturn(4));
        Trace("filter", () => Filter("no number"));
        Trace("property", () => Console.WriteLine(Property));
        Trace("constructor", () => new Broken(0));
        Trace("long body", () => LongBody(-1));
        return 5;
    }

    static void Trace(string name, Action action)
    {
        try
        {
            action();
        }
        catch (Exception exception)
        {
            Console.WriteLine(name + ": " + exception.Message);
            foreach (StackFrame frame in new StackTrace(exception, true).GetFrames())
            {
                // Frames of the framework have no lines, and differ from one to the next.
                if (frame.GetFileLineNumber() > 0)
                {
                    Console.WriteLine("  {0} {1}:{2}", frame.GetMethod().Name, Path.GetFileName(frame.GetFileName()), frame.GetFileLineNumber());
                }
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Depth(int depth)
    {
        if (depth == 0)
            throw new InvalidOperationException("deep");
        try
        {
            return Depth(depth - 1)
                + 1;
        }
        finally
        {
            GC.KeepAlive(depth);
        }
    }

    static async Task<int> Async(int depth)
    {
        await Task.Yield();
        if (depth == 0)
            throw new ArgumentException("asynchronous");
        int inner =
            await Async(depth - 1);
        return inner + 1;
    }

    static IEnumerable<int> Iterator(int count)
    {
        for (int index = 0; index < count; index++)
        {
            yield return index;
        }
        Action action = () =>
        {
            throw new NotSupportedException("iterated");
        };
        action();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int EarlyReturn(int way)
    {
        if (way == 1) return 5;
        if (way == 2) { return Depth(1); }
        switch (way)
        {
            case 3: return 7;
            case 4:
                return Depth(
                    way - 3);
        }
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Filter(string text)
    {
        try
        {
            return int.Parse(text);
        }
        catch (FormatException) when (text.Length == 0)
        {
            return 0;
        }
        catch (FormatException exception) when (exception.Message != null)
        {
            return Depth(0);
        }
    }

    static int Property
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        get { return Depth(0); }
    }

    class Broken
    {
        readonly int one = Depth(-0);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Broken(int two)
        {
            Console.WriteLine(one + two);
        }
    }

    // More than 127 bytes of IL: its branches grow.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int LongBody(int number)
    {
        if (number > 0)
        {
            Console.WriteLine("{0} {1} {2} {3} {4} {5}", number, number + 1, number + 2, number + 3, number + 4, number + 5);
            Console.WriteLine("{0} {1} {2} {3} {4} {5}", number, number + 1, number + 2, number + 3, number + 4, number + 5);
            return number;
        }
        else if (number < 0)
        {
            return Depth(
                0);
        }
        return 0;
    }
}
