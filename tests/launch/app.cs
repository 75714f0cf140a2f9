using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Threading;

/// <summary>Says what it was given, waits for a signal, or writes beside itself, by its first argument.</summary>
static class App
{
    static int Main(string[] arguments)
    {
        switch (arguments[0])
        {
            case "echo":
                return Echo(arguments);
            case "wait":
                return Wait();
            default:
                return Write();
        }
    }

    static int Echo(string[] arguments)
    {
        foreach (string argument in arguments)
        {
            Console.WriteLine("argument [" + argument + "]");
        }
        Console.WriteLine("in " + Directory.GetCurrentDirectory());
        List<string> variables = new List<string>();
        foreach (DictionaryEntry variable in Environment.GetEnvironmentVariables())
        {
            variables.Add(variable.Key + "=" + variable.Value);
        }
        variables.Sort(StringComparer.Ordinal);
        foreach (string variable in variables)
        {
            Console.WriteLine(variable);
        }
        Console.WriteLine("read " + Console.In.ReadToEnd());
        Console.Error.WriteLine("an error");
        return 9;
    }

    /// <summary>Until it is asked to end; or until its input ends.</summary>
    static int Wait()
    {
        ManualResetEvent asked = new ManualResetEvent(false);
        int code = 6;
        Console.CancelKeyPress += delegate(object sender, ConsoleCancelEventArgs e)
        {
            e.Cancel = true;
            code = 5;
            asked.Set();
        };
        Thread reader = new Thread(delegate()
        {
            Console.In.ReadToEnd();
            asked.Set();
        });
        reader.IsBackground = true;
        reader.Start();
        Console.WriteLine("ready");
        Console.Out.Flush();
        asked.WaitOne();
        return code;
    }

    static int Write()
    {
        string beside = AppDomain.CurrentDomain.BaseDirectory;
        File.WriteAllText(Path.Combine(beside, "state.txt"), "written");
        return File.Exists(Path.Combine(beside, "data.txt")) ? 0 : 1;
    }
}
