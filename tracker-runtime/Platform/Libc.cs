using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>Unix. Files are made, grown and mapped by the system itself: a trimmed program has little else for it.</summary>
    internal static unsafe class Libc
    {
        /// <summary>Whether this is Unix.</summary>
        public static readonly bool IsThere = Path.DirectorySeparatorChar == '/';

        /// <summary>
        /// Whether to ask before .NET does the same: .NET Core's exceptions take their texts by culture (see
        /// <see cref="ThisProcess"/>), and its Process loads assemblies, of which the program may hear.
        /// </summary>
        public static readonly bool IsAskedFirst = IsThere && ThisProcess.IsCore;

        /// <summary>Whether this is Linux, and not macOS: they number their flags differently.</summary>
        public static readonly bool IsLinux = IsThere && SystemName() == "Linux";

        public const int ReadWrite = 2;
        public static readonly int ReadOnly = IsLinux ? 0x80800 : 0x1000004; // O_CLOEXEC, O_NONBLOCK
        public static readonly int CreateNew = IsLinux ? 0x80040 + 0x80 : 0x1000200 + 0x800; // O_CLOEXEC, O_CREAT, O_EXCL
        public static readonly int AppendOrCreate = IsLinux ? 0x80C41 : 0x100020D; // O_CLOEXEC, O_NONBLOCK, O_APPEND, O_CREAT, O_WRONLY
        public const int Unnamed = 0x490000; // O_CLOEXEC, O_TMPFILE with its O_DIRECTORY
        public const int UnnamedOnArm = 0x484000; // the same where O_DIRECTORY has another number
        public static readonly int ProcessClock = IsLinux ? 2 : 12; // CLOCK_PROCESS_CPUTIME_ID
        public const int ProtReadWrite = 3;
        public const int ProtReadExecute = 5;
        public const int MapShared = 1;
        public const int MapPrivate = 2;
        public const int MapFixed = 0x10;
        public static readonly int MapAnonymous = IsLinux ? 0x20 : 0x1000;
        public static readonly IntPtr MapFailed = new IntPtr(-1);

        public const int NoSpace = 28; // ENOSPC
        public const int Interrupted = 4; // EINTR
        private const int SizeLimit = 1; // RLIMIT_FSIZE
        public const int AtWorkingFolder = -100; // AT_FDCWD
        public const int ThroughLinks = 0x400; // AT_SYMLINK_FOLLOW
        private const int NotThroughLinks = 0x100; // AT_SYMLINK_NOFOLLOW
        private const int TypeModeOwner = 0xB; // STATX_TYPE | STATX_MODE | STATX_UID
        private const int FolderOfOwner = 0x4000; // S_IFDIR, and neither of the bits below
        private const int TypeAndOthersMayWrite = 0xF012; // S_IFMT | S_IWGRP | S_IWOTH

        [DllImport("libc")]
        public static extern int open(string path, int flags, int mode);

        [DllImport("libc")]
        private static extern int open(byte* path, int flags, int mode);

        [DllImport("libc")]
        public static extern int close(int file);

        [DllImport("libc")]
        public static extern int fchmod(int file, int mode);

        [DllImport("libc")]
        public static extern int umask(int mask);

        [DllImport("libc")]
        public static extern int flock(int file, int operation);

        [DllImport("libc")]
        private static extern IntPtr lseek(int file, IntPtr offset, int from);

        [DllImport("libc")]
        public static extern int getuid();

        [DllImport("libc")]
        public static extern int unlink(string path);

        [DllImport("libc")]
        public static extern int rename(string from, string to);

        [DllImport("libc")]
        public static extern int linkat(int fromFolder, string from, int toFolder, string to, int flags);

        [DllImport("libc")]
        public static extern int access(string path, int mode);

        [DllImport("libc")]
        public static extern int mkdir(string path, int mode);

        [DllImport("libc")]
        public static extern IntPtr getcwd(byte* buffer, IntPtr size);

        [DllImport("libc")]
        public static extern IntPtr readlink(string path, byte* buffer, IntPtr size);

        [DllImport("libc")]
        public static extern int getpid();

        [DllImport("libc")]
        public static extern IntPtr pthread_self();

        [DllImport("libc")]
        public static extern int pthread_getcpuclockid(IntPtr thread, out int clock);

        [DllImport("libc")]
        public static extern int ftruncate(int file, IntPtr length);

        [DllImport("libc")]
        public static extern int posix_fallocate(int file, IntPtr offset, IntPtr length);

        [DllImport("libc")]
        public static extern IntPtr pread(int file, byte* buffer, IntPtr count, IntPtr offset);

        [DllImport("libc")]
        public static extern IntPtr pwrite(int file, byte* buffer, IntPtr count, IntPtr offset);

        [DllImport("libc")]
        public static extern IntPtr mmap(IntPtr address, IntPtr length, int protection, int flags, int file, IntPtr offset);

        [DllImport("libc")]
        public static extern int munmap(IntPtr address, IntPtr length);

        [DllImport("libc")]
        public static extern int mprotect(IntPtr address, IntPtr length, int protection);

        [DllImport("libc")]
        public static extern int madvise(IntPtr address, IntPtr length, int advice);

        [DllImport("libc")]
        private static extern int pipe(int* files);

        [DllImport("libc")]
        private static extern int clock_gettime(int clock, IntPtr* time);

        [DllImport("libc")]
        public static extern IntPtr write(int file, byte* buffer, IntPtr count);

        [DllImport("libc")]
        private static extern int getrlimit(int resource, IntPtr* limits);

        [DllImport("libc")]
        private static extern int statx(int folder, string path, int flags, int mask, byte* data);

        [DllImport("libc")]
        private static extern int uname(byte* names);

        /// <summary>Whether the system can be asked at all: in a browser there is none.</summary>
        public static bool CanBeCalled()
        {
            try
            {
                return getpid() != 0;
            }
            catch (Exception)
            {
                return false;
            }
        }

        /// <summary>The time of a clock of the system, in ns; -1 if there is no such clock, or no longer.</summary>
        public static long ClockTime(int clock)
        {
            IntPtr* time = stackalloc IntPtr[2];
            return clock_gettime(clock, time) == 0 ? (long)time[0] * 1000000000 + (long)time[1] : -1;
        }

        /// <summary>How long a thread of this process has waited for a processor, in ns; -1 if Linux does not say.</summary>
        public static long RunDelay(int thread)
        {
            const int size = 64;
            byte* text = stackalloc byte[size];
            byte* end = Utf8.PutNumber(text + Utf8.Put(text, "/proc/self/task/", size), thread);
            end[Utf8.Put(end, "/schedstat", size)] = 0;
            int file = open(text, ReadOnly, 0);
            if (file < 0)
            {
                return -1;
            }
            long length = (long)pread(file, text, (IntPtr)size, IntPtr.Zero);
            close(file);
            // Time on a processor, time in a queue for one, time slices.
            byte* at = text;
            while (at < text + length && *at++ != ' ')
            {
            }
            long delay = 0;
            for (; at < text + length && *at >= '0' && *at <= '9'; at++)
            {
                delay = 10 * delay + *at - '0';
            }
            return length > 0 ? delay : -1;
        }

        /// <summary>Adds to a file that is open for that, unless it may not grow.</summary>
        public static void Append(int file, byte* bytes, int count)
        {
            const int End = 2; // SEEK_END
            // A pipe or a device has no end, and no limit.
            if ((long)lseek(file, IntPtr.Zero, End) + count <= FileSizeLimit())
            {
                write(file, bytes, (IntPtr)count);
            }
        }

        /// <summary>How large a file this process may make at present: beyond it, growing one is a signal that ends the process.</summary>
        public static long FileSizeLimit()
        {
            IntPtr* limits = stackalloc IntPtr[2];
            long limit = getrlimit(SizeLimit, limits) == 0 ? (long)limits[0] : -1;
            return limit < 0 ? long.MaxValue : limit;
        }

        /// <summary>Whether memory can be read: the system refuses to take what cannot.</summary>
        public static bool IsReadable(byte* memory, int size)
        {
            int* files = stackalloc int[2];
            if (pipe(files) != 0)
            {
                return false;
            }
            bool isReadable = write(files[1], memory, (IntPtr)size) == (IntPtr)size;
            close(files[0]);
            close(files[1]);
            return isReadable;
        }

        /// <summary>The type bits of a file's mode; 0 if there is none, -1 if that isn't known.</summary>
        public static int FileType(string path)
        {
            int owner;
            int mode = Mode(path, out owner);
            return mode < 0 ? mode : mode & 0xF000;
        }

        /// <summary>Whether a path is a folder of this user that nobody else can write to, and no link; not if that isn't known.</summary>
        public static bool IsOwnFolder(string path)
        {
            int owner;
            int mode = Mode(path, out owner);
            return mode > 0 && (mode & TypeAndOthersMayWrite) == FolderOfOwner && owner == getuid();
        }

        /// <summary>A file's mode, not of what a link leads to; 0 if there is none, -1 if that isn't known.</summary>
        private static int Mode(string path, out int owner)
        {
            owner = -1;
            try
            {
                byte* data = stackalloc byte[256];
                if (statx(AtWorkingFolder, path, NotThroughLinks, TypeModeOwner, data) != 0)
                {
                    return 0;
                }
                owner = *(int*)(data + 20);
                return *(ushort*)(data + 28);
            }
            catch (EntryPointNotFoundException)
            {
                return -1;
            }
        }

        private static string SystemName()
        {
            return Name(0);
        }

        /// <summary>The processor, as Linux calls it: "x86_64".</summary>
        public static string Machine()
        {
            return Name(4);
        }

        /// <summary>One of what uname says; behind the first the places are Linux's.</summary>
        private static string Name(int index)
        {
            try
            {
                byte* names = stackalloc byte[2048];
                return uname(names) < 0 ? "" : Utf8.Text(names + 65 * index, 64);
            }
            catch (Exception)
            {
                return "";
            }
        }
    }
}
