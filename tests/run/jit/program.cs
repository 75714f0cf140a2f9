using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

static class Program
{
    static Func<bool, TimeSpan> jit;

    /// The compile time of this thread so far; zero where the runtime does not tell.
    static TimeSpan Compiled()
    {
        return jit == null ? TimeSpan.Zero : jit(true);
    }

    struct One<T> { public T Value; }

    /// Each instantiation is compiled anew, and so is what it calls.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deeper<T>(int depth) where T : struct
    {
        var set = new Dictionary<One<T>, T>();
        set[new One<T>()] = new T();
        return depth == 0 ? set.Count : set.Count + Deeper<One<T>>(depth - 1);
    }

    /// Its callee has no probes.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Library()
    {
        var list = new List<KeyValuePair<int, Guid>>();
        for (int i = 0; i < 3; i++)
        {
            list.Add(new KeyValuePair<int, Guid>(-i, Guid.Empty));
        }
        list.Sort((one, other) => one.Key.CompareTo(other.Key));
        return list.Count;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static TimeSpan Measured(int depth)
    {
        TimeSpan before = Compiled();
        int sum = Deeper<int>(depth) + Library();
        TimeSpan took = Compiled() - before;
        return sum > 0 ? took : TimeSpan.Zero;
    }

    static void Main()
    {
        Type type = Type.GetType("System.Runtime.JitInfo");
        if (type != null)
        {
            jit = (Func<bool, TimeSpan>)Delegate.CreateDelegate(typeof(Func<bool, TimeSpan>), type.GetMethod("GetCompilationTime"));
        }
        Compiled();
        Console.WriteLine(Measured(12).Ticks);
    }
}
