using System;
using System.Threading;

static class App
{
    static int Main(string[] arguments)
    {
        if (arguments.Length > 0)
        {
            // Until its input ends.
            bool isOver = false;
            Thread reader = new Thread(delegate() { Console.In.ReadToEnd(); Volatile.Write(ref isOver, true); });
            reader.Start();
            while (!Volatile.Read(ref isOver))
            {
                Add(1, 2);
            }
        }
        int sum = 0;
        for (int i = 0; i < 100; i++)
        {
            sum += One(i) + Other(i);
        }
        return sum == 14950 ? 3 : 4;
    }

    static int One(int number)
    {
        return Add(number, number);
    }

    static int Other(int number)
    {
        return Add(number, 1);
    }

    static int Add(int one, int other)
    {
        return one + other;
    }

    static void Never()
    {
        Console.WriteLine(Add(1, 2));
    }
}
