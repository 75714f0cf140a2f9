using System;
using System.Collections.Generic;

/// <summary>A library with its own tracker, which calls back into the program that has another.</summary>
public static class Lib
{
    public static int Each(int count, Func<int, int> back)
    {
        int sum = 0;
        for (int i = 0; i < count; i++)
        {
            sum += back(Same(i));
        }
        return sum;
    }

    public static T Same<T>(T value)
    {
        List<T> list = new List<T>();
        list.Add(value);
        return list[0];
    }

    public static void Throw(string text)
    {
        throw new InvalidOperationException(text);
    }
}
