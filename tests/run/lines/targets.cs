using System;
using System.Collections.Generic;
using System.Threading.Tasks;

// The program is built for two targets, and both programs run. A line ends with the sums of the counts of its sequence points.
internal static class Program
{
#if NEWER
    private const int Count = 5;
#else
    private const int Count = 3;
#endif

    private static int Main()
    {
        int sum = 0; // =2
        for (int i = 0; i < Count; i++) // =2,10,8
        {
            sum += Next(i); // =8
#if NEWER
            sum ^= i; // =5
#else
            sum--; // =3
#endif
        }
        Func<int, int> twice = number => number * 2; // =2,8
        foreach (int number in Numbers()) // =2,8,10,2
        {
            sum += twice(number); // =8
        }
        sum += Later(sum).Result; // =2
#if NEWER
        sum += Newer(); // =1
#endif
        Console.WriteLine(sum); // =2
        return 9; // =2
    }

    private static int Next(int number)
#if NEWER
        => number + 1; // =5
#else
        => number + 2; // =3
#endif

    private static IEnumerable<int> Numbers()
    {
        for (int i = 0; i < Count; i++) // =2,10,8
        {
            yield return i; // =8
        }
    }

    private static async Task<int> Later(int number)
    {
        await Task.Yield(); // =2
#if NEWER
        number++; // =1
#endif
        return number; // =2
    }

#if NEWER
    private static int Newer()
    {
        return 4; // =1
    }
#endif
}
