using System;
using Microsoft.VisualStudio.TestTools.UnitTesting;
using NUnit.Framework;

// The attributes of NUnit and MSTest, as far as these tests need them.
namespace NUnit.Framework
{
    public sealed class TestAttribute : Attribute { }

    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    public sealed class TestCaseAttribute : Attribute
    {
        public TestCaseAttribute(int argument) { }
    }

    public sealed class TestCaseSourceAttribute : Attribute
    {
        public TestCaseSourceAttribute(string source) { }
    }

    public sealed class SetUpAttribute : Attribute { }
}

namespace Microsoft.VisualStudio.TestTools.UnitTesting
{
    public sealed class TestMethodAttribute : Attribute { }

    public sealed class DataTestMethodAttribute : Attribute { }
}

namespace Shop
{
    public sealed class ScenarioAttribute : Attribute { }

    public static class Order
    {
        public static int Total(int count)
        {
            int sum = 0;
            for (int i = 0; i < count; i++) sum += Price(i);
            return sum;
        }

        public static int Price(int number)
        {
            return number * 3;
        }
    }

    public static class NUnitTests
    {
        [SetUp] public static void Prepare() { Order.Total(1); }

        [Test] public static void Nothing() { Order.Total(0); }

        [TestCase(2)] [TestCase(3)] public static void Some(int count) { Order.Total(count); }

        [TestCaseSource("Numbers")] public static void Many(int count) { Order.Total(count); }
    }

    public static class MSTestTests
    {
        [TestMethod] public static void Prices() { Order.Price(7); }

        [DataTestMethod] public static void Rows(int count) { Order.Total(count); Order.Total(count); }
    }

    public static class Stories
    {
        [Scenario] public static void Buy() { Order.Total(2); }
    }

    public static class Program
    {
        public static void Main(string[] arguments)
        {
            Stories.Buy();
            if (arguments.Length > 0) return;
            NUnitTests.Prepare();
            NUnitTests.Nothing();
            NUnitTests.Some(2);
            NUnitTests.Some(3);
            NUnitTests.Many(4);
            MSTestTests.Prices();
            MSTestTests.Rows(1);
        }
    }
}
