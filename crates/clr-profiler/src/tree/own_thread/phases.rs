//! Marks and resets: they save each node's state at a moment, and readers subtract it (docs/profile-format.md).

use std::collections::HashMap;

use little_endian::PutNumbers;
use profile_format::{
    PhaseKind,
    chunk::HEADER as CHUNK_HEADER,
    header::BLOCK,
    node::{FIRST_AT as FIRST_NODE, SIZE as NODE},
    phase::{CLOCK_AT, COUNT_AT, DETAILS, ENTRY, ENTRY_WITH_BYTES, KIND_AT},
};

use super::super::{
    allocations,
    layout::{Node, OVERFLOW, ROOT, Seen, Tree},
    pauses,
};
use crate::{
    file::{self, Chunk, ChunkKind},
    worlds::MayWait,
};

/// The number of values at the start of a node's details.
const DETAILS_HEAD: usize = DETAILS / 8;
/// No thread has more open calls. A deeper path is one that changes while it is read.
const MAX_DEPTH: usize = 1_000_000;

/// Writes a mark or reset. Calls continue meanwhile, so each node is read at its own moment. Returns whether there
/// was room.
pub(crate) fn add_phase(may: impl MayWait, name: &str, kind: PhaseKind, now: i64) -> bool {
    let chunks = file::chunks_of(may, ChunkKind::Nodes);
    let (mut nodes, slots) = (Vec::new(), allocations::slots_of_node());
    let mut open = HashMap::new();
    for chunk in chunks {
        // SAFETY: chunks stay mapped, and their used part is complete.
        unsafe {
            let used = (*chunk).in_use();
            let first: *mut Node = chunk.byte_add(FIRST_NODE).cast();
            nodes.extend((0..used.saturating_sub(FIRST_NODE) / (slots * NODE)).map(|index| first.add(index * slots)));
            let tree: *mut Tree = chunk.byte_add(CHUNK_HEADER).cast();
            if (*chunk).begins_tree() {
                find_open(tree, now, &mut open);
            }
        }
    }
    let (mut entries, mut details) = (Vec::new(), Vec::new());
    for node in nodes {
        // SAFETY: nodes stay mapped.
        let seen = unsafe { Seen::at(node) };
        if seen.method_id == 0 {
            continue;
        }
        let of_open = open.get(&node.addr()).copied().unwrap_or_default();
        for number in [node.addr() as i64, seen.calls as i64, seen.total + of_open.ticks, seen.detached] {
            entries.put_i64(number);
        }
        // SAFETY: nodes stay mapped.
        if let Some(bytes) = unsafe { allocations::total_of(node) } {
            entries.put_i64(bytes + of_open.bytes);
            entries.put_i64(0);
        }
        if seen.buckets.is_none() && seen.exceptions == 0 {
            continue;
        }
        let mut record = vec![node.addr() as i64, seen.exceptions.into(), 0, 0, 0, 0, 0, 0, 0];
        let buckets = seen.buckets.iter().flatten().enumerate().filter(|(_, calls)| **calls != 0);
        record.extend(buckets.map(|(bucket, calls)| i64::from(*calls) << 32 | bucket as i64));
        record[DETAILS_HEAD - 1] = (record.len() - DETAILS_HEAD) as i64;
        details.push(record);
    }
    let mut bytes = Vec::new();
    bytes.put_u32(name.len() as u32);
    bytes.extend(name.as_bytes());
    bytes.resize((CHUNK_HEADER + bytes.len()).next_multiple_of(8) - CHUNK_HEADER, 0);
    let count = (entries.len() / if slots == 1 { ENTRY } else { ENTRY_WITH_BYTES }) as u32;
    bytes.extend(entries);
    let fill = |phase: *mut Chunk| {
        // SAFETY: the chunk has enough room and belongs to this thread.
        unsafe {
            put(phase, CHUNK_HEADER, &bytes);
            put(phase, CLOCK_AT, &now.to_le_bytes());
            put(phase, KIND_AT, &kind.number().to_le_bytes());
            put(phase, COUNT_AT, &count.to_le_bytes());
        }
    };
    let phase = file::take_filled(ChunkKind::Phase, 0, CHUNK_HEADER + bytes.len(), fill);
    phase.is_some_and(|phase| write_details(phase, &details))
}

fn write_details(phase: *mut Chunk, details: &[Vec<i64>]) -> bool {
    let mut left = details;
    while !left.is_empty() {
        let mut bytes = Vec::new();
        while let Some((first, rest)) = left.split_first() {
            if CHUNK_HEADER + bytes.len() + size_of_val(&first[..]) > BLOCK {
                break;
            }
            first.iter().for_each(|number| bytes.put_i64(*number));
            left = rest;
        }
        // SAFETY: the chunk has enough room and belongs to this thread.
        let fill = |chunk| unsafe { put(chunk, CHUNK_HEADER, &bytes) };
        let (of, size) = (phase.addr() as u64, CHUNK_HEADER + bytes.len());
        if file::take_filled(ChunkKind::PhaseDetails, of, size, fill).is_none() {
            return false;
        }
    }
    true
}

/// # Safety
/// The chunk must have that much room at `at`, reserved for this thread.
unsafe fn put(chunk: *mut Chunk, at: usize, bytes: &[u8]) {
    // SAFETY: the caller guarantees this.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), chunk.byte_add(at).cast(), bytes.len()) };
}

/// The part of an open call that lies before the mark.
#[derive(Clone, Copy, Default)]
struct SoFar {
    ticks: i64,
    bytes: i64,
}

/// Adds the values so far of all open calls, by node.
///
/// # Safety
/// `tree` must point to a tree.
unsafe fn find_open(tree: *mut Tree, now: i64, open: &mut HashMap<usize, SoFar>) {
    // SAFETY: nodes stay mapped; their callers never change.
    unsafe {
        let mut node = Seen::current(tree);
        for _ in 0..MAX_DEPTH {
            if node.is_null() {
                return;
            }
            let seen = Seen::at(node);
            if seen.flags & (ROOT | OVERFLOW) != 0 {
                return;
            }
            let bytes = allocations::of_open(tree, node);
            open.insert(node.addr(), SoFar { ticks: pauses::elapsed(seen.start, now), bytes });
            node = seen.caller;
        }
    }
}
