using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;

// Says of each of its calls what is passed and returned, in the order in which they begin, as `ilinst report --calls` does.
static unsafe class App
{
    static int Main(string[] arguments)
    {
        Console.SetOut(new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true });
        switch (arguments[0])
        {
            case "kinds": Kinds(); break;
            case "exceptions": Exceptions(); break;
            case "collections": Console.WriteLine(Collections(int.Parse(arguments[1]), int.Parse(arguments[2]))); break;
            case "texts": Calls.Told(new Told(3), new Point(1, 2), new Told(0), 5); break;
            case "deep": Console.WriteLine(Calls.Deep(int.Parse(arguments[1]))); break;
        }
        return 0;
    }

    static void Kinds()
    {
        Calls.Add(1, -2);
        Calls.Add(int.MaxValue, 1);
        Calls.Numbers(true, 'x', -5, 200, -30000, 60000, 4000000000, long.MinValue, ulong.MaxValue, 0.1f, -2.25, (IntPtr)0x12);
        Calls.Text("a \"quoted\"\n text");
        Calls.Text(null);
        Calls.Text(new string('x', 300));
        Calls.Paint(Colour.Green);
        Calls.Paint((Colour)9);
        Calls.Allow(Access.Read | Access.Write);
        Calls.Times(new DateTime(2020, 2, 29, 1, 2, 3, DateTimeKind.Utc), TimeSpan.FromSeconds(-1.5), 12.345m,
            new Guid("00112233-4455-6677-8899-aabbccddeeff"));
        Calls.Arrays(new int[] { 1, 2, 3 }, new string[] { "a", null }, new int[2, 3], new int[][] { new int[2] }, new byte[100]);
        Calls.Maybe(5, null, new Point(1, 2));
        Calls.Maybe(null, DateTime.MinValue, null);
        Calls.Boxed(5, "text", Colour.Red, new Point(3, 4), null);
        int a = 5;
        string b;
        Point c = new Point(7, 8);
        Calls.Change(ref a, out b, ref c);
        Calls.Same(5);
        Calls.Same("text");
        Calls.Same(new Point(1, 2));
        Calls.Same(Colour.Blue);
        Calls.Same(new int[] { 4 });
        Calls.Same<DateTime?>(null);
        int local = 0;
        Calls.Address(&local);
        new Person("Ann", new Person("Bob", null)).Greet(2);
        new Point(5, 6).Sum();
        new Pair<string, int>("one", 1).First(true);
        Calls.Nothing();
        Calls.Many(1, "2", 3, "4", 5, "6", 7, "8", 9, "10");
        foreach (string large in new string[] { new string('y', 5000) })
        {
            Calls.Large(large, large, large, large, large, large, large, large, large);
        }
    }

    static void Exceptions()
    {
        for (int i = 0; i < 3; i++)
        {
            Calls.Catches(i);
        }
        try
        {
            Calls.Throws(7);
        }
        catch (InvalidOperationException)
        {
            Calls.Add(1, 1);
        }
        Calls.Filters(1);
        try
        {
            Calls.Replaces(8);
        }
        catch (ArgumentException e)
        {
            Console.Error.WriteLine(e.StackTrace.Split('\n').Length + " " + e.InnerException.Message);
        }
        try
        {
            Calls.Recovers(9);
        }
        catch (InvalidOperationException)
        {
            // Else nobody would catch the first one, and the program would end there.
        }
    }

    static long Collections(int threads, int times)
    {
        bool isOver = false;
        Thread collector = new Thread(delegate() { while (!Volatile.Read(ref isOver)) { GC.Collect(0); Thread.Sleep(1); } });
        collector.Start();
        List<Thread> started = new List<Thread>();
        long all = 0;
        for (int i = 0; i < threads; i++)
        {
            int from = i * times;
            Thread thread = new Thread(delegate()
            {
                for (int number = from; number < from + times; number++)
                {
                    Interlocked.Add(ref all, Calls.Keep(new int[] { number, number + 1 }, "text " + number));
                }
            });
            thread.Start();
            started.Add(thread);
        }
        foreach (Thread thread in started)
        {
            thread.Join();
        }
        Volatile.Write(ref isOver, true);
        collector.Join();
        return all;
    }
}

