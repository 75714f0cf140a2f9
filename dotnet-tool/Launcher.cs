// `dotnet tool` runs this: it wants an assembly to begin with. This one finds the tool for the machine beside itself, and
// becomes it; on Windows, where no program can become another, it waits for it.
using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text;

[assembly: AssemblyTitle("ilinst")]
[assembly: AssemblyVersion("1.0.0.0")]

internal static class Launcher
{
    private const int NoTool = 3;

    private static int Main(string[] arguments)
    {
        bool isWindows = Environment.OSVersion.Platform == PlatformID.Win32NT;
        string platform = (isWindows ? "win" : Directory.Exists("/System/Library/CoreServices") ? "osx" : "linux") + "-" + Architecture();
        string folder = Path.Combine(Path.GetDirectoryName(typeof(Launcher).Assembly.Location), platform);
        string tool = Path.Combine(folder, isWindows ? "ilinst.exe" : "ilinst");
        if (!File.Exists(tool))
        {
            Console.Error.WriteLine("ilinst: error ILI0030: this package brings no ilinst for " + platform + ": build one (cargo install ilinst)");
            return NoTool;
        }
        return isWindows ? Wait(tool, arguments) : Become(tool, arguments);
    }

    // The property is newer than what this is compiled against; what has it not runs on nothing but x64.
    private static string Architecture()
    {
        Type type = Type.GetType("System.Runtime.InteropServices.RuntimeInformation, System.Runtime.InteropServices.RuntimeInformation");
        PropertyInfo property = type == null ? null : type.GetProperty("OSArchitecture");
        return property == null ? "x64" : property.GetValue(null, null).ToString().ToLowerInvariant();
    }

    private static int Become(string tool, string[] arguments)
    {
        var words = new IntPtr[arguments.Length + 2];
        words[0] = Utf8(tool);
        for (int i = 0; i < arguments.Length; i++)
            words[i + 1] = Utf8(arguments[i]);
        // NuGet may unpack it as a file that is not to be run.
        if (access(words[0], 1) != 0)
            chmod(words[0], 493); // 0755
        execv(words[0], words);
        Console.Error.WriteLine("ilinst: error ILI0010: " + tool + ": it cannot be run");
        return NoTool;
    }

    private static IntPtr Utf8(string text)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(text + "\0");
        IntPtr copy = Marshal.AllocHGlobal(bytes.Length);
        Marshal.Copy(bytes, 0, copy, bytes.Length);
        return copy;
    }

    [DllImport("libc")]
    private static extern int access(IntPtr path, int mode);

    [DllImport("libc")]
    private static extern int chmod(IntPtr path, uint mode);

    [DllImport("libc")]
    private static extern int execv(IntPtr path, IntPtr[] arguments);

    private static int Wait(string tool, string[] arguments)
    {
        var line = new StringBuilder();
        foreach (string argument in arguments)
            Quote(line, argument);
        var start = new ProcessStartInfo(tool, line.ToString());
        start.UseShellExecute = false;
        // The console tells both: the tool ends by itself, and its exit code is what is wanted.
        Console.CancelKeyPress += delegate(object sender, ConsoleCancelEventArgs e) { e.Cancel = true; };
        using (Process process = Process.Start(start))
        {
            process.WaitForExit();
            return process.ExitCode;
        }
    }

    // As CommandLineToArgvW takes it apart: backslashes stand for themselves, but before a quote.
    private static void Quote(StringBuilder line, string argument)
    {
        line.Append(line.Length == 0 ? "\"" : " \"");
        int backslashes = 0;
        foreach (char c in argument)
        {
            if (c == '"')
                line.Append('\\', backslashes + 1);
            backslashes = c == '\\' ? backslashes + 1 : 0;
            line.Append(c);
        }
        line.Append('\\', backslashes).Append('"');
    }
}
