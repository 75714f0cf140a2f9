// Stack overflows that are caught, as Mono can; elsewhere an exception comes before. What calls what, and how often:
//> - > Overflow::Main 1
//> - > Overflow::All 1
//> Overflow::Main > Overflow::All 1
//> Overflow::All > Overflow::Recurse 1
//> Overflow::All > Overflow::Recurse 4
//> Overflow::Recurse > Overflow::Plain 1
//> Overflow::Recurse > Overflow::Large 1
//> Overflow::Recurse > Overflow::WithCatch 1
//> Overflow::Recurse > Overflow::WithFinally 1
//> Overflow::Plain > Overflow::Plain 1
//> Overflow::Plain > Overflow::Check 1
//> Overflow::Large > Overflow::Large 1
//> Overflow::Large > Overflow::Check 1
//> Overflow::WithCatch > Overflow::WithCatch 1
//> Overflow::WithCatch > Overflow::Check 1
//> Overflow::WithFinally > Overflow::WithFinally 1
//> Overflow::WithFinally > Overflow::Check 1
//> Overflow::WithFinally > Overflow::InFinally 1
using System;
using System.Threading;

class Overflow
{
    static bool canCatch;
    static int inFinally;

    static void Check(int depth)
    {
        if (!canCatch && depth > 500)
        {
            throw new StackOverflowException();
        }
    }

    static int Plain(int depth)
    {
        Check(depth);
        return Plain(depth + 1) + 1;
    }

    static decimal Large(int depth)
    {
        decimal a = depth, b = a + 1, c = b * 2, d = c - a;
        Check(depth);
        return Large(depth + 1) + a + b + c + d;
    }

    static int WithCatch(int depth)
    {
        Check(depth);
        try { return WithCatch(depth + 1); } catch (StackOverflowException) { return -1; }
    }

    static int WithFinally(int depth)
    {
        Check(depth);
        try { return WithFinally(depth + 1) + 1; } finally { InFinally(); }
    }

    static void InFinally() { inFinally++; }

    static decimal Recurse(int how)
    {
        switch (how)
        {
            case 0: return Plain(0);
            case 1: return WithCatch(0);
            case 2: return WithFinally(0);
            default: return Large(0);
        }
    }

    static void All(object first)
    {
        for (int how = (int)first; how < 4; how++)
        {
            try { Console.WriteLine("returned " + Recurse(how)); } catch (StackOverflowException) { Console.WriteLine("caught"); }
        }
        Console.WriteLine(inFinally > 400);
    }

    static void Main()
    {
        canCatch = Type.GetType("Mono.Runtime") != null;
        // The main thread's stack is the larger one: the others would make more call paths than the tree may have.
        All(3);
        Thread thread = new Thread(All, 512 * 1024);
        thread.Start(0);
        thread.Join();
    }
}
