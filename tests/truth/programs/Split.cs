using System;

/// <summary>
/// Time split between methods that are nested, recursive, short, or left by an exception. Lines are `METHOD calls self total`, in
/// nanoseconds.
/// </summary>
static class Program
{
    static int sink;

    public static void Run(string[] arguments)
    {
        All();
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static void All()
    {
        long since = Records.Entered("Program::All");
        for (int i = 0; i < 10; i++)
        {
            Outer(i);
            Records.Spend("Program::All", 1);
        }
        Accessors();
        for (int i = 0; i < 3; i++)
        {
            sink ^= Fib(12);
        }
        Even(9);
        for (int i = 0; i < 100; i++)
        {
            sink ^= Light(i);
        }
        for (int i = 0; i < 5; i++)
        {
            Catches(i);
        }
        Records.Left("Program::All", since);
    }

    static void Outer(int number)
    {
        long since = Records.Entered("Program::Outer");
        Records.Spend("Program::Outer", 1000);
        Inner(number);
        Records.Spend("Program::Outer", 500);
        Inner(number + 1);
        Inner(number + 2);
        Records.Left("Program::Outer", since);
    }

    static void Inner(int number)
    {
        long since = Records.Entered("Program::Inner");
        Records.Spend("Program::Inner", 24000 + number);
        Records.Left("Program::Inner", since);
    }

    sealed class Point
    {
        int x;

        public int X
        {
            get
            {
                VirtualClock.Now += 3;
                return x;
            }

            set
            {
                VirtualClock.Now += 4;
                x = value;
            }
        }
    }

    /// <summary>Accessors are too short to be instrumented by default, and would not be if they called something.</summary>
    static void Accessors()
    {
        long since = Records.Entered("Program::Accessors");
        Point point = new Point();
        const int Times = 600;
        for (int i = 0; i < Times; i++)
        {
            point.X = point.X * 31 + i;
            Records.Spend("Program::Accessors", 5);
        }
        sink ^= point.X;
        Records.Add("Program/Point::get_X", Times + 1, (Times + 1) * 3, (Times + 1) * 3);
        Records.Add("Program/Point::set_X", Times, Times * 4, Times * 4);
        Records.Left("Program::Accessors", since);
    }

    static int Fib(int n)
    {
        long since = Records.Entered("Program::Fib");
        Records.Spend("Program::Fib", 7);
        int value = n < 2 ? n : Fib(n - 1) + Fib(n - 2);
        Records.Spend("Program::Fib", 2);
        Records.Left("Program::Fib", since);
        return value;
    }

    static void Even(int n)
    {
        long since = Records.Entered("Program::Even");
        Records.Spend("Program::Even", 20);
        if (n > 0)
        {
            Odd(n - 1);
        }
        Records.Left("Program::Even", since);
    }

    static void Odd(int n)
    {
        long since = Records.Entered("Program::Odd");
        if (n > 0)
        {
            Even(n - 1);
        }
        Records.Spend("Program::Odd", 30);
        Records.Left("Program::Odd", since);
    }

    static int Light(int seed)
    {
        long since = Records.Entered("Program::Light");
        Records.Spend("Program::Light", 1);
        int value = Tiny(Tiny(Tiny(seed)));
        Records.Add("Program::Tiny", 3, 6, 6);
        Records.Left("Program::Light", since);
        return value;
    }

    /// <summary>As the accessors.</summary>
    static int Tiny(int value)
    {
        VirtualClock.Now += 2;
        return value;
    }

    static void Catches(int number)
    {
        long since = Records.Entered("Program::Catches");
        try
        {
            Records.Spend("Program::Catches", 100);
            Passes(number);
        }
        catch (InvalidOperationException)
        {
            Records.Spend("Program::Catches", 50);
        }
        Records.Spend("Program::Catches", 25);
        Records.Left("Program::Catches", since);
    }

    static void Passes(int number)
    {
        long since = Records.Entered("Program::Passes");
        Records.Spend("Program::Passes", 13);
        try
        {
            Throws(number);
            Records.Spend("Program::Passes", 1000000);
        }
        finally
        {
            Records.Spend("Program::Passes", 17);
            Records.Left("Program::Passes", since);
        }
    }

    static void Throws(int number)
    {
        long since = Records.Entered("Program::Throws");
        Records.Spend("Program::Throws", 11);
        Records.Left("Program::Throws", since);
        if (number >= 0)
        {
            throw new InvalidOperationException("as meant");
        }
    }
}
