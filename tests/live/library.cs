using System;
using System.Collections.Generic;
using System.Numerics;

// It passes values of the library's types.
static class Library
{
    static int Numbers(Half half, Int128 large, UInt128 unsigned, BigInteger big, BigInteger small) => 1;

    static int Times(DateOnly day, TimeOnly time, Type type) => 2;

    static int Lists(List<int> list, Dictionary<string, int> map, List<string> none) => 3;

    static int Spans(Span<int> span) => span.Length;

    static int Main()
    {
        int sum = Numbers((Half)1.5, Int128.MaxValue, UInt128.MaxValue, BigInteger.Pow(10, 30), -42);
        sum += Times(new DateOnly(2026, 11, 25), new TimeOnly(13, 5, 7), typeof(Dictionary<string, int>));
        sum += Lists(new() { 1, 2, 3, 4, 5 }, new() { ["a"] = 1, ["b"] = 2 }, new());
        sum += Spans(new int[] { 7, 8 });
        return sum;
    }
}
