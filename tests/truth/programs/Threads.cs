using System;
using System.Threading;

/// <summary>Ten thousand threads, each of which calls Short once and Step three times.</summary>
static class Threads
{
    const int Count = 10000;
    static int sink;

    static void Main()
    {
        for (int i = 0; i < Count; i += 4)
        {
            Thread[] four = new Thread[4];
            for (int j = 0; j < four.Length; j++)
            {
                four[j] = new Thread(Short);
                four[j].Start();
            }
            foreach (Thread thread in four)
            {
                thread.Join();
            }
        }
        Console.WriteLine("Short " + Count);
        Console.WriteLine("Step " + 3 * Count);
        Console.Error.Write(sink == 1 ? " " : "");
    }

    static void Short()
    {
        for (int i = 0; i < 3; i++)
        {
            Interlocked.Add(ref sink, Step(i));
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
