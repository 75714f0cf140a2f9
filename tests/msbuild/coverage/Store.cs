using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Store;

public interface IPriced
{
    decimal Price { get; }

    decimal Doubled => 2 * Price;
}

public record Item(string Name, decimal Price) : IPriced
{
    public static readonly Item Free = new("free", 0);
    private static int made;

    static Item()
    {
        made = 1;
    }

    public int Number { get; } = ++made;

    public bool IsFree => Price == 0;
}

public class Cache<TKey, TValue>(Func<TKey, TValue> make) where TKey : notnull
{
    private readonly Dictionary<TKey, TValue> values = new();
    private readonly object gate = new();

    public int Misses { get; private set; }

    public TValue Get(TKey key)
    {
        lock (gate)
        {
            if (values.TryGetValue(key, out TValue? value))
            {
                return value;
            }
            Misses++;
            return values[key] = make(key);
        }
    }
}

public sealed class Order : IDisposable
{
    private readonly List<(Item Item, int Count)> lines = [];

    public event EventHandler? Changed;

    public bool IsOpen { get; private set; } = true;

    public void Add(Item item, int count = 1)
    {
        ObjectDisposedException.ThrowIf(!IsOpen, this);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(count);
        lines.Add((item, count));
        Changed?.Invoke(this, EventArgs.Empty);
    }

    public decimal Total(decimal discount = 0)
    {
        decimal total = 0;
        foreach ((Item item, int count) in lines)
            total += item.Price * count;
        return total switch
        {
            0 => 0,
            > 1000 and < 5000 => total * (1 - discount) - 10,
            >= 5000 => total * (1 - discount) - 100,
            _ => total * (1 - discount),
        };
    }

    public void Dispose() => IsOpen = false;
}

public static class Shipping
{
    public static async Task<int> SendAsync(IEnumerable<Order> orders, Func<Order, Task<bool>> send, CancellationToken token = default)
    {
        int sent = 0;
        foreach (Order order in orders)
        {
            token.ThrowIfCancellationRequested();
            try
            {
                if (await send(order))
                {
                    sent++;
                }
                else
                {
                    await Task.Yield();
                }
            }
            catch (IOException error) when (error.Message.StartsWith("busy"))
            {
                await Task.Delay(1, CancellationToken.None);
                sent += await send(order) ? 1 : 0;
            }
            catch (InvalidOperationException)
            {
                // It is not counted.
            }
            finally
            {
                order.Dispose();
            }
        }
        return sent;
    }

    public static async IAsyncEnumerable<decimal> TotalsAsync(IEnumerable<Order> orders)
    {
        foreach (Order order in orders)
        {
            await Task.Yield();
            yield return order.Total();
        }
    }

    public static async ValueTask<decimal> SumAsync(IAsyncEnumerable<decimal> totals)
    {
        decimal sum = 0;
        await foreach (decimal total in totals)
        {
            sum += total;
        }
        return sum;
    }

    public static int Zone(string country)
    {
        if (country is null or "") Fail();
        int zone;
        switch (country)
        {
            case "AT":
            case "DE":
                zone = 1;
                break;
            case "FR":
                zone = 2;
                goto case "IT";
            case "IT":
                zone = 3;
                break;
            default:
                zone = country.Length > 2 ? 9 : 5;
                break;
        }
        return zone;
    }

    [DoesNotReturn]
    private static void Fail()
    {
        throw new ArgumentException("no country");
    }

    public static int Tries(int failures)
    {
        int tries = 0;
        do
        {
            tries++;
            try
            {
                if (tries <= failures)
                {
                    throw new TimeoutException();
                }
            }
            catch (TimeoutException) when (tries > 3)
            {
                return -1;
            }
            catch (TimeoutException)
            {
                continue;
            }
            break;
        }
        while (true);
        return tries;
    }

    public static unsafe int Sum(ReadOnlySpan<int> numbers)
    {
        int sum = 0;
        fixed (int* first = numbers)
        {
            for (int i = 0; i < numbers.Length; i++)
            {
                sum += first[i];
            }
        }
        return sum;
    }

    [ExcludeFromCodeCoverage]
    public static int NotCounted(int number)
    {
        return number + 1;
    }

    /// <summary>No test calls it.</summary>
    public static IEnumerable<int> Never(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }
    }
}
