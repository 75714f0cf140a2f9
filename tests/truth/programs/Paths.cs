using System;

/// <summary>A binary tree of calls: 2^20 - 1 calls of A and B together by as many paths, then Step from each of four places.</summary>
static class Paths
{
    static int a;
    static int b;
    static int sink;

    static void Main()
    {
        A(18);
        for (int i = 0; i < 1000; i++)
        {
            sink ^= Step(i);
        }
        Console.WriteLine("A " + a);
        Console.WriteLine("B " + b);
        Console.WriteLine("Step 1000");
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static void A(int depth)
    {
        a++;
        if (depth > 0)
        {
            A(depth - 1);
            B(depth - 1);
        }
    }

    static void B(int depth)
    {
        b++;
        if (depth > 0)
        {
            A(depth - 1);
            B(depth - 1);
        }
    }

    static int Step(int seed)
    {
        int value = seed;
        for (int i = 0; i < 10; i++)
        {
            value = value * 31 + i;
        }
        return value;
    }
}
