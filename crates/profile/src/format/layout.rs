//! Offsets of the header's numbers in a file of version 2, and sizes of the file's parts (docs/profile-format.md). Used by code
//! that writes or changes files.

/// The first bytes of a profile.
pub const MAGIC: &[u8; 8] = b"ILPROF\r\n";
/// The size of a block: parts of the file begin at multiples of it, and the header takes one.
pub const BLOCK: usize = 64 << 10;

/// u32.
pub const VERSION_AT: usize = 8;
/// u32.
pub const FLAGS_AT: usize = 12;
/// u32.
pub const PID_AT: usize = 16;
/// u32.
pub const POINTER_SIZE_AT: usize = 20;
/// u32.
pub const CLOCK_AT: usize = 24;
/// u32.
pub const HEADER_SIZE_AT: usize = 28;
/// u64: ticks per second of the clock.
pub const TICKS_AT: usize = 32;
/// i64: the clock at the first probe.
pub const START_AT: usize = 40;
/// i64: the clock when it was last read.
pub const END_AT: usize = 48;
/// i64: the time of day at the first probe, in 100 ns since the year 1.
pub const TIME_AT: usize = 56;
/// u32.
pub const MAX_NODES_AT: usize = 64;
/// u32.
pub const MODE_AT: usize = 68;
/// At [`MODE_AT`]: samples of CPU time, without probes.
pub const MODE_CPU: u32 = 4;
/// At [`MODE_AT`]: samples of elapsed time, without probes.
pub const MODE_WALL: u32 = 5;
/// f64, in ticks.
pub const PROBE_INSIDE_AT: usize = 72;
/// f64, in ticks.
pub const PROBE_OUTSIDE_AT: usize = 80;
/// u32.
pub const HISTOGRAM_SHIFT_AT: usize = 96;
/// i64, in ticks.
pub const PAUSED_AT: usize = 104;
/// i64, in ns.
pub const CPU_AT: usize = 112;
/// u64: of a merged file.
pub const PROCESSES_AT: usize = 120;
/// The program's name, its runtime, its path.
pub const STRINGS_AT: usize = 128;
/// The control page; in version 1, the first chunk.
pub const CONTROL_AT: usize = 4096;

/// The size of a chunk's header.
pub const CHUNK_HEADER: usize = 64;
/// The offset of the first node in a chunk of nodes.
pub const FIRST_NODE: usize = 256;
/// The size of a node.
pub const NODE: usize = 128;
/// The size of a node's statistics, and the offset of the first ones in a chunk.
pub const STATISTICS: usize = 512;
