using System;
using System.Threading.Tasks;

// Its async methods are ones that the runtime suspends.
static class Suspended
{
    static int calls;

    static async Task<int> Sum(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++)
        {
            await Task.Yield();
            sum += await One(i);
        }
        return sum;
    }

    static async Task<int> One(int number)
    {
        await Task.Yield();
        return Plain(number);
    }

    static int Plain(int number)
    {
        calls++;
        return number % 7 + Math.Abs(number);
    }

    static int Main()
    {
        Console.WriteLine("ready");
        while (Console.ReadLine() != null)
        {
            for (int i = 0; i < 5; i++)
            {
                if (Sum(4).Result != 12)
                {
                    return 1;
                }
            }
            Console.WriteLine("done");
        }
        Console.WriteLine("work " + calls);
        return 42;
    }
}
