using System.Runtime.InteropServices;

namespace Ilinst
{
    // These structures are the profile file: it is a mapping of them (see docs/profile-format.md). Addresses take eight bytes
    // everywhere, so that the layout is the same in 32-bit processes.

    /// <summary>A method called along one path: a node of a thread's call tree.</summary>
    [StructLayout(LayoutKind.Explicit, Size = NodeLayout.Size)]
    internal struct CallNode
    {
        /// <summary>The id of the method; 0 in a tree's root.</summary>
        [FieldOffset(NodeLayout.MethodIdAt)] public long MethodId;
        /// <summary>One of the ring by <see cref="Next"/>: the callee that was last found by it. Always 0 in a tree's root.</summary>
        [FieldOffset(NodeLayout.CalleesAt)] public long Callees;
        /// <summary>The node of the caller; 0 in a tree's root.</summary>
        [FieldOffset(NodeLayout.CallerAt)] public long Caller;
        /// <summary>When the call that is open now, or the last one, began.</summary>
        [FieldOffset(NodeLayout.StartAt)] public long Start;
        /// <summary>How often it was entered.</summary>
        [FieldOffset(NodeLayout.CallsAt)] public long Calls;
        /// <summary>Ticks spent in calls that have ended, with their callees.</summary>
        [FieldOffset(NodeLayout.TotalAt)] public long Total;
        /// <summary>How often it was left.</summary>
        [FieldOffset(NodeLayout.LeavesAt)] public long Leaves;
        /// <summary>The <see cref="Statistics"/> that the hot path keeps; where it is 0, calls are left by the slow path.</summary>
        [FieldOffset(NodeLayout.StatisticsAt)] public long Stats;
        /// <summary>The next callee of the same caller, in a ring.</summary>
        [FieldOffset(NodeLayout.NextAt)] public long Next;
        /// <summary>A <see cref="NodeIndex"/> of its callees: process memory; 0 if there is none.</summary>
        [FieldOffset(NodeLayout.IndexAt)] public long Index;
        /// <summary>See <see cref="NodeFlags"/>.</summary>
        [FieldOffset(NodeLayout.FlagsAt)] public int Flags;
        /// <summary>How many calls were ended by an exception.</summary>
        [FieldOffset(NodeLayout.ExceptionsAt)] public int Exceptions;
        /// <summary>The number of the last such exception's type; 0 if it was not seen.</summary>
        [FieldOffset(NodeLayout.ExceptionTypeAt)] public int ExceptionType;
        /// <summary>In mode trace: which node of its tree this is.</summary>
        [FieldOffset(NodeLayout.NumberAt)] public int Number;
        /// <summary>
        /// In other modes: the distance in nodes to the callee of the same caller that was called after this one, the last time that
        /// the slow path had to find it.
        /// </summary>
        [FieldOffset(NodeLayout.NumberAt)] public int Hop;
        /// <summary>Ticks of <see cref="Total"/> that are no time of the caller's, less those of the caller's that are not in it.</summary>
        [FieldOffset(NodeLayout.DetachedAt)] public long Detached;
        /// <summary>An <see cref="AsyncRecord"/>, or 0.</summary>
        [FieldOffset(NodeLayout.AsyncRecordAt)] public long Async;
        /// <summary>The <see cref="Statistics"/>, or <see cref="FewCalls"/>, of nodes that the hot path leaves alone.</summary>
        [FieldOffset(NodeLayout.ColdStatisticsAt)] public long ColdStats;
        /// <summary>CPU time in ns, by samples.</summary>
        [FieldOffset(NodeLayout.CpuAt)] public long Cpu;
    }

    /// <summary>Flags that only the tracker itself has use for.</summary>
    internal static partial class NodeFlags
    {
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
        /// <summary>Of a <see cref="Counted"/> path: its calls are not timed now.</summary>
        public const int Untimed = 2048;
        /// <summary>Of a node: its <see cref="CallNode.ColdStats"/> are a <see cref="FewCalls"/>.</summary>
        public const int HasFewCalls = 65536;
    }

