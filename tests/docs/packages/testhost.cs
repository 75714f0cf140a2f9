using System;
using System.IO;
using System.Reflection;

/// <summary>Stands for the test host: runs the facts of an assembly, in its folder, as that does.</summary>
static class TestHost
{
    static int Main(string[] arguments)
    {
        string path = Array.Find(arguments, argument => argument.EndsWith(".dll"));
        Directory.SetCurrentDirectory(Path.GetDirectoryName(path));
        int failed = 0, passed = 0;
        foreach (Type type in Assembly.LoadFrom(path).GetTypes())
        {
            foreach (MethodInfo method in type.GetMethods())
            {
                if (!Array.Exists(method.GetCustomAttributes(false), attribute => attribute.GetType().Name == "FactAttribute"))
                {
                    continue;
                }
                try
                {
                    method.Invoke(Activator.CreateInstance(type), null);
                    passed++;
                }
                catch (TargetInvocationException exception)
                {
                    Console.WriteLine("Failed " + method.Name + ": " + exception.InnerException.Message);
                    failed++;
                }
            }
        }
        Console.WriteLine("Total tests: " + (passed + failed));
        Console.WriteLine("     Passed: " + passed);
        return failed == 0 ? 0 : 1;
    }
}
