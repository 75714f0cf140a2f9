using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>What probes cost on this machine. The reader takes it out of what it shows.</summary>
    internal static unsafe class Calibration
    {
        private const int Rounds = 5;
        private const int CallsPerRound = 200;
        private const long MethodId = 1;

        private static CallTree* tree;
        private static object gate;

        /// <summary>Measures it anew; the least that was ever seen is what is kept: all else is other programs' time.</summary>
        public static void Again()
        {
            Header* header = Arena.Header;
            if (header == null || Mode.Kind == Mode.Count || Mode.Kind == Mode.Sampled || ProfileInfoTracker.isPaused)
            {
                return;
            }
            if (TimeStampCounter.Read != null)
            {
                // Known the better the longer it runs.
                TimeStampCounter.Measure(TimeStampCounter.Read);
                header->TicksPerSecond = TimeStampCounter.Frequency;
            }
            CallTree* mine = ProfileInfoTracker.tree;
            try
            {
                lock (gate)
                {
                    ProfileInfoTracker.tree = tree;
                    for (int i = 0; i < Rounds; i++)
                    {
                        Measure(header);
                    }
                }
            }
            finally
            {
                ProfileInfoTracker.tree = mine;
            }
        }

        /// <summary>A tree that is in no profile: a caller, and its callee with statistics.</summary>
        public static void Start()
        {
            gate = new object();
            long size = sizeof(CallTree) + 3 * sizeof(CallNode) + sizeof(TreeMemory) + 3 * Arena.BlockSize;
            CallTree* made = (CallTree*)NativeMemory.Zeroed(size);
            if (made == null)
            {
                return;
            }
            CallNode* root = (CallNode*)(made + 1);
            CallNode* caller = root + 1;
            CallNode* callee = root + 2;
            TreeMemory* memory = (TreeMemory*)(root + 3);
            made->Root = (long)root;
            made->Current = (long)caller;
            made->Memory = (long)memory;
            root->Flags = NodeFlags.Root;
            caller->MethodId = callee->MethodId = MethodId;
            caller->Caller = (long)root;
            callee->Caller = (long)caller;
            caller->Callees = (long)callee;
            callee->Next = (long)callee;
            callee->Stats = (long)&memory->Sink;
            tree = made;
            Again();
        }

        private static void Measure(Header* header)
        {
            CallNode* callee = (CallNode*)((CallNode*)tree->Current)->Callees;
            callee->Total = 0;
            long block = (long)tree + 2 * Arena.BlockSize & ~(long)(Arena.BlockSize - 1);
            tree->FreeEvent = block + Arena.ChunkHeaderSize;
            tree->EndOfEvents = block + Arena.BlockSize;
            long begin = Clock.Now();
            Loop(CallsPerRound);
            long middle = Clock.Now();
            ReadClock(CallsPerRound);
            long end = Clock.Now();
            double inside = (double)callee->Total / CallsPerRound;
            Keep(ref header->CostInside, inside);
            Keep(ref header->CostOutside, (double)(middle - begin) / CallsPerRound - inside);
            Keep(ref header->CostOfClock, (double)(end - middle) / CallsPerRound);
        }

        private static void Keep(ref double least, double seen)
        {
            if (seen > 0 && (least == 0 || seen < least))
            {
                least = seen;
            }
        }

        [MethodImpl((MethodImplOptions)(512 | 8))]
        private static void Loop(int calls)
        {
            for (int i = 0; i < calls; i++)
            {
                IntPtr token = ProfileInfoTracker.WhenEntering(MethodId);
                try
                {
                }
                finally
                {
                    ProfileInfoTracker.WhenLeaving(token);
                }
            }
        }

        [MethodImpl((MethodImplOptions)(512 | 8))]
        private static void ReadClock(int times)
        {
            for (int i = 0; i < times; i++)
            {
                Clock.Now();
            }
        }
    }
}
