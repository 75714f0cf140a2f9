using System.Runtime.InteropServices;

namespace Ilinst
{
    // These structures are the profile file: it is a mapping of them (see docs/profile-format.md). Addresses take eight bytes
    // everywhere, so that the layout is the same in 32-bit processes.

    /// <summary>A method called along one path: a node of a thread's call tree.</summary>
    [StructLayout(LayoutKind.Sequential, Size = NodeChunk.NodeSize)]
    internal struct CallNode
    {
        /// <summary>Which method; 0 in a tree's root.</summary>
        public long MethodId;
        /// <summary>The callee that was called last; the others follow by <see cref="Next"/>.</summary>
        public long Callees;
        /// <summary>The node of the caller; 0 in a tree's root.</summary>
        public long Caller;
        /// <summary>When the call that is open now, or the last one, began.</summary>
        public long Start;
        /// <summary>How often it was entered.</summary>
        public long Calls;
        /// <summary>Ticks spent in calls that have ended, with their callees.</summary>
        public long Total;
        /// <summary>How often it was left.</summary>
        public long Leaves;
        /// <summary>The statistics that the hot path keeps; 0 if there are none.</summary>
        public long Stats;
        /// <summary>The next callee of the same caller.</summary>
        public long Next;
        /// <summary>Process memory.</summary>
        public long Index;
        public int Flags;
        public int Exceptions;
        public int ExceptionType;
        private int reserved;
        /// <summary>Ticks of <see cref="Total"/> that are no time of the callers'.</summary>
        public long Detached;
        public long Async;
        public long ColdStats;
        public long Cpu;
    }

    /// <summary>A thread's call tree. It lies in the thread's first chunk, behind the chunk's header.</summary>
    [StructLayout(LayoutKind.Sequential, Size = NodeChunk.TreeSize)]
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
        /// <summary>The top frame; 0 if there is none.</summary>
        public long Frame;
        public long OverflowRoot;
        /// <summary>CPU time of its threads, in ns; -1 if it isn't known.</summary>
        public long CpuTime;
        /// <summary>When the first thread's tree was made.</summary>
        public long Started;
        /// <summary>Of the present thread.</summary>
        public long ManagedThreadId;
        public long Throwing;
        /// <summary>What the present thread's CPU time is read with: a clockid_t, or a handle on Windows; 0 if there is none.</summary>
        public long CpuClock;
        /// <summary>CPU time of the threads before, in ns, less what the present one had before it came.</summary>
        public long CpuBefore;
    }

    /// <summary>Chunks of nodes: 64 KiB, at multiples of that.</summary>
    internal static unsafe class NodeChunk
    {
        public const int TreeSize = 192;
        public const int NodeSize = 128;
        /// <summary>Behind the header and the place of a tree.</summary>
        public const int FirstNode = Arena.ChunkHeaderSize + TreeSize;
        /// <summary>In <see cref="CallNode.Flags"/>: a tree's root.</summary>
        public const int Root = 1;
        /// <summary>In <see cref="CallNode.Flags"/>: no node, but a frame or an async method's record.</summary>
        public const int NoNode = 2 | 128;

        public static ChunkHeader* Of(CallNode* node)
        {
            return (ChunkHeader*)((long)node & ~(long)(Arena.BlockSize - 1));
        }
    }
}
