using System.Linq;
using Mono.Cecil;

/// <summary>Changes a file as trimmers, weavers and obfuscators do: methods go, get other rows, and one gets another name.</summary>
static class Rewriter
{
    static void Main(string[] arguments)
    {
        ModuleDefinition module = ModuleDefinition.ReadModule(arguments[0]);
        foreach (TypeDefinition type in module.GetTypes().ToList())
        {
            MethodDefinition[] kept = type.Methods.Where(method => !method.Name.StartsWith("Unused")).Reverse().ToArray();
            type.Methods.Clear();
            foreach (MethodDefinition method in kept)
            {
                type.Methods.Add(method);
                method.Name = method.Name == "Renamed" ? "a" : method.Name;
            }
        }
        module.Write(arguments[1]);
    }
}
