using System;
using System.IO;
using System.Threading;

/// <summary>
/// Asks for no culture and prints nothing, so that it runs where .NET Core finds no ICU; all it says is its exit code. Its
/// argument names what else it does. It counts nothing: the numbers are in the source.
/// </summary>
static class Program
{
    static int Main(string[] arguments)
    {
        foreach (string argument in arguments)
        {
            switch (argument)
            {
                case "paths":
                    // 1 + 2 + ... + 2,048 calls of Left or Right and as many of Branch, each on a path of its own.
                    Left(12);
                    for (int i = 0; i < 1000; i++)
                    {
                        Last();
                    }
                    break;
                case "threads":
                    for (int i = 0; i < 50; i++)
                    {
                        Thread thread = new Thread(Work);
                        thread.Start();
                        thread.Join();
                    }
                    break;
                case "folder":
                    Directory.Delete(Directory.GetCurrentDirectory());
                    break;
            }
        }
        return Fibonacci(6);
    }

    static void Left(int depth)
    {
        Branch(depth);
    }

    static void Right(int depth)
    {
        Branch(depth);
    }

    static void Branch(int depth)
    {
        if (depth > 1)
        {
            Left(depth - 1);
            Right(depth - 1);
        }
    }

    static void Last()
    {
    }

    static void Work()
    {
        Fibonacci(1);
    }

    static int Fibonacci(int number)
    {
        return number < 2 ? number : Fibonacci(number - 1) + Fibonacci(number - 2);
    }
}
