// Exceptions that pass frames, and are handled in every way there is. What calls what, and how often:
//> - > Caught::Main 1
//> Caught::Main > Caught::Middle 300
//> Caught::Middle > Caught::Throw 300
//> Caught::Middle > Caught::InFinally 100
//> Caught::Middle > Caught::InCatch 100
//> Caught::Main > Caught::Handle 300
//> Caught::Main > Caught::Finally 300
//> Caught::Main > Caught::Behind 300
//> Caught::Main > Caught::Last 1
using System;

class Caught
{
    static int handled;

    static void Throw(int number)
    {
        throw new ArgumentException(number.ToString());
    }

    static void InFinally() { handled++; }

    static void InCatch() { handled++; }

    static void Handle() { handled++; }

    static void Finally() { handled++; }

    static void Behind() { handled++; }

    static void Last() { Console.WriteLine(handled); }

    static void Middle(int number)
    {
        if (number % 3 == 0)
        {
            Throw(number);
        }
        else if (number % 3 == 1)
        {
            try { Throw(number); } finally { InFinally(); }
        }
        else
        {
            try { Throw(number); } catch (ArgumentException) { InCatch(); throw; }
        }
    }

    static int Main()
    {
        for (int number = 0; number < 300; number++)
        {
            try { Middle(number); } catch (ArgumentException) { Handle(); } finally { Finally(); }
            Behind();
        }
        Last();
        return handled % 100;
    }
}
