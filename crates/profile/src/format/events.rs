//! Chunks of events: the beginning and end of each call, in mode trace.

use names::MethodId;

use super::{CHUNK_HEADER, Chunk, Header, NodeChunk, Slot, chunk_kind, chunks, cursor::Cursor};
use crate::error::Error;

const SEQUENCE_AT: usize = 40;
/// Bits of an event: the first bit of the time, and the bit that marks a call's end.
const TIME_AT: u32 = 24;
const LEAVE: u64 = 1 << 23;

/// An event of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The number of the tree of its thread.
    pub tree: u64,
    /// The number of its chunk within the tree. Higher ones are later; missing numbers are overwritten chunks.
    pub sequence: u64,
    /// The time in ticks since the first probe, with the precision of the profile's event shift.
    pub ticks: u64,
    /// Whether the event is a call's end.
    pub is_leave: bool,
    /// The number of the node in its tree.
    pub node: u32,
}

/// The events of a chunk.
pub(super) struct Events<'a> {
    tree: u64,
    sequence: u64,
    words: &'a [[u8; 8]],
}

impl<'a> Events<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, Error> {
        let mut reader = Cursor::new(chunk.bytes, chunk.offset);
        reader.take(24)?;
        let tree = reader.u64()?;
        reader.position = SEQUENCE_AT;
        let sequence = reader.u64()?;
        let (words, _) = chunk.bytes.get(CHUNK_HEADER..chunk.used()?).unwrap_or_default().as_chunks();
        Ok(Self { tree, sequence, words })
    }

    pub(super) fn count(&self) -> usize {
        self.words.len()
    }
}

/// Returns the events of a profile in the order of the file. This is not the order of time, since chunks are reused.
///
/// # Errors
/// If the header is missing, or states an unknown version or mode.
pub fn events(bytes: &[u8]) -> Result<impl Iterator<Item = Event>, Error> {
    let header = Header::read(bytes)?;
    let shift = header.event_shift.min(24);
    let chunks = chunks(bytes, &header).flatten().filter(|chunk| chunk.kind == chunk_kind::EVENTS);
    Ok(chunks.filter_map(|chunk| Events::read(&chunk).ok()).flat_map(move |events| {
        let Events { tree, sequence, words } = events;
        words.iter().map(move |word| {
            let word = u64::from_le_bytes(*word);
            let (ticks, is_leave) = (word >> TIME_AT << shift, word & LEAVE != 0);
            Event { tree, sequence, ticks, is_leave, node: (word & (LEAVE - 1)) as u32 }
        })
    }))
}

/// Returns the nodes that events refer to: the tree's number, the node's number in it, and the method.
///
/// # Errors
/// If the header is missing, or states an unknown version or mode.
pub fn traced_nodes(bytes: &[u8]) -> Result<impl Iterator<Item = (u64, u32, MethodId)>, Error> {
    let header = Header::read(bytes)?;
    let version = header.version;
    let chunks = chunks(bytes, &header).flatten().filter(|chunk| chunk.kind == chunk_kind::NODES);
    let chunks = chunks.filter_map(move |chunk| {
        let mut reader = Cursor::new(chunk.bytes, chunk.offset);
        reader.take(8).ok()?;
        NodeChunk::read(reader, version).ok()
    });
    Ok(chunks.flat_map(|chunk| {
        (0..chunk.count()).filter_map(move |slot| match chunk.slot(slot) {
            Slot::Node(node) => Some((chunk.tree_number, node.number, MethodId(node.method_id))),
            _ => None,
        })
    }))
}
