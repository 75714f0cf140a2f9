// Generated from crates/profile-format by `cargo xtask tracker`: do not edit.

namespace Ilinst
{
    /// <summary>The first block. The offset of a number ends in _AT.</summary>
    internal static partial class HeaderLayout
    {
        /// <summary>The first bytes of a profile, as a number: ILPROF CR LF.</summary>
        public const ulong Magic = 724312421573872713;
        /// <summary>The version of the format.</summary>
        public const int Version = 2;
        /// <summary>The size of a block. Parts of the file begin at multiples of it, and the header takes one.</summary>
        public const int Block = 65536;
        /// <summary>u64: MAGIC.</summary>
        public const int MagicAt = 0;
        /// <summary>u32: VERSION.</summary>
        public const int VersionAt = 8;
        /// <summary>u32: HeaderFlags.</summary>
        public const int FlagsAt = 12;
        /// <summary>u32: the process id.</summary>
        public const int PidAt = 16;
        /// <summary>u32: the size of a pointer.</summary>
        public const int PointerSizeAt = 20;
        /// <summary>u32: ClockKind.</summary>
        public const int ClockAt = 24;
        /// <summary>u32: BLOCK.</summary>
        public const int SizeAt = 28;
        /// <summary>u64: ticks per second of the clock.</summary>
        public const int TicksPerSecondAt = 32;
        /// <summary>i64: the clock at the first probe.</summary>
        public const int StartAt = 40;
        /// <summary>i64: the clock when it was last read.</summary>
        public const int EndAt = 48;
        /// <summary>i64: the time of day at the first probe, in 100 ns since the year 1, UTC.</summary>
        public const int TimeAt = 56;
        /// <summary>u32: the limit of nodes.</summary>
        public const int MaxNodesAt = 64;
        /// <summary>u32: RecordingMode.</summary>
        public const int ModeAt = 68;
        /// <summary>f64, in ticks: the overhead of a probe within the time of its call.</summary>
        public const int ProbeInsideAt = 72;
        /// <summary>f64, in ticks: the overhead of a probe within the time of the caller.</summary>
        public const int ProbeOutsideAt = 80;
        /// <summary>f64, in ticks: the time to read the clock.</summary>
        public const int ClockReadAt = 88;
        /// <summary>u32: the number of bits by which times are shifted right for a histogram.</summary>
        public const int HistogramShiftAt = 96;
        /// <summary>u32: the number of bits by which times are shifted right in events.</summary>
        public const int EventShiftAt = 100;
        /// <summary>i64, in ticks: the time without recording.</summary>
        public const int PausedAt = 104;
        /// <summary>i64, in ns: CPU time of the process; -1 if it is not known.</summary>
        public const int CpuAt = 112;
        /// <summary>u64: the number of updates of END; of a merged file, the number of processes.</summary>
        public const int ProcessesAt = 120;
        /// <summary>Strings: the name of the program, its runtime, its path.</summary>
        public const int StringsAt = 128;
        /// <summary>The largest size of such a string.</summary>
        public const int MaxString = 1200;
        /// <summary>The control page.</summary>
        public const int ControlAt = 4096;
        /// <summary>u64: the number of pauses. A pair for each follows: i64 from, i64 to (0: not ended).</summary>
        public const int PausesAt = 8192;
        /// <summary>The largest number of such pairs.</summary>
        public const int MaxPauses = 2000;
        /// <summary>f64, in ticks: the overhead of a call that is only counted, in its caller's time.</summary>
        public const int CountingAt = 49152;
        /// <summary>f64, in ticks: the same of its leave probe, which runs only in calls that can have callees.</summary>
        public const int CountingLeaveAt = 49160;
        /// <summary>f64, in ticks: the smallest step of the clock, as measured. Browsers show coarser times than their clock's unit.</summary>
        public const int ClockStepAt = 49168;
        /// <summary>u64: the number of samples for which there was no room.</summary>
        public const int LostSamplesAt = 49176;
        /// <summary>u64: the number of samples that came later than their time, and may stand for methods that were called before.</summary>
        public const int LateSamplesAt = 49184;
        /// <summary>u64: the number of threads that could not be sampled.</summary>
        public const int UnsampledThreadsAt = 49192;
    }

