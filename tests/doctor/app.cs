using System;

static class App
{
    static int Main(string[] arguments)
    {
        if (arguments.Length > 0)
        {
            for (DateTime end = DateTime.UtcNow.AddSeconds(3); DateTime.UtcNow < end;)
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
