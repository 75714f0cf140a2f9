using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.Loader;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;

/// <summary>Compiles C# with whatever Roslyn lies in a folder: Compile ROSLYN OUTPUT SOURCE..., against the running runtime.</summary>
static class Compile
{
    static int Main(string[] arguments)
    {
        string roslyn = Path.GetFullPath(arguments[0]);
        AssemblyLoadContext.Default.Resolving += (context, name) =>
        {
            string path = Path.Combine(roslyn, name.Name + ".dll");
            return File.Exists(path) ? context.LoadFromAssemblyPath(path) : null;
        };
        return Run(arguments[1], arguments.Skip(2).ToArray());
    }

    static int Run(string output, string[] sources)
    {
        CSharpParseOptions parse = new CSharpParseOptions(LanguageVersion.Latest);
        IEnumerable<SyntaxTree> trees = sources.Select(source => CSharpSyntaxTree.ParseText(
            Microsoft.CodeAnalysis.Text.SourceText.From(File.ReadAllText(source), System.Text.Encoding.UTF8), parse, "/samples/" + Path.GetFileName(source)));
        string framework = Path.GetDirectoryName(typeof(object).Assembly.Location);
        List<MetadataReference> references = new List<MetadataReference>();
        foreach (string path in ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")).Split(Path.PathSeparator))
        {
            if (Path.GetDirectoryName(path) == framework)
            {
                references.Add(MetadataReference.CreateFromFile(path));
            }
        }
        CSharpCompilationOptions options = new CSharpCompilationOptions(
            OutputKind.ConsoleApplication, optimizationLevel: OptimizationLevel.Release, allowUnsafe: true, deterministic: true);
        CSharpCompilation compilation = CSharpCompilation.Create(Path.GetFileNameWithoutExtension(output), trees, references, options);
        EmitResult result;
        using (FileStream file = File.Create(output))
        {
            result = compilation.Emit(file, options: new EmitOptions(debugInformationFormat: DebugInformationFormat.Embedded));
        }
        foreach (Diagnostic diagnostic in result.Diagnostics.Where(diagnostic => diagnostic.Severity == DiagnosticSeverity.Error))
        {
            Console.WriteLine(diagnostic);
        }
        return result.Success ? 0 : 1;
    }
}
