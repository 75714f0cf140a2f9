using System;

// Runs before Main, and holds the program until a line comes: a profiler attaches meanwhile.
class StartupHook
{
    public static void Initialize()
    {
        Console.WriteLine("ready");
        Console.ReadLine();
    }
}