    /// <summary>The control page: commands to the program that writes the file. Offsets are from the beginning of the page.</summary>
    internal static partial class ControlLayout
    {
        /// <summary>u32: the number of the last command given. It is written last.</summary>
        public const int SequenceAt = 0;
        /// <summary>u32: Command.</summary>
        public const int CommandAt = 4;
        /// <summary>u32: the number of the last command that was carried out.</summary>
        public const int AcknowledgedAt = 8;
        /// <summary>u32: 1 while recording is paused.</summary>
        public const int PausedAt = 12;
        /// <summary>String: the name of a mark.</summary>
        public const int NameAt = 16;
        /// <summary>The largest size of such a name.</summary>
        public const int MaxName = 240;
        /// <summary>u32: the number of the last command that was begun.</summary>
        public const int BegunAt = 260;
        /// <summary>The size of the used part.</summary>
        public const int Size = 264;
    }

    /// <summary>Flags of the header.</summary>
    internal static partial class HeaderFlags
    {
        /// <summary>The program ended normally.</summary>
        public const int CleanExit = 1;
        /// <summary>An unhandled exception ended the program. CLEAN_EXIT may be set too.</summary>
        public const int UnhandledException = 2;
        /// <summary>All names are in the file.</summary>
        public const int NamesComplete = 4;
        /// <summary>The profile was in memory until the end.</summary>
        public const int InMemory = 8;
        /// <summary>The file is a copy that was taken while the program ran.</summary>
        public const int Copy = 16;
        /// <summary>The disk was full: the last records are not in the file.</summary>
        public const int DiskFull = 32;
        /// <summary>The file is merged from the profiles of several processes.</summary>
        public const int Merged = 64;
        /// <summary>In a merged file: some of its sources had captured calls.</summary>
        public const int Captured = 128;
        /// <summary>Each block behind the header is compressed as a block of LZ4, with its size before it.</summary>
        public const int Packed = 256;
        /// <summary>Allocated bytes were counted: each slot of a chunk of nodes has a second slot behind it, with its bytes.</summary>
        public const int Allocations = 512;
        /// <summary>Allocated bytes were to be counted, but the runtime cannot count those of a thread.</summary>
        public const int NoAllocations = 1024;
    }

    /// <summary>The clock that times are read from.</summary>
    internal static partial class ClockKind
    {
        /// <summary>.NET's Stopwatch.</summary>
        public const int Stopwatch = 0;
        /// <summary>The processor's time stamp counter.</summary>
        public const int Tsc = 1;
        /// <summary>A clock of the program's own, whose time may be simulated.</summary>
        public const int Program = 2;
    }

    /// <summary>The mode of measurement.</summary>
    internal static partial class RecordingMode
    {
        /// <summary>Each call is counted and timed.</summary>
        public const int Exact = 0;
        /// <summary>Each call is counted; a sampler measures time.</summary>
        public const int Sampled = 1;
        /// <summary>Calls are counted by method, without paths and times.</summary>
        public const int Count = 2;
        /// <summary>As exact, and the beginning and end of each call are recorded.</summary>
        public const int Trace = 3;
    }

    /// <summary>A command on the control page.</summary>
    internal static partial class Command
    {
        /// <summary>Pause recording.</summary>
        public const int Pause = 1;
        /// <summary>Resume recording.</summary>
        public const int Resume = 2;
        /// <summary>Discard the recording so far: reports omit it.</summary>
        public const int Reset = 3;
        /// <summary>Begin a phase of this name.</summary>
        public const int Mark = 4;
    }

    /// <summary>The header of a chunk.</summary>
    internal static partial class ChunkLayout
    {
        /// <summary>u32: ChunkKind.</summary>
        public const int KindAt = 0;
        /// <summary>u32: the size in the file, a multiple of the size of a block.</summary>
        public const int SizeAt = 4;
        /// <summary>u64: its address in the memory of the program.</summary>
        public const int AddressAt = 8;
        /// <summary>u64: the address of its tree; of details, that of the phase's chunk.</summary>
        public const int TreeAt = 16;
        /// <summary>u64: the number of its tree, from 1.</summary>
        public const int TreeNumberAt = 24;
        /// <summary>u64: the number of bytes in use, with this header.</summary>
        public const int UsedAt = 32;
        /// <summary>u64 of events and calls: the number of the chunk in its tree. Other kinds have their own.</summary>
        public const int OwnAt = 40;
        /// <summary>The size of the header.</summary>
        public const int Header = 64;
    }

