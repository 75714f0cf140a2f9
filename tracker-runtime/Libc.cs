using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>What .NET does not say, or not without more than is asked for.</summary>
    internal static class Libc
    {
        /// <summary>Whether this is Unix.</summary>
        public static readonly bool IsThere = Path.DirectorySeparatorChar == '/';

        /// <summary>
        /// Whether to ask before .NET does the same: .NET Core's exceptions take their texts by culture (see
        /// <see cref="ThisProcess"/>), and its Process loads assemblies, of which the program may hear.
        /// </summary>
        public static readonly bool IsAskedFirst = IsThere && ThisProcess.IsCore;

        [DllImport("libc")]
        public static extern int truncate(string path, IntPtr length);

        [DllImport("libc")]
        public static extern int mkdir(string path, int mode);

        [DllImport("libc")]
        public static extern int creat(string path, int mode);

        [DllImport("libc")]
        public static extern int close(int file);

        [DllImport("libc")]
        public static extern int getpid();
    }
}
