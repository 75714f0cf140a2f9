using System;

// The same in another order, with other code: each token and the module's key are others.
static class P
{
    static void Fresh() { Work(1); Work(2); }
    static int Id(int value) { return value; }
    static int Work(string text) { return Work(text.Length + 1); }
    static T Id<T>(T value) { return value; }
    static int Work(int n) { int sum = 1; for (int i = 0; i < n; i++) sum += i; return sum; }
    static void Main() { for (int i = 0; i < 20; i++) { Work("ab"); Id("a"); Id(1); Id(2); } Fresh(); }
}