    /// <summary>The content of a chunk.</summary>
    internal static partial class ChunkKind
    {
        /// <summary>None: the block is not in use.</summary>
        public const int Free = 0;
        /// <summary>Nodes of a tree.</summary>
        public const int Nodes = 1;
        /// <summary>Records of names.</summary>
        public const int Names = 2;
        /// <summary>Statistics of nodes.</summary>
        public const int Statistics = 3;
        /// <summary>Events of a thread.</summary>
        public const int Events = 4;
        /// <summary>Calls by method.</summary>
        public const int Counters = 5;
        /// <summary>The state of all nodes at a moment.</summary>
        public const int Phase = 6;
        /// <summary>Call paths of a merged file.</summary>
        public const int Paths = 7;
        /// <summary>Statistics of methods in a merged file.</summary>
        public const int MethodStatistics = 8;
        /// <summary>Descriptions of the types and methods of captured calls.</summary>
        public const int Descriptions = 9;
        /// <summary>Captured calls of a thread.</summary>
        public const int Calls = 10;
        /// <summary>Details of the nodes of a phase.</summary>
        public const int PhaseDetails = 11;
        /// <summary>Counters of a module's sequence points.</summary>
        public const int Lines = 12;
    }

    /// <summary>A thread's call tree, in the first chunk of its nodes, behind the chunk's header. Offsets are from the tree's beginning.</summary>
    internal static partial class TreeLayout
    {
        /// <summary>u64: the address of the node of the method that runs.</summary>
        public const int CurrentAt = 0;
        /// <summary>u64: the address of the next free slot.</summary>
        public const int FreeAt = 8;
        /// <summary>u64: the end of the chunk with free slots.</summary>
        public const int EndAt = 16;
        /// <summary>u64: the address of the root.</summary>
        public const int RootAt = 24;
        /// <summary>u64: the number of threads that used the tree, one after another.</summary>
        public const int ThreadsAt = 32;
        /// <summary>u64: the number of calls without a node.</summary>
        public const int LostCallsAt = 40;
        /// <summary>u64: the number of probe tokens that belonged to no open call.</summary>
        public const int BadTokensAt = 48;
        /// <summary>u64: the address of the top frame; 0 if there is none.</summary>
        public const int FrameAt = 56;
        /// <summary>u64: the address of the caller of all calls without a path.</summary>
        public const int OverflowRootAt = 64;
        /// <summary>i64, in ns: CPU time of its threads; -1 if it is not known.</summary>
        public const int CpuAt = 72;
        /// <summary>i64: the clock when the first thread began.</summary>
        public const int StartedAt = 80;
        /// <summary>u64: the managed id of the present thread.</summary>
        public const int ManagedThreadAt = 88;
        /// <summary>i64: the bytes that its present thread had allocated at its last probe, without the tracker's. With HeaderFlags.ALLOCATIONS only; otherwise the writer's own.</summary>
        public const int BytesAt = 96;
        /// <summary>i64, in ns: the time that its threads were ready, but waited for a processor; -1 if it is not known.</summary>
        public const int RunDelayAt = 104;
        /// <summary>Numbers that only the writer uses.</summary>
        public const int OwnAt = 112;
        /// <summary>The size of a tree.</summary>
        public const int Size = 192;
    }

