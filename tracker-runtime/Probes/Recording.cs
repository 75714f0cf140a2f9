using System;

namespace Ilinst
{
    /// <summary>
    /// Whether calls are recorded: in memory that is zeros again in a child of a fork, which has the profile's mapping too, and would
    /// write into its parent's profile.
    /// </summary>
    internal static unsafe class Recording
    {
        private const int WipeOnFork = 18; // MADV_WIPEONFORK, Linux 4.14
        /// <summary>At <see cref="ProfileInfoTracker.recorded"/>: 0 only in such a child.</summary>
        private const int IsOurs = 1;

        /// <summary>Whether this is a forked child of the process that the profile is of: there is nothing for it to write to.</summary>
        public static bool IsForked
        {
            get
            {
                long* recorded = ProfileInfoTracker.recorded;
                return recorded != null && recorded[IsOurs] == 0;
            }
        }

        /// <summary>Whether nothing is recorded at present.</summary>
        public static bool IsPaused
        {
            get
            {
                long* recorded = ProfileInfoTracker.recorded;
                return recorded != null && recorded[0] == 0;
            }
        }

        /// <summary>Calls are recorded from now on.</summary>
        /// <returns>False if there is no memory.</returns>
        public static bool Start()
        {
            long* recorded = (long*)Memory(2 * sizeof(long));
            if (recorded != null)
            {
                recorded[0] = long.MinValue;
                recorded[IsOurs] = 1;
            }
            ProfileInfoTracker.recorded = recorded;
            return recorded != null;
        }

        /// <summary>No call is, that begins or ends.</summary>
        public static void Pause()
        {
            *ProfileInfoTracker.recorded = 0;
        }

        /// <summary>They are again. Calls that began before a pause take the slow path to their end.</summary>
        public static void Resume(long now)
        {
            *ProfileInfoTracker.recorded = long.MinValue - now;
        }

        /// <summary>Zeros that stay, and that are zeros again in a forked child, where the system has that.</summary>
        public static byte* Memory(long size)
        {
            try
            {
                byte* memory = Libc.IsLinux && !Sandbox.IsHere ? WipedOnFork(size) : null;
                return memory != null ? memory : NativeMemory.Zeroed(size);
            }
            catch (Exception)
            {
                return NativeMemory.Zeroed(size);
            }
        }

        private static byte* WipedOnFork(long size)
        {
            IntPtr memory = Libc.mmap(
                IntPtr.Zero, (IntPtr)size, Libc.ProtReadWrite, Libc.MapPrivate | Libc.MapAnonymous, -1, IntPtr.Zero);
            if (memory == Libc.MapFailed)
            {
                return null;
            }
            if (Libc.madvise(memory, (IntPtr)size, WipeOnFork) != 0)
            {
                Log.Write("the system does not tell forked children apart: what they call is in this profile");
            }
            return (byte*)memory;
        }
    }
}
