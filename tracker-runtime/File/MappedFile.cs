using System;

namespace Ilinst
{
    /// <summary>A file that is made, grown and mapped piece by piece. Nothing here throws.</summary>
    internal static unsafe class MappedFile
    {
        private const int OwnerMayReadAndWrite = 384; // 0600
        private const int AllMayRead = 420; // 0644, less the umask
        private const int HeaderBytesCompared = 64;

        /// <summary>Makes a file where there is none.</summary>
        /// <returns>-1 if it cannot be made.</returns>
        public static long Create(string path)
        {
            if (Sandbox.IsHere)
            {
                return Sandbox.Create(path);
            }
            if (!Libc.IsThere)
            {
                IntPtr handle = Kernel32.CreateFile(
                    path, Kernel32.GenericReadWrite, Kernel32.ShareAll, IntPtr.Zero, Kernel32.CreateNew, 0, IntPtr.Zero);
                if (handle != Kernel32.NoHandle && Kernel32.GetFileType(handle) != Kernel32.DiskFile)
                {
                    Kernel32.CloseHandle(handle);
                    handle = Kernel32.NoHandle;
                }
                return (long)handle;
            }
            int mode = Mode();
            int file = Libc.open(path, Libc.ReadWrite | Libc.CreateNew, mode);
            if (file >= 0 && !Libc.IsLinux)
            {
                // open takes a variable number of arguments, and not every ABI passes those as it passes others.
                int mask = Libc.umask(OwnerMayReadAndWrite >> 3 | OwnerMayReadAndWrite >> 6);
                Libc.umask(mask);
                Libc.fchmod(file, mode & ~mask);
            }
            return file;
        }

        private static int Mode()
        {
            return Control.OfProcess()->HasValues != 0 ? OwnerMayReadAndWrite : AllMayRead;
        }

        /// <summary>Makes a file without a name in a folder. Unless it gets a <see cref="Name"/>, it is gone with the process.</summary>
        /// <returns>-1 if there are no such files.</returns>
        public static long CreateWithoutName(string folder)
        {
            if (!Libc.IsLinux || Sandbox.IsHere)
            {
                return -1;
            }
            int file = Libc.open(folder, Libc.ReadWrite | Libc.Unnamed, Mode());
            return file >= 0 ? file : Libc.open(folder, Libc.ReadWrite | Libc.UnnamedOnArm, Mode());
        }

        /// <summary>Gives such a file a name that is not taken.</summary>
        /// <returns>Whether it has it.</returns>
        public static bool Name(long file, string path)
        {
            string own = "/proc/self/fd/" + ThisProcess.Digits((int)file);
            return Libc.linkat(Libc.AtWorkingFolder, own, Libc.AtWorkingFolder, path, Libc.ThroughLinks) == 0;
        }

        /// <summary>Has the file be its owner's alone: values of the program's come into it.</summary>
        public static void Narrow(long file, byte* header)
        {
            if (Libc.IsThere && !Sandbox.IsHere && file != -1 && IsOurs(file, header))
            {
                Libc.fchmod((int)file, OwnerMayReadAndWrite);
            }
        }

        /// <summary>The same for a copy, if values have come since it was made.</summary>
        public static void NarrowIfNeeded(long file)
        {
            if (Control.OfProcess()->HasValues != 0)
            {
                Narrow(file, null);
            }
        }

        public static void Close(long file)
        {
            if (Sandbox.IsHere)
            {
                Sandbox.Close();
            }
            else if (Libc.IsThere)
            {
                Libc.close((int)file);
            }
            else
            {
                Kernel32.CloseHandle((IntPtr)file);
            }
        }

        /// <summary>Whether there is room for the beginning of a file; it is allocated.</summary>
        public static bool HasRoom(long file)
        {
            if (Sandbox.IsHere)
            {
                return true;
            }
            return !Libc.IsThere
                ? WriteZeros(file, 0, Arena.FirstSize)
                : Allocate((int)file, 0, Arena.FirstSize);
        }

