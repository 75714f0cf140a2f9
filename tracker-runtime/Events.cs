using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// Mode trace: each enter and leave of a thread, in chunks of its own. An event is the time since the first probe, shifted
    /// (40 bits), whether it is a leave, and the node's number (23 bits). At the limit a thread's oldest chunk is used again.
    /// </summary>
    internal static unsafe class Events
    {
        /// <summary>The finest that is told apart is at least 1/62,500,000 s.</summary>
        private const long FinestPerSecond = 62500 * 1000;
        private const int TimeAt = 24;
        private const int PageSize = 4096;
        private const long IsLeave = 1 << 23;
        private const long NumberMask = IsLeave - 1;

        private static long first;
        private static int shift;
        private static long chunksLeft;

        public static void Start(long bytes)
        {
            while (Clock.Frequency >> shift > FinestPerSecond)
            {
                shift++;
            }
            first = Arena.Header->StartTicks;
            Arena.Header->EventShift = shift;
            chunksLeft = bytes / Arena.BlockSize;
        }

        public static void Enter(CallTree* tree, CallNode* node, long now)
        {
            Add(tree, node->Number & NumberMask, now);
        }

        public static void Leave(CallTree* tree, CallNode* node, long now)
        {
            Add(tree, node->Number & NumberMask | IsLeave, now);
        }

        private static void Add(CallTree* tree, long what, long now)
        {
            if (tree->FreeEvent == tree->EndOfEvents && !Turn(tree))
            {
                return;
            }
            long* at = (long*)tree->FreeEvent;
            *at = (now - first >> shift) << TimeAt | what;
            tree->FreeEvent += sizeof(long);
            NodeChunk.Of((CallNode*)at)->Used += sizeof(long);
        }

        /// <summary>Goes on in a new chunk, or in the oldest. What that takes is no call's time.</summary>
        private static bool Turn(CallTree* tree)
        {
            long begin = Clock.Now();
            bool isThere = TakeTurn(tree);
            Frames.InterruptCurrent(tree, Clock.Now() - begin);
            return isThere;
        }

        private static bool TakeTurn(CallTree* tree)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            ChunkHeader* chunk = New(tree, memory);
            if (chunk == null)
            {
                if (memory->EventChunkCount == 0)
                {
                    return false;
                }
                // The first of those in use is the oldest: from now on there are no more.
                chunk = (ChunkHeader*)((long*)memory->EventChunks)[memory->Turns % memory->EventChunkCount];
                chunk->Used = Arena.ChunkHeaderSize;
            }
            chunk->Own = ++memory->Turns;
            tree->FreeEvent = (long)chunk + Arena.ChunkHeaderSize;
            tree->EndOfEvents = (long)chunk + Arena.BlockSize;
            return true;
        }

        private static ChunkHeader* New(CallTree* tree, TreeMemory* memory)
        {
            // Each thread has two: with one it would have no past.
            if (Interlocked.Decrement(ref chunksLeft) < 0 && memory->EventChunkCount >= 2 || memory->Turns > memory->EventChunkCount)
            {
                return null;
            }
            int count = memory->EventChunkCount;
            long* chunks = (long*)memory->EventChunks;
            if ((count & count - 1) == 0)
            {
                long* more = (long*)NativeMemory.Zeroed(2 * (count + 1) * sizeof(long));
                for (int i = 0; more != null && i < count; i++)
                {
                    more[i] = chunks[i];
                }
                memory->EventChunks = (long)more;
                chunks = more;
            }
            ChunkHeader* chunk = chunks == null ? null : (ChunkHeader*)Arena.Take(ChunkHeader.Events, 1);
            if (chunk != null)
            {
                // The system gives each page when it is first written to, which would be many calls' time.
                for (byte* page = (byte*)chunk; page < (byte*)chunk + Arena.BlockSize; page += PageSize)
                {
                    *(long*)(page + PageSize - sizeof(long)) = 0;
                }
                chunk->TreeNumber = NodeChunk.Of((CallNode*)tree)->TreeNumber;
                chunk->Tree = (long)tree;
                chunks[count] = (long)chunk;
                memory->EventChunkCount = count + 1;
            }
            return chunk;
        }
    }
}
