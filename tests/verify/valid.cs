using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

interface ICounted { int Count(); }
interface IUncounted : ICounted { abstract int ICounted.Count(); }
class Counted : IUncounted { public int Count() => 1; }
abstract class HalfCounted : IUncounted { public abstract int Count(); }
class WholeCounted : HalfCounted { public override int Count() => 2; }

interface ITested { bool Test(); }
interface ITested<T> : ITested { bool ITested.Test() => true; }
class TestedBase : ITested<string> { }
class Tested : TestedBase, ITested { }
class TestedTwice : Tested, ITested { public int Field = 0; }
struct TestedValue : ITested<int>, ITested { }

interface IShared { static abstract int Get(); static virtual int Or() => 2; }
interface IAbstractAgain : IShared { static abstract int IShared.Get(); }
interface IDefault : IShared { static int IShared.Get() => 3; }
class Shared : IAbstractAgain { static int IShared.Get() => 4; }
class SharedByName : IShared { public static int Get() => 5; public static int Or() => 6; }
struct SharedByDefault : IDefault { }

interface IVariant<in T, out U> { U Map(T value); Func<T, U> All(Action<Action<T>> take); static T[] Help(T[] of) => of; }
class Variant : IVariant<object, string> { public string Map(object value) => ""; public Func<object, string> All(Action<Action<object>> take) => Map; }

class Animal { public string Name = "animal"; }
readonly struct Pair { public readonly int One, Two; public Pair(int one, int two) { One = one; Two = two; } public int Sum() => One + Two; }
ref struct Kept { public ref int Value; public Kept(ref int value) { Value = ref value; } }
ref struct Copied { public int Value; public Copied(scoped in int value) { Value = value; } }

static class Program
{
    static readonly Pair pair = new Pair(1, 2);
    static readonly int number = 7;
    static readonly Guid guid = Guid.Empty;

    static Animal Either<T, U>(T one, U other) where T : Animal where U : Animal => (Animal)one ?? other;
    static T First<T>(T one, T other) where T : class => one ?? other;
    static IEnumerable<U> Wider<T, U>(IEnumerable<T> of) where T : class, U => of;
    static int Read(in int value) => value;
    static int Sum(in Pair of) => of.Sum();
    static int Of<T>() where T : IShared => T.Get() * 10 + T.Or();
    static Func<int> Get<T>() where T : IShared => T.Get;
    static Copied Copy(int value) => new Copied(value);
    static bool IsSet<T>(T value) => value is not null;
    static int Length(ReadOnlySpan<char> text) => text.Length;

    static int Main()
    {
        int value = 5;
        var kept = new Kept(ref value);
        kept.Value++;
        string text = ((ICounted)new Counted()).Count() + " " + ((ICounted)new WholeCounted()).Count() + " "
            + ((ITested)new Tested()).Test() + ((ITested)new TestedTwice()).Test() + ((ITested)new TestedValue()).Test() + " "
            + Of<Shared>() + " " + Of<SharedByName>() + " " + Of<SharedByDefault>() + " " + Get<SharedByName>()() + " "
            + ((IVariant<string, object>)new Variant()).Map("") + Either(new Animal(), new Animal()).Name + " " + First("a", "b") + " "
            + string.Join(",", Wider<string, object>(new[] { "c" })) + " " + Read(number) + Sum(pair) + pair.Sum() + " "
            + guid.Equals(Guid.Empty) + TimeSpan.Zero.Ticks + DateTime.MinValue.Ticks + Read(in number) + " " + Copy(8).Value + value + " "
            + IsSet("") + Length(new ReadOnlySpan<char>(new char[3]));
        Console.WriteLine(text);
        return text == "1 2 TrueTrueTrue 42 56 32 5 animal a c 733 True007 86 True3" ? 100 : 1;
    }
}
