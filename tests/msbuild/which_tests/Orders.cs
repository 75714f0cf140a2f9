using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Orders;

/// <summary>The tests' own record of the methods that each of them reached.</summary>
public static class Own
{
    private static readonly AsyncLocal<string> Test = new();
    private static readonly ConcurrentDictionary<string, bool> Lines = new();

    static Own() => AppDomain.CurrentDomain.ProcessExit += (_, _) =>
    {
        if (Environment.GetEnvironmentVariable("ORDERS_RECORD") is { } path) File.WriteAllLines(path, Lines.Keys.Order());
    };

    public static void Begin(string test) => Test.Value = test;

    public static void Record(string method) => Lines[$"{method} {Test.Value}"] = true;
}

// Prices are in cents.
public class Order
{
    public int[] Prices = [];

    public int Total()
    {
        Own.Record("Order.Total");
        return Prices.Sum(price => Rounded(price));
    }

    public static int Rounded(int price)
    {
        Own.Record("Order.Rounded");
        return price / 5 * 5 /* rounded */;
    }

    public async Task<int> TotalLater()
    {
        Own.Record("Order.TotalLater");
        await Task.Delay(2);
        return Total();
    }

    public bool IsEmpty
    {
        get
        {
            Own.Record("Order.IsEmpty");
            return Prices.Length == 0;
        }
    }

    public int Lonely()
    {
        int sum = 0;
        foreach (int price in Prices) sum ^= price /* lonely */;
        return sum;
    }

    public int Short()
    {
        return 1 /* short */;
    }
}

public class Stock<T>
{
    public int Count(T[] items)
    {
        Own.Record("Stock<T>.Count");
        return items.Length;
    }

    public class Shelf
    {
        public int Room() { Own.Record("Stock<T>.Shelf.Room"); return 3; }
    }
}
