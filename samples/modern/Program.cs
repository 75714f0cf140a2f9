// Shapes of C# 9 to 13, each with a result to print.
using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Linq;
using System.Numerics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

Records.Run();
Generics.Run();
Memory.Run();
Patterns.Run();
await Async.Run();
Functions.Run();
Count.Write();
return 7;

record Point(int X, int Y)
{
    public double Length => Math.Sqrt(X * X + Y * Y);
}
record Point3(int X, int Y, int Z) : Point(X, Y);
readonly record struct Pair<T>(T First, T Second) where T : notnull;

class Person(string name, int age)
{
    public required string Title { get; init; }
    public string Describe() => $"{Title} {name}, {age}";
    public int Older(int years) => age += years;
}

static class Records
{
    public static void Run()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        Point point = new(3, 4);
        Point other = point with { Y = 5 };
        var (x, y) = other;
        Console.WriteLine($"{point} {other} {point == new Point(3, 4)} {point.Length} {x + y}");
        Console.WriteLine(new Point3(1, 2, 3) with { Z = 9 });
        Console.WriteLine(new Pair<string>("a", "b") { Second = "c" }.GetHashCode() == new Pair<string>("a", "c").GetHashCode());
        Person person = new("Ann", 40) { Title = "Dr" };
        person.Older(2);
        Console.WriteLine(person.Describe());
    }
}

[AttributeUsage(AttributeTargets.All)]
class MarkAttribute<T> : Attribute { public Type Of => typeof(T); }

interface IShape<TSelf> where TSelf : IShape<TSelf>
{
    static abstract TSelf Unit { get; }
    static abstract TSelf operator *(TSelf shape, int times);
    double Area { get; }
    string Name() => "shape of " + Area;
}

[Mark<int>]
readonly struct Square(double side) : IShape<Square>
{
    public static Square Unit => new(1);
    public static Square operator *(Square square, int times) => new(square.Side * times);
    public double Side => side;
    public double Area => side * side;
}

static class Generics
{
    public static void Run()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        Console.WriteLine(Scale<Square>(3).Area + " " + ((IShape<Square>)Scale<Square>(2)).Name());
        Console.WriteLine(Sum<int>([1, 2, 3]) + Sum<double>([0.5, 0.25]));
        Console.WriteLine(typeof(Square).GetCustomAttributes(false).OfType<MarkAttribute<int>>().Single().Of.Name);
    }

    static T Scale<T>(int times) where T : IShape<T>
    {
        Count.Here(MethodBase.GetCurrentMethod());
        return T.Unit * times;
    }

    static T Sum<T>(ReadOnlySpan<T> values) where T : INumber<T>
    {
        Count.Here(MethodBase.GetCurrentMethod());
        T sum = T.Zero;
        foreach (T value in values) sum += value;
        return sum;
    }
}

[InlineArray(4)]
struct Four<T> { private T first; }

ref struct Window(Span<int> span)
{
    private ref int head = ref span[0];
    public readonly ref int Head => ref head;
    public readonly ref readonly int Peek => ref head;
    [UnscopedRef] public ref Window Self() => ref this;
    public void Dispose() => head = -head;
}

