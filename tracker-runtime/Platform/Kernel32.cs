using System;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>Windows: files are made, grown and mapped by the system itself.</summary>
    internal static unsafe class Kernel32
    {
        public const uint GenericReadWrite = 0xC0000000;
        public const uint GenericRead = 0x80000000;
        public const uint AppendData = 4;
        public const int OpenExisting = 3;
        public const int OpenAlways = 4;
        public const int ShareAll = 7;
        public const int CreateNew = 1;
        public const int PageReadWrite = 4;
        public const int MapWrite = 2;
        public const int DiskFile = 1;
        public const int CommitAndReserve = 0x3000;
        public const int PageExecuteRead = 0x20;
        public const int ThreadQueryInformation = 0x40;
        public const int NoAttributes = -1;
        public const int FolderAttribute = 0x10;
        public const int NotOursAttributes = 0x440; // a device, a reparse point
        public const int StandardError = -12; // STD_ERROR_HANDLE
        public static readonly IntPtr NoHandle = new IntPtr(-1);

        /// <summary>OVERLAPPED: where in a file.</summary>
        [StructLayout(LayoutKind.Sequential)]
        public struct Overlapped
        {
            public IntPtr Internal;
            public IntPtr InternalHigh;
            public int Offset;
            public int OffsetHigh;
            public IntPtr Event;
        }

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "CreateFileW")]
        public static extern IntPtr CreateFile(
            string path, uint access, int share, IntPtr security, int creation, int flags, IntPtr template);

        [DllImport("kernel32")]
        public static extern int CloseHandle(IntPtr handle);

        [DllImport("kernel32")]
        public static extern IntPtr GetStdHandle(int which);

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
        public static extern IntPtr VirtualAlloc(IntPtr address, IntPtr size, int type, int protection);

        [DllImport("kernel32")]
        public static extern bool VirtualProtect(IntPtr address, IntPtr size, int protection, out int before);

        [DllImport("kernel32")]
        public static extern int GetCurrentThreadId();

        [DllImport("kernel32")]
        public static extern IntPtr OpenThread(int access, bool isInherited, int id);

        [DllImport("kernel32")]
        public static extern int WriteFile(IntPtr file, byte* buffer, int count, out int written, Overlapped* place);

        [DllImport("kernel32")]
        public static extern int ReadFile(IntPtr file, byte* buffer, int count, out int read, Overlapped* place);

        [DllImport("kernel32", CharSet = CharSet.Unicode, EntryPoint = "CreateFileMappingW")]
        public static extern IntPtr CreateFileMapping(
            IntPtr file, IntPtr security, int protection, int sizeHigh, int sizeLow, string name);

        [DllImport("kernel32")]
        public static extern IntPtr MapViewOfFile(IntPtr mapping, int access, int offsetHigh, int offsetLow, IntPtr count);

        [DllImport("kernel32")]
        private static extern IntPtr GetCurrentProcess();

        [DllImport("kernel32")]
        private static extern int GetProcessTimes(IntPtr process, out long created, out long ended, out long kernel, out long user);

        [DllImport("kernel32")]
        private static extern int GetThreadTimes(IntPtr thread, out long created, out long ended, out long kernel, out long user);

        /// <summary>Whether it is a file, and no device such as NUL, which has a file's attributes.</summary>
        public static bool IsOnDisk(string path)
        {
            IntPtr handle = CreateFile(path, 0, ShareAll, IntPtr.Zero, OpenExisting, 0, IntPtr.Zero);
            bool isOnDisk = handle != NoHandle && GetFileType(handle) == DiskFile;
            if (handle != NoHandle)
            {
                CloseHandle(handle);
            }
            return isOnDisk;
        }

        /// <summary>CPU time of the process, in ns; -1 if it isn't known.</summary>
        public static long ProcessTime()
        {
            long created, ended, kernel, user;
            return GetProcessTimes(GetCurrentProcess(), out created, out ended, out kernel, out user) == 0 ? -1 : (kernel + user) * 100;
        }

        /// <summary>CPU time of a thread, in ns; -1 if it isn't known.</summary>
        public static long ThreadTime(IntPtr thread)
        {
            long created, ended, kernel, user;
            return GetThreadTimes(thread, out created, out ended, out kernel, out user) == 0 ? -1 : (kernel + user) * 100;
        }
    }
}
