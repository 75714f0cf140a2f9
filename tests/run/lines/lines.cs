using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

// A line ends with the counts of the sequence points that begin on it, in the order of their columns. The test compares them with
// the profile. No test of this program depends on how a compiler places points in braces.
internal static class Program
{
    private static int Main(string[] arguments)
    {
        string what = arguments.Length == 0 ? "" : arguments[0]; // =1
        if (what == "wait") // =1
        {
            Loops(3);
            Console.WriteLine("ready");
            Console.ReadLine();
        }
        if (what == "fail") // =1
        {
            Loops(3);
            Environment.FailFast("as it was asked to");
        }
        if (what == "twice") // =1
        {
            Loops(3);
            Assembly other = Assembly.Load(File.ReadAllBytes(typeof(Program).Assembly.Location));
            MethodInfo loops = other.GetType("Program").GetMethod("Loops", BindingFlags.NonPublic | BindingFlags.Static);
            loops.Invoke(null, new object[] { 3 });
            return 9;
        }
        if (what == "overflow") // =1
        {
            Loops(3);
            return Deeper(1);
        }
        Loops(3); // =1
        Branches(); // =1
        Exceptions(); // =1
        Filters(); // =1
        Lambdas(); // =1
        foreach (int number in Iterator(3)) // =1,3,4,1
        {
            Text += number; // =3
        }
        Async().Wait(); // =1
        Console.WriteLine(Generic<int>.Twice(4) + Generic<string>.Twice("a").Length); // =1
        Console.WriteLine(Constants.Value + new Derived(3).Sum + Constants.Value); // =1
        Spans(); // =1
        NotCovered();
        Console.WriteLine(Overloaded(1) + Overloaded("ab")); // =1
        Console.WriteLine(Later(1).Result + Later("ab").Result); // =1
        Thread thread = new Thread(OnThread); // =1
        thread.Start(); // =1
        thread.Join(); // =1
        Console.WriteLine(Text); // =1
        return 9; // =1
    }

    private static string Text = ""; // =1

    private static void Loops(int count)
    {
        int sum = 0; // =1
        for (int i = 0; i < count; i++) // =1,4,3
        {
            sum += i; // =3
            if (sum == 1) // =3
            {
                continue; // =1
            }
            sum--; // =2
        }
        while (sum < 5) // =5
        {
            sum++; // =4
        }
        do
        {
            sum--; // =5
        }
        while (sum > 0); // =5
        Text += sum; // =1
    }

    private static void Branches()
    {
        for (int i = 0; i < 6; i++) // =1,7,6
        {
            switch (i) // =6
            {
                case 0: // =
                case 1:
                    Text += "a"; // =2
                    break; // =2
                case 2:
                    goto case 3; // =1
                case 3:
                    Text += "b"; // =2
                    break; // =2
                case 17:
                    Text += "never"; // =0
                    break; // =0
                default:
                    if (i == 4) // =2
                    {
                        goto again; // =1
                    }
                    Text += "c"; // =1
                    break; // =1
            }
        again:
            Text += i > 2 && i < 4 ? "x" : "y"; // =6
        }
        string kind = Text.Length switch // =1
        {
            0 => "empty",
            _ => "text",
        };
        Text += kind; // =1
    }

    private static void Exceptions()
    {
        for (int i = 0; i < 3; i++) // =1,4,3
        {
            try
            {
                Throw(i); // =3
                Text += "-"; // =1
            }
            catch (InvalidOperationException)
            {
                Text += "!"; // =2
            }
            finally
            {
                Text += "f"; // =3
            }
        }
        using (new Disposed()) // =1
        {
            Text += "u"; // =1
        }
        lock (Text) // =1
        {
            Text += "l"; // =1
        }
    }

    private static void Throw(int number)
    {
        if (number > 0) // =5
        {
            throw new InvalidOperationException(); // =4
        }
    }

    private static void Filters()
    {
        for (int i = 0; i < 2; i++) // =1,3,2
        {
            try
            {
                Throw(1); // =2
                Text += "never"; // =0
            }
            catch (Exception e) when (IsIt(e, i)) // =2
            {
                Text += "w"; // =1
            }
            catch (InvalidOperationException)
            {
                Text += "i"; // =1
            }
        }
    }

