using System;
using System.Reflection;
using Mono.CSharp;

/// <summary>Compiles code against itself and all that it refers to.</summary>
public static class Evaluates
{
    public static int Main()
    {
        Evaluator evaluator = new Evaluator(new CompilerContext(new CompilerSettings(), new ConsoleReportPrinter()));
        // All that the tracker refers to, it does too.
        Console.WriteLine(new Uri("file:///").Scheme);
        Assembly own = typeof(Evaluates).Assembly;
        foreach (AssemblyName name in own.GetReferencedAssemblies())
        {
            // The core library it has by itself.
            if (name.Name != "mscorlib")
            {
                Console.WriteLine(name);
                evaluator.ReferenceAssembly(Assembly.Load(name));
            }
        }
        evaluator.ReferenceAssembly(own);
        Console.WriteLine(evaluator.Evaluate("Evaluates.Twice(21);"));
        string prefix;
        foreach (string completion in evaluator.GetCompletions("Evaluates.T", out prefix))
        {
            Console.WriteLine(prefix + completion);
        }
        return 7;
    }

    public static int Twice(int number)
    {
        return 2 * number;
    }
}
