using System;
using System.Reflection;

/// <summary>Its view of itself must not change: the types that others see.</summary>
public static class App
{
    const int Offset = 1;

    public static int Main()
    {
        int sum = Lib.Each(10, Twice);
        try
        {
            Lib.Throw("thrown");
        }
        catch (InvalidOperationException e)
        {
            Console.WriteLine(e.Message);
        }
        foreach (Assembly assembly in new Assembly[] { typeof(App).Assembly, typeof(Lib).Assembly })
        {
            Console.WriteLine(assembly.FullName);
            foreach (Type type in assembly.GetExportedTypes())
            {
                Console.WriteLine(type);
            }
        }
        Console.WriteLine(sum);
        return 5;
    }

    static int Twice(int value)
    {
        return Lib.Same(value) + value + Offset;
    }
}
