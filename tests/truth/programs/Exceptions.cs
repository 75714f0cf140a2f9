using System;

/// <summary>Exceptions that pass several methods. A line `Caught number` says how many.</summary>
static class Exceptions
{
    static void Main()
    {
        int caught = 0;
        for (int i = 0; i < 10; i++)
        {
            try
            {
                Outer(i);
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        }
        Console.WriteLine("Caught " + caught);
    }

    static int Outer(int seed)
    {
        int value = Middle(seed + 1);
        for (int i = 0; i < 10; i++)
        {
            value = value * 31 + i;
        }
        return value;
    }

    static int Middle(int seed)
    {
        int value = Inner(seed + 1);
        for (int i = 0; i < 10; i++)
        {
            value = value * 31 + i;
        }
        return value;
    }

    static int Inner(int seed)
    {
        int value = seed;
        for (int i = 0; i < 10; i++)
        {
            value = value * 31 + i;
        }
        if (value != seed)
        {
            throw new InvalidOperationException("as meant");
        }
        return value;
    }
}
