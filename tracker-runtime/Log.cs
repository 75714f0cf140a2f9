using System;

namespace Ilinst
{
    /// <summary>What the tracker did, a line each, for whom ILINST_LOG names a file: the program's own output stays its own.</summary>
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
                int file = Libc.open(path, Libc.AppendOrCreate, 438);
                if (file >= 0)
                {
                    Libc.write(file, bytes, (IntPtr)length);
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
