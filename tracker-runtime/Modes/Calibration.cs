using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// The overhead of probes, which the reader subtracts. It is measured where they run, by the program's threads
    /// between their calls: what else the processor does, and which caches it shares, changes it by a fifth and more.
    /// </summary>
    internal static unsafe class Calibration
    {
        /// <summary>A node's calls are followed by a round each time that so many of them have ended: less one, a power of two.</summary>
        public const long CallsBetween = 0xFFFF;

        private const int RoundsAtOnce = 8;
        /// <summary>The same where a round takes longer, as the clock's steps are larger.</summary>
        private const int LongRoundsAtOnce = 2;
        /// <summary>A part of a round takes at least so many steps of the clock.</summary>
        private const int StepsPerPart = 10;
        /// <summary>How often the clock is looked at for its step, and read for a look at most.</summary>
        private const int LooksForStep = 5;
        private const int ReadsForStep = 1000 * 1000;
        /// <summary>The longest part of a round: no clock is so coarse that a program should wait longer for it.</summary>
        private const double LongestPart = 0.005; // s
        private const int Enough = 32;
        public const int CallsPerRound = 120;
        private const long FirstId = 1;
        private const long SecondId = 2;

        private static CallTree* tree;
        private static CallNode* first;
        private static CallNode* second;
        private static int isMeasuring;
        private static Point point;
        /// <summary>How often a part of a round is done.</summary>
        private static int repeats = 1;
        /// <summary>Before the program ran, or beside it.</summary>
        private static Costs apart;
        /// <summary>By the program's threads: these count once there are some of them.</summary>
        private static Costs among;

        /// <summary>A tree that is in no profile: a caller, and below it two methods that it calls in turn.</summary>
        public static void Start()
        {
            apart = new Costs(2);
            among = new Costs(5);
            if (Clock.Kind == ClockKind.Program || Mode.Kind == RecordingMode.Count)
            {
                // By such a clock probes take no time. Counted calls have none, and calls of here would be counted.
                return;
            }
            int slots = Allocations.SlotsOfNode;
            long size = sizeof(CallTree) + 4 * Allocations.NodeSize + sizeof(TreeMemory) + 3 * HeaderLayout.Block;
            CallTree* made = (CallTree*)NativeMemory.Zeroed(size);
            if (made == null)
            {
                return;
            }
            CallNode* root = (CallNode*)(made + 1);
            CallNode* caller = root + slots;
            first = caller + slots;
            second = first + slots;
            TreeMemory* memory = (TreeMemory*)(second + slots);
            made->Root = (long)root;
            made->Current = (long)caller;
            made->Memory = (long)memory;
            root->Flags = NodeFlags.Root;
            caller->MethodId = FirstId;
            caller->Caller = (long)root;
            caller->Callees = (long)first;
            first->MethodId = FirstId;
            second->MethodId = SecondId;
            first->Next = (long)second;
            second->Next = (long)first;
            CallTrees.NoteTurn(caller, second);
            caller->Callees = (long)second;
            CallTrees.NoteTurn(caller, first);
            caller->Callees = (long)first;
            first->Caller = second->Caller = (long)caller;
            first->Stats = second->Stats = (long)&memory->Sink;
            point = new Point();
            tree = made;
            long step = Step();
            Header.SetClockStep(Arena.Header, step);
            repeats = Repeats(step);
            apart.Repeats = among.Repeats = repeats;
            Again();
        }

        /// <summary>Called each second: measures it here, if no thread of the program has.</summary>
        public static void Again()
        {
            if (Clock.Kind == ClockKind.Tsc)
            {
                // Known the better the longer it runs.
                TimeStampCounter.Measure(Clock.Read);
                Arena.Header->TicksPerSecond = Clock.Frequency;
            }
            if (among.Rounds < Enough)
            {
                Measure(apart, repeats == 1 ? RoundsAtOnce : LongRoundsAtOnce);
            }
        }

        /// <summary>A call of this thread has just ended. What this takes is no call's time.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Among(CallTree* ofProgram)
        {
            if (tree == null || repeats > 1 && among.Rounds >= Enough)
            {
                return;
            }
            long begin = Clock.Now();
            try
            {
                Measure(among, 1);
            }
            catch (Exception)
            {
                // A thread on Mono, at its stack's end.
            }
            Frames.InterruptCurrent(ofProgram, Clock.Now() - begin);
        }

        /// <summary>One thread at a time, and not while tracking is paused.</summary>
        private static void Measure(Costs costs, int rounds)
        {
            if (tree == null || Recording.IsPaused || Interlocked.CompareExchange(ref isMeasuring, 1, 0) != 0)
            {
                return;
            }
            CallTree* mine = ProfileInfoTracker.tree;
            long current = tree->Current;
            try
            {
                CallTrees.Assign(tree);
                ((TreeMemory*)tree->Memory)->BytesRunSince = *ProfileInfoTracker.recorded;
                // The first rounds bring the code into the caches.
                ForgetEvents();
                point.InTurn(2);
                point.InTurnWithout(2);
                for (int i = 0; i < rounds; i++)
                {
                    Round(costs);
                }
                if (costs == apart || among.Rounds >= Enough)
                {
                    costs.Show(Arena.Header);
                }
            }
            finally
            {
                tree->Current = current;
                CallTrees.Assign(mine);
                isMeasuring = 0;
            }
        }

        /// <summary>The smallest step of the clock, in ticks: of a fine clock, the time to read it.</summary>
        private static long Step()
        {
            long least = long.MaxValue;
            for (int i = 0; i < LooksForStep; i++)
            {
                long begin = Clock.Now();
                long now = begin;
                for (int reads = 0; now == begin && reads < ReadsForStep; reads++)
                {
                    now = Clock.Now();
                }
                least = Math.Min(least, now - begin);
            }
            return Math.Max(least, 0);
        }

        /// <summary>How often a part is done until it takes enough steps. Called once: the code is compiled by that.</summary>
        private static int Repeats(long step)
        {
            int done = 0;
            double ticks = Math.Min(StepsPerPart * step, LongestPart * Clock.Frequency);
            CallTree* mine = ProfileInfoTracker.tree;
            try
            {
                CallTrees.Assign(tree);
                ((TreeMemory*)tree->Memory)->BytesRunSince = *ProfileInfoTracker.recorded;
                for (long begin = Clock.Now(); done == 0 || Clock.Now() - begin < ticks; done++)
                {
                    ForgetCalls();
                    point.InTurn(CallsPerRound);
                }
            }
            finally
            {
                CallTrees.Assign(mine);
            }
            return done;
        }

        private static void Round(Costs costs)
        {
            long inside = 0;
            long begin = Clock.Now();
            for (int i = 0; i < repeats; i++)
            {
                ForgetCalls();
                point.InTurn(CallsPerRound);
                inside += first->Total + second->Total;
            }
            long middle = Clock.Now();
            for (int i = 0; i < repeats; i++)
            {
                point.InTurnWithout(CallsPerRound);
            }
            long end = Clock.Now();
            for (int i = 0; i < repeats; i++)
            {
                ReadClock(CallsPerRound);
            }
            long clock = Clock.Now() - end;
            first->Flags = second->Flags = NodeFlags.Counted | NodeFlags.Untimed;
            long counting = Counting();
            // Calls on a path with callees have a leave probe, too.
            first->Callees = second->Callees = tree->Root;
            long leaving = Counting();
            first->Callees = second->Callees = 0;
            first->Flags = second->Flags = 0;
            costs.Add(inside, middle - begin, end - middle, clock, counting, leaving);
        }

        private static long Counting()
        {
            long begin = Clock.Now();
            for (int i = 0; i < repeats; i++)
            {
                ForgetCalls();
                point.InTurn(CallsPerRound);
            }
            return Clock.Now() - begin;
        }

        /// <summary>So few calls are counted that no path is judged.</summary>
        private static void ForgetCalls()
        {
            first->Total = second->Total = first->Calls = second->Calls = first->Leaves = second->Leaves = 0;
            ForgetEvents();
        }

        /// <summary>There is a block's room for them.</summary>
        private static void ForgetEvents()
        {
            long block = (long)tree + 2 * HeaderLayout.Block & ~(long)(HeaderLayout.Block - 1);
            tree->FreeEvent = block + ChunkLayout.Header;
            tree->EndOfEvents = block + HeaderLayout.Block;
        }

        /// <summary>Accessors: methods that are so short that a probe's time matters are mostly such.</summary>
        private sealed class Point
        {
            private int x;

            [MethodImpl((MethodImplOptions)(512 | 8))]
            private int Get()
            {
                IntPtr token = ProfileInfoTracker.WhenEntering(FirstId);
                try
                {
                    return x;
                }
                finally
                {
                    ProfileInfoTracker.WhenLeaving(token);
                }
            }

            [MethodImpl((MethodImplOptions)(512 | 8))]
            private void Set(int value)
            {
                IntPtr token = ProfileInfoTracker.WhenEntering(SecondId);
                try
                {
                    x = value;
                }
                finally
                {
                    ProfileInfoTracker.WhenLeaving(token);
                }
            }

            [MethodImpl((MethodImplOptions)(512 | 8))]
            public void InTurn(int calls)
            {
                for (int i = 0; i < calls; i += 2)
                {
                    Set(Get() * 31 + i);
                }
            }

            /// <summary>The same without probes: the accessors would be inlined.</summary>
            [MethodImpl((MethodImplOptions)(512 | 8))]
            public void InTurnWithout(int calls)
            {
                for (int i = 0; i < calls; i += 2)
                {
                    x = x * 31 + i;
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

    /// <summary>The sums of the measured rounds, in ticks.</summary>
    internal sealed class Costs
    {
        /// <summary>
        /// Beyond so many times the least, a thread had no processor, which the program's time is without too. What is less, as
        /// interrupts, is in the program's time: so it is in the mean, where there are enough of them.
        /// </summary>
        private readonly int maxByLeast;

        public int Rounds;
        public int Repeats = 1;
        private long inside;
        private long with;
        private long without;
        private long clock;
        private long counting;
        private long leaving;
        private long least = long.MaxValue;

        public Costs(int maxByLeast)
        {
            this.maxByLeast = maxByLeast;
        }

        public void Add(long inside, long with, long without, long clock, long counting, long leaving)
        {
            long all = with + without + clock + counting + leaving;
            if (all < least / maxByLeast)
            {
                // All before were such.
                this.inside = this.with = this.without = this.clock = this.counting = this.leaving = Rounds = 0;
            }
            least = Math.Min(least, all);
            if (all > maxByLeast * least)
            {
                return;
            }
            this.inside += inside;
            this.with += with;
            this.without += without;
            this.clock += clock;
            this.counting += counting;
            this.leaving += leaving;
            Rounds++;
        }

        public unsafe void Show(Header* header)
        {
            double calls = (double)Rounds * Repeats * Calibration.CallsPerRound;
            double pair = Math.Max(with - without, 0) / calls;
            // Where only samples are timed, half of a probe's time is as good a guess as any.
            double inside = Mode.IsTimed ? Math.Min(this.inside / calls, pair) : pair / 2;
            header->CostInside = inside;
            header->CostOutside = pair - inside;
            header->CostOfClock = Mode.IsTimed ? clock / calls : 0;
            bool isCounting = Mode.Kind == RecordingMode.Exact;
            double counted = isCounting ? Math.Max(counting - without, 0) / calls : 0;
            Header.SetCostOfCounting(header, counted, isCounting ? Math.Max(leaving - counting, 0) / calls : 0);
        }
    }
}
