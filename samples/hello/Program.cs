using System;
using System.Reflection;

class TestClass
{
    private int value;

    public TestClass(int value)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        this.value = value;
    }

    public string Name { get; set; }

    public int Value
    {
        get
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return value;
        }
        set
        {
            Count.Here(MethodBase.GetCurrentMethod());
            this.value = value;
        }
    }

    public void Print()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        Count.Of(typeof(TestClass), "get_Name");
        Console.WriteLine(Name + ": " + value);
    }

    public int Add(int other)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        return value + other;
    }

    public decimal Price(decimal each)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        return value * each;
    }

    public int Apply(Func<int, int> change)
    {
        Count.Here(MethodBase.GetCurrentMethod());
        value = change(value);
        return value;
    }
}

static class Program
{
    static int Main()
    {
        Count.Here(MethodBase.GetCurrentMethod());
        TestClass test = new TestClass(20);
        test.Name = "test";
        Count.Of(typeof(TestClass), "set_Name");
        test.Print();
        test.Value = test.Add(22);
        Console.WriteLine("price " + test.Price(1.5m).ToString(System.Globalization.CultureInfo.InvariantCulture));
        for (int i = 0; i < 3; i++)
        {
            Console.WriteLine("apply " + test.Apply(value =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return value * 2;
            }));
        }
        Console.WriteLine("value " + test.Value);
        Count.Write();
        return 0;
    }
}
