// The program that most kinds are made of: it prints its kind, and does a little of everything.
using System;
using System.Collections.Generic;

public static class Program
{
    public static int Main()
    {
        Console.WriteLine(typeof(Program).Assembly.GetName().FullName);
        Console.WriteLine(Sum(new List<int> { 1, 2, 3 }));
        foreach (string word in Words("a,b,,c"))
            Console.WriteLine(word + Length(word));
        try { Console.WriteLine(Divide(1, 0)); }
        catch (DivideByZeroException) { Console.WriteLine("caught"); }
        finally { Console.WriteLine("finally"); }
        return 5;
    }

    static int Sum(IEnumerable<int> numbers)
    {
        int sum = 0;
        foreach (int number in numbers)
            sum += number;
        return sum;
    }

    static IEnumerable<string> Words(string text)
    {
        foreach (string word in text.Split(','))
            if (word != "")
                yield return word;
    }

    static T Same<T>(T value) { return value; }
    static int Length(string word) { return Same(word).Length; }
    static int Divide(int a, int b) { return a / b; }
}
