// A program with its words in another assembly.
using System;
using System.Globalization;
using System.Resources;

public static class Culture
{
    public static int Main()
    {
        var words = new ResourceManager("words", typeof(Culture).Assembly);
        foreach (string name in new[] { "", "de" })
            Console.WriteLine(words.GetString("greeting", new CultureInfo(name)));
        return 7;
    }
}
