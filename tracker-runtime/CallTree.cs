using System.Runtime.InteropServices;

namespace Ilinst
{
    // These structures are the profile file: it holds them as they are in memory (see docs/profile-format.md). Addresses
    // take eight bytes everywhere, so that the layout is the same in 32-bit processes.

    /// <summary>A method called along one path: a node of a thread's call tree.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct CallNode
    {
        /// <summary>Which method; 0 in a tree's root.</summary>
        public long MethodId;
        /// <summary>The callee that was called last; the others follow by <see cref="Next"/>.</summary>
        public long Callees;
        /// <summary>The next callee of the same caller.</summary>
        public long Next;
        /// <summary>The node of the caller; 0 in a tree's root.</summary>
        public long Caller;
        /// <summary>When the call that is open now, or the last one, began.</summary>
        public long Start;
        /// <summary>Ticks spent in calls that have ended, with their callees.</summary>
        public long Total;
        /// <summary>How often it was entered.</summary>
        public long Calls;
        /// <summary>How often it was left.</summary>
        public long Leaves;
    }

    /// <summary>A thread's call tree. It lies in the thread's first chunk, behind the chunk's header.</summary>
    [StructLayout(LayoutKind.Sequential, Size = NodeChunk.HeaderSize)]
    internal struct CallTree
    {
        /// <summary>The node of the method that is running; the root's if none is.</summary>
        public long Current;
        /// <summary>Where the next node goes.</summary>
        public long Free;
        /// <summary>The end of the chunk that nodes go to now.</summary>
        public long End;
        /// <summary>The root: what the thread was started with, which no probe sees.</summary>
        public long Root;
        /// <summary>How many threads have used this tree, one after another.</summary>
        public long Threads;
        /// <summary>How many calls are not in the tree, since no node could be added for them.</summary>
        public long LostCalls;
        /// <summary>How many tokens were of no call that was open on this thread: they were passed over.</summary>
        public long BadTokens;
    }

    /// <summary>The header of 64 KiB of nodes, which start at a multiple of 64 KiB.</summary>
    [StructLayout(LayoutKind.Sequential, Size = NodeChunk.HeaderSize)]
    internal unsafe struct NodeChunk
    {
        public const int ChunkSize = 64 * 1024;
        public const int HeaderSize = 64;
        public const int NodeSize = 64;
        /// <summary>Behind the header and the place of a tree.</summary>
        public const int FirstNode = 2 * HeaderSize;
        public const int Kind = 1;

        /// <summary>Says that this is a chunk of nodes.</summary>
        public int KindOfChunk;
        /// <summary>How many bytes the chunk takes in the file.</summary>
        public int SizeInFile;
        /// <summary>Where the chunk is in memory.</summary>
        public long Address;
        /// <summary>Whose nodes these are.</summary>
        public long Tree;
        /// <summary>The tree's number, from 1.</summary>
        public long TreeNumber;
        /// <summary>How many bytes are in use, with the header.</summary>
        public long Used;

        public static NodeChunk* Of(CallNode* node)
        {
            return (NodeChunk*)((long)node & ~(long)(ChunkSize - 1));
        }
    }
}
