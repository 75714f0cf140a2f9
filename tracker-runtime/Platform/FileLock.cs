using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// Locks of the system on files, for as long as they are open: they end with their process, however that ends. Windows needs
    /// none: it deletes no file that is mapped.
    /// </summary>
    internal static class FileLock
    {
        private const int Shared = 1; // LOCK_SH
        private const int Exclusive = 2; // LOCK_EX
        private const int Now = 4; // LOCK_NB
        private const int Unlock = 8; // LOCK_UN
        private const int MaxTries = 1000;
        /// <summary>So often it is not by chance that a folder can be locked for reading alone: it is one of NFS.</summary>
        private const int MaxShared = 20;

        /// <summary>Says for as long as it is open that a file is in use.</summary>
        public static void Hold(long file)
        {
            if (HasLocks)
            {
                Libc.flock((int)file, Exclusive | Now);
            }
        }

        /// <summary>Whether a file that is there is in use, or may not be opened.</summary>
        public static bool IsHeld(string path)
        {
            if (!HasLocks)
            {
                return false;
            }
            int file = Libc.open(path, Libc.ReadOnly | Libc.ReadWrite, 0);
            // A file system without locks does not unlock either.
            bool isHeld = file < 0 || Libc.flock(file, Exclusive | Now) != 0 && Libc.flock(file, Unlock) == 0;
            Release(file);
            return isHeld;
        }

        /// <summary>
        /// Waits for the lock of a folder, which says that nobody else chooses a name in it; not for ever, as it may be held by what
        /// knows nothing of that.
        /// </summary>
        /// <returns>The argument for <see cref="Release"/>.</returns>
        public static long TakeFolder(string folder)
        {
            int file = HasLocks ? Libc.open(folder, Libc.ReadOnly, 0) : -1;
            for (int tries = 0, shared = 0; file >= 0 && tries < MaxTries && shared < MaxShared; tries++)
            {
                if (Libc.flock(file, Exclusive | Now) == 0)
                {
                    break;
                }
                shared = Libc.flock(file, Shared | Now) == 0 ? shared + 1 : 0;
                Thread.Sleep(1);
            }
            return file;
        }

        public static void Release(long taken)
        {
            if (taken >= 0)
            {
                Libc.close((int)taken);
            }
        }

        private static bool HasLocks
        {
            get { return Libc.IsThere && !Sandbox.IsHere; }
        }
    }
}