    /// <summary>A slot in a chunk of nodes: a method called along one path.</summary>
    internal static partial class NodeLayout
    {
        /// <summary>u64: the method's id; 0 in a root.</summary>
        public const int MethodIdAt = 0;
        /// <summary>u64: the writer's own.</summary>
        public const int CalleesAt = 8;
        /// <summary>u64: the address of the caller.</summary>
        public const int CallerAt = 16;
        /// <summary>i64: the clock when the open or last call began; in mode sampled, the number of samples.</summary>
        public const int StartAt = 24;
        /// <summary>u64: the number of calls.</summary>
        public const int CallsAt = 32;
        /// <summary>i64, in ticks: the time of ended calls, with callees; in mode sampled, without.</summary>
        public const int TotalAt = 40;
        /// <summary>u64: the number of ended calls.</summary>
        public const int LeavesAt = 48;
        /// <summary>u64: the address of its statistics; the fast path needs it.</summary>
        public const int StatisticsAt = 56;
        /// <summary>u64: the writer's own.</summary>
        public const int NextAt = 64;
        /// <summary>u64: the writer's own.</summary>
        public const int IndexAt = 72;
        /// <summary>u32: NodeFlags. Frames and async records have them at the same place.</summary>
        public const int FlagsAt = 80;
        /// <summary>u32: the number of exceptions that left it.</summary>
        public const int ExceptionsAt = 84;
        /// <summary>u32: the number of the type of one of these.</summary>
        public const int ExceptionTypeAt = 88;
        /// <summary>u32: in mode trace its number in its tree, for events; in other modes the writer's own.</summary>
        public const int NumberAt = 92;
        /// <summary>i64, in ticks: the part of its total that is not part of its caller's total.</summary>
        public const int DetachedAt = 96;
        /// <summary>u64: the address of its async record; 0 if it has none.</summary>
        public const int AsyncRecordAt = 104;
        /// <summary>u64: the address of its statistics or of the times of its few calls, where the fast path may not be taken.</summary>
        public const int ColdStatisticsAt = 112;
        /// <summary>i64, in ns: CPU time in mode sampled; below 0, the writer's own.</summary>
        public const int CpuAt = 120;
        /// <summary>The size of a slot.</summary>
        public const int Size = 128;
        /// <summary>The offset of the first slot in a chunk.</summary>
        public const int FirstAt = 256;
        /// <summary>The id of a node that has the time of the JIT compiler below its caller, and no calls. Row 1 of module 0.</summary>
        public const int JitId = 1;
    }

    /// <summary>Flags of slots.</summary>
    internal static partial class NodeFlags
    {
        /// <summary>The root of a tree.</summary>
        public const int Root = 1;
        /// <summary>A frame.</summary>
        public const int Frame = 2;
        /// <summary>The root of calls beyond the limit of nodes, or a node below it.</summary>
        public const int Overflow = 4;
        /// <summary>An async method.</summary>
        public const int Async = 8;
        /// <summary>Its calls are only counted now: they took less than ILINST_COUNT_BELOW. Their time is the caller's.</summary>
        public const int Counted = 16;
        /// <summary>It has steps that could not be matched to a call.</summary>
        public const int FlowLost = 32;
        /// <summary>The root of a layer.</summary>
        public const int LayerRoot = 64;
        /// <summary>An async record.</summary>
        public const int AsyncRecord = 128;
        /// <summary>Its calls were only counted for a while.</summary>
        public const int WasCounted = 16384;
        /// <summary>The times of a node's few calls.</summary>
        public const int FewCalls = 32768;
        /// <summary>Its calls are only counted: the runtime suspends the method (runtime-async), and no probe follows that.</summary>
        public const int RuntimeAsync = 1048576;
    }

    /// <summary>The slot behind a node or frame, with its allocated bytes. See HeaderFlags.ALLOCATIONS.</summary>
    internal static partial class AllocationLayout
    {
        /// <summary>i64: the bytes of the thread when the open or last call began.</summary>
        public const int StartAt = 0;
        /// <summary>i64 of a node: the bytes of ended calls, with callees.</summary>
        public const int TotalAt = 8;
        /// <summary>i64 of a node: the part of its total that is not part of its caller's total.</summary>
        public const int DetachedAt = 16;
        /// <summary>Numbers that only the writer uses.</summary>
        public const int OwnAt = 24;
    }

    /// <summary>A slot for an open step of an async method.</summary>
    internal static partial class FrameLayout
    {
        /// <summary>u64: the address of its node.</summary>
        public const int NodeAt = 8;
        /// <summary>u64: the address of the node that was current before.</summary>
        public const int PreviousAt = 16;
        /// <summary>i64: the clock when it began.</summary>
        public const int StartAt = 24;
        /// <summary>u64: the address of the frame below; 0 if there is none.</summary>
        public const int BelowAt = 32;
        /// <summary>Numbers that only the writer uses.</summary>
        public const int OwnAt = 40;
    }

