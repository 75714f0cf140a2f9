using System;
using System.Threading.Tasks;

/// <summary>
/// Async calls that fail. Lines `METHOD calls failures`, and `frames.NAME number`: how many frames an exception's stack trace has.
/// </summary>
static class Program
{
    const int Times = 200;

    static int Main()
    {
        Run().GetAwaiter().GetResult();
        Console.WriteLine("Program::AtOnce " + (Times + 1) + " " + (Times + 1));
        Console.WriteLine("Program::Later " + (Times + 1) + " " + (Times + 1));
        Console.WriteLine("Program::Passed " + (2 * Times + 2) + " " + (2 * Times + 2));
        Console.WriteLine("Program::Caught " + 2 * Times + " 0");
        Console.WriteLine("frames.once " + Frames(Passed(0, false)));
        Console.WriteLine("frames.later " + Frames(Passed(0, true)));
        return 0;
    }

    static async Task Run()
    {
        for (int i = 1; i < Times; i++)
        {
            await Caught(i, false);
            await Caught(i, true);
        }
        await Caught(Times, false);
        await Caught(Times, true);
    }

    static async Task<int> Caught(int number, bool isLater)
    {
        try
        {
            return await Passed(number, isLater);
        }
        catch (InvalidOperationException)
        {
            return number;
        }
    }

    static async Task<int> Passed(int number, bool isLater)
    {
        return (isLater ? await Later(number) : await AtOnce(number)) + 1;
    }

    static async Task<int> Later(int number)
    {
        await Task.Yield();
        if (number >= 0)
        {
            throw new InvalidOperationException("later");
        }
        return number;
    }

    static async Task<int> AtOnce(int number)
    {
        if (number >= 0)
        {
            throw new InvalidOperationException("at once");
        }
        await Task.Yield();
        return number;
    }

    static int Frames(Task task)
    {
        try
        {
            task.GetAwaiter().GetResult();
            return 0;
        }
        catch (InvalidOperationException exception)
        {
            return exception.StackTrace.Split('\n').Length;
        }
    }
}
