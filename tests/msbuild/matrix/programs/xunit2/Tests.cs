using Xunit;

namespace Checks;

public class Tests
{
    [Fact]
    public void Nothing() => Assert.Equal(0, Sums.To(0));

    [Theory]
    [InlineData(1, 1)]
    [InlineData(3, 6)]
    [InlineData(4, 10)]
    public void Some(int count, int sum) => Assert.Equal(sum, Sums.To(count));

    [Fact]
    public async Task Later()
    {
        await Task.Yield();
        Assert.Equal(15, Sums.To(5));
    }
}