    /// <summary>A slot for the logical calls of an async method.</summary>
    internal static partial class AsyncLayout
    {
        /// <summary>i64, in ticks: the time from start to completion of all completed calls.</summary>
        public const int LatencyAt = 0;
        /// <summary>u64: the number of completed calls.</summary>
        public const int CompletedAt = 8;
        /// <summary>u64: the number of those that failed or were cancelled.</summary>
        public const int FaultedAt = 16;
        /// <summary>u64: the time of their steps.</summary>
        public const int StepsAt = 24;
        /// <summary>i64, in ticks: the time of the first call, if it completed here.</summary>
        public const int FirstAt = 32;
        /// <summary>Numbers that only the writer uses.</summary>
        public const int OwnAt = 40;
    }

    /// <summary>A slot with the times of a node that has few calls, in ticks. Once there are more, the node has statistics in its place.</summary>
    internal static partial class FewCallsLayout
    {
        /// <summary>i64: the first call. It is not among the others.</summary>
        public const int FirstAt = 0;
        /// <summary>u64: the number of the other calls.</summary>
        public const int CountAt = 8;
        /// <summary>i64 for each of the other calls: its time.</summary>
        public const int TimesAt = 16;
        /// <summary>The largest number of other calls.</summary>
        public const int Most = 8;
    }

    /// <summary>A slot in a chunk of statistics: the times of a node's calls, in ticks.</summary>
    internal static partial class StatisticsLayout
    {
        /// <summary>i64: the first call. It is in no other number.</summary>
        public const int FirstAt = 0;
        /// <summary>i64: the shortest call.</summary>
        public const int MinAt = 8;
        /// <summary>i64: the longest call.</summary>
        public const int MaxAt = 16;
        /// <summary>u64: the number of calls.</summary>
        public const int CountAt = 24;
        /// <summary>u32 for each bucket: the number of its calls.</summary>
        public const int BucketsAt = 32;
        /// <summary>The number of buckets.</summary>
        public const int Buckets = 120;
        /// <summary>The size of a slot. It is also the offset of the first one in a chunk.</summary>
        public const int Size = 512;
    }

    /// <summary>Records of names.</summary>
    internal static partial class NameLayout
    {
        /// <summary>The largest size of a string.</summary>
        public const int MaxString = 4096;
    }

    /// <summary>The subject of a record of names.</summary>
    internal static partial class NameKind
    {
        /// <summary>None: the end of the records of a chunk.</summary>
        public const byte End = 0;
        /// <summary>A method: u64 id, string type, string method.</summary>
        public const byte Method = 2;
        /// <summary>The type of an exception: u32 number, string.</summary>
        public const byte ExceptionType = 3;
        /// <summary>A module: u64 key, 16 bytes MVID, strings assembly, module, tool, path.</summary>
        public const byte Module = 4;
        /// <summary>A thread: u64 tree number, u32 managed id, string name.</summary>
        public const byte Thread = 5;
        /// <summary>A phase of a merged file: u32 number, string.</summary>
        public const byte Phase = 6;
    }

    /// <summary>An event: a u64 of time, end of the call, and number of the node.</summary>
    internal static partial class EventLayout
    {
        /// <summary>The first bit of the time since the first probe.</summary>
        public const int TimeBit = 24;
        /// <summary>The bit of a call's end. The number of the node is below it.</summary>
        public const int Leave = 8388608;
    }

    /// <summary>A counter of mode count: u64 method id, u64 calls.</summary>
    internal static partial class CounterLayout
    {
        /// <summary>The size of a counter.</summary>
        public const int Size = 16;
    }

    /// <summary>Counters of sequence points. Those of a module are a u64 each; the table of their places in the source follows.</summary>
    internal static partial class LineLayout
    {
        /// <summary>u32: the number of counters.</summary>
        public const int CountersAt = 40;
        /// <summary>u32: the size of the table.</summary>
        public const int TableSizeAt = 44;
        /// <summary>The size of a counter.</summary>
        public const int Counter = 8;
    }