    /// <summary>
    /// An open call, or step of one, whose node may be open elsewhere or is below another one than the current: it takes a
    /// node's place.
    /// </summary>
    [StructLayout(LayoutKind.Explicit, Size = NodeLayout.Size)]
    internal struct Frame
    {
        /// <summary>The node that its time belongs to.</summary>
        [FieldOffset(FrameLayout.NodeAt)] public long Node;
        /// <summary>The node that was current before.</summary>
        [FieldOffset(FrameLayout.PreviousAt)] public long Previous;
        /// <summary>When it began, put off by what interrupted it.</summary>
        [FieldOffset(FrameLayout.StartAt)] public long Start;
        /// <summary>The frame below; of frames that are not in use, the next one.</summary>
        [FieldOffset(FrameLayout.BelowAt)] public long Below;
        /// <summary>When it began.</summary>
        [FieldOffset(FrameLayout.OwnAt)] public long Began;
        /// <summary>Its kind: one of the constants of <see cref="Frames"/>.</summary>
        [FieldOffset(FrameLayout.OwnAt + 8)] public long Kind;
        /// <summary>The layer of its node.</summary>
        [FieldOffset(FrameLayout.OwnAt + 16)] public long Layer;
        /// <summary>At the place of <see cref="CallNode.Flags"/>.</summary>
        [FieldOffset(NodeLayout.FlagsAt)] public int Flags;
    }

    /// <summary>The logical calls of an async method.</summary>
    [StructLayout(LayoutKind.Explicit, Size = NodeLayout.Size)]
    internal struct AsyncRecord
    {
        /// <summary>Ticks from call to completion, of all that were completed.</summary>
        [FieldOffset(AsyncLayout.LatencyAt)] public long Latency;
        /// <summary>How many were completed, with those that failed.</summary>
        [FieldOffset(AsyncLayout.CompletedAt)] public long Completed;
        [FieldOffset(AsyncLayout.FaultedAt)] public long Faulted;
        [FieldOffset(AsyncLayout.StepsAt)] public long Steps;
        /// <summary>Of the first, if it was completed in this tree.</summary>
        [FieldOffset(AsyncLayout.FirstAt)] public long LatencyFirst;
        /// <summary>When the call that is open was begun.</summary>
        [FieldOffset(AsyncLayout.OwnAt)] public long Start;
        /// <summary>At the place of <see cref="CallNode.Flags"/>.</summary>
        [FieldOffset(NodeLayout.FlagsAt)] public int Flags;
    }

