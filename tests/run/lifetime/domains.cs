using System;

/// <summary>Works in an AppDomain of its own, twice, and in the first one.</summary>
sealed class Domains : MarshalByRefObject
{
    static int Main()
    {
        for (int i = 0; i < 2; i++)
        {
            AppDomain domain = AppDomain.CreateDomain("other");
            Domains there = (Domains)domain.CreateInstanceAndUnwrap(typeof(Domains).Assembly.FullName, "Domains");
            Console.WriteLine(there.Work(10) + new Domains().Work(5));
            AppDomain.Unload(domain);
        }
        return 3;
    }

    int Work(int times)
    {
        int sum = 0;
        for (int i = 0; i < times; i++)
        {
            sum += Leaf(i);
        }
        return sum;
    }

    static int Leaf(int number)
    {
        return number;
    }
}
