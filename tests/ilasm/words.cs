using System;
using System.Collections.Generic;
using System.IO;
using System.Threading.Tasks;

[AttributeUsage(AttributeTargets.All)]
class Marked : Attribute { public Marked(int number) { } }

class Names : IEnumerable<string?>
{
    public IEnumerator<string?> GetEnumerator() { yield return "a"; }
    System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => GetEnumerator();
}

class Limited<T> where T : IEnumerable<string?>
{
    public static int Count(T of) { int count = 0; foreach (var each in of) count++; return count; }
}

static class Program
{
    static int FilterAndCatch(int constraint)
    {
        try
        {
            if (constraint > 1) throw new ArgumentException("a");
            if (constraint == 1) throw new IOException("b");
            return 0;
        }
        catch (ArgumentException error) when (error.Message.Length == constraint - 1) { return 1; }
        catch (IOException) { return 2; }
        catch (Exception) when (constraint == 7) { return 3; }
        catch (Exception) { return 4; }
        finally { Console.Write(constraint); }
    }

    static int Nested(int value)
    {
        try
        {
            try { if (value > 0) throw new IOException(); return 1; }
            catch (ArgumentException error) when (error.HResult == 0) { return 2; }
            catch (IOException) { throw new ArgumentException(); }
        }
        catch (Exception error) when (error is ArgumentException) { return 3; }
        catch (Exception) { return 4; }
    }

    static unsafe int Size<T>(T of) where T : unmanaged => sizeof(T);
    static unsafe int First(int[] of) { fixed (int* first = of) return *first; }
    static async Task<int> Add(int one, int other) { await Task.Yield(); return one + other; }
    static int? Maybe(int? value) => value;

    static int Main()
    {
        string text = "";
        for (int value = 0; value < 9; value++) text += FilterAndCatch(value);
        text += " " + Nested(0) + Nested(1) + " " + Size(5L) + First(new[] { 6 }) + Add(3, 4).GetAwaiter().GetResult() + Maybe(8) + " "
            + typeof(Nullable<>).Name + typeof(KeyValuePair<,>).Name + typeof(DateTime).Name + " " + Limited<Names>.Count(new Names());
        Console.WriteLine(text);
        return text == "021444434 13 8678 Nullable`1KeyValuePair`2DateTime 1" ? 100 : 1;
    }
}
