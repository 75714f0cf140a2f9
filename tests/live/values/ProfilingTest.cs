using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

// Methods that are called with values of all kinds. The lines that the tests expect are in lines.txt.
public class ClassType
{
    public string Name = "x";
    public int Count = 3;
}

public class Derived : ClassType
{
    public ClassType Inner = new ClassType();
    public DateTime When = new DateTime(2020, 1, 2, 3, 4, 5, DateTimeKind.Utc);
    public int[] Numbers = { 1, 2 };
    public int Auto { get; set; } = 7;
}

public struct StructType
{
    public int A;
    public long B;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public long Sum(int more)
    {
        return A + B + more;
    }
}

public struct Mixed
{
    public byte First;
    public string Text;
    public short Last;
}

public ref struct Window
{
    public int Length;
    public ReadOnlySpan<char> Text;
}

public class Pair<K, V>
{
    public K Key;
    public V Value;
}

public enum EnumType : short
{
    X = -1,
    Y = 5,
}

[Flags]
public enum FlagsType : ulong
{
    None,
    A = 1,
    B = 2,
    C = 4,
}

namespace Ns.Inner
{
    public class Generic<T, U>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Inst(T t, U u)
        {
            return 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Stat(T t, U u)
        {
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void GenMeth<V>(T t, V v, List<V> list, Dictionary<string, T[]> d)
        {
        }

        public class In<W>
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public void M(T t, U u, W w)
            {
            }
        }
    }
}

