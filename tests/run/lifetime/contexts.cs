using System;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

/// <summary>
/// Runs a plug-in in a load context that can be collected, thrice, the second time with another in it, and says whether the
/// contexts were. The first argument says whether they are unloaded or just dropped; the others are what to load.
/// </summary>
static class Contexts
{
    static readonly Type Type = Type.GetType("System.Runtime.Loader.AssemblyLoadContext, System.Runtime.Loader", true);

    static int Main(string[] arguments)
    {
        for (int i = 0; i < 3; i++)
        {
            WeakReference context = Run(arguments, i == 1 ? () => Nested(arguments) : (Func<int>)null);
            // A thread of the tracker's may hold it for a moment.
            for (int collections = 0; context.IsAlive && collections < 10000; collections++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                Thread.Sleep(collections < 10 ? 0 : 1);
            }
            Console.WriteLine("collected " + !context.IsAlive);
        }
        return 4;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference Run(string[] arguments, Func<int> other)
    {
        object context = Load(arguments);
        Console.WriteLine(Call(context, other));
        if (arguments[0] == "unload")
        {
            Type.GetMethod("Unload").Invoke(context, null);
        }
        return new WeakReference(context);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Nested(string[] arguments)
    {
        return Call(Load(arguments), null);
    }

    static object Load(string[] arguments)
    {
        object context = Activator.CreateInstance(Type, new object[] { "plug-in", true });
        for (int i = 1; i < arguments.Length; i++)
        {
            Type.GetMethod("LoadFromAssemblyPath").Invoke(context, new object[] { Path.GetFullPath(arguments[i]) });
        }
        return context;
    }

    static int Call(object context, Func<int> other)
    {
        foreach (Assembly assembly in (System.Collections.IEnumerable)Type.GetProperty("Assemblies").GetValue(context, null))
        {
            Type plugin = assembly.GetType("Plugin");
            if (plugin != null)
            {
                return (int)plugin.GetMethod("Run").Invoke(null, new object[] { other });
            }
        }
        return -1;
    }
}
