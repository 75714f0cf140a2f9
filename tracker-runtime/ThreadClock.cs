using System;

namespace Ilinst
{
    /// <summary>A thread's CPU clock: how much of its time it ran.</summary>
    internal static unsafe class ThreadClock
    {
        /// <summary>A thread looks at its own clock no more often than that: the kernel is asked.</summary>
        private const int LooksPerSecond = 1000;

        /// <summary>This thread has the tree from now on.</summary>
        public static void Own(CallTree* tree)
        {
            if (tree->CpuClock != 0 && !Libc.IsThere)
            {
                Kernel32.CloseHandle((IntPtr)tree->CpuClock);
            }
            long before = tree->CpuTime < 0 ? 0 : tree->CpuTime;
            tree->CpuClock = OfThisThread();
            long now = Read(tree->CpuClock);
            tree->CpuBefore = before - Math.Max(now, 0);
            tree->CpuTime = now < 0 ? tree->CpuTime : before;
        }

        /// <summary>This thread notes its time.</summary>
        public static void Look(CallTree* tree, long now)
        {
            if (tree->CpuClock != 0 && now - tree->CpuLooked > Clock.Frequency / LooksPerSecond)
            {
                tree->CpuLooked = now;
                long cpu = Read(tree->CpuClock);
                if (cpu >= 0)
                {
                    tree->CpuTime = Math.Max(tree->CpuTime, tree->CpuBefore + cpu);
                }
            }
        }

        /// <summary>In ns; -1 if it isn't known.</summary>
        public static long Read(long clock)
        {
            try
            {
                if (clock == 0)
                {
                    return -1;
                }
                return Libc.IsThere ? Libc.ClockTime((int)clock) : Kernel32.ThreadTime((IntPtr)clock);
            }
            catch (Exception)
            {
                return -1;
            }
        }

        private static long OfThisThread()
        {
            try
            {
                if (Libc.IsThere)
                {
                    int clock;
                    return Libc.pthread_getcpuclockid(Libc.pthread_self(), out clock) == 0 ? clock : 0;
                }
                return (long)Kernel32.OpenThread(Kernel32.ThreadQueryInformation, false, Kernel32.GetCurrentThreadId());
            }
            catch (Exception)
            {
                return 0;
            }
        }
    }
}
