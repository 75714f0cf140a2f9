using System;
using System.Reflection;

public static class App
{
    public static int Main()
    {
        Console.WriteLine(Plain.Sum(new[] { 1, 2, 3 }));
        // The reference by its public key still finds the woven assembly.
        Console.WriteLine(typeof(Signed).Assembly.GetName().GetPublicKeyToken().Length);
        Console.WriteLine(typeof(Plain).Assembly.GetName().Name);
        return 9;
    }
}