        /// <summary>Allocates some of the file behind what is there, and maps it at a multiple of 64 KiB.</summary>
        /// <param name="header">The expected beginning of the file, or null.</param>
        /// <returns>Null if it cannot be had.</returns>
        public static byte* Grow(long file, byte* header, long from, long size)
        {
            try
            {
                return Libc.IsThere ? GrowOnUnix((int)file, header, from, size) : GrowOnWindows((IntPtr)file, from, size);
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>Writes bytes to a place in the file.</summary>
        /// <returns>Whether all of them were written.</returns>
        public static bool Write(long file, byte* bytes, long at, long count)
        {
            if (Sandbox.IsHere)
            {
                return Sandbox.Write(bytes, at, count);
            }
            if (!Libc.IsThere)
            {
                Kernel32.Overlapped place = new Kernel32.Overlapped();
                place.Offset = (int)at;
                place.OffsetHigh = (int)(at >> 32);
                int written;
                return Kernel32.WriteFile((IntPtr)file, bytes, (int)count, out written, &place) != 0 && written == count;
            }
            if (at + count > Libc.FileSizeLimit())
            {
                return false;
            }
            for (int tries = 0; count > 0 && tries < 1000; tries++)
            {
                long written = (long)Libc.pwrite((int)file, bytes, (IntPtr)count, (IntPtr)at);
                written = written < 0 ? 0 : written;
                bytes += written;
                at += written;
                count -= written;
            }
            return count == 0;
        }

        /// <summary>Cuts the file to a size, where that can be done.</summary>
        public static void Cut(long file, byte* header, long size)
        {
            if (Libc.IsThere && IsOurs(file, header))
            {
                Libc.ftruncate((int)file, (IntPtr)size);
            }
        }

        private static byte* GrowOnUnix(int file, byte* header, long from, long size)
        {
            if (!IsOurs(file, header) || !Allocate(file, from, size))
            {
                return null;
            }
            // Address space for it, so much that a multiple of 64 KiB is in it; then the file over that, and the rest given back.
            IntPtr reserved = Libc.mmap(
                IntPtr.Zero, (IntPtr)(size + HeaderLayout.Block), 0, Libc.MapPrivate | Libc.MapAnonymous, -1, IntPtr.Zero);
            if (reserved == Libc.MapFailed)
            {
                return null;
            }
            long aligned = ((long)reserved + HeaderLayout.Block - 1) & ~(long)(HeaderLayout.Block - 1);
            long before = aligned - (long)reserved;
            IntPtr mapped = Libc.mmap(
                (IntPtr)aligned, (IntPtr)size, Libc.ProtReadWrite, Libc.MapShared | Libc.MapFixed, file, (IntPtr)from);
            if (before > 0)
            {
                Libc.munmap(reserved, (IntPtr)before);
            }
            if (before < HeaderLayout.Block)
            {
                Libc.munmap((IntPtr)(aligned + size), (IntPtr)(HeaderLayout.Block - before));
            }
            return mapped == Libc.MapFailed ? null : (byte*)mapped;
        }

        /// <summary>A signal may come between: a runtime stops its threads by them.</summary>
        private static bool Allocate(int file, long from, long size)
        {
            if (from + size > Libc.FileSizeLimit())
            {
                return false;
            }
            int result = Libc.Interrupted;
            for (int i = 0; i < 100 && result == Libc.Interrupted; i++)
            {
                result = PosixAllocate(file, from, size);
            }
            if (result != 0 && result != Libc.NoSpace && WriteZeros(file, from, size))
            {
                return true;
            }
            if (result != 0)
            {
                Libc.ftruncate(file, (IntPtr)from);
            }
            return result == 0;
        }

        private static int PosixAllocate(int file, long from, long size)
        {
            try
            {
                return Libc.posix_fallocate(file, (IntPtr)from, (IntPtr)size);
            }
            catch (EntryPointNotFoundException)
            {
                return -1;
            }
        }

        private static bool WriteZeros(long file, long from, long size)
        {
            byte* zeros = stackalloc byte[4096];
            for (int i = 0; i < 4096; i++)
            {
                zeros[i] = 0;
            }
            for (long at = from; at < from + size; at += 4096)
            {
                if (!Write(file, zeros, at, 4096))
                {
                    return false;
                }
            }
            return true;
        }

        /// <summary>Whether the file is still ours: a program may close all that is open, and open another.</summary>
        public static bool IsOurs(long file, byte* header)
        {
            if (header == null || !Libc.IsThere)
            {
                return true;
            }
            byte* read = stackalloc byte[HeaderBytesCompared];
            if ((long)Libc.pread((int)file, read, (IntPtr)HeaderBytesCompared, IntPtr.Zero) != HeaderBytesCompared)
            {
                return false;
            }
            for (int i = 0; i < HeaderBytesCompared; i++)
            {
                // But for the time of the last look, which another thread may be writing.
                if (read[i] != header[i] && (i < 48 || i >= 56))
                {
                    return false;
                }
            }
            return true;
        }

        private static byte* GrowOnWindows(IntPtr file, long from, long size)
        {
            // A file that CreateFileMapping extends has no room in a sparse or compressed file, on a share, and under Wine.
            if (!WriteZeros((long)file, from, size))
            {
                return null;
            }
            long end = from + size;
            IntPtr section = Kernel32.CreateFileMapping(
                file, IntPtr.Zero, Kernel32.PageReadWrite, (int)(end >> 32), (int)end, null);
            if (section == IntPtr.Zero)
            {
                return null;
            }
            IntPtr view = Kernel32.MapViewOfFile(section, Kernel32.MapWrite, (int)(from >> 32), (int)from, (IntPtr)size);
            Kernel32.CloseHandle(section);
            return (byte*)view;
        }
    }
}
