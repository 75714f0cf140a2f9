using System;

/// <summary>Calls itself, and another plug-in between its own methods.</summary>
public static class Plugin
{
    public static int Run(Func<int> other)
    {
        int sum = 0;
        for (int i = 0; i < 10; i++)
        {
            sum += Own(i);
        }
        return sum + Cross(other);
    }

    static int Own(int number)
    {
        return number;
    }

    static int Cross(Func<int> other)
    {
        return other == null ? 0 : other();
    }
}