enum Colour : byte { Red, Green, Blue }

[Flags]
enum Access : long { None, Read = 1, Write = 2 }

struct Point
{
    public int X;
    public int Y;

    public Point(int x, int y)
    {
        X = x;
        Y = y;
    }

    public int Sum()
    {
        Console.WriteLine("Point.Sum this={X=" + X + ", Y=" + Y + "} -> " + (X + Y));
        return X + Y;
    }

    // A call of this would be seen.
    public override string ToString()
    {
        Console.WriteLine("ToString!");
        return "";
    }
}

class Person
{
    string Name { get; set; }
    readonly Person next;

    public Person(string name, Person next)
    {
        Name = name;
        this.next = next;
    }

    public string Greet(int times)
    {
        Console.WriteLine("Person.Greet this=Person {Name=\"" + Name + "\", next=Person} times=" + times + " -> \"hello\"");
        return "hello";
    }

    public override string ToString()
    {
        Console.WriteLine("ToString!");
        return "";
    }
}

class Told
{
    readonly int number;

    public Told(int number)
    {
        this.number = number;
    }

    public override string ToString()
    {
        return "told " + 6 / number;
    }
}

class Pair<TFirst, TSecond>
{
    readonly TFirst first;
    readonly TSecond second;

    public Pair(TFirst first, TSecond second)
    {
        this.first = first;
        this.second = second;
    }

    public TFirst First(bool isWanted)
    {
        Console.WriteLine("Pair<TFirst, TSecond>.First this=Pair<string, int> {first=\"one\", second=1} isWanted=true -> \"one\"");
        return second == null ? default(TFirst) : first;
    }
}

static unsafe class Calls
{
    static void Say(string text)
    {
        Console.WriteLine("Calls." + text);
    }

    public static int Add(int a, int b)
    {
        Say("Add a=" + a + " b=" + b + " -> " + unchecked(a + b));
        return unchecked(a + b);
    }

    public static double Numbers(bool a, char b, sbyte c, byte d, short e, ushort f, uint g, long h, ulong i, float j, double k, IntPtr l)
    {
        Say("Numbers a=true b='x' c=-5 d=200 e=-30000 f=60000 g=4000000000 h=-9223372036854775808 i=18446744073709551615 j=0.1"
            + " k=-2.25 l=0x12 -> -4.5");
        return 2 * k;
    }

    public static int Text(string text)
    {
        string shown = text == null ? "null" : text.Length > 256 ? "\"" + text.Substring(0, 256) + "\"… (256 shown of 300)"
            : "\"" + text.Replace("\"", "\\\"").Replace("\n", "\\n") + "\"";
        Say("Text text=" + shown + " -> " + (text == null ? 0 : text.Length));
        return text == null ? 0 : text.Length;
    }

    public static Colour Paint(Colour colour)
    {
        string shown = colour == Colour.Green ? "Colour.Green" : "(Colour)9";
        Say("Paint colour=" + shown + " -> " + shown);
        return colour;
    }

    public static bool Allow(Access access)
    {
        Say("Allow access=Access.Read | Access.Write -> true");
        return access != Access.None;
    }

    public static DateTime Times(DateTime time, TimeSpan span, decimal amount, Guid id)
    {
        Say("Times time=2020-02-29T01:02:03Z span=-00:00:01.5000000 amount=12.345 id=00112233-4455-6677-8899-aabbccddeeff"
            + " -> 2020-02-29T01:02:01.5000000Z");
        return time + span;
    }

    public static int[] Arrays(int[] a, string[] b, int[,] c, int[][] d, byte[] e)
    {
        Say("Arrays a=[3][1, 2, 3] b=[2][\"a\", null] c=[2, 3][0, 0, 0, 0] (4 shown of 6) d=[1][[2]] e=[100][0, 0, 0, 0] (4 shown of 100) -> [3][1, 2, 3]");
        return a;
    }

