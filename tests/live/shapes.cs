using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Threading;
using System.Threading.Tasks;

namespace System.Runtime.InteropServices
{
    // The runtime knows it by its name; .NET Core 3.1 does not.
    [AttributeUsage(AttributeTargets.Method)]
    sealed class UnmanagedCallersOnlyAttribute : Attribute { }
}

// Ways that exceptions take. Mark writes down who called it, as the runtime's own stack trace has it: each way is the method of this
// name, and Main calls Mark behind each, which is to be below Main alone.
static class Shapes
{
    static readonly Dictionary<string, int> marks = new Dictionary<string, int>();

    static int Main(string[] arguments)
    {
        if (arguments.Length > 0)
        {
            Ends.By(arguments[0]);
            return 1;
        }
        var shapes = typeof(Ways).GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.DeclaredOnly);
        foreach (MethodInfo shape in shapes.OrderBy(shape => shape.Name))
        {
            var run = (Action)shape.CreateDelegate(typeof(Action));
            // Reflection makes code for the call from the third time on.
            for (int i = 0; i < 4; i++)
            {
                run();
                Mark();
            }
        }
        foreach (var mark in marks)
        {
            Console.WriteLine(mark.Value + " " + mark.Key);
        }
        return 42;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Mark()
    {
        var path = new List<string>();
        bool isFilter = false;
        foreach (StackFrame frame in new StackTrace(1, false).GetFrames())
        {
            MethodBase method = frame.GetMethod();
            // Native methods have no call of their own.
            if (method == null || method.Module != typeof(Shapes).Module || (method.Attributes & MethodAttributes.PinvokeImpl) != 0)
            {
                continue;
            }
            if (!isFilter)
            {
                string type = method.DeclaringType == null ? "" : method.DeclaringType.Name;
                path.Add(method.Name == "MoveNext" ? type.Substring(1, type.IndexOf('>') - 1) : method.Name);
            }
            // A filter has a frame above those that it looks at, and is no call.
            isFilter = method.Name.EndsWith("InFilter");
        }
        string key = string.Join(" < ", path);
        lock (marks)
        {
            marks.TryGetValue(key, out int count);
            marks[key] = count + 1;
        }
    }
}

// Ends of the program, while exceptions are on their way.
static class Ends
{
    static int caught;

    public static void By(string way)
    {
        switch (way)
        {
            case "filter":
                try { Thrower.Static(); } catch (Exception) when (ExitsInFilter()) { }
                break;
            case "finally":
                try { Finally(); } catch (Exception) { }
                break;
            case "handler":
                try { Thrower.Static(); } catch (Exception) { Environment.Exit(42); }
                break;
            case "type":
                try { FailedType.Touch(); } catch (Exception) { }
                Environment.Exit(42);
                break;
            case "others":
                for (int i = 0; i < 4; i++)
                {
                    new Thread(() => { while (true) { Ways.Catches(); Interlocked.Increment(ref caught); } }) { IsBackground = true }.Start();
                }
                SpinWait.SpinUntil(() => Volatile.Read(ref caught) > 100);
                Environment.Exit(42);
                break;
            case "killed":
                try { typeof(Thrower).GetMethod("Static").Invoke(null, null); } catch (Exception) { }
                try { FailedType.Touch(); } catch (Exception) { }
                try { Ways.FilterThrows(); } catch (Exception) { }
                Process.GetCurrentProcess().Kill();
                Thread.Sleep(-1);
                break;
            case "unhandled":
                AppDomain.CurrentDomain.UnhandledException += (sender, e) => { Shapes.Mark(); Ways.Catches(); };
                AppDomain.CurrentDomain.FirstChanceException += Ways.OnFirstChance;
                Thrower.Static();
                break;
            case "unhandled by reflection":
                typeof(Thrower).GetMethod("Static").Invoke(null, null);
                break;
            case "unhandled elsewhere":
                var thread = new Thread(Thrower.Static);
                thread.Start();
                thread.Join();
                break;
        }
    }

    static bool ExitsInFilter() { Shapes.Mark(); Environment.Exit(42); return true; }
    static void Finally() { try { Thrower.Static(); } finally { Environment.Exit(42); } }
}

// Each of these ends by an exception.
class Thrower
{
    public Thrower() { }

    public Thrower(int number)
    {
        Shapes.Mark();
        throw new InvalidOperationException();
    }

