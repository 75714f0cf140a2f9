using System;
using System.Collections.Generic;
using System.Threading.Tasks;

// A method whose name begins with `Skipped` only calls methods that are skipped, and so is; one with `Kept` is not.
struct Pair
{
    int first;

    public static bool operator ==(Pair one, Pair other) { return one.first == other.first; }
    public static bool operator !=(Pair one, Pair other) { return !(one == other); }
    public override bool Equals(object other) { return other is Pair && this == (Pair)other && GetHashCode() != 0; }
    public override int GetHashCode() { return first; }
}

class Base
{
    public int SkippedByDefaultConstructor;
}

class Derived : Base
{
    readonly int number;

    public Derived(int number, int other) { this.number = number + other; }
    public Derived(int number) : this(number, 1) { }
}

class List<TItem>
{
    readonly TItem[] items = new TItem[4];

    TItem Item { get { return items[0]; } }
    public TItem SkippedOfGeneric { get { return Item; } }
}

abstract class Node
{
    int flags;

    bool ClosedInternal { get { return (flags & 1) != 0; } }
    public bool SkippedForwarder { get { return ClosedInternal; } }
    public bool SkippedTwice() { return SkippedForwarder; }
    public bool SkippedThrice() { return SkippedTwice() || SkippedForwarder; }
    protected abstract int Abstract { get; }
    public int SkippedOfAccessor() { return Abstract; }
    public int SkippedOfLibrary(string text) { return text.Length; }

    protected abstract int Work();
    public int KeptOfAbstract() { return Work(); }
    public int KeptOfProbed() { return Probed(3); }
    public int KeptOfCallerOfProbed() { return KeptOfProbed(); }
    public string KeptOfLibrary(string text) { return text.Trim(); }
    public int KeptAsItWaits(Task<int> task) { return task.Result; }
    public int KeptAsItLoops() { while (!ClosedInternal) { } return 0; }
    public int KeptRing(int n) { return KeptRingToo(n); }
    public int KeptRingToo(int n) { return KeptRing(n); }
    public int[] KeptAsItMakesArrays() { return new int[flags]; }
    public Func<bool> KeptAsItMakesDelegates() { return SkippedTwice; }
    public object SkippedMaker() { return new Base(); }

    int Probed(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++)
        {
            sum += i;
        }
        return sum;
    }

    static int Main()
    {
        return 0;
    }
}
