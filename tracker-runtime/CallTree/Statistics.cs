using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>How long a node's calls took, all but the first: the compiler is in that one's time.</summary>
    [StructLayout(LayoutKind.Explicit, Size = StatisticsLayout.Size)]
    internal unsafe struct Statistics
    {
        /// <summary>The finest that is told apart is at most 1/30,000,000 s.</summary>
        private const long FinestPerSecond = 30 * 1000 * 1000;

        /// <summary>Ticks of the first call.</summary>
        [FieldOffset(StatisticsLayout.FirstAt)] public long First;
        [FieldOffset(StatisticsLayout.MinAt)] public long Min;
        [FieldOffset(StatisticsLayout.MaxAt)] public long Max;
        /// <summary>How many are in the buckets.</summary>
        [FieldOffset(StatisticsLayout.CountAt)] public long Count;
        /// <summary>See <see cref="BucketOf"/>.</summary>
        [FieldOffset(StatisticsLayout.BucketsAt)] public fixed uint Calls[StatisticsLayout.Buckets];

        /// <summary>By how many bits ticks are shifted before they go into buckets.</summary>
        public static int Shift;

        /// <summary>Chooses <see cref="Shift"/>.</summary>
        public static int ShiftFor(long ticksPerSecond)
        {
            int shift = 0;
            while (ticksPerSecond >> shift > FinestPerSecond * 3 / 2)
            {
                shift++;
            }
            return shift;
        }

        /// <summary>Adds a call.</summary>
        [MethodImpl((MethodImplOptions)256)]
        public static void Add(Statistics* statistics, long ticks)
        {
            if (ticks < statistics->Min)
            {
                statistics->Min = ticks;
            }
            if (ticks > statistics->Max)
            {
                statistics->Max = ticks;
            }
            statistics->Count++;
            statistics->Calls[BucketOf(ticks)]++;
        }

        /// <summary>
        /// Four buckets for each power of two: the exponent and the two highest bits behind it, which a floating-point number
        /// has side by side.
        /// </summary>
        [MethodImpl((MethodImplOptions)256)]
        public static int BucketOf(long ticks)
        {
            long value = ticks >> Shift;
            if (value < 4)
            {
                return value < 0 ? 0 : (int)value;
            }
            double number = value;
            int bucket = (int)(*(long*)&number >> 50) - (4 * 1023 + 4);
            return bucket < StatisticsLayout.Buckets ? bucket : StatisticsLayout.Buckets - 1;
        }

        /// <summary>
        /// Those of a node of this tree; null if it has none, has a <see cref="FewCalls"/>, or there was no room for them.
        /// </summary>
        public static Statistics* Of(CallTree* tree, CallNode* node)
        {
            Statistics* statistics = (Statistics*)(node->ColdStats != 0 ? node->ColdStats : node->Stats);
            bool isNone = (node->Flags & NodeFlags.HasFewCalls) != 0 || statistics == &((TreeMemory*)tree->Memory)->Sink;
            return isNone ? null : statistics;
        }

        /// <summary>New ones for a node; null if there is no room.</summary>
        public static Statistics* New(CallTree* tree, long first)
        {
            if (tree->FreeStatistics == tree->EndOfStatistics)
            {
                ChunkHeader* chunk = (ChunkHeader*)Arena.Take(ChunkKind.Statistics, 1);
                if (chunk == null)
                {
                    return null;
                }
                chunk->Tree = (long)tree;
                chunk->TreeNumber = NodeChunk.Of((CallNode*)tree)->TreeNumber;
                chunk->Used = StatisticsLayout.Size;
                tree->FreeStatistics = (long)chunk + StatisticsLayout.Size;
                tree->EndOfStatistics = (long)chunk + HeaderLayout.Block;
            }
            Statistics* added = (Statistics*)tree->FreeStatistics;
            added->First = first;
            added->Min = long.MaxValue;
            tree->FreeStatistics += StatisticsLayout.Size;
            NodeChunk.Of((CallNode*)added)->Used += StatisticsLayout.Size;
            return added;
        }

        /// <summary>
        /// Adds a call by the slow path. Many nodes have one call, and need nothing. Most others have few, whose times take a
        /// quarter of the room of statistics.
        /// </summary>
        public static void Record(CallTree* tree, CallNode* node, long ticks, long earlier, long ticksOfFirst)
        {
            Statistics* statistics = (Statistics*)(node->Stats != 0 ? node->Stats : node->ColdStats);
            if (earlier == 0)
            {
                if (statistics != null)
                {
                    // Others were complete before. The first call is at the same place in both.
                    statistics->First = ticks;
                }
                return;
            }
            if (statistics == null ? FewCalls.Begin(tree, node, ticks, ticksOfFirst) : FewCalls.Record(node, ticks))
            {
                return;
            }
            if (statistics == null || (node->Flags & NodeFlags.HasFewCalls) != 0)
            {
                FewCalls* few = (FewCalls*)statistics;
                statistics = New(tree, few != null ? few->First : ticksOfFirst);
                statistics = statistics != null ? statistics : &((TreeMemory*)tree->Memory)->Sink;
                for (int i = 0; few != null && i < FewCallsLayout.Most; i++)
                {
                    Add(statistics, few->Times[i]);
                }
                // A reader of the profile looks at the address alone.
                node->ColdStats = (long)statistics;
                node->Flags &= ~NodeFlags.HasFewCalls;
                FewCalls.Free(tree, few);
            }
            node->Stats = node->Caller == tree->Root || (node->Flags & NodeFlags.Async) != 0 ? 0 : (long)statistics;
            Add(statistics, ticks);
        }

        /// <summary>A node's calls are left by the slow path, until one has been.</summary>
        public static void LeaveSlowly(CallNode* node)
        {
            node->ColdStats = node->ColdStats != 0 ? node->ColdStats : node->Stats;
            node->Stats = 0;
        }
    }
}