    /// <summary>A phase: the state of all nodes at a moment. Its name follows the header of its chunk, then entries.</summary>
    internal static partial class PhaseLayout
    {
        /// <summary>i64: the clock.</summary>
        public const int ClockAt = 40;
        /// <summary>u32: PhaseKind.</summary>
        public const int KindAt = 48;
        /// <summary>u32: the number of entries.</summary>
        public const int CountAt = 52;
        /// <summary>The size of an entry: u64 node (in mode count, method id), i64 calls, i64 total, i64 detached.</summary>
        public const int Entry = 32;
        /// <summary>With HeaderFlags.ALLOCATIONS an entry is larger by i64 bytes, i64 detached bytes.</summary>
        public const int EntryWithBytes = 48;
        /// <summary>The size of a node's details without buckets: u64 node, i64 exceptions, CPU time, samples, latency, completed, faulted, steps, u64 count of buckets. Buckets are u32 bucket, u32 calls.</summary>
        public const int Details = 72;
    }

    /// <summary>The event that begins a phase.</summary>
    internal static partial class PhaseKind
    {
        /// <summary>A mark, which begins a phase with a name.</summary>
        public const int Mark = 1;
        /// <summary>A reset, which begins the whole profile anew.</summary>
        public const int Reset = 2;
    }

    /// <summary>A chunk of captured calls, and the records in it.</summary>
    internal static partial class CallLayout
    {
        /// <summary>u64: the number of the chunk in its tree.</summary>
        public const int SequenceAt = 40;
        /// <summary>u64: the number of calls that were not recorded.</summary>
        public const int LostAt = 48;
        /// <summary>u64: the writer's own.</summary>
        public const int NewerAt = 56;
        /// <summary>u16 of a record: its size.</summary>
        public const int SizeAt = 0;
        /// <summary>u8 of a record: CallRecordKind.</summary>
        public const int KindAt = 2;
        /// <summary>u8 of a record: CallFlags, and CallEnd.</summary>
        public const int FlagsAt = 3;
        /// <summary>u32 of a record: the number of the method's description.</summary>
        public const int SignatureAt = 4;
        /// <summary>u64 of a record: the number of the call in its tree.</summary>
        public const int NumberAt = 8;
        /// <summary>i64 of a record: the time since the first probe, in ticks.</summary>
        public const int ClockAt = 16;
        /// <summary>The size of a record in front of its values.</summary>
        public const int Header = 24;
        /// <summary>The largest size of a record.</summary>
        public const int MaxSize = 4096;
        /// <summary>The size of a description in front of its contents: u8 DescriptionKind, 3 bytes, u32 size, u32 number.</summary>
        public const int DescriptionHeader = 12;
        /// <summary>In place of a count of fields: they are left out.</summary>
        public const byte NotShown = 255;
    }

    /// <summary>The event that a record of calls is of.</summary>
    internal static partial class CallRecordKind
    {
        /// <summary>A call begins.</summary>
        public const byte Enter = 1;
        /// <summary>A call ends.</summary>
        public const byte Leave = 2;
        /// <summary>An exception handler of the call catches an exception; the record has the exception.</summary>
        public const byte Catch = 3;
        /// <summary>An exception is thrown and the call has no handler for it. It leaves the call, unless another exception does. The record has the exception.</summary>
        public const byte Pass = 4;
    }

    /// <summary>The content of a record of calls. The low four bits of an end are CallEnd.</summary>
    internal static partial class CallFlags
    {
        /// <summary>Of a beginning: the record has this.</summary>
        public const byte This = 1;
        /// <summary>Of a beginning: the record has the arguments.</summary>
        public const byte Arguments = 2;
        /// <summary>Of an end: the bits of CallEnd.</summary>
        public const byte End = 15;
        /// <summary>Of an end: the record has the returned value.</summary>
        public const byte Returned = 16;
        /// <summary>Of an end: the record has the by-reference arguments.</summary>
        public const byte ByReference = 32;
    }

    /// <summary>How a call ended.</summary>
    internal static partial class CallEnd
    {
        /// <summary>It returned.</summary>
        public const byte Returned = 0;
        /// <summary>An exception left it.</summary>
        public const byte Exception = 1;
        /// <summary>A tail call replaced it.</summary>
        public const byte TailCall = 2;
    }

    /// <summary>The subject of a description.</summary>
    internal static partial class DescriptionKind
    {
        /// <summary>A type.</summary>
        public const byte Type = 1;
        /// <summary>A method with its generic arguments.</summary>
        public const byte Signature = 2;
    }

