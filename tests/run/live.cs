// Works until a line comes in, or it is killed.
using System;
using System.Threading;

public static class Live
{
    private static volatile bool goesOn = true;

    public static void Main()
    {
        Thread thread = new Thread(Loop);
        thread.Start();
        Console.WriteLine("ready");
        Console.ReadLine();
        goesOn = false;
        thread.Join();
    }

    private static void Loop()
    {
        while (goesOn)
        {
            Work(1);
            Work("1");
            Rest();
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
