// Makes the golden profile: calls the tracker as woven code does, on several threads, with recursion, exceptions, a name
// that cannot be told, and two calls open at the end. Against Ilinst.Tracker.dll, on Mono or .NET:
//     ILINST_OUTPUT=golden.ilprof mono golden.exe
using System;
using System.Reflection;
using System.Threading;
using Ilinst;

[module: Woven(Golden.Key, "golden.cs", "")]

public static class Golden
{
    public const long Key = 0x9876543210;

    private static void Main()
    {
        IntPtr token = Enter("Main");
        try
        {
            for (int i = 0; i < 3; i++)
            {
                Repeat(10 * i);
            }
            Overloaded(1);
            Overloaded("1");
            Recurse(5);
            Catch();
            for (int i = 0; i < 4; i++)
            {
                // One after another: they share a tree.
                Run(delegate { Repeat(5); }).Join();
            }
            ProfileInfoTracker.WhenLeaving(ProfileInfoTracker.WhenEntering(0x1111111111L << 24 | 0x12));
            ManualResetEvent started = new ManualResetEvent(false);
            Run(delegate { Wait(started); });
            started.WaitOne();
            Environment.Exit(0);
        }
        finally
        {
            ProfileInfoTracker.WhenLeaving(token);
        }
    }

    private static IntPtr Enter(string name, params Type[] parameters)
    {
        BindingFlags any = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
        Type[] types = parameters.Length == 0 ? null : parameters;
        MethodInfo method = types == null ? typeof(Golden).GetMethod(name, any) : typeof(Golden).GetMethod(name, any, null, types, null);
        return ProfileInfoTracker.WhenEntering(Key << 24 | (uint)(method.MetadataToken & 0xFFFFFF));
    }

    private static Thread Run(ThreadStart start)
    {
        Thread thread = new Thread(start);
        thread.IsBackground = true;
        thread.Start();
        return thread;
    }

    private static void Repeat(int times)
    {
        IntPtr token = Enter("Repeat");
        try
        {
            for (int i = 0; i < times; i++)
            {
                Leaf();
            }
        }
        finally
        {
            ProfileInfoTracker.WhenLeaving(token);
        }
    }

    private static void Leaf()
    {
        ProfileInfoTracker.WhenLeaving(Enter("Leaf"));
    }

    private static void Overloaded(int value)
    {
        ProfileInfoTracker.WhenLeaving(Enter("Overloaded", typeof(int)));
    }

    private static void Overloaded(string value)
    {
        ProfileInfoTracker.WhenLeaving(Enter("Overloaded", typeof(string)));
    }

    private static void Recurse(int depth)
    {
        IntPtr token = Enter("Recurse");
        try
        {
            Leaf();
            if (depth > 1)
            {
                Recurse(depth - 1);
            }
        }
        finally
        {
            ProfileInfoTracker.WhenLeaving(token);
        }
    }

    private static void Catch()
    {
        IntPtr token = Enter("Catch");
        try
        {
            Throw(2);
        }
        catch (InvalidOperationException)
        {
        }
        ProfileInfoTracker.WhenLeaving(token);
    }

    // The exception passes its leaves by: Catch's puts the tree right.
    private static void Throw(int depth)
    {
        IntPtr token = Enter("Throw");
        if (depth == 0)
        {
            throw new InvalidOperationException();
        }
        Throw(depth - 1);
        ProfileInfoTracker.WhenLeaving(token);
    }

    private static void Wait(ManualResetEvent started)
    {
        IntPtr token = Enter("Wait");
        try
        {
            started.Set();
            Thread.Sleep(Timeout.Infinite);
        }
        finally
        {
            ProfileInfoTracker.WhenLeaving(token);
        }
    }
}