    public int Property
    {
        get { Shapes.Mark(); throw new InvalidOperationException(); }
        set { Shapes.Mark(); throw new InvalidOperationException(); }
    }

    public void Instance() { Shapes.Mark(); throw new InvalidOperationException(); }
    public static void Static() { Shapes.Mark(); throw new InvalidOperationException(); }
    public static int Convert(int number) { Shapes.Mark(); throw new InvalidOperationException(); }
    public override string ToString() { Shapes.Mark(); throw new InvalidOperationException(); }
    public override int GetHashCode() { Shapes.Mark(); throw new InvalidOperationException(); }
    public override bool Equals(object other) { Shapes.Mark(); throw new InvalidOperationException(); }
}

// The constructors of this type throw.
sealed class ThrowsWhenMade
{
    public ThrowsWhenMade() { Shapes.Mark(); throw new InvalidOperationException(); }
}

static class FailedType
{
    public static int Field = Make();
    static FailedType() { Shapes.Mark(); }
    static int Make() { Shapes.Mark(); throw new InvalidOperationException(); }
    public static void Touch() { Shapes.Mark(); }
}

static class FailedLazily
{
    public static int Field = Make();
    static int Make() { Shapes.Mark(); throw new InvalidOperationException(); }
}

static class FailedByReflection
{
    static FailedByReflection() { Shapes.Mark(); throw new InvalidOperationException(); }
    public static void Touch() { Shapes.Mark(); }
}

static class FailedWhenRun
{
    static FailedWhenRun() { Shapes.Mark(); throw new InvalidOperationException(); }
}

static class Failed<T>
{
    static Failed() { Shapes.Mark(); throw new InvalidOperationException(); }
    public static void Touch() { Shapes.Mark(); }
}

static class FailedWithin
{
    static FailedWithin() { Shapes.Mark(); FailedInner.Touch(); }
    public static void Touch() { Shapes.Mark(); }
}

static class FailedInner
{
    static FailedInner() { try { Thrower.Static(); } finally { Ways.Catches(); } }
    public static void Touch() { Shapes.Mark(); }
}

static class Recovered
{
    static Recovered() { Ways.Catches(); Shapes.Mark(); }
    public static void Touch() { Shapes.Mark(); }
}

[AttributeUsage(AttributeTargets.All)]
sealed class ThrowingAttribute : Attribute
{
    public ThrowingAttribute() { Shapes.Mark(); throw new InvalidOperationException(); }
}

[Throwing]
sealed class Attributed { }

sealed class Disposed : IDisposable
{
    public void Dispose() { Shapes.Mark(); throw new ArgumentException(); }
}

sealed class Finalized
{
    public static int Count;

    ~Finalized()
    {
        Ways.Catches();
        Shapes.Mark();
        Interlocked.Increment(ref Count);
    }
}

sealed class Compares : IComparer<int>
{
    public int Compare(int left, int right) { Shapes.Mark(); throw new InvalidOperationException(); }
}

interface ISame { void Throws(); }

struct Same : ISame
{
    public long Sum;
    public void Throws() { Sum++; Shapes.Mark(); throw new InvalidOperationException(); }
}

static class Ways
{
    static readonly BindingFlags Plain = (BindingFlags)0x2000000; // DoNotWrapExceptions

    static MethodInfo Of(string name) { return typeof(Thrower).GetMethod(name); }
    static MethodInfo Own(string name) { return typeof(Ways).GetMethod(name, BindingFlags.Static | BindingFlags.NonPublic); }

