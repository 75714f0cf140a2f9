// A tracker of one's own, for `--preset classic=ProfileInfoTracker.dll`: how deep calls nest, how many there were, and how long
// the outermost took. `mcs -target:library ProfileInfoTracker.cs` makes it.
using System;
using System.Diagnostics;
using System.Threading;

public static class ProfileInfoTracker
{
    [ThreadStatic]
    private static int s_depth;
    private static long s_calls;
    private static int s_deepest;
    private static readonly Stopwatch s_watch = Stopwatch.StartNew();

    static ProfileInfoTracker()
    {
        AppDomain.CurrentDomain.ProcessExit += delegate
        {
            Console.Error.WriteLine("{0} calls, {1} deep, {2} ms", s_calls, s_deepest, s_watch.ElapsedMilliseconds);
        };
    }

    public static void WhenEnteringMethod()
    {
        Interlocked.Increment(ref s_calls);
        s_deepest = Math.Max(s_deepest, ++s_depth);
    }

    public static void WhenLeavingMethod()
    {
        s_depth--;
    }
}