    /// <summary>The content of a type's description.</summary>
    internal static partial class TypeShape
    {
        /// <summary>The names of its fields.</summary>
        public const byte Fields = 0;
        /// <summary>The members of an enum.</summary>
        public const byte Enum = 1;
        /// <summary>The members of a flags enum.</summary>
        public const byte Flags = 2;
    }

    /// <summary>The first byte of a value: an element type of signatures (II.23.1.16), or a type of this format from 0x80 on. Values of the element types from Boolean to Double are stored as they are in memory.</summary>
    internal static partial class ValueKind
    {
        /// <summary>A value that was not read: u8 UnreadReason.</summary>
        public const byte Unread = 0;
        /// <summary>A null reference, or a nullable without a value.</summary>
        public const byte Null = 1;
        /// <summary>1 byte.</summary>
        public const byte Boolean = 2;
        /// <summary>A UTF-16 unit.</summary>
        public const byte Char = 3;
        /// <summary>1 byte.</summary>
        public const byte SByte = 4;
        /// <summary>1 byte.</summary>
        public const byte Byte = 5;
        /// <summary>2 bytes.</summary>
        public const byte Int16 = 6;
        /// <summary>2 bytes.</summary>
        public const byte UInt16 = 7;
        /// <summary>4 bytes.</summary>
        public const byte Int32 = 8;
        /// <summary>4 bytes.</summary>
        public const byte UInt32 = 9;
        /// <summary>8 bytes.</summary>
        public const byte Int64 = 10;
        /// <summary>8 bytes.</summary>
        public const byte UInt64 = 11;
        /// <summary>4 bytes.</summary>
        public const byte Single = 12;
        /// <summary>8 bytes.</summary>
        public const byte Double = 13;
        /// <summary>u32 length, u16 number of UTF-16 units that follow.</summary>
        public const byte String = 14;
        /// <summary>u64.</summary>
        public const byte Pointer = 15;
        /// <summary>u32 type, u8 number of fields that follow, or NOT_SHOWN.</summary>
        public const byte Struct = 17;
        /// <summary>u32 type, u64 identity, u8 number of fields that follow, or NOT_SHOWN.</summary>
        public const byte Object = 18;
        /// <summary>u32 type, u8 rank, a u32 length for each dimension, u8 number of elements that follow.</summary>
        public const byte Array = 20;
        /// <summary>8 bytes.</summary>
        public const byte IntPtr = 24;
        /// <summary>8 bytes.</summary>
        public const byte UIntPtr = 25;
        /// <summary>u32 type, then a value of the underlying type.</summary>
        public const byte Enum = 85;
        /// <summary>u64: the kind in the upper two bits, 100 ns since the year 1.</summary>
        public const byte DateTime = 128;
        /// <summary>u32 low, middle, high, flags.</summary>
        public const byte Decimal = 129;
        /// <summary>16 bytes.</summary>
        public const byte Guid = 130;
        /// <summary>i64: 100 ns.</summary>
        public const byte TimeSpan = 131;
        /// <summary>u32 type: a System.Type.</summary>
        public const byte Type = 132;
    }

    /// <summary>The reason why a value was not read.</summary>
    internal static partial class UnreadReason
    {
        /// <summary>Its type is not known.</summary>
        public const byte UnknownType = 1;
        /// <summary>Its layout is not known.</summary>
        public const byte UnknownLayout = 2;
        /// <summary>System.TypedReference</summary>
        public const byte TypedReference = 3;
        /// <summary>The record had no room left.</summary>
        public const byte NoRoom = 4;
        /// <summary>An out parameter, before the call ends.</summary>
        public const byte Out = 5;
        /// <summary>A collection may have moved its target.</summary>
        public const byte Moved = 6;
        /// <summary>The runtime did not state its location.</summary>
        public const byte NotFound = 7;
        /// <summary>A reference within a value.</summary>
        public const byte Reference = 8;
        /// <summary>Its type is a ref struct or may be one; such values cannot be boxed.</summary>
        public const byte OnStack = 9;
        /// <summary>this of a constructor, before the constructor has run.</summary>
        public const byte UnderConstruction = 10;
        /// <summary>The program's ToString threw an exception.</summary>
        public const byte Thrown = 11;
    }
}
