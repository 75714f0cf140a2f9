using System;
using System.Collections.Generic;
using System.Threading.Tasks;

#if MARKED
[assembly: NoInstrument]
#endif

class NoInstrumentAttribute : Attribute { }

class ToMeasureAttribute : Attribute { }

public class App
{
    public static int Main()
    {
        App app = new App();
        int sum = app.Long(1000000) + app.Quick(3, "a") + app.Quick(4) + Marked.Left() + app.Async().Result;
        foreach (int item in app.Items(2))
        {
            sum += item;
        }
        app.Value = sum;
        Func<int, int> twice = delegate(int number) { return 2 * number + sum; };
        return twice(app.Value) == 0 ? 1 : 0;
    }

    public int Value { get; set; }

    [ToMeasure]
    protected int Long(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++)
        {
            sum += i % 7;
            sum ^= i;
        }
        return sum;
    }

    internal int Quick(int number, string text)
    {
        return number + text.Length;
    }

    public int Never()
    {
        return 0.GetHashCode();
    }

    private int Quick(int number)
    {
        return number.GetHashCode();
    }

    public async Task<int> Async()
    {
        await Task.Yield();
        return 1;
    }

    public IEnumerable<int> Items(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }
    }
}

[NoInstrument]
static class Marked
{
    public static int Left()
    {
        return 1.GetHashCode();
    }
}

public static class Partly
{
    [NoInstrument]
    public static int Left()
    {
        return 1.GetHashCode();
    }

    public static int Kept()
    {
        return 2.GetHashCode();
    }
}
