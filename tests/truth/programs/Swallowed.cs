using System;
using System.Collections.Generic;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// Exceptions that code without probes catches, as test frameworks do. Lines `METHOD exceptions`: how many leave it.
/// </summary>
static class Program
{
    const int Times = 5;

    static void Main()
    {
        for (int i = 0; i < Times; i++)
        {
            Library.Swallow(ByDelegate);
            Library.Swallow(CleansUp);
            Library.Swallow(Outer);
            Invoke();
            MakeLazily();
            InTask();
            OnThread();
            Calm(i);
            CatchesAndIsCalm(i);
        }
        foreach (string method in new string[] { "ByDelegate", "CleansUp", "Outer", "Inner", "ByReflection", "Lazily", "InTaskItself", "Fails", "OnThreadItself" })
        {
            Console.WriteLine("Program::" + method + " " + Times);
        }
        Console.WriteLine("Program::Spoils " + 3 * Times);
        foreach (string method in new string[] { "Calm", "CatchesAndIsCalm", "Cleanup", "Invoke", "MakeLazily", "InTask", "OnThread", "Work" })
        {
            Console.WriteLine("Program::" + method + " 0");
        }
    }

    static int Work(int number)
    {
        int value = number;
        for (int i = 0; i < 10; i++)
        {
            value = value * 31 + i;
        }
        return value;
    }

    static void ByDelegate()
    {
        throw new InvalidOperationException("as meant " + Work(1));
    }

    /// <summary>Other exceptions come and go meanwhile.</summary>
    static void CleansUp()
    {
        try
        {
            throw new InvalidOperationException("as meant " + Work(2));
        }
        finally
        {
            Cleanup();
        }
    }

    static void Cleanup()
    {
        try
        {
            Spoils(Work(3));
        }
        catch (ArgumentException)
        {
            Work(4);
        }
        Library.Fail();
        Library.Swallow(delegate { Spoils(5); });
        Library.Swallow(delegate { Spoils(6); });
    }

    static void Spoils(int number)
    {
        throw new ArgumentException("as meant " + Work(number));
    }

    static void Outer()
    {
        Work(Inner(Work(7)));
    }

    static int Inner(int number)
    {
        Library.Fail();
        Library.Throw(number + Work(8));
        return number;
    }

    static void Invoke()
    {
        try
        {
            typeof(Program).GetMethod("ByReflection", BindingFlags.Static | BindingFlags.Public).Invoke(null, null);
        }
        catch (TargetInvocationException)
        {
            Work(9);
        }
    }

    public static void ByReflection()
    {
        throw new InvalidOperationException("as meant " + Work(10));
    }

    static void MakeLazily()
    {
        Lazy<int> lazy = new Lazy<int>(Lazily);
        try
        {
            Work(lazy.Value);
        }
        catch (InvalidOperationException)
        {
            Work(11);
        }
    }

    static int Lazily()
    {
        throw new InvalidOperationException("as meant " + Work(12));
    }

    static void InTask()
    {
        Task task = Task.Run(new Action(InTaskItself));
        ((IAsyncResult)task).AsyncWaitHandle.WaitOne();
        Work(task.IsFaulted ? 13 : 0);
    }

    static void InTaskItself()
    {
        throw new InvalidOperationException("as meant " + Work(14));
    }

    static void OnThread()
    {
        Thread thread = new Thread(new ThreadStart(Library.OnThread));
        thread.Start();
        thread.Join();
    }

    public static void OnThreadItself()
    {
        Fails(Work(15));
    }

    static void Fails(int number)
    {
        throw new InvalidOperationException("as meant " + Work(number));
    }

    /// <summary>Its callee throws an exception and catches it itself.</summary>
    static int Calm(int number)
    {
        Library.Fail();
        return Work(number);
    }

    static int CatchesAndIsCalm(int number)
    {
        try
        {
            Library.Throw(number);
        }
        catch (InvalidOperationException)
        {
            number = Calm(number);
        }
        return Work(number);
    }
}

/// <summary>It has no probes.</summary>
static class Library
{
    public static void Swallow(Action action)
    {
        try
        {
            action();
        }
        catch (SystemException)
        {
        }
    }

    public static void Fail()
    {
        Swallow(delegate { Throw(0); });
    }

    public static void Throw(int number)
    {
        throw new InvalidOperationException("as meant " + number);
    }

    public static void OnThread()
    {
        Swallow(Program.OnThreadItself);
    }
}