    /// <summary>A thread's call tree. It lies in the thread's first chunk, behind the chunk's header.</summary>
    [StructLayout(LayoutKind.Explicit, Size = TreeLayout.Size)]
    internal struct CallTree
    {
        /// <summary>The node of the method that is running; the root's if none is.</summary>
        [FieldOffset(TreeLayout.CurrentAt)] public long Current;
        /// <summary>Where the next node goes.</summary>
        [FieldOffset(TreeLayout.FreeAt)] public long Free;
        /// <summary>The end of the chunk that nodes go to now.</summary>
        [FieldOffset(TreeLayout.EndAt)] public long End;
        /// <summary>The root: what the thread was started with, which no probe sees.</summary>
        [FieldOffset(TreeLayout.RootAt)] public long Root;
        /// <summary>How many threads have used this tree, one after another.</summary>
        [FieldOffset(TreeLayout.ThreadsAt)] public long Threads;
        /// <summary>How many calls are not in the tree, since no node could be added for them.</summary>
        [FieldOffset(TreeLayout.LostCallsAt)] public long LostCalls;
        /// <summary>How many tokens were of no call that was open on this thread: they were passed over.</summary>
        [FieldOffset(TreeLayout.BadTokensAt)] public long BadTokens;
        /// <summary>The top frame; 0 if there is none.</summary>
        [FieldOffset(TreeLayout.FrameAt)] public long Frame;
        /// <summary>The caller of all methods' calls for which there was no node; 0 if there were none.</summary>
        [FieldOffset(TreeLayout.OverflowRootAt)] public long OverflowRoot;
        /// <summary>CPU time of its threads, in ns; -1 if it isn't known.</summary>
        [FieldOffset(TreeLayout.CpuAt)] public long CpuTime;
        /// <summary>When the first thread's tree was made.</summary>
        [FieldOffset(TreeLayout.StartedAt)] public long Started;
        /// <summary>Of the present thread.</summary>
        [FieldOffset(TreeLayout.ManagedThreadAt)] public long ManagedThreadId;
        /// <summary>The clock of <see cref="Allocations"/>, as it was at the last probe.</summary>
        [FieldOffset(TreeLayout.BytesAt)] public long Bytes;
        /// <summary>How long its threads could have run, but had no processor, in ns; -1 if it isn't known.</summary>
        [FieldOffset(TreeLayout.RunDelayAt)] public long RunDelay;
        /// <summary>The clock of the present thread's CPU time: a clockid_t, or a handle on Windows; 0 if there is none.</summary>
        [FieldOffset(TreeLayout.OwnAt)] public long CpuClock;
        /// <summary>CPU time of the threads before, in ns, less what the present one had before it came.</summary>
        [FieldOffset(TreeLayout.OwnAt + 8)] public long CpuBefore;
        /// <summary>Where the next statistics go, and the end of their chunk.</summary>
        [FieldOffset(TreeLayout.OwnAt + 16)] public long FreeStatistics;
        [FieldOffset(TreeLayout.OwnAt + 24)] public long EndOfStatistics;
        /// <summary>Frames that are not in use.</summary>
        [FieldOffset(TreeLayout.OwnAt + 32)] public long FreeFrames;
        /// <summary>Frames of steps that have ended before they were left.</summary>
        [FieldOffset(TreeLayout.OwnAt + 40)] public long EndedFrames;
        /// <summary>A <see cref="TreeMemory"/>.</summary>
        [FieldOffset(TreeLayout.OwnAt + 48)] public long Memory;
        /// <summary>Slots of <see cref="FewCalls"/> that are not in use.</summary>
        [FieldOffset(TreeLayout.OwnAt + 56)] public long FreeFewCalls;
        /// <summary>Where the next event goes, and the end of its chunk.</summary>
        [FieldOffset(TreeLayout.OwnAt + 64)] public long FreeEvent;
        [FieldOffset(TreeLayout.OwnAt + 72)] public long EndOfEvents;
    }

    /// <summary>The parts of a tree that are not in the file.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct TreeMemory
    {
        public const int Layers = 8;
        /// <summary>See <see cref="Thrown"/>.</summary>
        public const int MostThrown = 8;

        /// <summary>The thread's <see cref="RecentCall"/>s. They stay first: <see cref="CallTrees.Assign"/> takes this structure for them.</summary>
        public fixed long Recent[RecentCall.Count * RecentCall.Size];
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
        /// <summary>The last of the tree's threads, from 1, whose id is in the profile, the number of those, and whether its name is there, too.</summary>
        public long KnownThread;
        public int KnownThreads;
        public int IsNamed;
        /// <summary>A <see cref="CapturedCalls"/>; 0 if there are none.</summary>
        public long Captured;
        /// <summary>A <see cref="NodeIndex"/> of what <see cref="Adaptive"/> remembers of nodes; 0 if there is none.</summary>
        public long Judgements;
        /// <summary>By how much <see cref="CallTree.Bytes"/> is behind the runtime's count: what the tracker has allocated.</summary>
        public long BytesOfTracker;
        /// <summary>The value at <see cref="ProfileInfoTracker.recorded"/> when that clock last continued.</summary>
        public long BytesRunSince;
        /// <summary>Whether it stands.</summary>
        public int BytesStand;
        /// <summary>The last look of <see cref="Ilinst.JitTime"/>: the thread's compile time as a TimeSpan has it, and the clock.</summary>
        public long JitTime;
        public long JitLooked;
        /// <summary>A <see cref="NodeIndex"/> of its nodes by their callers; 0 if there is none.</summary>
        public long JitNodes;
    }

    /// <summary>Chunks of nodes: 64 KiB, at multiples of that.</summary>
    internal static unsafe class NodeChunk
    {
        /// <summary>In <see cref="CallNode.Flags"/>: no node.</summary>
        public const int NoNode = NodeFlags.Frame | NodeFlags.AsyncRecord | NodeFlags.FewCalls;

        public static ChunkHeader* Of(CallNode* node)
        {
            return (ChunkHeader*)((long)node & ~(long)(HeaderLayout.Block - 1));
        }
    }
}