static class Memory
{
    public static void Run()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        Span<int> stack = stackalloc int[] { 1, 2, 3, 4 };
        using (Window window = new(stack))
        {
            window.Head += 10;
            Console.WriteLine(window.Peek + " " + stack[0]);
        }
        Console.WriteLine(stack[0]);
        Four<int> four = new();
        for (int i = 0; i < 4; i++) four[i] = i * i;
        Console.WriteLine(four[3] + Total(four[1..3]));
        int[] numbers = [5, 6, .. stack, 7];
        List<string> words = ["x", .. numbers.Select(number => number.ToString())];
        Console.WriteLine(string.Join(",", words) + " " + numbers[^1] + " " + Largest(numbers, out int where) + "@" + where);
        ref int largest = ref Find(numbers, 6);
        largest = 60;
        Console.WriteLine(numbers[1] + " " + Joined("a", "b", "c"));
        Console.WriteLine(First("hello world".AsSpan(), ' ').ToString() + $"{stack.Length:D3}");
    }

    static int Total(scoped ReadOnlySpan<int> values)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        int total = 0;
        foreach (ref readonly int value in values) total += value;
        return total;
    }

    static int Largest(in ReadOnlySpan<int> values, out int index)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        index = 0;
        for (int i = 1; i < values.Length; i++) if (values[i] > values[index]) index = i;
        return values[index];
    }

    static int Largest(int[] values, out int index) => Largest((ReadOnlySpan<int>)values, out index);

    static ref int Find(Span<int> values, int wanted)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        for (int i = 0; i < values.Length; i++) if (values[i] == wanted) return ref values[i];
        throw new InvalidOperationException();
    }

    static string Joined(params ReadOnlySpan<string> parts)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        return string.Join("-", parts.ToArray());
    }

    static ReadOnlySpan<char> First(ReadOnlySpan<char> text, char end)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        int at = text.IndexOf(end);
        return at < 0 ? text : text[..at];
    }
}

static class Patterns
{
    public static void Run()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        foreach (object value in new object[] { 1, -5, "long text", new Point(0, 3), new[] { 1, 2, 3 }, Array.Empty<int>(), 2.5 })
        {
            Console.WriteLine(Describe(value));
        }
        Console.WriteLine("""
            raw "text"
            """);
    }

    static string Describe(object value)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        return value switch
        {
            int and > 0 => "positive",
            int => "not positive",
            string { Length: > 5 } text => "long: " + text,
            Point { X: 0, Y: var y } => "on the axis at " + y,
            int[] and [var first, .., var last] => $"from {first} to {last}",
            int[] and [] => "empty",
            _ => "else",
        };
    }
}

static class Async
{
    public static async Task Run()
    {
        Count.Of(typeof(Async), "Run");
        List<int> seen = [];
        await foreach (int number in Numbers(4))
        {
            seen.Add(number);
        }
        Console.WriteLine(string.Join(" ", seen) + " " + await Later(20) + await Soon(1));
        await using (Resource resource = new())
        {
            Console.WriteLine("in use");
        }
        try
        {
            await Fail();
        }
        catch (InvalidOperationException e) when (e.Message.Length > 2)
        {
            Console.WriteLine("failed: " + e.Message);
        }
    }

    static async IAsyncEnumerable<int> Numbers(int count, [EnumeratorCancellation] CancellationToken stop = default)
    {
        for (int i = 0; i < count; i++)
        {
            await Task.Yield();
            stop.ThrowIfCancellationRequested();
            yield return i;
        }
    }

    static async ValueTask<int> Later(int value)
    {
        await Task.Delay(1);
        return value + 1;
    }

    static async ValueTask<int> Soon(int value) => await ValueTask.FromResult(value);

    static async Task Fail()
    {
        await Task.Yield();
        throw new InvalidOperationException("on purpose");
    }
}

class Resource : IAsyncDisposable
{
    public async ValueTask DisposeAsync()
    {
        await Task.Yield();
        Console.WriteLine("disposed");
    }
}

static unsafe class Functions
{
    public static void Run()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        delegate*<int, int, int> add = &Add;
        Console.WriteLine(add(2, 3) + Twice(4, static x => x + 1));
        var typed = (int x, int y = 10) => x * y;
        Console.WriteLine(typed(3) + typed(3, 2));
        Console.WriteLine(Local(5));
        lock (new object())
        {
            Console.WriteLine(nameof(Run));
        }

        static int Local(int depth)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return depth == 0 ? 1 : depth * Local(depth - 1);
        }
    }

    static int Add(int one, int other)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        return one + other;
    }

    static int Twice(int value, Func<int, int> change)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        return change(change(value));
    }
}
