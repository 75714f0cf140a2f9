//! Builds profiles with any number of call paths, as a tracker would write them (docs/profile-format.md).

use little_endian::{ByteOrder, LE, PutNumbers};
use profile_format::{
    header::{self as layout, BLOCK},
    node::{FIRST_AT as FIRST_NODE, SIZE as NODE},
    statistics::SIZE as STATISTICS,
};

/// The size of chunks in bytes, and their distance in memory.
const CHUNK: usize = 1 << 20;
const MEMORY: u64 = 0x7000_0000_0000;
const METHODS: u64 = 5000;
/// For [`Paths::OneOfMany`]: the number of paths that all files share, and the number of paths that occur in any file.
const COMMON: u64 = 300;
const ALL: u64 = 50_000;

/// The shape of a file to build.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) nodes: u64,
    /// Whether each path has a histogram.
    pub(crate) statistics: bool,
    /// Files with different seeds have different paths.
    pub(crate) seed: u64,
    pub(crate) paths: Paths,
}

/// The paths of a file.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "not all tests need each")]
pub(crate) enum Paths {
    /// A tree of any shape.
    Any,
    /// Paths that many files share.
    OneOfMany,
    /// A method for each node, in rows of so many siblings. The first method of a row calls the next row; a row of 1 gives a
    /// single path.
    Deep { siblings: u64 },
}

impl Paths {
    fn methods(self, nodes: u64) -> u64 {
        if matches!(self, Self::Deep { .. }) { nodes } else { METHODS }
    }
}

/// Builds a file.
pub(crate) fn build(shape: Shape) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK];
    LE::write_u64(&mut bytes, layout::MAGIC);
    for (at, value) in [
        (layout::VERSION_AT, 2),
        (layout::FLAGS_AT, 1),
        (layout::PID_AT, 4711 + shape.seed),
        (layout::POINTER_SIZE_AT, 8),
        (layout::SIZE_AT, BLOCK as u64),
        (layout::MAX_NODES_AT, 1_000_000),
        (layout::HISTOGRAM_SHIFT_AT, 5),
    ] {
        LE::write_u32(&mut bytes[at..], value as u32);
    }
    for (at, value) in
        [(layout::TICKS_PER_SECOND_AT, 1_000_000_000), (layout::END_AT, 1_000_000 * shape.nodes), (layout::CPU_AT, u64::MAX)]
    {
        put(&mut bytes, at, value);
    }
    put(&mut bytes, layout::PROBE_INSIDE_AT, 20_f64.to_bits());
    let mut strings = Vec::new();
    ["shop", ".NET 8.0.4, Unix", "/app/shop.dll"].iter().for_each(|text| string(text, &mut strings));
    bytes[layout::STRINGS_AT..][..strings.len()].copy_from_slice(&strings);

    let mut names = vec![0; 64];
    for method in 1..=shape.paths.methods(shape.nodes) {
        names.push(2);
        names.put_u64(id(method));
        string(&format!("Shop.Orders.Type{}", method / 10), &mut names);
        string(&format!("Method{method}"), &mut names);
    }
    let used = names.len() as u64;
    chunk(&mut names, 2, 0, 0, used);
    bytes.extend(names);

    let in_chunk = ((CHUNK - FIRST_NODE) / NODE) as u64;
    let address = |node: u64| MEMORY + node / in_chunk * CHUNK as u64 + FIRST_NODE as u64 + node % in_chunk * NODE as u64;
    let chunks = (shape.nodes + 1).div_ceil(in_chunk);
    let of_statistics = MEMORY + chunks * CHUNK as u64;
    let slots = (CHUNK / STATISTICS - 1) as u64;
    let mut random = shape.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below.max(1)
    };
    for first in (0..=shape.nodes).step_by(in_chunk as usize) {
        let nodes = in_chunk.min(shape.nodes + 1 - first);
        let mut nodes_of_chunk = vec![0; FIRST_NODE + NODE * nodes as usize];
        if first == 0 {
            put(&mut nodes_of_chunk, 64, address(0));
            put(&mut nodes_of_chunk, 96, 1);
            put(&mut nodes_of_chunk, 64 + 72, u64::MAX);
            put(&mut nodes_of_chunk, FIRST_NODE + 80, 1);
        }
        for node in first.max(1)..first + nodes {
            let slot = FIRST_NODE + NODE * (node - first) as usize;
            let (caller, method) = match shape.paths {
                // The number of a path determines its caller and its method.
                Paths::OneOfMany if node <= COMMON => (node / 3, node % METHODS + 1),
                Paths::OneOfMany => {
                    let path = COMMON + next(ALL - COMMON);
                    (path % COMMON, path % METHODS + 1)
                }
                Paths::Any => (next(node), next(METHODS) + 1),
                // A row begins at a multiple of its size, behind the root.
                Paths::Deep { siblings } => (((node - 1) / siblings * siblings + 1).saturating_sub(siblings), node),
            };
            let calls = 2 + next(100);
            let total = match shape.paths {
                Paths::Deep { .. } => 1000 * (shape.nodes + 1 - node),
                Paths::Any | Paths::OneOfMany => 1000 * calls + next(1 << 20),
            };
            let place = (node - 1) / slots * CHUNK as u64 + ((node - 1) % slots + 1) * STATISTICS as u64;
            let statistics = if shape.statistics { of_statistics + place } else { 0 };
            for (at, value) in [(0, id(method)), (16, address(caller)), (32, calls), (40, total), (48, calls), (56, statistics)] {
                put(&mut nodes_of_chunk, slot + at, value);
            }
        }
        let used = nodes_of_chunk.len() as u64;
        chunk(&mut nodes_of_chunk, 1, MEMORY + first / in_chunk * CHUNK as u64, MEMORY + 64, used);
        bytes.extend(nodes_of_chunk);
    }
    for first in (0..shape.nodes).step_by(slots as usize).filter(|_| shape.statistics) {
        let count = slots.min(shape.nodes - first) as usize;
        let mut statistics = vec![0; STATISTICS * (count + 1)];
        for slot in 1..=count {
            for (at, value) in [(0, 5000), (8, 700), (16, 90_000), (24, 10)] {
                put(&mut statistics, slot * STATISTICS + at, value);
            }
            statistics[slot * STATISTICS + 32 + 4 * (20 + next(40) as usize)] = 10;
        }
        let used = statistics.len() as u64;
        chunk(&mut statistics, 3, of_statistics + first / slots * CHUNK as u64, MEMORY + 64, used);
        bytes.extend(statistics);
    }
    bytes
}

fn id(method: u64) -> u64 {
    0x98_7654_3210 << 24 | method
}

/// Fills the header of a chunk, and its last block.
fn chunk(bytes: &mut Vec<u8>, kind: u32, address: u64, tree: u64, used: u64) {
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    let size = bytes.len() as u64;
    for (at, value) in [(0, u64::from(kind) | size << 32), (8, address), (16, tree), (24, 1), (32, used)] {
        put(bytes, at, value);
    }
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    LE::write_u64(&mut bytes[at..], value);
}

fn string(text: &str, to: &mut Vec<u8>) {
    to.put_u32(text.len() as u32);
    to.extend(text.as_bytes());
}