    private static bool IsIt(Exception e, int number) => e != null && number == 1; // =2

    private static void Lambdas()
    {
        int captured = 2; // =1
        Func<int, int> twice = number => number * captured; // =1,5
        Action both = () =>
        {
            Text += twice(1); // =2
            Text += twice(2); // =2
        };
        both(); // =1
        both(); // =1
        Text += Local(3); // =1

        int Local(int number)
        {
            return twice(number); // =1
        }
    }

    private static IEnumerable<int> Iterator(int count)
    {
        for (int i = 0; i < count; i++) // =1,4,3
        {
            yield return i; // =3
        }
        Text += "end"; // =1
    }

    private static async Task Async()
    {
        for (int i = 0; i < 4; i++) // =1,5,4
        {
            await Task.Delay(1); // =4
            try
            {
                await Step(i); // =4
                Text += "s"; // =2
            }
            catch (InvalidOperationException)
            {
                await Task.Yield(); // =2
                Text += "e"; // =2
            }
        }
    }

    private static async Task<int> Step(int number)
    {
        await Task.Yield(); // =4
        if (number % 2 == 1) // =4
        {
            throw new InvalidOperationException(); // =2
        }
        return number; // =2
    }

    private static void Spans()
    {
        Holder holder = new Holder { Value = 3 }; // =1
        Text += holder.Sum(ref holder); // =1
    }

    // Excluded from code coverage, with its lambda and its iterator.
    [ExcludeFromCodeCoverage]
    private static void NotCovered()
    {
        Func<int> one = () => 1; // =
        foreach (int number in Excluded.Numbers()) // =
        {
            one(); // =
        }
    }

    // One of the overloads is excluded, with its own lambdas and its local function.
    [ExcludeFromCodeCoverage]
    private static int Overloaded(int number)
    {
        Func<int> captured = () => number; // =
        Func<int> constant = () => 1; // =
        int Local() { return captured() + constant(); } // =
        return Local(); // =
    }

    private static int Overloaded(string text)
    {
        Func<int> captured = () => text.Length; // =1,1
        Func<int> constant = () => 1; // =1,1
        int Local() { return Overloaded(2) + captured() + constant(); } // =1,1,1
        return Local(); // =1
    }

    [ExcludeFromCodeCoverage]
    private static async Task<int> Later(int number)
    {
        await Task.Yield(); // =
        Func<Task<int>> captured = async () => { await Task.Yield(); return number; }; // =
        return await captured(); // =
    }

    private static async Task<int> Later(string text)
    {
        await Task.Yield(); // =1
        Func<Task<int>> captured = async () => { await Task.Yield(); return text.Length; }; // =1,1,1,1,1
        return await captured(); // =1
    }

    private static void OnThread()
    {
        for (int i = 0; i < 100000; i++) // =1,100001,100000
        {
            Numbers[i % 2]++; // =100000
        }
    }

    private static readonly int[] Numbers = new int[2]; // =1

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Deeper(int number)
    {
        return Deeper(number + 1) + 1;
    }
}

[ExcludeFromCodeCoverage]
internal static class Excluded
{
    public static IEnumerable<int> Numbers()
    {
        yield return 1; // =
    }
}

internal static class Constants
{
    public static readonly int Value = Compute(); // =1

    private static int Compute()
    {
        return 7; // =1
    }
}

internal class Base
{
    private readonly int first = 1; // =1

    protected Base(int number)
    {
        Sum = first + number; // =1
    }

    public int Sum { get; private set; } // =2,2

    protected void Add(int number) => Sum += number; // =1
}

internal sealed class Derived : Base
{
    private readonly int second = 2; // =1

    public Derived(int number) : base(number) // =1
    {
        Add(second); // =1
    }

    ~Derived()
    {
        GC.KeepAlive(this);
    }
}

internal ref struct Holder
{
    public int Value;

    public int Sum(ref Holder other)
    {
        return Value + other.Value; // =1
    }
}

internal struct Generic<T>
{
    public static string Twice(T value)
    {
        return "" + value + value; // =2
    }
}

internal sealed class Disposed : IDisposable
{
    public void Dispose()
    {
        GC.SuppressFinalize(this); // =1
    }
}
