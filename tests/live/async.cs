using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

// Async methods that the runtime suspends itself, with results in all kinds of registers, and others beside. Prints how often Count ran.
static class App
{
    static int count;

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void Count() => Interlocked.Increment(ref count);

    static async Task<int> Sum(int times)
    {
        int sum = 0;
        for (int i = 0; i < times; i++)
        {
            await Task.Yield();
            sum += await One(i) + await Plain(i);
            Count();
        }
        return sum;
    }

    static async Task<int> One(int number) { if (number % 3 == 0) { await Task.Delay(1); } Count(); return number; }
    static Task<int> Plain(int number) { Count(); return Task.FromResult(number); }
    static async ValueTask<double> Half(int number) { await Task.Yield(); Count(); return number / 2.0; }
    static async Task<(long, double)> Pair(int number) { await Task.Yield(); Count(); return (number, number); }
    static async Task<decimal> Money(int number) { await Task.Yield(); Count(); return number / 4m; }
    static async Task<string> Text(int number) { Count(); await Task.Yield(); return number.ToString(); }
    static async Task Throws(int number) { await Task.Yield(); Count(); throw new InvalidOperationException(); }
    static async Task<bool> Catches(int number) { try { await Throws(number); return false; } catch (InvalidOperationException) { Count(); return true; } }

    static Task<T> Known<T>(T value) { Count(); return Task.FromResult(value); }
    static async Task<T> Same<T>(T value) { await Task.Yield(); Count(); return await Known(value); }

    static async Task<string> All(int number)
    {
        if (await Same(number) != number || await Same("text") != "text" || await new Box<long>().Later(5) != 5 || await new Box<string>().Later("text") != "text")
        {
            throw new Exception("another value");
        }
        (long first, double second) = await Pair(number);
        return $"{await Sum(6)} {await Half(number)} {first + second} {await Money(number)} {await Text(number)} {await Catches(number)}";
    }

    static int Main()
    {
        for (int i = 0; i < 20; i++)
        {
            string text = All(i).Result;
            if (text != FormattableString.Invariant($"30 {i / 2.0} {i + (double)i} {i / 4m} {i} True"))
            {
                throw new Exception(text);
            }
        }
        Console.WriteLine(count);
        return 42;
    }
}

// Methods of a generic class, by instantiations with and without references.
class Box<T>
{
    public async Task<T> Later(T value) { await Task.Yield(); App.Count(); return await Now(value); }
    public Task<T> Now(T value) { App.Count(); return Task.FromResult(value); }
}
