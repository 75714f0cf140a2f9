using System;

namespace Ilinst
{
    /// <summary>A line for each thing that the tracker does, in the file that ILINST_LOG names: the program's output stays its own, but for errors.</summary>
    internal static unsafe class Log
    {
        private const int MaxLine = 8192;

        private static string path;

        public static void Write(string line)
        {
            try
            {
                if (path == null)
                {
                    string wish = Settings.Log().Replace("%p", ThisProcess.Digits(ThisProcess.Id()));
                    path = wish.Length == 0 ? "" : Files.Combine(Files.CurrentFolder(), wish);
                }
                if (path.Length > 0)
                {
                    Append("ilinst " + ThisProcess.Digits(ThisProcess.Id()) + ": " + line + "\n");
                }
            }
            catch (Exception)
            {
                // Nobody to tell.
            }
        }

        /// <summary>An error, on standard error: what keeps the tracker from doing what its user wants.</summary>
        public static void WriteError(string error)
        {
            try
            {
                string line = "ilinst: error: " + error + "\n";
                byte* bytes = stackalloc byte[MaxLine];
                int length = Utf8.Put(bytes, line, MaxLine);
                if (Sandbox.IsHere)
                {
                    Sandbox.WriteError(bytes, length);
                }
                else if (Libc.IsThere)
                {
                    Libc.write(2, bytes, (IntPtr)length);
                }
                else
                {
                    int written;
                    Kernel32.WriteFile(Kernel32.GetStdHandle(Kernel32.StandardError), bytes, length, out written, null);
                }
            }
            catch (Exception)
            {
                // Nobody to tell.
            }
        }

        private static void Append(string line)
        {
            byte* bytes = stackalloc byte[MaxLine];
            int length = Utf8.Put(bytes, line, MaxLine);
            if (Sandbox.IsHere)
            {
                Sandbox.Append(path, bytes, length);
                return;
            }
            if (Libc.IsThere)
            {
                int file = Libc.open(path, Libc.AppendOrCreate, 420);
                if (file >= 0)
                {
                    Libc.Append(file, bytes, length);
                    Libc.close(file);
                }
                return;
            }
            IntPtr handle = Kernel32.CreateFile(
                path, Kernel32.AppendData, Kernel32.ShareAll, IntPtr.Zero, Kernel32.OpenAlways, 0, IntPtr.Zero);
            if (handle != Kernel32.NoHandle)
            {
                int written;
                Kernel32.WriteFile(handle, bytes, length, out written, null);
                Kernel32.CloseHandle(handle);
            }
        }
    }
}
