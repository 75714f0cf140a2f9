using System;
using System.Collections.Generic;
using System.Threading.Tasks;

/// <summary>Methods of each kind that hooks are told of: structs, generic types, what cannot be an object, state machines.</summary>
public struct Point
{
    private int _a;

    public Point(int a)
    {
        _a = a;
    }

    public int Twice(int x)
    {
        return _a * 2 + x;
    }

    public int A { get { return _a; } }
}

public class Box<T>
{
    private T _held;

    public Box(T held)
    {
        _held = held;
    }

    public T Swap<U>(U other, ref int count, T held)
    {
        count++;
        T before = _held;
        _held = held;
        return before;
    }
}

public struct Pair<T>
{
    public T Value;

    public string Show(string text)
    {
        return text + Value;
    }
}

public class Program
{
    static int Guarded(int x)
    {
        try
        {
            return Divide(10, x);
        }
        catch (DivideByZeroException)
        {
            return -1;
        }
        finally
        {
            Console.WriteLine("guarded");
        }
    }

    static int Divide(int dividend, int x)
    {
        return dividend / x;
    }

    static IEnumerable<int> Range(int x)
    {
        for (int i = 0; i < x; i++)
        {
            yield return i;
        }
    }

    static async Task<int> Later(int x)
    {
        await Task.FromResult(x);
        return x + 1;
    }

    static unsafe int* Same(int* pointer, DayOfWeek day, decimal amount)
    {
        return pointer;
    }

    static void Nothing(int? some, int[] numbers, out string text)
    {
        text = "set";
        Console.WriteLine(numbers.Length);
    }

    static unsafe void Main()
    {
        int count = 1;
        Point point = new Point(3);
        Console.WriteLine(point.Twice(4) + point.A);
        Console.WriteLine(new Box<string>("held").Swap<long>(5, ref count, "next") + count);
        Pair<int> pair = new Pair<int>();
        pair.Value = 15;
        Console.WriteLine(pair.Show("pair"));
        Console.WriteLine(Guarded(2));
        Console.WriteLine(Guarded(0));
        int sum = 0;
        foreach (int number in Range(3))
        {
            sum += number;
        }
        Console.WriteLine(sum);
        Console.WriteLine(Later(4).Result);
        int local = 7;
        Console.WriteLine(*Same(&local, DayOfWeek.Friday, 2));
        string set;
        Nothing(5, new int[2], out set);
        Console.WriteLine(set);
    }
}
