using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// The state that all trackers of a process share: each context or AppDomain may have one of its own, with its own statics. It is
    /// zeroed memory at a place that each of them finds, and holds nothing managed.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct Control
    {
        private const int Size = 256 * 1024;
        /// <summary>Of this layout; trackers of another one have a profile of their own.</summary>
        private const int Magic = 0x494C0202;
        /// <summary>Where nothing else comes to lie, in processes of 39 bits of address and more.</summary>
        private const long Place = 0x0D11570000;

        private int magic;
        private int processId;
        private int isLocked;
        /// <summary>1 while one of them does what only one needs to do.</summary>
        public int IsHousekeeping;
        /// <summary>How many trackers are there that have not ended.</summary>
        public int Trackers;
        /// <summary>The profile's header; 0 before it is made.</summary>
        public long Header;
        /// <summary>The file, or -1.</summary>
        public long File;
        /// <summary>How much of the file is allocated.</summary>
        public long FileSize;
        /// <summary>Where the next chunk goes.</summary>
        public long NextBlock;
        /// <summary>The end of the arena that it is in.</summary>
        public long ArenaEnd;
        /// <summary>1 when the file has been cut behind its last chunk, at the end.</summary>
        public int IsTrimmed;
        /// <summary>How often the file could not grow.</summary>
        public int IsFull;
        /// <summary>How many nodes may still be added, and how many trees there are: <see cref="CallTrees"/> counts.</summary>
        public int NodesLeft;
        public int Trees;
        /// <summary>The chunk that names go to now; 0 before the first.</summary>
        public long Names;
        /// <summary>When the pause began that is on.</summary>
        public long PausedSince;
        /// <summary>The file's path, UTF-8 with a zero at the end.</summary>
        public fixed byte Path[MaxPath];
        public const int MaxPath = 4096;
        public int Arenas;
        /// <summary>Of each arena: address, size, place in the file or -1.</summary>
        public fixed long Arena[3 * MaxArenas];
        public const int MaxArenas = 8000;
        /// <summary>The chunk that descriptions go to now; 0 before the first. And how many have a number.</summary>
        public long Descriptions;
        public int Described;
        /// <summary>1 when the profile has values of the program's: then it is for its owner alone.</summary>
        public int HasValues;
        /// <summary>1 when the program's user has been told what is wrong with its settings.</summary>
        public int HasTold;
        /// <summary>How the file begins that was at its path before, if none is wanted before the end: zeros if there was none.</summary>
        public fixed byte Before[OutputFile.Beginning];

        private static Control* mine;

        /// <summary>The one of this process, made by whoever asks first.</summary>
        public static Control* OfProcess()
        {
            if (mine == null)
            {
                Control* shared = Shared();
                mine = shared != null ? shared : (Control*)Memory();
            }
            return mine;
        }

        /// <summary>Waits for the others, but not for ever: a thread may have been ended while it held the lock.</summary>
        public static bool Enter(Control* control)
        {
            for (int i = 0; Interlocked.CompareExchange(ref control->isLocked, 1, 0) != 0; i++)
            {
                if (i > 5000)
                {
                    return false;
                }
                Thread.Sleep(i < 50 ? 0 : 1);
            }
            return true;
        }

        public static void Exit(Control* control)
        {
            Interlocked.Exchange(ref control->isLocked, 0);
        }

        private static Control* Shared()
        {
            try
            {
                int id = ThisProcess.Id();
                Control* control = id == 0 ? null : Libc.IsThere ? OnUnix() : OnWindows(id);
                if (control == null)
                {
                    return null;
                }
                if (Interlocked.CompareExchange(ref control->processId, id, 0) == 0)
                {
                    control->File = -1;
                    Thread.MemoryBarrier();
                    control->magic = Magic;
                }
                for (int i = 0; control->processId == id && i < 1000; i++)
                {
                    if (control->magic != 0)
                    {
                        return control->magic == Magic ? control : null;
                    }
                    Thread.Sleep(1);
                }
                return null;
            }
            catch (Exception)
            {
                return null;
            }
        }

        private static Control* OnUnix()
        {
            IntPtr there = Libc.mmap(
                (IntPtr)Place, (IntPtr)Size, Libc.ProtReadWrite, Libc.MapPrivate | Libc.MapAnonymous, -1, IntPtr.Zero);
            if (there == Libc.MapFailed || there == (IntPtr)Place)
            {
                return there == Libc.MapFailed ? null : (Control*)Place;
            }
            Libc.munmap(there, (IntPtr)Size);
            return Libc.IsReadable((byte*)Place, sizeof(int)) && ((Control*)Place)->magic == Magic ? (Control*)Place : null;
        }

        private static Control* OnWindows(int id)
        {
            string name = "Local\\Ilinst.Tracker." + ThisProcess.Digits(id);
            IntPtr section = Kernel32.CreateFileMapping(Kernel32.NoHandle, IntPtr.Zero, Kernel32.PageReadWrite, 0, Size, name);
            return (Control*)Kernel32.MapViewOfFile(section, Kernel32.MapWrite, 0, 0, (IntPtr)Size);
        }

        private static byte* Memory()
        {
            byte* memory = (byte*)Marshal.AllocHGlobal(Size);
            for (int i = 0; i < Size / sizeof(long); i++)
            {
                ((long*)memory)[i] = 0;
            }
            ((Control*)memory)->File = -1;
            return memory;
        }
    }
}