public class PublicClass
{
    public class Nested
    {
        public class Deep
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Method(Nested n, Deep d)
            {
            }
        }
    }

    int field = 11;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public ClassType ClassParamReturnClass(ClassType obj)
    {
        return obj;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int StaticNumbers(bool b, char c, sbyte sb, byte by, short s, ushort us, int i, uint ui, long l, ulong ul, float f, double d)
    {
        return i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public string Strings(string a, string empty, string nul)
    {
        return a;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public string Long(string text, string pairs, string halves)
    {
        return text.Substring(0, 3);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int[] Arrays(int[] v, string[] s, int[,] md)
    {
        return new int[0];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static StructType[] MoreArrays(int[][] jagged, StructType[] structs, ClassType[] objects, EnumType[] enums, object[] all)
    {
        return null;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int ByRefs(ref int r, out string o, in long n)
    {
        o = "set " + r;
        r = 6;
        return r;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool MoreByRefs(ref StructType st, ref string text, ref ClassType obj, in DateTime dt)
    {
        st.A = 10;
        text = "after";
        obj = null;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static StructType Structs(StructType st, EnumType e, int? n, System.DateTime dt)
    {
        return new StructType { A = 3, B = 4 };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static decimal Known(decimal m, Guid g, TimeSpan t, decimal? no, DateTime? when, EnumType? e, FlagsType flags, EnumType other)
    {
        return -m;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Mixed Layouts(Mixed mixed, KeyValuePair<string, int> pair, (int, string) tuple, StructType? st)
    {
        return mixed;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static object Objects(object boxed, object text, Derived derived, IComparable e, object plain)
    {
        return 42L;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static unsafe void Ptr(int* p, void* v, System.IntPtr ip)
    {
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static double Floats(double a, float b, StructType s, double c)
    {
        return a + b + c;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static ref int RefReturn(int[] from)
    {
        return ref from[1];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int RefStruct(Window window)
    {
        return window.Length;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Same<T>(T value)
    {
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Throws(int number)
    {
        throw new InvalidOperationException();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Recursive(int depth)
    {
        return depth == 0 ? 0 : Recursive(depth - 1) + 1;
    }

    // Its target is in an array, which a collection moves.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void AfterCollection(ref int inHeap, ref string onStack)
    {
        GC.Collect();
        inHeap = 2;
        onStack = "collected";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Keep(int[] array, string text)
    {
        return array.Length;
    }
}

static class Program
{
    static int Main(string[] arguments)
    {
        switch (arguments[0])
        {
            case "calls": Calls(); break;
            case "calls-that-return": allReturn = true; Calls(); break;
            case "collections": Collections(int.Parse(arguments[1])); break;
            case "deep": Console.WriteLine(PublicClass.Recursive(int.Parse(arguments[1]))); break;
        }
        return 0;
    }

    static bool allReturn;

    static unsafe void Calls()
    {
        var c = new PublicClass();
        c.ClassParamReturnClass(new ClassType());
        PublicClass.StaticNumbers(true, 'c', -1, 255, -300, 65000, -70000, 4000000000, -5000000000, 18000000000000000000, 1.5f, -2.25);
        c.Strings("héllo", "", null);
        c.Long(new string('x', 1000), "😀\"\n", "\ud83d");
        PublicClass.Arrays(new[] { 1, 2, 3 }, new[] { "a", null }, new int[2, 3]);
        PublicClass.MoreArrays(new[] { new[] { 1 }, null }, new StructType[1], new[] { new ClassType(), null }, new[] { EnumType.Y, EnumType.X }, new object[] { 1, "b", 2.5, EnumType.Y, null, 6 });
        int r = 5;
        PublicClass.ByRefs(ref r, out string o, 9);
        var st = new StructType { A = 1, B = 2 };
        string text = "before";
        var obj = new ClassType();
        PublicClass.MoreByRefs(ref st, ref text, ref obj, new DateTime(2021, 12, 31));
        st.A = 1;
        PublicClass.Structs(st, EnumType.Y, 42, new DateTime(2000, 2, 29, 12, 30, 15, 500));
        PublicClass.Structs(st, (EnumType)77, null, DateTime.MinValue);
        PublicClass.Known(-12.345m, new Guid("00112233-4455-6677-8899-aabbccddeeff"), TimeSpan.FromMinutes(-90), null, new DateTime(1999, 1, 1), EnumType.X, FlagsType.A | FlagsType.C, (EnumType)3);
        PublicClass.Layouts(new Mixed { First = 1, Text = "t", Last = -2 }, new KeyValuePair<string, int>("k", 8), (1, "two"), st);
        PublicClass.Objects(5, "text", new Derived(), EnumType.Y, new object());
        PublicClass.Ptr(null, null, (IntPtr)0x4d);
        PublicClass.Floats(.5, .25f, st, 1e300);
        PublicClass.RefReturn(new[] { 1, 22 });
        PublicClass.RefStruct(new Window { Length = 4, Text = "span" });
        PublicClass.Same<byte?>(3);
        PublicClass.Same<ClassType>(null);
        PublicClass.Same(new Pair<string, int[]> { Key = "k", Value = new[] { 1 } });
        PublicClass.Same(new KeyValuePair<int, EnumType>(1, EnumType.X));
        st.Sum(4);
        try
        {
            if (!allReturn)
            {
                c.Throws(1);
            }
        }
        catch (InvalidOperationException)
        {
        }
        new PublicClass.Nested.Deep().Method(null, null);
        new Ns.Inner.Generic<int, string>().Inst(1, "x");
        Ns.Inner.Generic<string, ClassType>.Stat("s", null);
        new Ns.Inner.Generic<int, string>().GenMeth<long>(1, 2, null, null);
        new Ns.Inner.Generic<string, ClassType>().GenMeth<ClassType>("s", null, null, null);
        new Ns.Inner.Generic<int, string>.In<byte>().M(1, "x", 2);
        var array = new int[3];
        string onStack = "before";
        PublicClass.AfterCollection(ref array[1], ref onStack);
    }

    static volatile bool isEnough;

    // Calls while another thread makes collections, of objects that these move.
    static void Collections(int times)
    {
        Task collector = Task.Run(() =>
        {
            while (!isEnough)
            {
                GC.Collect(0);
                // All others stand still meanwhile, and had better come further than that.
                Task.Delay(1).Wait();
            }
        });
        int sum = 0;
        for (int i = 0; i < times; i++)
        {
            sum += PublicClass.Keep(new[] { i, i + 1 }, "text " + i);
        }
        isEnough = true;
        collector.Wait();
        Console.WriteLine(sum);
    }
}
