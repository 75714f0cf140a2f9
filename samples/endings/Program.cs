using System;
using System.Reflection;
using System.Threading;

/// <summary>Ends in the way that its argument names.</summary>
static class Program
{
    static int Main(string[] arguments)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        string way = arguments.Length == 0 ? "return" : arguments[0];
        Console.WriteLine("ending by " + way);
        // The program's own handlers come to their turn too, and what they print is not changed.
        AppDomain.CurrentDomain.ProcessExit += delegate
        {
            Console.WriteLine("process exit");
            Count.Write();
        };
        switch (way)
        {
            case "return":
                return Deep(3, null);
            case "exit":
                return Deep(3, () =>
                {
                    Count.Here(MethodBase.GetCurrentMethod());
                    Environment.Exit(42);
                });
            case "throw":
                return Deep(3, Throw);
            case "thread":
                Thread thread = new Thread(() =>
                {
                    Count.Here(MethodBase.GetCurrentMethod());
                    Deep(2, Throw);
                });
                thread.Start();
                thread.Join();
                return 1;
            default:
                return 2;
        }
    }

    static int Deep(int depth, Action last)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        if (depth > 0)
        {
            return Deep(depth - 1, last) + 1;
        }
        if (last != null)
        {
            last();
        }
        return 5;
    }

    static void Throw()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        Count.Write();
        throw new InvalidOperationException("nobody catches this");
    }
}
