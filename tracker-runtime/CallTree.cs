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
        /// <summary>The callee that was called last: one of the ring by <see cref="Next"/>. Always 0 in a tree's root.</summary>
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
        /// <summary>The <see cref="Statistics"/> that the hot path keeps; where it is 0, calls are left by the slow path.</summary>
        public long Stats;
        /// <summary>The next callee of the same caller: those that have been called in turn follow one another.</summary>
        public long Next;
        /// <summary>A <see cref="NodeIndex"/> of its callees: process memory; 0 if there is none.</summary>
        public long Index;
        /// <summary>See <see cref="NodeFlags"/>.</summary>
        public int Flags;
        /// <summary>How many calls were ended by an exception.</summary>
        public int Exceptions;
        /// <summary>The number of the last such exception's type; 0 if it was not seen.</summary>
        public int ExceptionType;
        /// <summary>In mode trace: which node of its tree this is.</summary>
        public int Number;
        /// <summary>Ticks of <see cref="Total"/> that are no time of the caller's, less those of the caller's that are not in it.</summary>
        public long Detached;
        /// <summary>An <see cref="AsyncRecord"/>, or 0.</summary>
        public long Async;
        /// <summary>The <see cref="Statistics"/> of nodes that the hot path leaves alone.</summary>
        public long ColdStats;
        /// <summary>CPU time in ns, by samples.</summary>
        public long Cpu;
    }

    /// <summary>The bits of <see cref="CallNode.Flags"/>. Those from 256 to 8192 are of use to the tracker alone.</summary>
    internal static class NodeFlags
    {
        /// <summary>A tree's root.</summary>
        public const int Root = 1;
        /// <summary>No node, but a <see cref="Frame"/>.</summary>
        public const int Frame = 2;
        /// <summary>The overflow root, or one below it.</summary>
        public const int Overflow = 4;
        public const int Async = 8;
        /// <summary>Takes less time than its probes: its calls are counted, and their time is its caller's. See <see cref="Adaptive"/>.</summary>
        public const int Counted = 16;
        /// <summary>Has steps of which it is not known whose call they belong to.</summary>
        public const int FlowLost = 32;
        /// <summary>Stands for a root, one layer up: see <see cref="Frames"/>.</summary>
        public const int LayerRoot = 64;
        /// <summary>No node, but an <see cref="AsyncRecord"/>.</summary>
        public const int AsyncRecord = 128;
        /// <summary>The open call of an async method has taken its first step.</summary>
        public const int Stepping = 256;
        /// <summary>... and awaits.</summary>
        public const int Suspended = 512;
        /// <summary>... and has failed.</summary>
        public const int Faulted = 1024;
        /// <summary>... and when it is left, its builder has put back what flowed before.</summary>
        public const int FlowUndone = 4096;
        /// <summary>The first step of its open call is the top of those that its thread runs.</summary>
        public const int Running = 8192;
        /// <summary>Was <see cref="Counted"/> for a while, and is timed again.</summary>
        public const int WasCounted = 16384;
        /// <summary>Of a <see cref="Counted"/> path: its calls are not timed now.</summary>
        public const int Untimed = 2048;
    }

    /// <summary>
    /// An open call, or step of one, whose node may be open elsewhere or is below another one than the current: it takes a
    /// node's place.
    /// </summary>
    [StructLayout(LayoutKind.Sequential, Size = NodeChunk.NodeSize)]
    internal struct Frame
    {
        private long methodId;
        /// <summary>Whose time this is.</summary>
        public long Node;
        /// <summary>What was the current node before.</summary>
        public long Previous;
        /// <summary>When it began, put off by what interrupted it.</summary>
        public long Start;
        /// <summary>The frame below; of frames that are not in use, the next one.</summary>
        public long Below;
        /// <summary>When it began.</summary>
        public long Began;
        /// <summary>What it is: the constants of <see cref="Frames"/>.</summary>
        public long Kind;
        /// <summary>Which layer its node is in.</summary>
        public long Layer;
        private long reserved8;
        private long reserved9;
        /// <summary>At the place of <see cref="CallNode.Flags"/>.</summary>
        public int Flags;
    }

    /// <summary>The logical calls of an async method.</summary>
    [StructLayout(LayoutKind.Sequential, Size = NodeChunk.NodeSize)]
    internal struct AsyncRecord
    {
        /// <summary>Ticks from call to completion, of all that were completed.</summary>
        public long Latency;
        /// <summary>How many were completed, with those that failed.</summary>
        public long Completed;
        public long Faulted;
        public long Steps;
        /// <summary>Of the first, if it was completed in this tree.</summary>
        public long LatencyFirst;
        /// <summary>When the call that is open was begun.</summary>
        public long Start;
        private long reserved6;
        private long reserved7;
        private long reserved8;
        private long reserved9;
        /// <summary>At the place of <see cref="CallNode.Flags"/>.</summary>
        public int Flags;
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
        /// <summary>The caller of all methods' calls for which there was no node; 0 if there were none.</summary>
        public long OverflowRoot;
        /// <summary>CPU time of its threads, in ns; -1 if it isn't known.</summary>
        public long CpuTime;
        /// <summary>When the first thread's tree was made.</summary>
        public long Started;
        /// <summary>Of the present thread.</summary>
        public long ManagedThreadId;
        private long reserved12;
        /// <summary>How long its threads could have run, but had no processor, in ns; -1 if it isn't known.</summary>
        public long RunDelay;
        /// <summary>What the present thread's CPU time is read with: a clockid_t, or a handle on Windows; 0 if there is none.</summary>
        public long CpuClock;
        /// <summary>CPU time of the threads before, in ns, less what the present one had before it came.</summary>
        public long CpuBefore;
        /// <summary>Where the next statistics go, and the end of their chunk.</summary>
        public long FreeStatistics;
        public long EndOfStatistics;
        /// <summary>Frames that are not in use.</summary>
        public long FreeFrames;
        /// <summary>Frames of steps that have ended before they were left.</summary>
        public long EndedFrames;
        /// <summary>A <see cref="TreeMemory"/>.</summary>
        public long Memory;
        private long reserved21;
        /// <summary>Where the next event goes, and the end of its chunk.</summary>
        public long FreeEvent;
        public long EndOfEvents;
    }

    /// <summary>What a tree has that is not in the file.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct TreeMemory
    {
        public const int Layers = 8;
        /// <summary>See <see cref="Thrown"/>.</summary>
        public const int MostThrown = 8;

        /// <summary>Where frames in frames have their nodes: see <see cref="Frames"/>.</summary>
        public fixed long LayerRoot[Layers + 1];
        /// <summary>A <see cref="NodeIndex"/> of the nodes here that stand for nodes of other trees and layers; 0 if there is none.</summary>
        public long Paths;
        /// <summary>The exceptions that are in flight: the node whose call each leaves next, what it is known by, and its type's number.</summary>
        public fixed long ThrownNode[MostThrown];
        public fixed long ThrownBy[MostThrown];
        public fixed int ThrownType[MostThrown];
        public int ThrownCount;
        /// <summary>The type of the exception that was thrown, or caught, last.</summary>
        public int LastThrownType;
        /// <summary>Where statistics go for which there is no room.</summary>
        public Statistics Sink;
        /// <summary>The addresses of the chunks of events, and how many there are.</summary>
        public long EventChunks;
        public int EventChunkCount;
        /// <summary>How often a chunk of events was begun.</summary>
        public int Turns;
        /// <summary>How many nodes have a <see cref="CallNode.Number"/>.</summary>
        public int Numbered;
        /// <summary>When the thread itself last looked at its clocks: that of its CPU time, and both.</summary>
        public long CpuLooked;
        public long DelayLooked;
        /// <summary>As <see cref="CallTree.CpuBefore"/>, of <see cref="CallTree.RunDelay"/>.</summary>
        public long DelayBefore;
        /// <summary>Which of the tree's threads, from 1, the profile knows by its id, how many it does, and whether by its name too.</summary>
        public long KnownThread;
        public int KnownThreads;
        public int IsNamed;
        /// <summary>A <see cref="CapturedCalls"/>; 0 if there are none.</summary>
        public long Captured;
        /// <summary>A <see cref="NodeIndex"/> of what <see cref="Adaptive"/> remembers of nodes; 0 if there is none.</summary>
        public long Judgements;
    }

    /// <summary>Chunks of nodes: 64 KiB, at multiples of that.</summary>
    internal static unsafe class NodeChunk
    {
        public const int TreeSize = 192;
        public const int NodeSize = 128;
        /// <summary>Behind the header and the place of a tree.</summary>
        public const int FirstNode = Arena.ChunkHeaderSize + TreeSize;
        /// <summary>In <see cref="CallNode.Flags"/>: no node.</summary>
        public const int NoNode = NodeFlags.Frame | NodeFlags.AsyncRecord;

        public static ChunkHeader* Of(CallNode* node)
        {
            return (ChunkHeader*)((long)node & ~(long)(Arena.BlockSize - 1));
        }
    }
}
