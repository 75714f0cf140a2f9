namespace Checks;

public class Tests
{
    [Test]
    public async Task Nothing() => await Assert.That(Sums.To(0)).IsEqualTo(0);

    [Test]
    [Arguments(1, 1)]
    [Arguments(3, 6)]
    [Arguments(4, 10)]
    public async Task Some(int count, int sum) => await Assert.That(Sums.To(count)).IsEqualTo(sum);

    [Test]
    public async Task Later()
    {
        await Task.Yield();
        await Assert.That(Sums.To(5)).IsEqualTo(15);
    }
}
