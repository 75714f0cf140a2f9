using System;
using System.Collections.Generic;
using System.Threading;

// Says of each of its calls with spans what `ilinst report --calls` shows.
static unsafe class App
{
    static int Main(string[] arguments)
    {
        if (arguments.Length > 0)
        {
            Collections(int.Parse(arguments[0]));
            return 0;
        }
        int[] numbers = { 1, 2, 3, 4, 5, 6 };
        Say("Numbers", "span=System.Span<int> [6][1, 2, 3, 4] (4 shown of 6) -> 6");
        Calls.Numbers(numbers);
        Say("Numbers", "span=System.Span<int> [2][3, 4] -> 2");
        Calls.Numbers(numbers.AsSpan(2, 2));
        Say("Numbers", "span=System.Span<int> [0][] -> 0");
        Calls.Numbers(default);
        Say("Numbers", "span=System.Span<int> [0][] -> 0");
        Calls.Numbers(numbers.AsSpan(6));
        Span<int> onStack = stackalloc int[3] { 7, 8, 9 };
        Say("Numbers", "span=System.Span<int> [3][7, 8, 9] -> 3");
        Calls.Numbers(onStack);
        // There is no memory for the others.
        Say("Numbers", "span=System.Span<int> [2000000000][1, 2, 3, 4] (4 shown of 2000000000) -> 2000000000");
        fixed (int* first = numbers)
        {
            Calls.Numbers(new Span<int>(first, 2_000_000_000));
        }
        // Nothing is read through a null pointer.
        Say("Numbers", "span=System.Span<int> [5] -> 5");
        Calls.Numbers(new Span<int>(null, 5));

        Say("Text", "text=\"word\" -> 4");
        Calls.Text("some word".AsSpan(5));
        Say("Text", "text=\"\" -> 0");
        Calls.Text(default);
        string large = new string('x', 300);
        Say("Text", "text=\"" + large.Substring(0, 256) + "\"… (256 shown of 300) -> 300");
        Calls.Text(large.AsSpan());
        Say("Text", "text=\"\"… (0 shown of 7) -> 7");
        Calls.Text(new ReadOnlySpan<char>(null, 7));
        Say("Buffer", "buffer=\"ab\" -> 'a'");
        Calls.Buffer(new char[] { 'a', 'b' });

        Say("Bytes", "bytes=System.ReadOnlySpan<byte> [3][1, 2, 255] -> \"end\"");
        Calls.Bytes(new byte[] { 1, 2, 255 });
        Say("Words", "words=System.ReadOnlySpan<string> [3][\"a\", null, \"c\"] -> \"a\"");
        Calls.Words(new string[] { "a", null, "c" });
        Say("Structs", "points=System.Span<Point> [2][Point {…}, Point {…}] days=System.ReadOnlySpan<System.DayOfWeek> [2]"
            + "[System.DayOfWeek.Monday, (System.DayOfWeek)9] times=System.ReadOnlySpan<System.TimeSpan?> [2][00:00:05, null] -> 2");
        Calls.Structs(new Point[] { new Point(1, 2), new Point(3, 4) }, new DayOfWeek[] { DayOfWeek.Monday, (DayOfWeek)9 },
            new TimeSpan?[] { TimeSpan.FromSeconds(5), null });
        Say("Lists", "lists=System.Span<object> [3][System.Collections.Generic.List<int>, 5, \"six\"] -> 5");
        Calls.Lists(new object[] { new List<int> { 1 }, 5, "six" });

        Say("Same<T>", "span=System.Span<T> [1][1.5] -> System.ReadOnlySpan<T> [1][1.5]", "double");
        Calls.Same<double>(new double[] { 1.5 });
        Say("Same<T>", "span=System.Span<T> [1][65] -> System.ReadOnlySpan<T> [1][65]", "ushort");
        Calls.Same<ushort>(new ushort[] { 65 });
        Say("Same<T>", "span=\"text\" -> \"text\"");
        Calls.Same<char>("text".ToCharArray());
        Say("Same<T>", "span=System.Span<T> [1][[2]] -> System.ReadOnlySpan<T> [1][[2]]", "int[]");
        Calls.Same<int[]>(new int[][] { new int[2] });
        Say("First", "this=Pair<string> {} span=System.Span<string> [2][\"x\", \"y\"] more=System.ReadOnlySpan<int> [1][4] -> \"x\"");
        new Pair<string>().First<int>(new string[] { "x", "y" }, new int[] { 4 });

        Span<int> changed = numbers;
        ReadOnlySpan<char> read = "in".AsSpan();
        Say("Change", "span=System.Span<int> [6][1, 2, 3, 4] (4 shown of 6) text=\"in\" -> 5"
            + " then span=System.Span<int> [5][-1, 3, 4, 5] (4 shown of 5) made=System.Span<byte> [2][0, 0]");
        Calls.Change(ref changed, read, out Span<byte> made);
        string five = "System.Span<int> [5][-1, 3, 4, 5] (4 shown of 5)";
        Say("Refer", $"span={five} -> {five} then span={five}");
        Calls.Refer(ref changed);
        Say("Tail", "text=\"tail\" number=1 -> \"ail\"");
        Say("Tail", "text=\"ail\" number=0 -> \"ail\"");
        "tail".AsSpan().Tail(1);
        Say("Other", "window=<its type may be a ref struct> -> 1");
        Calls.Other(new Window());
        return changed.Length + made.Length - 7;
    }

