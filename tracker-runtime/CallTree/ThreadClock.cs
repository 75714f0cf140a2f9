using System;

namespace Ilinst
{
    /// <summary>A thread's CPU clock: how much of its time it ran; and on Linux how much more it could have run.</summary>
    internal static unsafe class ThreadClock
    {
        /// <summary>A thread looks at its own clock no more often than that: the kernel is asked.</summary>
        private const int LooksPerSecond = 1000;
        /// <summary>... and at how long it had no processor: that is a file.</summary>
        private const int LooksAtDelayPerSecond = 100;

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
            long delayBefore = Math.Max(tree->RunDelay, 0);
            long delay = RunDelay(tree->CpuClock);
            ((TreeMemory*)tree->Memory)->DelayBefore = delayBefore - Math.Max(delay, 0);
            tree->RunDelay = delay < 0 ? tree->RunDelay : delayBefore;
        }

        /// <summary>This thread notes its time.</summary>
        public static void Look(CallTree* tree, long now)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            if (now - memory->CpuLooked > Clock.Frequency / LooksPerSecond)
            {
                memory->CpuLooked = now;
                bool isDelayToo = now - memory->DelayLooked > Clock.Frequency / LooksAtDelayPerSecond;
                memory->DelayLooked = isDelayToo ? now : memory->DelayLooked;
                Update(tree, isDelayToo);
            }
        }

        /// <summary>Brings a tree up to date, by whichever thread.</summary>
        public static void Update(CallTree* tree, bool isDelayToo)
        {
            long clock = tree->CpuClock;
            long cpu = Read(clock);
            long delay = isDelayToo ? RunDelay(clock) : -1;
            // It may have ended, or another thread may have taken its tree, since.
            if (tree->CpuClock == clock)
            {
                tree->CpuTime = cpu < 0 ? tree->CpuTime : Math.Max(tree->CpuTime, tree->CpuBefore + cpu);
                delay += delay < 0 ? 0 : ((TreeMemory*)tree->Memory)->DelayBefore;
                tree->RunDelay = Math.Max(tree->RunDelay, delay);
            }
        }

        /// <summary>How many times longer than without other threads and processes what a tree's threads did took, by the clock.</summary>
        public static double Stretch(CallTree* tree)
        {
            return tree->CpuTime > 0 && tree->RunDelay > 0 ? 1 + (double)tree->RunDelay / tree->CpuTime : 1;
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

        /// <summary>How long a thread could have run, but had no processor, in ns; -1 if it isn't known.</summary>
        private static long RunDelay(long clock)
        {
            try
            {
                // The clock of a thread's CPU time has the complement of its id in all bits but three.
                return clock != 0 && Libc.IsLinux ? Libc.RunDelay(~((int)clock >> 3)) : -1;
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
                if (Clock.Kind == ClockKind.Program)
                {
                    return 0;
                }
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
