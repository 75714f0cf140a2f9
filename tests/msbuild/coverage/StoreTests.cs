using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Store;
using Words;
using Xunit;

public class CalculatorTests
{
    [Theory]
    [InlineData("2*3 + 1", 7)]
    [InlineData("7-4 + 2", 5)]
    [InlineData("8/2 + 3", 7)]
    [InlineData("(1+2)*3 + 4", 13)]
    [InlineData("-5+6 + 5", 6)]
    [InlineData("2*(3+4) + 6", 20)]
    [InlineData("1.5*2 + 7", 10)]
    [InlineData("10/4 + 8", 10.5)]
    [InlineData("((2)) + 9", 11)]
    [InlineData("1+2 + 10", 13)]
    [InlineData("2*3 + 11", 17)]
    [InlineData("7-4 + 12", 15)]
    [InlineData("8/2 + 13", 17)]
    [InlineData("(1+2)*3 + 14", 23)]
    [InlineData("-5+6 + 15", 16)]
    [InlineData("2*(3+4) + 16", 30)]
    [InlineData("1.5*2 + 17", 20)]
    [InlineData("10/4 + 18", 20.5)]
    [InlineData("((2)) + 19", 21)]
    [InlineData("1+2 + 20", 23)]
    [InlineData("2*3 + 21", 27)]
    [InlineData("7-4 + 22", 25)]
    [InlineData("8/2 + 23", 27)]
    [InlineData("(1+2)*3 + 24", 33)]
    [InlineData("-5+6 + 25", 26)]
    [InlineData("2*(3+4) + 26", 40)]
    [InlineData("1.5*2 + 27", 30)]
    [InlineData("10/4 + 28", 30.5)]
    [InlineData("((2)) + 29", 31)]
    [InlineData("1+2 + 30", 33)]
    [InlineData("2*3 + 31", 37)]
    [InlineData("7-4 + 32", 35)]
    [InlineData("8/2 + 33", 37)]
    [InlineData("(1+2)*3 + 34", 43)]
    [InlineData("-5+6 + 35", 36)]
    [InlineData("2*(3+4) + 36", 50)]
    [InlineData("1.5*2 + 37", 40)]
    [InlineData("10/4 + 38", 40.5)]
    [InlineData("((2)) + 39", 41)]
    [InlineData("1+2 + 40", 43)]
    public void Values(string text, double value) => Assert.Equal(value, new Calculator().Value(text));

    [Theory]
    [InlineData("1 +", 3)]
    [InlineData("(1", 0)]
    [InlineData("1 2", 2)]
    [InlineData("#", 0)]
    [InlineData("\"open", 0)]
    [InlineData(")", 0)]
    [InlineData("*", 0)]
    [InlineData("1 + ?", 4)]
    [InlineData("2 (", 2)]
    [InlineData("a b", 2)]
    public void Errors(string text, int at) => Assert.Equal(at, Assert.Throws<FormatError>(() => new Calculator().Value(text)).At);

    [Fact]
    public void Division() => Assert.Throws<DivideByZeroException>(() => new Calculator().Value("1 / 0"));

    [Fact]
    public void Names()
    {
        Calculator calculator = new() { ["a"] = 2 };
        Assert.Equal(4, calculator.Value("a * a + b"));
    }

    [Fact]
    public void Texts() => Assert.Equal([Kind.Text, Kind.Symbol, Kind.Name], Tokens.Of("\"a b\" = c1").Select(token => token.Kind));
}

public class ColumnTests
{
    [Fact]
    public void None() => Assert.Equal("", Columns.Aligned([]));

    [Theory]
    [InlineData("x", 1)]
    [InlineData("xx", 2)]
    [InlineData("xxx", 3)]
    [InlineData("xxxx", 4)]
    [InlineData("xxxxx", 5)]
    [InlineData("xxxxxx", 6)]
    [InlineData("xxxxxxx", 7)]
    [InlineData("xxxxxxxx", 8)]
    [InlineData("xxxxxxxxx", 9)]
    [InlineData("xxxxxxxxxx", 10)]
    [InlineData("xxxxxxxxxxx", 11)]
    [InlineData("xxxxxxxxxxxx", 12)]
    [InlineData("xxxxxxxxxxxxx", 13)]
    [InlineData("xxxxxxxxxxxxxx", 14)]
    [InlineData("xxxxxxxxxxxxxxx", 15)]
    [InlineData("xxxxxxxxxxxxxxxx", 16)]
    [InlineData("xxxxxxxxxxxxxxxxx", 17)]
    [InlineData("xxxxxxxxxxxxxxxxxx", 18)]
    [InlineData("xxxxxxxxxxxxxxxxxxx", 19)]
    [InlineData("xxxxxxxxxxxxxxxxxxxx", 20)]
    public void Widths(string first, int width) =>
        Assert.Equal($"{first}  b\n{"c".PadRight(width)}  d\n", Columns.Aligned([[first, "b"], ["c", "d"]]));
}

