using NUnit.Framework;

namespace Checks;

public class Tests
{
    [Test]
    public void Nothing() => Assert.That(Sums.To(0), Is.EqualTo(0));

    [TestCase(1, 1)]
    [TestCase(3, 6)]
    [TestCase(4, 10)]
    public void Some(int count, int sum) => Assert.That(Sums.To(count), Is.EqualTo(sum));

    [Test]
    public async Task Later()
    {
        await Task.Yield();
        Assert.That(Sums.To(5), Is.EqualTo(15));
    }
}