    static void Collections(int times)
    {
        bool isDone = false;
        Thread other = new Thread(() =>
        {
            while (!Volatile.Read(ref isDone))
            {
                GC.Collect(0);
                Thread.Sleep(1);
            }
        });
        other.Start();
        long sum = 0;
        for (int i = 0; i < times; i++)
        {
            sum += Calls.Keep(new string[] { "one " + i, "two" }, ("text " + i).AsSpan(1)).Length;
        }
        Volatile.Write(ref isDone, true);
        other.Join();
        Console.WriteLine(sum);
    }

    /// <summary>A type parameter is shown by its argument.</summary>
    static void Say(string method, string text, string of = "T")
    {
        string name = method == "First" ? "Pair<T>.First<U>" : "Calls." + method;
        Console.WriteLine(name + " " + text.Replace("Span<T>", "Span<" + of + ">"));
    }
}

static unsafe class Calls
{
    public static int Numbers(Span<int> span) => span.Length;

    public static int Text(ReadOnlySpan<char> text) => text.Length;

    public static char Buffer(Span<char> buffer) => buffer[0];

    public static ReadOnlySpan<char> Bytes(ReadOnlySpan<byte> bytes) => "an end".AsSpan(bytes.Length);

    // Mono has no indexer of read-only spans with the signature that compilers refer to.
    public static string Words(ReadOnlySpan<string> words) => words.ToArray()[0];

    public static int Structs(Span<Point> points, ReadOnlySpan<DayOfWeek> days, ReadOnlySpan<TimeSpan?> times) => points.Length;

    public static int Lists(Span<object> lists) => (int)lists[1];

    public static ReadOnlySpan<T> Same<T>(Span<T> span) => span;

    public static int Change(ref Span<int> span, in ReadOnlySpan<char> text, out Span<byte> made)
    {
        span = span.Slice(1);
        span[0] = -1;
        made = new byte[text.Length];
        return span.Length;
    }

    public static ref Span<int> Refer(ref Span<int> span) => ref span;

    public static ReadOnlySpan<char> Tail(this ReadOnlySpan<char> text, int number) =>
        number == 0 ? text : text.Slice(number).Tail(number - 1);

    public static Span<string> Keep(Span<string> span, ReadOnlySpan<char> text) => span.Slice(text.Length > 0 ? 0 : 1);

    public static int Other(Window window) => window.Span.Length + 1;
}

struct Point
{
    public int X;
    public int Y;

    public Point(int x, int y)
    {
        X = x;
        Y = y;
    }
}

class Pair<T>
{
    public T First<U>(Span<T> span, ReadOnlySpan<U> more) => more.Length > 1 ? default : span[0];
}

ref struct Window
{
    public Span<int> Span;
}
