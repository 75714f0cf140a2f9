using System;
using System.IO;
using System.Reflection;

/// <summary>Loads scripts that have no file as it knows them, and runs them.</summary>
public static class Engine
{
    public static int Main(string[] arguments)
    {
        Assembly assembly = Assembly.Load(File.ReadAllBytes(arguments[0]));
        object scripts = Activator.CreateInstance(assembly.GetType("Scripts"));
        Console.WriteLine(scripts.GetType().GetMethod("Run").Invoke(scripts, new object[] { 40 }));
        Console.WriteLine("'{0}' {1}", assembly.Location, assembly.GetTypes().Length > 1);
        foreach (AssemblyName reference in assembly.GetReferencedAssemblies())
        {
            Console.WriteLine(reference);
        }
        return 6;
    }
}
