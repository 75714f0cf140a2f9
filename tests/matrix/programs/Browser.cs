using System;
using System.Threading.Tasks;
using Steps;

/// <summary>
/// Does known work without threads, in calls of its own, after an await and in a timer's callback, and ends in the way that its
/// argument names.
/// </summary>
static class Browser
{
    const int Steps = 1000;

    static async Task<int> Main(string[] arguments)
    {
        Work.Run(Steps);
        for (int i = 0; i < 3; i++)
        {
            await Task.Delay(1);
            Work.Run(Steps);
        }
        TaskCompletionSource<bool> done = new TaskCompletionSource<bool>();
        using (new System.Threading.Timer(delegate { Work.Run(Steps); done.SetResult(true); }, null, 1, -1))
        {
            await done.Task;
        }
        Console.WriteLine("steps " + Work.Taken);
        switch (arguments[0])
        {
            case "throw":
                throw new InvalidOperationException("nobody catches this");
            case "exit":
                Environment.Exit(42);
                break;
        }
        return 5;
    }
}
