using System.Threading.Tasks;
using Xunit;

namespace Orders.Tests;

public class OrderTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(7)]
    [InlineData(12)]
    public void PricesAreRounded(int price)
    {
        Own.Begin("Orders.Tests.OrderTests.PricesAreRounded");
        Assert.Equal(0, Order.Rounded(price) % 5);
    }

    [Fact]
    public void NoPricesAreEmpty()
    {
        Own.Begin("Orders.Tests.OrderTests.NoPricesAreEmpty");
        Assert.True(new Order().IsEmpty);
    }

    public class Sums
    {
        [Fact]
        public void OfTwo()
        {
            Own.Begin("Orders.Tests.OrderTests.Sums.OfTwo");
            Assert.Equal(15, new Order { Prices = [6, 11] }.Total());
        }
    }
}

/// <summary>These run beside the others.</summary>
public class LaterTests
{
    [Fact]
    public async Task OfThree()
    {
        Own.Begin("Orders.Tests.LaterTests.OfThree");
        await Task.Yield();
        int[] totals = await Task.WhenAll(Of(5), Of(10), Of(15));
        Assert.Equal([5, 10, 15], totals);
        Assert.False(new Order { Prices = [1] }.IsEmpty);
    }

    [Fact]
    public async Task OnAnotherThread()
    {
        Own.Begin("Orders.Tests.LaterTests.OnAnotherThread");
        Assert.Equal(1, await Task.Run(() => new Stock<int>().Count([7])));
    }

    private static async Task<int> Of(int price)
    {
        await Task.Delay(1);
        return await new Order { Prices = [price] }.TotalLater();
    }
}

public class StockTests
{
    [Fact]
    public void ItemsAreCounted()
    {
        Own.Begin("Orders.Tests.StockTests.ItemsAreCounted");
        Assert.Equal(2, new Stock<string>().Count(["a", "b"]));
        Assert.Equal(1, new Stock<int>().Count([4]));
    }

    [Fact]
    public void ShelvesHaveRoom()
    {
        Own.Begin("Orders.Tests.StockTests.ShelvesHaveRoom");
        Assert.Equal(3, new Stock<int>.Shelf().Room());
    }
}
