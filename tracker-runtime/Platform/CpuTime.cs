using System;

namespace Ilinst
{
    /// <summary>CPU time of the process and of its threads, as the system has it.</summary>
    internal static unsafe class CpuTime
    {
        /// <summary>Brings the header and the trees of living threads up to date.</summary>
        public static void Update()
        {
            if (Clock.Kind == ClockKind.Program)
            {
                // It could not be compared with anything.
                return;
            }
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
            CallTree* tree = (CallTree*)((byte*)chunk + ChunkLayout.Header);
            if (chunk->Kind == ChunkKind.Nodes && chunk->Tree == (long)tree)
            {
                ThreadClock.Update(tree, true);
            }
        }

        private static long OfProcess()
        {
            return Libc.IsThere ? Libc.ClockTime(Libc.ProcessClock) : Kernel32.ProcessTime();
        }
    }
}
