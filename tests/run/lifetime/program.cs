using System;

/// <summary>Works, then does what its argument says; the numbers of calls are in the source.</summary>
static class Program
{
    static int Main(string[] arguments)
    {
        for (int i = 0; i < 1000; i++)
        {
            Leaf(i);
        }
        switch (arguments[0])
        {
            case "wait":
                Console.WriteLine("ready");
                // Whoever started it ends it first.
                Console.In.ReadLine();
                break;
            case "paths":
                Branch(13);
                break;
        }
        return 9;
    }

    static int Leaf(int number)
    {
        return number * 2;
    }

    static void Branch(int depth)
    {
        if (depth > 0)
        {
            Left(depth - 1);
            Right(depth - 1);
        }
    }

    static void Left(int depth)
    {
        Branch(depth);
    }

    static void Right(int depth)
    {
        Branch(depth);
    }
}
