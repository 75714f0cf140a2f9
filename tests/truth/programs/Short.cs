using System;

/// <summary>
/// Methods that take less time than a probe, beside methods that take more. Lines are `METHOD calls self total`, in nanoseconds.
/// </summary>
static class Program
{
    const int Calls = 40000;
    static int sink;

    public static void Run(string[] arguments)
    {
        All();
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static void All()
    {
        long since = Records.Entered("Program::All");
        Loop();
        Nested();
        Changing();
        Varying();
        VaryingInside();
        Lately();
        Interrupting();
        Throwing();
        Records.Left("Program::All", since);
    }

    static void Loop()
    {
        long since = Records.Entered("Program::Loop");
        for (int i = 0; i < Calls; i++)
        {
            Ten(i);
            Thousand(i);
            Records.Spend("Program::Loop", 1);
        }
        Records.Left("Program::Loop", since);
    }

    static void Ten(int number)
    {
        long since = Records.Entered("Program::Ten");
        Records.Spend("Program::Ten", 10);
        for (int i = 0; i < number % 3; i++)
        {
            sink ^= number;
        }
        Records.Left("Program::Ten", since);
    }

    static void Thousand(int number)
    {
        long since = Records.Entered("Program::Thousand");
        Records.Spend("Program::Thousand", 1000 + number);
        Records.Left("Program::Thousand", since);
    }

    static void Nested()
    {
        long since = Records.Entered("Program::Nested");
        for (int i = 0; i < Calls; i++)
        {
            Outer(i);
        }
        Records.Left("Program::Nested", since);
    }

    /// <summary>Short by itself: its callees' time stays theirs.</summary>
    static void Outer(int number)
    {
        long since = Records.Entered("Program::Outer");
        Records.Spend("Program::Outer", 3);
        Inner(number);
        Records.Spend("Program::Outer", 4);
        Ten(number);
        Records.Left("Program::Outer", since);
    }

    static void Inner(int number)
    {
        long since = Records.Entered("Program::Inner");
        Records.Spend("Program::Inner", 500 + number % 7);
        Records.Left("Program::Inner", since);
    }

    static void Changing()
    {
        long since = Records.Entered("Program::Changing");
        for (int i = 0; i < 2 * Calls; i++)
        {
            Changes(i);
        }
        Records.Left("Program::Changing", since);
    }

    /// <summary>Short at first, and then no more.</summary>
    static void Changes(int number)
    {
        long since = Records.Entered("Program::Changes");
        Records.Spend("Program::Changes", number < Calls ? 20 : 2000);
        Records.Left("Program::Changes", since);
    }

    static void Varying()
    {
        long since = Records.Entered("Program::Varying");
        for (int i = 0; i < 4 * Calls; i++)
        {
            Varies(i);
        }
        Records.Left("Program::Varying", since);
    }

    /// <summary>Short in the middle half of its calls.</summary>
    static void Varies(int number)
    {
        long since = Records.Entered("Program::Varies");
        Records.Spend("Program::Varies", number / Calls % 3 == 0 ? 2000 : 20);
        Records.Left("Program::Varies", since);
    }

    static void VaryingInside()
    {
        long since = Records.Entered("Program::VaryingInside");
        for (int i = 0; i < 8 * Calls; i++)
        {
            VariesOutside(i);
        }
        Records.Left("Program::VaryingInside", since);
    }

    /// <summary>Short in the second and fourth eighths of its calls, and its callee in the second and third.</summary>
    static void VariesOutside(int number)
    {
        long since = Records.Entered("Program::VariesOutside");
        Records.Spend("Program::VariesOutside", number / Calls == 1 || number / Calls == 3 ? 20 : 2000);
        VariesInside(number);
        Records.Left("Program::VariesOutside", since);
    }

    static void VariesInside(int number)
    {
        long since = Records.Entered("Program::VariesInside");
        Records.Spend("Program::VariesInside", number / Calls == 1 || number / Calls == 2 ? 20 : 2000);
        Records.Left("Program::VariesInside", since);
    }

    static void Lately()
    {
        long since = Records.Entered("Program::Lately");
        for (int i = 0; i < 11 * Calls; i++)
        {
            Late(i);
        }
        Records.Left("Program::Lately", since);
    }

    /// <summary>Short in ten of eleven calls, and then no more.</summary>
    static void Late(int number)
    {
        long since = Records.Entered("Program::Late");
        Records.Spend("Program::Late", number < 10 * Calls ? 20 : 2000);
        Records.Left("Program::Late", since);
    }

    static void Interrupting()
    {
        long since = Records.Entered("Program::Interrupting");
        for (int i = 0; i < 33600; i++)
        {
            Interrupted(i);
        }
        Records.Left("Program::Interrupting", since);
    }

    /// <summary>Short but for one call, which is among those that are timed to see whether the method became slower.</summary>
    static void Interrupted(int number)
    {
        long since = Records.Entered("Program::Interrupted");
        Records.Spend("Program::Interrupted", number == 32800 ? 1000 * 1000 : 20);
        Records.Left("Program::Interrupted", since);
    }

    static void Throwing()
    {
        long since = Records.Entered("Program::Throwing");
        for (int i = 0; i < Calls; i++)
        {
            try
            {
                Throws(i);
            }
            catch (FormatException)
            {
                Records.Spend("Program::Throwing", 7);
            }
        }
        Records.Left("Program::Throwing", since);
    }

    static void Throws(int number)
    {
        long since = Records.Entered("Program::Throws");
        try
        {
            Records.Spend("Program::Throws", 5);
            Ten(number);
            if (number % 400 == 399)
            {
                throw new FormatException();
            }
        }
        finally
        {
            Records.Left("Program::Throws", since);
        }
    }
}
