using System;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>Windows: files are made, grown and mapped by the system itself.</summary>
    internal static unsafe class Kernel32
    {
        public const uint GenericReadWrite = 0xC0000000;
        public const int ShareAll = 7;
        public const int CreateNew = 1;
        public const int PageReadWrite = 4;
        public const int MapWrite = 2;
        public const int DiskFile = 1;
        public const int NoAttributes = -1;
        public const int FolderAttribute = 0x10;
        public const int NotOursAttributes = 0x440; // a device, a reparse point
        public static readonly IntPtr NoHandle = new IntPtr(-1);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "CreateFileW")]
        public static extern IntPtr CreateFile(
            string path, uint access, int share, IntPtr security, int creation, int flags, IntPtr template);

        [DllImport("kernel32")]
        public static extern int CloseHandle(IntPtr handle);

        [DllImport("kernel32")]
        public static extern int GetFileType(IntPtr file);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "GetFileAttributesW")]
        public static extern int GetFileAttributes(string path);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "DeleteFileW")]
        public static extern int DeleteFile(string path);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "MoveFileExW")]
        public static extern int MoveFileEx(string from, string to, int flags);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "CreateDirectoryW")]
        public static extern int CreateDirectory(string path, IntPtr security);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "GetCurrentDirectoryW")]
        public static extern int GetCurrentDirectory(int length, char* buffer);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "GetTempPathW")]
        public static extern int GetTempPath(int length, char* buffer);

        [DllImport("kernel32")]
        public static extern int GetCurrentProcessId();

        [DllImport("kernel32")]
        public static extern int SetFilePointerEx(IntPtr file, long distance, IntPtr position, int method);

        [DllImport("kernel32")]
        public static extern int SetEndOfFile(IntPtr file);

        [DllImport("kernel32")]
        public static extern int WriteFile(IntPtr file, byte* buffer, int count, out int written, IntPtr overlapped);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "CreateFileMappingW")]
        public static extern IntPtr CreateFileMapping(
            IntPtr file, IntPtr security, int protection, int sizeHigh, int sizeLow, string name);

        [DllImport("kernel32")]
        public static extern IntPtr MapViewOfFile(IntPtr mapping, int access, int offsetHigh, int offsetLow, IntPtr count);
    }
}