    public static int? Maybe(int? a, DateTime? b, Point? c)
    {
        Say(a == null ? "Maybe a=null b=0001-01-01T00:00:00 c=null -> null" : "Maybe a=5 b=null c={X=1, Y=2} -> 5");
        return a;
    }

    public static object Boxed(object a, object b, object c, object d, object e)
    {
        Say("Boxed a=5 b=\"text\" c=Colour.Red d={X=3, Y=4} e=null -> \"text\"");
        return b;
    }

    public static void Change(ref int a, out string b, ref Point c)
    {
        Say("Change a=5 c={X=7, Y=8} then a=6 b=\"out\" c={X=8, Y=8}");
        a++;
        b = "out";
        c.X++;
    }

    public static T Same<T>(T value)
    {
        object boxed = value;
        string shown = boxed == null ? "null" : boxed is int ? "5" : boxed is string ? "\"text\"" : boxed is Point ? "{X=1, Y=2}"
            : boxed is Colour ? "Colour.Blue" : "[1][4]";
        Say("Same<T> value=" + shown + " -> " + shown);
        return value;
    }

    public static int* Address(int* address)
    {
        string shown = "0x" + ((long)address).ToString("x");
        Say("Address address=" + shown + " -> " + shown);
        return address;
    }

    public static void Nothing()
    {
        Say("Nothing");
    }

    public static int Many(int a, string b, int c, string d, int e, string f, int g, string h, int i, string j)
    {
        Say("Many a=1 b=\"2\" c=3 d=\"4\" e=5 f=\"6\" g=7 h=\"8\" i=9 j=\"10\" -> 1");
        return a;
    }

    public static int Told(object told, Point point, Told wrong, int number)
    {
        Console.WriteLine("Calls.Told told=Told {ToString()=\"told 2\"} point={ToString()=\"\"} wrong=Told {ToString()=<an exception>} number=5 -> 5");
        return number;
    }

    // More than a record has room for.
    public static int Large(string a, string b, string c, string d, string e, string f, string g, string h, string i)
    {
        string shown = "\"" + a.Substring(0, 256) + "\"… (256 shown of 5000)";
        string text = "Large";
        foreach (char name in "abcdefghi")
        {
            text += " " + name + "=" + (name < 'g' ? shown : "<no room>");
        }
        Say(text + " -> 5000");
        return a.Length;
    }

    public static int Throws(int number)
    {
        Say("Throws number=" + number + " -> (exception)");
        throw new InvalidOperationException("number " + number);
    }

    public static int Catches(int number)
    {
        Say("Catches number=" + number + " -> " + (number + 10));
        try
        {
            return Between(number);
        }
        catch (InvalidOperationException)
        {
            return number + 10;
        }
    }

    static int Between(int number)
    {
        Say("Between number=" + number + " -> (exception)");
        return Throws(number) + 1;
    }

    public static int Filters(int number)
    {
        Say("Filters number=1 -> 2");
        try
        {
            Throws(number);
        }
        catch (InvalidOperationException e) when (e.Message.Length > 3)
        {
            return 2;
        }
        return 3;
    }

    // Another exception leaves it than was thrown first.
    public static int Replaces(int number)
    {
        Say("Replaces number=" + number + " -> (exception)");
        try
        {
            return Throws(number);
        }
        catch (InvalidOperationException e)
        {
            throw new ArgumentException("replaced " + number, e);
        }
    }

    // An exception is on its way out of it, and another takes its place, which is caught within.
    public static int Recovers(int number)
    {
        Say("Recovers number=" + number + " -> " + number);
        try
        {
            try
            {
                Throws(number);
            }
            finally
            {
                Replaces(number);
            }
        }
        catch (ArgumentException)
        {
        }
        return number;
    }

    public static int Deep(int depth)
    {
        return depth == 0 ? 0 : Deep(depth - 1) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Keep(int[] array, string text)
    {
        return array.Length + (text.Length > 0 ? 0 : 1);
    }
}