    // Calls something that throws, and handles that.
    static void Try(Action action)
    {
        try
        {
            action();
        }
        catch (Exception)
        {
            Shapes.Mark();
        }
        Shapes.Mark();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void Catches()
    {
        try { Thrower.Static(); } catch (InvalidOperationException) { Shapes.Mark(); }
        Shapes.Mark();
    }

    public static void Caught() { try { Thrower.Static(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void CaughtAbove() { Try(() => Thrower.Static()); Shapes.Mark(); }

    // By reflection.
    public static void Invoked() { try { Of("Static").Invoke(null, null); } catch (TargetInvocationException) { } Shapes.Mark(); }
    public static void InvokedAndHandled() { try { Of("Static").Invoke(null, null); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedOnInstance() { try { Of("Instance").Invoke(new Thrower(), null); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedPlainly() { try { Of("Static").Invoke(null, Plain, null, null, null); } catch (InvalidOperationException) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedConstructor() { try { typeof(Thrower).GetConstructor(new[] { typeof(int) }).Invoke(new object[] { 1 }); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedGetter() { try { typeof(Thrower).GetProperty("Property").GetValue(new Thrower()); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedSetter() { try { typeof(Thrower).GetProperty("Property").SetValue(new Thrower(), 1); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedMember() { try { typeof(Thrower).InvokeMember("Static", BindingFlags.InvokeMethod | BindingFlags.Static | BindingFlags.Public, null, null, null); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedDelegate() { try { ((Delegate)(Action)Thrower.Static).DynamicInvoke(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void Activated() { try { Activator.CreateInstance(typeof(Thrower), 1); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void ActivatedWithout() { try { Activator.CreateInstance(typeof(ThrowsWhenMade)); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void ActivatedAsType() { try { Activator.CreateInstance<ThrowsWhenMade>(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InvokedTwice() { Try(() => Own("InvokesAgain").Invoke(null, null)); Shapes.Mark(); }
    static void InvokesAgain() { try { Of("Static").Invoke(null, null); } finally { Shapes.Mark(); } }
    public static void InvokedAndCaughtWithin() { Own("InvokesAndCatches").Invoke(null, null); Shapes.Mark(); }
    static void InvokesAndCatches() { try { Of("Static").Invoke(null, null); } catch (Exception) { Catches(); } Shapes.Mark(); }
    public static void InvokedRecursively() { Recurse(6); Shapes.Mark(); }
    static void Recurse(int depth)
    {
        if (depth == 0) { Thrower.Static(); }
        try
        {
            Own("Recurse").Invoke(null, new object[] { depth - 1 });
        }
        catch (TargetInvocationException) when (depth % 2 == 0)
        {
            Shapes.Mark();
            if (depth < 6) { throw; }
        }
        finally { Shapes.Mark(); }
        Shapes.Mark();
    }

    public static void InvokedByFinally() { Try(InvokesByFinally); Shapes.Mark(); }
    static void InvokesByFinally() { try { Thrower.Static(); } finally { InvokesAndCatches(); Shapes.Mark(); } }
    public static void InvokedByFilter() { try { Thrower.Static(); } catch (Exception) when (InvokesInFilter()) { Shapes.Mark(); } Shapes.Mark(); }
    static bool InvokesInFilter() { InvokesAndCatches(); Shapes.Mark(); return true; }
    public static void InvokedInnerRethrown()
    {
        try
        {
            try { Of("Static").Invoke(null, null); }
            catch (TargetInvocationException e) { ExceptionDispatchInfo.Capture(e.InnerException).Throw(); }
        }
        catch (InvalidOperationException) { Shapes.Mark(); }
        Shapes.Mark();
    }

    // Handlers, filters and finally blocks.
    public static void Rethrown() { try { Rethrows(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void Rethrows() { try { Thrower.Static(); } catch (InvalidOperationException) { Shapes.Mark(); throw; } }
    public static void ThrownByHandler() { try { ThrowsInHandler(); } catch (ArgumentException) { Shapes.Mark(); } Shapes.Mark(); }
    static void ThrowsInHandler() { try { Thrower.Static(); } catch (InvalidOperationException e) { Shapes.Mark(); throw new ArgumentException("", e); } }
    public static void ThrownByFinally() { try { ThrowsInFinally(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void ThrowsInFinally() { try { Thrower.Static(); } finally { Shapes.Mark(); new Disposed().Dispose(); } }
    public static void ThrownByFinallyTwice() { try { ThrowsInFinallies(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void ThrowsInFinallies() { try { try { Thrower.Static(); } finally { Shapes.Mark(); Thrower.Convert(1); } } finally { Catches(); new Disposed().Dispose(); } }
    public static void ThrownByRecursiveFinally() { try { ThrowsInFinallyOf(3); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void Throws() { ThrowsInFinallyOf(0); }
    static void ThrowsInFinallyOf(int depth) { try { if (depth > 0) { ThrowsInFinallyOf(depth - 1); } Thrower.Static(); } finally { Shapes.Mark(); if (depth == 3) { Throws(); } Catches(); } }
    public static void CaughtByFinally() { try { CatchesInFinally(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void CatchesInFinally() { try { Thrower.Static(); } finally { Catches(); Shapes.Mark(); } }
    public static void CaughtByFinallyDeeply() { try { CatchesInFinallies(4); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void CatchesInFinallies(int depth) { try { if (depth == 0) { Thrower.Static(); } CatchesInFinallies(depth - 1); } finally { Try(() => CatchesInFinally()); Shapes.Mark(); } }
    public static void CaughtByRecursion() { CatchesAtOdd(6); Shapes.Mark(); }
    static void CatchesAtOdd(int depth)
    {
        try { if (depth == 0) { Thrower.Static(); } CatchesAtOdd(depth - 1); }
        catch (InvalidOperationException) when (depth % 2 == 1) { Shapes.Mark(); }
        Shapes.Mark();
        if (depth > 1 && depth % 2 == 0) { Catches(); }
    }

    public static void Filtered() { try { Thrower.Static(); } catch (Exception) when (SaysInFilter(true)) { Shapes.Mark(); } Shapes.Mark(); }
    static bool SaysInFilter(bool answer) { Shapes.Mark(); return answer; }
    public static void FilteredOut() { try { FiltersOut(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void FiltersOut() { try { Thrower.Static(); } catch (Exception) when (SaysInFilter(false)) { Shapes.Mark(); } finally { Shapes.Mark(); } }
    public static void FilterThrows() { try { FiltersByThrowing(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void FiltersByThrowing() { try { Thrower.Static(); } catch (Exception) when (ThrowsInFilter()) { Shapes.Mark(); } finally { Shapes.Mark(); } }
    static bool ThrowsInFilter() { Shapes.Mark(); throw new ArgumentException(); }
    public static void FilterThrowsDeeply() { try { FiltersByThrowingDeeply(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void FiltersByThrowingDeeply() { try { Thrower.Static(); } catch (Exception) when (ThrowsAgainInFilter()) { Shapes.Mark(); } }
    static bool ThrowsAgainInFilter() { Catches(); Shapes.Mark(); return Thrower.Convert(2) == 2; }
    public static void FilterCatches() { try { Thrower.Static(); } catch (Exception) when (CatchesInFilter()) { Shapes.Mark(); } Shapes.Mark(); }
    static bool CatchesInFilter() { Catches(); return true; }
    public static void HandlerCatches() { try { Thrower.Static(); } catch (Exception) { Catches(); Try(() => Catches()); Shapes.Mark(); } Shapes.Mark(); }
    public static void UsedAndThrown() { try { using (new Disposed()) { Thrower.Static(); } } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void Locked() { try { lock (typeof(Ways)) { Thrower.Static(); } } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void ThrownAgainElsewhere()
    {
        ExceptionDispatchInfo kept = null;
        try { Thrower.Static(); } catch (Exception e) { kept = ExceptionDispatchInfo.Capture(e); }
        try { kept.Throw(); } catch (InvalidOperationException) { Shapes.Mark(); }
        Shapes.Mark();
    }

    // Type initializers.
    public static void TypeFailed() { Try(() => FailedType.Touch()); Shapes.Mark(); }
    public static void TypeFailedLazily() { Try(() => FailedLazily.Field++); Shapes.Mark(); }
    public static void TypeFailedByReflection() { Try(() => typeof(FailedByReflection).GetMethod("Touch").Invoke(null, null)); Shapes.Mark(); }
    public static void TypeFailedWhenRun() { Try(() => RuntimeHelpers.RunClassConstructor(typeof(FailedWhenRun).TypeHandle)); Shapes.Mark(); }
    public static void TypeFailedGenerically() { Try(() => Failed<string>.Touch()); Try(() => Failed<int>.Touch()); Shapes.Mark(); }
    public static void TypeFailedWithin() { Try(() => FailedWithin.Touch()); Shapes.Mark(); }
    public static void TypeFailedAtOnce() { try { FailedInner.Touch(); } catch (TypeInitializationException) { } Shapes.Mark(); }
    public static void TypeRecovered() { Recovered.Touch(); Shapes.Mark(); }

    // By way of the framework.
    public static void Lazily() { var lazy = new Lazy<int>(() => Thrower.Convert(1)); for (int i = 0; i < 2; i++) { try { Console.Write(lazy.Value); } catch (Exception) { Shapes.Mark(); } } Shapes.Mark(); }
    public static void LazilyMade() { var lazy = new Lazy<ThrowsWhenMade>(); try { lazy.Value.ToString(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InTask() { try { Task.Run(() => Thrower.Static()).Wait(); } catch (AggregateException) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InTaskContinued() { try { Task.Run(() => Thrower.Static()).ContinueWith(task => { Shapes.Mark(); Thrower.Static(); }).Wait(); } catch (AggregateException) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InAsync() { try { Awaits().Wait(); } catch (AggregateException) { Shapes.Mark(); } Shapes.Mark(); }
    static async Task Awaits() { try { await Task.Yield(); Thrower.Static(); } catch (InvalidOperationException) { Shapes.Mark(); } await ThrowsLater(); }
    static async Task ThrowsLater() { Shapes.Mark(); await Task.Yield(); Thrower.Static(); }
    public static void InAsyncAtOnce() { try { ThrowsAtOnce().GetAwaiter().GetResult(); } catch (InvalidOperationException) { Shapes.Mark(); } Shapes.Mark(); }
    static async Task ThrowsAtOnce() { Thrower.Static(); await Task.Yield(); }
    public static void InParallel() { try { Parallel.For(0, 4, i => Thrower.Static()); } catch (AggregateException) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InIterator() { try { foreach (int number in Iterates()) { Shapes.Mark(); } } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static IEnumerable<int> Iterates() { try { yield return 1; Thrower.Static(); } finally { Shapes.Mark(); } }
    public static void InLoopOfIterator() { try { foreach (int number in Iterates()) { Thrower.Static(); } } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InQuery() { try { Enumerable.Range(0, 3).Select(Thrower.Convert).ToList(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InComparison() { try { new List<int> { 3, 2, 1 }.Sort((left, right) => Thrower.Convert(left)); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InComparer() { try { Array.Sort(new[] { 3, 2, 1 }, new Compares()); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InHash() { try { new Dictionary<object, int>()[new Thrower()] = 1; } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InFormat() { try { string.Format("{0}", new Thrower()); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InConverter() { try { Array.ConvertAll(new[] { 1 }, Thrower.Convert); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InMulticast() { Action all = Catches; all += Thrower.Static; all += Catches; try { all(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InInterface() { try { Through(new Same()); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    static void Through<T>(T same) where T : ISame { same.Throws(); }
    public static void InExpression() { Expression<Func<int, int>> made = number => Thrower.Convert(number); try { made.Compile()(1); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InDynamic() { dynamic thrower = new Thrower(); try { thrower.Instance(); } catch (InvalidOperationException) { Shapes.Mark(); } try { thrower.Nothing(); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InAttribute() { try { typeof(Attributed).GetCustomAttributes(false); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InCancellation() { var source = new CancellationTokenSource(); source.Token.Register(Thrower.Static); try { source.Cancel(); } catch (AggregateException) { Shapes.Mark(); } Shapes.Mark(); }
    public static void InThread() { var thread = new Thread(() => { Catches(); Shapes.Mark(); }); thread.Start(); thread.Join(); Shapes.Mark(); }
    public static void Interrupted()
    {
        var thread = new Thread(() => { try { Thread.Sleep(-1); } catch (ThreadInterruptedException) { Shapes.Mark(); } Shapes.Mark(); });
        thread.Start();
        thread.Interrupt();
        thread.Join();
        Shapes.Mark();
    }

    public static void InFinalizer()
    {
        int before = Finalized.Count;
        Make();
        while (Volatile.Read(ref Finalized.Count) == before) { GC.Collect(); GC.WaitForPendingFinalizers(); }
        Shapes.Mark();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Make() { new Finalized(); }

    // By the runtime.
    static object nothing = null;
    static int zero = 0;
    public static void OfNull() { try { nothing.ToString(); } catch (NullReferenceException) { Shapes.Mark(); } Shapes.Mark(); }
    public static void OfNullBelow() { try { UsesNull(); } catch (NullReferenceException) { Shapes.Mark(); } Shapes.Mark(); }
    static void UsesNull() { try { Shapes.Mark(); nothing.ToString(); } finally { Catches(); } }
    public static void OfZero() { try { Divides(1); } catch (DivideByZeroException) { Shapes.Mark(); } Shapes.Mark(); }
    static int Divides(int number) { Shapes.Mark(); return number / zero; }
    public static void OfIndex() { try { Indexes(new int[1], 1); } catch (IndexOutOfRangeException) { Shapes.Mark(); } Shapes.Mark(); }
    static int Indexes(int[] from, int index) { Shapes.Mark(); return from[index]; }
    public static void OfCast() { try { Casts("text"); } catch (InvalidCastException) { Shapes.Mark(); } Shapes.Mark(); }
    static Thrower Casts(object it) { Shapes.Mark(); return (Thrower)it; }
    public static void OfOverflow() { try { Adds(int.MaxValue); } catch (OverflowException) { Shapes.Mark(); } Shapes.Mark(); }
    static int Adds(int number) { Shapes.Mark(); return checked(number + 1); }
    public static void OfNumber() { try { int.Parse("none"); } catch (FormatException) { Shapes.Mark(); } Shapes.Mark(); }

    // Handlers of events of the runtime's.
    [ThreadStatic] static bool isHandling;
    internal static void OnFirstChance(object sender, FirstChanceExceptionEventArgs e)
    {
        if (!isHandling)
        {
            isHandling = true;
            Shapes.Mark();
            Catches();
            isHandling = false;
        }
    }

    public static void SeenAtFirst()
    {
        AppDomain.CurrentDomain.FirstChanceException += OnFirstChance;
        Catches();
        try { Of("Static").Invoke(null, null); } catch (Exception) { Shapes.Mark(); }
        AppDomain.CurrentDomain.FirstChanceException -= OnFirstChance;
        Shapes.Mark();
    }

    static int asked;
    static Assembly OnResolve(object sender, ResolveEventArgs e) { Catches(); Shapes.Mark(); throw new InvalidOperationException(); }
    public static void Resolved()
    {
        AppDomain.CurrentDomain.AssemblyResolve += OnResolve;
        try { Assembly.Load("Nothing" + asked++); } catch (Exception) { Shapes.Mark(); }
        AppDomain.CurrentDomain.AssemblyResolve -= OnResolve;
        Shapes.Mark();
    }

    static Assembly OnResolving(AssemblyLoadContext context, AssemblyName name) { Shapes.Mark(); Thrower.Static(); return null; }
    public static void ResolvedByContext()
    {
        AssemblyLoadContext.Default.Resolving += OnResolving;
        try { Assembly.Load("Nobody" + asked++); } catch (Exception) { Shapes.Mark(); }
        AssemblyLoadContext.Default.Resolving -= OnResolving;
        Shapes.Mark();
    }

    public static void NotLoaded() { try { Assembly.Load("Nowhere"); } catch (Exception) { Shapes.Mark(); } try { Type.GetType("None, Nowhere", true); } catch (Exception) { Shapes.Mark(); } Shapes.Mark(); }

    // Native code.
    [DllImport("nothing-of-this-name")] static extern int Missing();
    [DllImport("libc", EntryPoint = "nothing_of_this_name")] static extern int MissingEntry();
    [DllImport("refused")] static extern int Refused();
    delegate int Comparison(IntPtr left, IntPtr right);
    [DllImport("libc")] static extern void qsort(int[] all, IntPtr count, IntPtr size, Comparison comparison);
    [DllImport("libc", EntryPoint = "qsort")] static extern void QuickSort(int[] all, IntPtr count, IntPtr size, IntPtr comparison);

    static IntPtr OnImport(string name, Assembly assembly, DllImportSearchPath? path)
    {
        Shapes.Mark();
        if (name == "refused") { Thrower.Static(); }
        return IntPtr.Zero;
    }

    static bool hasResolver;
    public static void NativeMissing() { try { Missing(); } catch (DllNotFoundException) { Shapes.Mark(); } try { MissingEntry(); } catch (EntryPointNotFoundException) { Shapes.Mark(); } Shapes.Mark(); }
    public static void NativeRefused()
    {
        if (!hasResolver) { NativeLibrary.SetDllImportResolver(typeof(Ways).Assembly, OnImport); hasResolver = true; }
        try { Refused(); } catch (Exception) { Shapes.Mark(); }
        Shapes.Mark();
    }

    public static void NativeCallsBack()
    {
        Comparison comparison = (left, right) => { Catches(); Shapes.Mark(); return Marshal.ReadInt32(left) - Marshal.ReadInt32(right); };
        qsort(new[] { 3, 1, 2 }, (IntPtr)3, (IntPtr)4, comparison);
        Shapes.Mark();
    }

    [UnmanagedCallersOnly]
    static int Compares(IntPtr left, IntPtr right) { Catches(); Shapes.Mark(); return Marshal.ReadInt32(left) - Marshal.ReadInt32(right); }
    public static void NativeCallsStatic()
    {
        if (Environment.Version.Major >= 5)
        {
            QuickSort(new[] { 3, 1, 2 }, (IntPtr)3, (IntPtr)4, Own("Compares").MethodHandle.GetFunctionPointer());
        }
        Shapes.Mark();
    }
}
