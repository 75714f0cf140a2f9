using System;

static class P
{
    static int Work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
    static int Work(string text) { return Work(text.Length); }
    static T Id<T>(T value) { return value; }
    static int Id(int value) { return value; }
    static void Gone() { Work(1); }
    static void Main() { for (int i = 0; i < 20; i++) { Work("ab"); Id("a"); Id(1); } Gone(); }
}
