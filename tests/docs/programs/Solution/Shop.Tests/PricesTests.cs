using Xunit;

namespace Shop.Tests
{
    public class PricesTests
    {
        [Fact]
        public void TheLastPriceIsFoundToo()
        {
            Prices prices = new Prices();
            for (int i = 0; i < 200; i++)
            {
                prices.Add("article " + i, i);
            }
            for (int i = 0; i < 100; i++)
            {
                Assert.Equal(199, prices.Find("article 199"));
            }
        }

        [Fact]
        public void CapitalsDoNotMatter()
        {
            Prices prices = new Prices();
            prices.Add("tea", 4);
            Assert.Equal(4, prices.Find("Tea"));
        }
    }
}
