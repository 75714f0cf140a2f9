using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// Mode trace: each enter and leave of a thread, in chunks of its own. An event is the time since the first probe, shifted
    /// (40 bits), whether it is a leave, and the node's number (23 bits). A thread writes to its first chunk, which is copied to
    /// another when it is full; at the limit to that which was written to first.
    /// </summary>
    internal static unsafe class Events
    {
        /// <summary>The finest that is told apart is at least 1/62,500,000 s.</summary>
        private const long FinestPerSecond = 62500 * 1000;
        private const long NumberMask = EventLayout.Leave - 1;

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
            chunksLeft = bytes / HeaderLayout.Block;
        }

        public static void Enter(CallTree* tree, CallNode* node, long now)
        {
            Add(tree, node->Number & NumberMask, now);
        }

        public static void Leave(CallTree* tree, CallNode* node, long now)
        {
            Add(tree, node->Number & NumberMask | EventLayout.Leave, now);
        }

        private static void Add(CallTree* tree, long what, long now)
        {
            if (tree->FreeEvent == tree->EndOfEvents && !Turn(tree))
            {
                return;
            }
            long* at = (long*)tree->FreeEvent;
            *at = (now - first >> shift) << EventLayout.TimeBit | what;
            tree->FreeEvent += sizeof(long);
            NodeChunk.Of((CallNode*)at)->Used += sizeof(long);
        }

        /// <summary>Makes room in the first chunk. What that takes is no call's time.</summary>
        private static bool Turn(CallTree* tree)
        {
            CallTree* stopped = Allocations.Stop();
            long begin = Clock.Now();
            bool isThere = TakeTurn(tree);
            Frames.InterruptCurrent(tree, Clock.Now() - begin);
            Allocations.Continue(stopped);
            return isThere;
        }

        private static bool TakeTurn(CallTree* tree)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            int count = memory->EventChunkCount;
            long* chunks = (long*)memory->EventChunks;
            ChunkHeader* first = count == 0 ? null : (ChunkHeader*)chunks[0];
            ChunkHeader* added = !HasPlace(memory) ? null : count == 0 ? First(tree) : Arena.Copy(first, null);
            if (added != null)
            {
                ((long*)memory->EventChunks)[count] = (long)added;
                memory->EventChunkCount = count + 1;
                first = count == 0 ? added : first;
            }
            else if (count == 0)
            {
                return false;
            }
            else if (count > 1)
            {
                // From now on there are no more.
                Arena.Copy(first, (ChunkHeader*)chunks[1 + (memory->Turns - 1) % (count - 1)]);
            }
            first->Used = ChunkLayout.Header;
            first->Own = ++memory->Turns;
            tree->FreeEvent = (long)first + ChunkLayout.Header;
            tree->EndOfEvents = (long)first + HeaderLayout.Block;
            return true;
        }

        private static ChunkHeader* First(CallTree* tree)
        {
            ChunkHeader* chunk = (ChunkHeader*)Arena.Take(ChunkKind.Events, 1);
            if (chunk != null)
            {
                chunk->TreeNumber = NodeChunk.Of((CallNode*)tree)->TreeNumber;
                chunk->Tree = (long)tree;
            }
            return chunk;
        }

        /// <summary>Whether a thread may have one more chunk: then there is a place for its address.</summary>
        private static bool HasPlace(TreeMemory* memory)
        {
            int count = memory->EventChunkCount;
            // Each thread has two: with one it would have no past.
            if (Interlocked.Decrement(ref chunksLeft) < 0 && count >= 2 || memory->Turns > count)
            {
                return false;
            }
            if ((count & count - 1) == 0)
            {
                long* more = (long*)NativeMemory.Zeroed(2 * (count + 1) * sizeof(long));
                if (more == null)
                {
                    return false;
                }
                for (int i = 0; i < count; i++)
                {
                    more[i] = ((long*)memory->EventChunks)[i];
                }
                memory->EventChunks = (long)more;
            }
            return true;
        }
    }
}
