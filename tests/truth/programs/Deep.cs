using System;
using System.Threading.Tasks;

/// <summary>A chain of async calls, the innermost of which goes on elsewhere. A line `Deep number` has how many there are.</summary>
static class Program
{
    static int Main(string[] arguments)
    {
        int depth = int.Parse(arguments[0]);
        Console.WriteLine("Deep " + (Level(depth - 1).GetAwaiter().GetResult() + 1));
        return 0;
    }

    static async Task<int> Level(int below)
    {
        if (below == 0)
        {
            await Task.Yield();
            return 0;
        }
        return 1 + await Level(below - 1);
    }
}
