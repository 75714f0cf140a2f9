using System;

namespace Ilinst
{
    /// <summary>CPU time of the process and of its threads, as the system has it.</summary>
    internal static unsafe class CpuTime
    {
        /// <summary>Brings the header and the trees of living threads up to date.</summary>
        public static void Update()
        {
            try
            {
                long ofProcess = OfProcess();
                if (ofProcess >= 0)
                {
                    Arena.Header->CpuTime = ofProcess;
                }
                Arena.ForEach(UpdateTree);
            }
            catch (Exception)
            {
                // It stays unknown.
            }
        }

        private static void UpdateTree(ChunkHeader* chunk)
        {
            CallTree* tree = (CallTree*)((byte*)chunk + Arena.ChunkHeaderSize);
            if (chunk->Kind != ChunkHeader.Nodes || chunk->Tree != (long)tree || tree->CpuClock == 0)
            {
                return;
            }
            long clock = tree->CpuClock;
            long time = Libc.IsThere ? Libc.ClockTime((int)clock) : Kernel32.ThreadTime((IntPtr)clock);
            // It may have ended, or another thread may have taken its tree, since.
            if (time >= 0 && tree->CpuClock == clock && tree->CpuBefore + time > tree->CpuTime)
            {
                tree->CpuTime = tree->CpuBefore + time;
            }
        }

        private static long OfProcess()
        {
            return Libc.IsThere ? Libc.ClockTime(Libc.ProcessClock) : Kernel32.ProcessTime();
        }
    }
}
