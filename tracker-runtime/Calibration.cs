using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>What probes cost on this machine. The reader takes it out of what it shows.</summary>
    internal static unsafe class Calibration
    {
        private const int Rounds = 5;
        private const int CallsPerRound = 200;
        private const int Depth = 7;
        /// <summary>Of <see cref="Fibonacci"/> with that depth.</summary>
        private const int CallsOfFibonacci = 41;
        private const long MethodId = 1;

        private static CallTree* tree;
        private static Gate gate;

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
                using (gate.Enter())
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

        /// <summary>A tree that is in no profile: a caller, and below it callees with statistics, each the next one's caller.</summary>
        public static void Start()
        {
            gate = new Gate();
            long size = sizeof(CallTree) + (Depth + 2) * sizeof(CallNode) + sizeof(TreeMemory) + 3 * Arena.BlockSize;
            CallTree* made = (CallTree*)NativeMemory.Zeroed(size);
            if (made == null)
            {
                return;
            }
            CallNode* root = (CallNode*)(made + 1);
            CallNode* caller = root + 1;
            TreeMemory* memory = (TreeMemory*)(root + Depth + 2);
            made->Root = (long)root;
            made->Current = (long)caller;
            made->Memory = (long)memory;
            root->Flags = NodeFlags.Root;
            caller->MethodId = MethodId;
            caller->Caller = (long)root;
            for (CallNode* callee = caller + 1; callee != (CallNode*)memory; callee++)
            {
                callee->MethodId = MethodId;
                callee->Caller = (long)(callee - 1);
                (callee - 1)->Callees = (long)callee;
                callee->Next = (long)callee;
                callee->Stats = (long)&memory->Sink;
            }
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
            Loop(CallsPerRound);
            double inside = (double)callee->Total / CallsPerRound;
            long begin = Clock.Now();
            int calls = 0;
            for (; calls < CallsPerRound; calls += CallsOfFibonacci)
            {
                Fibonacci(Depth);
            }
            long middle = Clock.Now();
            for (int i = 0; i < calls; i += CallsOfFibonacci)
            {
                FibonacciWithout(Depth);
            }
            long end = Clock.Now();
            ReadClock(CallsPerRound);
            long endOfReads = Clock.Now();
            Keep(ref header->CostInside, inside);
            // Calls within calls, as they are in programs, cost some more than the same one again and again.
            Keep(ref header->CostOutside, (double)((middle - begin) - (end - middle)) / calls - inside);
            Keep(ref header->CostOfClock, (double)(endOfReads - end) / CallsPerRound);
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
        private static int Fibonacci(int number)
        {
            IntPtr token = ProfileInfoTracker.WhenEntering(MethodId);
            try
            {
                return number < 2 ? number : Fibonacci(number - 1) + Fibonacci(number - 2);
            }
            finally
            {
                ProfileInfoTracker.WhenLeaving(token);
            }
        }

        [MethodImpl((MethodImplOptions)(512 | 8))]
        private static int FibonacciWithout(int number)
        {
            return number < 2 ? number : FibonacciWithout(number - 1) + FibonacciWithout(number - 2);
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
