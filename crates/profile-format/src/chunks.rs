//! Chunks, and those whose contents are simple.

layout! {
    /// The header of a chunk.
    chunk: "ChunkLayout" {
        /// u32: ChunkKind.
        KIND_AT: usize = 0;
        /// u32: the size in the file, a multiple of the size of a block.
        SIZE_AT: usize = 4;
        /// u64: its address in the memory of the program.
        ADDRESS_AT: usize = 8;
        /// u64: the address of its tree; of details, that of the phase's chunk.
        TREE_AT: usize = 16;
        /// u64: the number of its tree, from 1.
        TREE_NUMBER_AT: usize = 24;
        /// u64: the number of bytes in use, with this header.
        USED_AT: usize = 32;
        /// u64 of events and calls: the number of the chunk in its tree. Other kinds have their own.
        OWN_AT: usize = 40;
        /// The size of the header.
        HEADER: usize = 64;
    }
}

kinds! {
    /// The content of a chunk.
    ChunkKind: u32 {
        /// None: the block is not in use.
        Free = 0,
        /// Nodes of a tree.
        Nodes = 1,
        /// Records of names.
        Names = 2,
        /// Statistics of nodes.
        Statistics = 3,
        /// Events of a thread.
        Events = 4,
        /// Calls by method.
        Counters = 5,
        /// The state of all nodes at a moment.
        Phase = 6,
        /// Call paths of a merged file.
        Paths = 7,
        /// Statistics of methods in a merged file.
        MethodStatistics = 8,
        /// Descriptions of the types and methods of captured calls.
        Descriptions = 9,
        /// Captured calls of a thread.
        Calls = 10,
        /// Details of the nodes of a phase.
        PhaseDetails = 11,
        /// Counters of a module's sequence points.
        Lines = 12,
    }
}

layout! {
    /// Records of names.
    names: "NameLayout" {
        /// The largest size of a string.
        MAX_STRING: usize = 4096;
    }
}

kinds! {
    /// The subject of a record of names.
    NameKind: u8 {
        /// None: the end of the records of a chunk.
        End = 0,
        /// A method: u64 id, string type, string method.
        Method = 2,
        /// The type of an exception: u32 number, string.
        ExceptionType = 3,
        /// A module: u64 key, 16 bytes MVID, strings assembly, module, tool, path.
        Module = 4,
        /// A thread: u64 tree number, u32 managed id, string name.
        Thread = 5,
        /// A phase of a merged file: u32 number, string.
        Phase = 6,
    }
}

layout! {
    /// An event: a u64 of time, end of the call, and number of the node.
    event: "EventLayout" {
        /// The first bit of the time since the first probe.
        TIME_BIT: u32 = 24;
        /// The bit of a call's end. The number of the node is below it.
        LEAVE: u64 = 1 << 23;
    }
}

layout! {
    /// A counter of mode count: u64 method id, u64 calls.
    counter: "CounterLayout" {
        /// The size of a counter.
        SIZE: usize = 16;
    }
}

layout! {
    /// Counters of sequence points. Those of a module are a u64 each; the table of their places in the source follows.
    lines: "LineLayout" {
        /// u32: the number of counters.
        COUNTERS_AT: usize = chunk::OWN_AT;
        /// u32: the size of the table.
        TABLE_SIZE_AT: usize = 44;
        /// The size of a counter.
        COUNTER: usize = 8;
    }
}

layout! {
    /// A phase: the state of all nodes at a moment. Its name follows the header of its chunk, then entries.
    phase: "PhaseLayout" {
        /// i64: the clock.
        CLOCK_AT: usize = chunk::OWN_AT;
        /// u32: PhaseKind.
        KIND_AT: usize = 48;
        /// u32: the number of entries.
        COUNT_AT: usize = 52;
        /// The size of an entry: u64 node (in mode count, method id), i64 calls, i64 total, i64 detached.
        ENTRY: usize = 32;
        /// The size of a node's details without buckets: u64 node, i64 exceptions, CPU time, samples, latency, completed, faulted,
        /// steps, u64 count of buckets. Buckets are u32 bucket, u32 calls.
        DETAILS: usize = 72;
    }
}

kinds! {
    /// The event that begins a phase.
    PhaseKind: u32 {
        /// A mark, which begins a phase with a name.
        Mark = 1,
        /// A reset, which begins the whole profile anew.
        Reset = 2,
    }
}

layout! {
    /// Merged files.
    merged: "MergedLayout" {
        /// u64 of paths: the number of threads of the tree.
        THREADS_AT: usize = 40;
        /// u64 of paths: the number of lost calls.
        LOST_CALLS_AT: usize = 48;
        /// u64 of paths: the number of bad tokens.
        BAD_TOKENS_AT: usize = 56;
        /// i64 of paths, in ns: CPU time; -1 if it is not known.
        CPU_AT: usize = 64;
        /// i64 of paths, in ticks: the duration of the phase.
        DURATION_AT: usize = 72;
        /// u32 of paths: the number of values of each.
        VALUES_AT: usize = 80;
        /// u32 of paths: the number of the phase; 0 for the whole run.
        PHASE_AT: usize = 84;
        /// The offset of the first path in a chunk.
        FIRST_PATH_AT: usize = 96;
        /// u64 of a path: the method's id.
        PATH_METHOD_ID_AT: usize = 0;
        /// u32 of a path: the number of its caller in the tree, from 1; 0 for none.
        PATH_CALLER_AT: usize = 8;
        /// u32 of a path: NodeFlags.
        PATH_FLAGS_AT: usize = 12;
        /// The size of a path without values, which are i64.
        PATH: usize = 16;
        /// u32 of statistics: the number of the phase.
        STATISTICS_PHASE_AT: usize = 40;
        /// The offset of the first method's statistics in a chunk.
        FIRST_STATISTICS_AT: usize = 64;
        /// The size of a method's statistics without buckets, which are u64.
        STATISTICS: usize = 48;
    }
}
