//! Chunks of events: each call's beginning and end, in mode trace.

use identity::MethodId;

use super::{CHUNK_HEADER, Chunk, Header, NodeChunk, Slot, chunk_kind, chunks, cursor::Cursor};
use crate::error::Error;

const SEQUENCE_AT: usize = 40;
/// In an event: the bit from which on it has the time, and the bit that says that the call ended.
const TIME_AT: u32 = 24;
const LEAVE: u64 = 1 << 23;

/// An event of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The number of the tree of its thread.
    pub tree: u64,
    /// Which of the tree's chunks it is in: a higher one is later, and what is missing in between was written over.
    pub sequence: u64,
    /// When, in ticks since the first probe; precise to the profile's event shift.
    pub ticks: u64,
    /// Whether the call ended.
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

/// The events of a profile in the order of the file, which is not that of time: chunks are used again.
///
/// # Errors
/// If the header is not there, or says what is not known.
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

/// What the nodes in events are: a tree's number, the node's in it, and the method.
///
/// # Errors
/// If the header is not there, or says what is not known.
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
