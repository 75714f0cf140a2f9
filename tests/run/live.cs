// Does a round for each line that comes in, says so, and ends with its input, or when it is killed.
using System;
using System.Threading;

public static class Live
{
    public static void Main()
    {
        Thread thread = new Thread(Loop);
        thread.Start();
        thread.Join();
    }

    private static void Loop()
    {
        Console.WriteLine("ready");
        while (Console.ReadLine() != null)
        {
            for (int i = 0; i < 100; i++)
            {
                Work(1);
                Work("1");
                Rest();
            }
            Console.WriteLine("done");
        }
    }

    private static int Work(int times)
    {
        int sum = 0;
        for (int i = 0; i < times * 1000; i++)
        {
            sum += i % 7;
        }
        return sum;
    }

    private static int Work(string times)
    {
        int sum = 0;
        for (int i = 0; i < times.Length * 1000; i++)
        {
            sum += i % 3;
        }
        return sum;
    }

    private static void Rest()
    {
        Thread.Sleep(1);
    }
}
