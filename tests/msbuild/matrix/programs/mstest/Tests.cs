using Microsoft.VisualStudio.TestTools.UnitTesting;

namespace Checks;

[TestClass]
public class Tests
{
    [TestMethod]
    public void Nothing() => Assert.AreEqual(0, Sums.To(0));

    [TestMethod]
    [DataRow(1, 1)]
    [DataRow(3, 6)]
    [DataRow(4, 10)]
    public void Some(int count, int sum) => Assert.AreEqual(sum, Sums.To(count));

    [TestMethod]
    public async Task Later()
    {
        await Task.Yield();
        Assert.AreEqual(15, Sums.To(5));
    }
}
