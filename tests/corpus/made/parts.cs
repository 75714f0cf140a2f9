// The module that has the assembly's manifest.
using System;

public static class Parts
{
    public static int Main()
    {
        Console.WriteLine(Part.Name(21));
        Console.WriteLine(typeof(Part).Module.Name + " " + typeof(Parts).Module.Name);
        return 6;
    }
}