public class OrderTests
{
    [Theory]
    [InlineData(1, 50)]
    [InlineData(2, 100)]
    [InlineData(3, 150)]
    [InlineData(4, 200)]
    [InlineData(5, 250)]
    [InlineData(6, 300)]
    [InlineData(7, 350)]
    [InlineData(8, 400)]
    [InlineData(9, 450)]
    [InlineData(10, 500)]
    [InlineData(11, 550)]
    [InlineData(12, 600)]
    [InlineData(13, 650)]
    [InlineData(14, 700)]
    [InlineData(15, 750)]
    [InlineData(16, 800)]
    [InlineData(17, 850)]
    [InlineData(18, 900)]
    [InlineData(19, 950)]
    [InlineData(20, 1000)]
    [InlineData(21, 1050)]
    [InlineData(22, 1100)]
    [InlineData(23, 1150)]
    [InlineData(24, 1200)]
    [InlineData(25, 1250)]
    [InlineData(26, 1300)]
    [InlineData(27, 1350)]
    [InlineData(28, 1400)]
    [InlineData(29, 1450)]
    [InlineData(30, 1500)]
    [InlineData(31, 1550)]
    [InlineData(32, 1600)]
    [InlineData(33, 1650)]
    [InlineData(34, 1700)]
    [InlineData(35, 1750)]
    [InlineData(36, 1800)]
    [InlineData(37, 1850)]
    [InlineData(38, 1900)]
    [InlineData(39, 1950)]
    [InlineData(40, 2000)]
    public void Totals(int count, int price)
    {
        using Order order = new();
        order.Add(new Item("a", price), count);
        decimal total = count * price;
        decimal expected = total >= 5000 ? total - 100 : total > 1000 ? total - 10 : total;
        Assert.Equal(expected, order.Total());
    }

    [Fact]
    public void Nothing() => Assert.Equal(0, new Order().Total());

    [Fact]
    public void Changes()
    {
        int changes = 0;
        Order order = new();
        order.Changed += (_, _) => changes++;
        order.Add(Item.Free);
        order.Add(Item.Free, 3);
        Assert.Equal(2, changes);
        Assert.True(Item.Free.IsFree);
        Assert.Equal(0, ((IPriced)Item.Free).Doubled);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(-2)]
    [InlineData(-3)]
    public void Counts(int count) => Assert.Throws<ArgumentOutOfRangeException>(() => new Order().Add(Item.Free, count));

    [Fact]
    public void Closed()
    {
        Order order = new();
        order.Dispose();
        Assert.Throws<ObjectDisposedException>(() => order.Add(Item.Free));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    [InlineData(7)]
    [InlineData(8)]
    [InlineData(9)]
    [InlineData(10)]
    [InlineData(11)]
    [InlineData(12)]
    [InlineData(13)]
    [InlineData(14)]
    [InlineData(15)]
    public void Caches(int keys)
    {
        Cache<int, string> cache = new(key => $"{key}");
        for (int i = 0; i < 3 * keys; i++) Assert.Equal($"{i % keys}", cache.Get(i % keys));
        Assert.Equal(keys, cache.Misses);
    }
}

public class ShippingTests
{
    private static Order Of(decimal price)
    {
        Order order = new();
        order.Add(new Item("a", price));
        return order;
    }

    [Theory]
    [InlineData("AT", 1)]
    [InlineData("DE", 1)]
    [InlineData("FR", 3)]
    [InlineData("IT", 3)]
    [InlineData("US", 5)]
    [InlineData("GB", 5)]
    [InlineData("CHE", 9)]
    [InlineData("JP", 5)]
    [InlineData("SE", 5)]
    [InlineData("NOR", 9)]
    public void Zones(string country, int zone) => Assert.Equal(zone, Shipping.Zone(country));

    [Fact]
    public void NoZone() => Assert.Throws<ArgumentException>(() => Shipping.Zone(""));

    [Theory]
    [InlineData(0, 1)]
    [InlineData(1, 2)]
    [InlineData(2, 3)]
    [InlineData(3, 4)]
    [InlineData(4, -1)]
    [InlineData(9, -1)]
    public void Tries(int failures, int tries) => Assert.Equal(tries, Shipping.Tries(failures));

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    [InlineData(7)]
    [InlineData(8)]
    [InlineData(9)]
    [InlineData(10)]
    [InlineData(11)]
    [InlineData(12)]
    public async Task Sends(int count)
    {
        List<Order> orders = Enumerable.Range(0, count).Select(number => Of(number)).ToList();
        int calls = 0;
        int sent = await Shipping.SendAsync(orders, async order =>
        {
            await Task.Yield();
            int call = calls++;
            if (call % 4 == 1) throw new IOException("busy");
            if (call % 4 == 3) throw new InvalidOperationException();
            return call % 4 == 2;
        });
        Assert.InRange(sent, 0, count);
        Assert.All(orders, order => Assert.False(order.IsOpen));
    }

    [Fact]
    public async Task Cancelled()
    {
        using CancellationTokenSource source = new();
        source.Cancel();
        await Assert.ThrowsAsync<OperationCanceledException>(
            () => Shipping.SendAsync([Of(1)], _ => Task.FromResult(true), source.Token));
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(1, 0)]
    [InlineData(2, 1)]
    [InlineData(3, 3)]
    [InlineData(4, 6)]
    [InlineData(5, 10)]
    [InlineData(6, 15)]
    [InlineData(7, 21)]
    [InlineData(8, 28)]
    [InlineData(9, 36)]
    [InlineData(10, 45)]
    [InlineData(11, 55)]
    [InlineData(12, 66)]
    [InlineData(13, 78)]
    [InlineData(14, 91)]
    public async Task Sums(int count, int sum) =>
        Assert.Equal(sum, await Shipping.SumAsync(Shipping.TotalsAsync(Enumerable.Range(0, count).Select(number => Of(number)))));

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    [InlineData(7)]
    [InlineData(8)]
    [InlineData(9)]
    [InlineData(10)]
    [InlineData(11)]
    [InlineData(12)]
    [InlineData(13)]
    [InlineData(14)]
    [InlineData(15)]
    [InlineData(16)]
    [InlineData(17)]
    public void Spans(int count) => Assert.Equal(count * (count - 1) / 2, Shipping.Sum(Enumerable.Range(0, count).ToArray()));

    [Fact]
    public void Uncounted() => Assert.Equal(2, Shipping.NotCounted(1));
}
