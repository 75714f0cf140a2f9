//! Chunks of events: the beginning and end of each call, in mode trace.

use little_endian::{ByteOrder, LE};
use names::MethodId;
use profile_format::{ChunkKind, chunk, event};

use super::{
    chunks::{Chunk, chunks},
    cursor::u64_at,
    header::Header,
    nodes::{NodeChunk, Slot},
};
use crate::error::Error;

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
        let (words, _) = chunk.content()?.as_chunks();
        let field = |at| u64_at(chunk.bytes, at);
        Ok(Self { tree: field(chunk::TREE_NUMBER_AT), sequence: field(chunk::OWN_AT), words })
    }

    pub(super) fn count(&self) -> usize {
        self.words.len()
    }
}

/// Returns the events of an unpacked profile in the order of the file. This is not the order of time, since chunks are reused.
///
/// # Errors
/// If the header is missing, or states an unknown version or mode.
pub fn events(bytes: &[u8]) -> Result<impl Iterator<Item = Event>, Error> {
    let header = Header::read(bytes)?;
    let shift = header.event_shift.min(event::TIME_BIT);
    let chunks = chunks(bytes, &header).flatten().filter(|chunk| chunk.kind == Some(ChunkKind::Events));
    Ok(chunks.filter_map(|chunk| Events::read(&chunk).ok()).flat_map(move |events| {
        let Events { tree, sequence, words } = events;
        words.iter().map(move |word| {
            let word = LE::read_u64(word);
            let (ticks, is_leave) = (word >> event::TIME_BIT << shift, word & event::LEAVE != 0);
            Event { tree, sequence, ticks, is_leave, node: (word & (event::LEAVE - 1)) as u32 }
        })
    }))
}

/// Returns the nodes of an unpacked profile that events refer to: the tree's number, the node's number in it, and the method.
///
/// # Errors
/// If the header is missing, or states an unknown version or mode.
pub fn traced_nodes(bytes: &[u8]) -> Result<impl Iterator<Item = (u64, u32, MethodId)>, Error> {
    let header = Header::read(bytes)?;
    let chunks = chunks(bytes, &header).flatten().filter(|chunk| chunk.kind == Some(ChunkKind::Nodes));
    Ok(chunks.filter_map(move |chunk| NodeChunk::read(&chunk, header.has_allocations).ok()).flat_map(|chunk| {
        (0..chunk.slots.count()).filter_map(move |slot| match chunk.slot(slot) {
            Slot::Node(node) => Some((chunk.tree_number, node.number, MethodId(node.method_id))),
            _ => None,
        })
    }))
}
