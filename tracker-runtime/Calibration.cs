using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// What probes cost: the reader takes it out of what it shows. It is measured where they run, by the program's threads
    /// between their calls: what else the processor does, and which caches it shares, changes it by a fifth and more.
    /// </summary>
    internal static unsafe class Calibration
    {
        /// <summary>A node's calls are followed by a round each time that so many of them have ended: less one, a power of two.</summary>
        public const long CallsBetween = 0xFFFF;

        private const int RoundsAtOnce = 8;
        private const int Enough = 8;
        private const int CallsPerRound = 120;
        private const long FirstId = 1;
        private const long SecondId = 2;

        private static CallTree* tree;
        private static CallNode* first;
        private static CallNode* second;
        private static int isMeasuring;
        private static int sink;
        /// <summary>Before the program ran, or beside it.</summary>
        private static Costs apart;
        /// <summary>By the program's threads: these count once there are some of them.</summary>
        private static Costs among;

        /// <summary>A tree that is in no profile: a caller, and below it two methods that it calls in turn.</summary>
        public static void Start()
        {
            apart = new Costs();
            among = new Costs();
            long size = sizeof(CallTree) + 4 * sizeof(CallNode) + sizeof(TreeMemory) + 3 * Arena.BlockSize;
            CallTree* made = (CallTree*)NativeMemory.Zeroed(size);
            if (made == null)
            {
                return;
            }
            CallNode* root = (CallNode*)(made + 1);
            CallNode* caller = root + 1;
            first = caller + 1;
            second = first + 1;
            TreeMemory* memory = (TreeMemory*)(second + 1);
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
            first->Caller = second->Caller = (long)caller;
            first->Stats = second->Stats = (long)&memory->Sink;
            tree = made;
            Again();
        }

        /// <summary>Called each second: measures it here, if no thread of the program has.</summary>
        public static void Again()
        {
            if (TimeStampCounter.Read != null)
            {
                // Known the better the longer it runs.
                TimeStampCounter.Measure(TimeStampCounter.Read);
                Arena.Header->TicksPerSecond = TimeStampCounter.Frequency;
            }
            if (Mode.Kind != Mode.Count && among.Rounds < Enough)
            {
                Measure(apart, RoundsAtOnce);
            }
        }

        /// <summary>A call of this thread has just ended. What this takes is no call's time.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Among(CallTree* ofProgram)
        {
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
            if (tree == null || ProfileInfoTracker.isPaused || Interlocked.CompareExchange(ref isMeasuring, 1, 0) != 0)
            {
                return;
            }
            CallTree* mine = ProfileInfoTracker.tree;
            long current = tree->Current;
            try
            {
                ProfileInfoTracker.tree = tree;
                // What is measured is not how it comes into the caches.
                ForgetEvents();
                InTurn(2);
                InTurnWithout(2);
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
                ProfileInfoTracker.tree = mine;
                isMeasuring = 0;
            }
        }

        private static void Round(Costs costs)
        {
            first->Total = second->Total = 0;
            ForgetEvents();
            long begin = Clock.Now();
            sink = InTurn(CallsPerRound);
            long middle = Clock.Now();
            sink = InTurnWithout(CallsPerRound);
            long end = Clock.Now();
            ReadClock(CallsPerRound);
            costs.Clock.Add((double)(Clock.Now() - end) / CallsPerRound);
            costs.Inside.Add((double)(first->Total + second->Total) / CallsPerRound);
            costs.With.Add((double)(middle - begin) / CallsPerRound);
            costs.Without.Add((double)(end - middle) / CallsPerRound);
            costs.Rounds++;
        }

        /// <summary>There is a block's room for them.</summary>
        private static void ForgetEvents()
        {
            long block = (long)tree + 2 * Arena.BlockSize & ~(long)(Arena.BlockSize - 1);
            tree->FreeEvent = block + Arena.ChunkHeaderSize;
            tree->EndOfEvents = block + Arena.BlockSize;
        }

        /// <summary>
        /// As programs call what is so short that a probe's time matters: by turns, and what would be inlined without probes.
        /// </summary>
        [MethodImpl((MethodImplOptions)(512 | 8))]
        private static int InTurn(int calls)
        {
            int value = calls;
            for (int i = 0; i < calls; i += 2)
            {
                value = First(value);
                value = Second(value);
            }
            return value;
        }

        [MethodImpl((MethodImplOptions)(512 | 8))]
        private static int InTurnWithout(int calls)
        {
            int value = calls;
            for (int i = 0; i < calls; i += 2)
            {
                value = value * 31 + 1;
                value = value ^ (value >> 3);
            }
            return value;
        }

        [MethodImpl((MethodImplOptions)(512 | 8))]
        private static int First(int value)
        {
            IntPtr token = ProfileInfoTracker.WhenEntering(FirstId);
            try
            {
                return value * 31 + 1;
            }
            finally
            {
                ProfileInfoTracker.WhenLeaving(token);
            }
        }

        [MethodImpl((MethodImplOptions)(512 | 8))]
        private static int Second(int value)
        {
            IntPtr token = ProfileInfoTracker.WhenEntering(SecondId);
            try
            {
                return value ^ (value >> 3);
            }
            finally
            {
                ProfileInfoTracker.WhenLeaving(token);
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

    /// <summary>What was measured, in ticks a call.</summary>
    internal sealed class Costs
    {
        public readonly Samples Inside = new Samples();
        public readonly Samples With = new Samples();
        public readonly Samples Without = new Samples();
        public readonly Samples Clock = new Samples();
        public int Rounds;

        public unsafe void Show(Header* header)
        {
            double pair = Math.Max(With.Usual - Without.Usual, 0);
            // Where only samples are timed, half of a probe's time is as good a guess as any.
            double inside = Mode.IsTimed ? Math.Min(Inside.Usual, pair) : pair / 2;
            header->CostInside = inside;
            header->CostOutside = pair - inside;
            header->CostOfClock = Mode.IsTimed ? Clock.Usual : 0;
        }
    }

    /// <summary>Measurements, some of which were interrupted.</summary>
    internal sealed class Samples
    {
        /// <summary>Beyond so many times the median, it is time of something else.</summary>
        private const double MaxByMedian = 1.7;

        private readonly double[] sorted = new double[256];
        private int count;

        /// <summary>The mean of those that were not interrupted: it may be one of two things at different times. 0 if there are none.</summary>
        public double Usual
        {
            get
            {
                double sum = 0;
                int i = 0;
                for (; i < count && sorted[i] <= MaxByMedian * sorted[count / 2]; i++)
                {
                    sum += sorted[i];
                }
                return i == 0 ? 0 : sum / i;
            }
        }

        public void Add(double sample)
        {
            if (count == sorted.Length)
            {
                // Half of them say the same.
                for (count = 0; count < sorted.Length / 2; count++)
                {
                    sorted[count] = sorted[2 * count];
                }
            }
            int place = count++;
            for (; place > 0 && sorted[place - 1] > sample; place--)
            {
                sorted[place] = sorted[place - 1];
            }
            sorted[place] = sample;
        }
    }
}
