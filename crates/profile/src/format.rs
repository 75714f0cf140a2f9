//! The file: a header of 4 KiB, then chunks as they were in the program's memory (docs/profile-format.md). Here bytes
//! become records; what they mean together is [`read`](crate::read)'s matter.

use std::collections::HashMap;

use indexmap::{IndexMap, map::Entry};

use crate::{
    error::Error,
    model::{Clock, End, MethodName, Mode, Module},
};

const MAGIC: &[u8; 8] = b"ILPROF\r\n";
const VERSION: u32 = 1;
const STRINGS_AT: usize = 128;
const CHUNK_HEADER: usize = 64;
const NODE_SIZE: usize = 64;
/// Chunks of nodes are this large in memory, and stand at multiples of it.
const CHUNK_SIZE: u64 = 64 << 10;
/// In a chunk of nodes: the header, then the place of the tree, then nodes.
const FIRST_NODE: usize = 2 * CHUNK_HEADER;

/// Names of more bytes than this are cut: one of a module may be shown with each of its methods.
const MAX_NAME: usize = 4096;

mod chunk_kind {
    pub(super) const NODES: u32 = 1;
    pub(super) const NAMES: u32 = 2;
}
mod record {
    pub(super) const END: u8 = 0;
    pub(super) const MODULE: u8 = 1;
    pub(super) const METHOD: u8 = 2;
}
mod flag {
    pub(super) const CLEAN_EXIT: u32 = 1;
    pub(super) const UNHANDLED_EXCEPTION: u32 = 2;
}

/// All that a file says.
pub(crate) struct Records<'a> {
    pub(crate) header: Header,
    /// By address.
    pub(crate) chunks: IndexMap<u64, NodeChunk<'a>>,
    pub(crate) modules: Vec<Module>,
    /// By method id.
    pub(crate) names: HashMap<u64, MethodName>,
    /// The first thing that could not be read.
    pub(crate) damage: Option<Error>,
}

/// The header.
pub(crate) struct Header {
    pub(crate) program: String,
    pub(crate) runtime: String,
    pub(crate) pid: u32,
    pub(crate) end: End,
    pub(crate) mode: Mode,
    pub(crate) clock: Clock,
    pub(crate) ticks_per_second: u64,
    pub(crate) start_ticks: i64,
    pub(crate) end_ticks: i64,
    pub(crate) start_time: u64,
    pub(crate) max_nodes: u32,
    /// Its size in bytes.
    size: usize,
}

/// A chunk of nodes.
pub(crate) struct NodeChunk<'a> {
    /// The address of the tree that it belongs to.
    pub(crate) tree: u64,
    /// If it is the tree's first chunk.
    pub(crate) header: Option<TreeHeader>,
    nodes: &'a [[u8; NODE_SIZE]],
}

/// What a tree's first chunk says of all of it.
#[derive(Clone, Copy)]
pub(crate) struct TreeHeader {
    /// The address of the node that was running.
    pub(crate) current: u64,
    pub(crate) threads: u64,
    pub(crate) lost_calls: u64,
    pub(crate) bad_tokens: u64,
}

/// A node as it stands in the file.
pub(crate) struct RawNode {
    /// 0 in a tree's root.
    pub(crate) method_id: u64,
    /// The address of the caller's node.
    pub(crate) caller: u64,
    pub(crate) start: i64,
    pub(crate) total: i64,
    pub(crate) calls: u64,
    pub(crate) leaves: u64,
}

impl<'a> Records<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// If the header is not there, or gives the file a meaning that is not known.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = Header::read(bytes)?;
        let mut reader = Reader { bytes, position: header.size, base: 0 };
        let mut records = Self { header, chunks: IndexMap::new(), modules: Vec::new(), names: HashMap::new(), damage: None };
        records.damage = records.read_chunks(&mut reader).err();
        Ok(records)
    }

    fn read_chunks(&mut self, reader: &mut Reader<'a>) -> Result<(), Error> {
        if reader.position > reader.bytes.len() {
            return Err(Error::Damaged { what: "the file ends here", offset: reader.bytes.len() });
        }
        let mut damage = Ok(());
        while reader.position < reader.bytes.len() {
            let offset = reader.position;
            let kind = reader.u32()?;
            let size = reader.u32()? as usize;
            if size < CHUNK_HEADER {
                return Err(Error::Damaged { what: "a chunk of no size", offset });
            }
            let rest = reader.bytes.get(offset..).unwrap_or_default();
            let chunk = Reader { bytes: rest.get(..size).unwrap_or(rest), position: 0, base: offset };
            damage = damage.and(match kind {
                chunk_kind::NODES => self.read_nodes(chunk),
                chunk_kind::NAMES => self.read_names(chunk),
                value => Err(Error::Unknown { what: "a chunk of kind", value, offset }),
            });
            reader.position = offset.saturating_add(size);
            if reader.position > reader.bytes.len() {
                return damage.and(Err(Error::Damaged { what: "the file ends here", offset: reader.bytes.len() }));
            }
        }
        damage
    }

    fn read_nodes(&mut self, mut reader: Reader<'a>) -> Result<(), Error> {
        let offset = reader.base;
        reader.take(8)?;
        let (address, tree, _tree_number, used) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        if address % CHUNK_SIZE != 0 || used > CHUNK_SIZE {
            return Err(Error::Damaged { what: "a chunk of nodes where none can be", offset });
        }
        let Entry::Vacant(entry) = self.chunks.entry(address) else {
            return Err(Error::Damaged { what: "a chunk of nodes where there was one before", offset });
        };
        reader.position = CHUNK_HEADER;
        let (current, _free, _end, _root) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        let (threads, lost_calls, bad_tokens) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let is_first = tree == address.wrapping_add(CHUNK_HEADER as u64);
        let used = (used as usize).min(reader.bytes.len());
        let (nodes, _) = reader.bytes.get(FIRST_NODE..used).unwrap_or_default().as_chunks();
        let header = TreeHeader { current, threads, lost_calls, bad_tokens };
        entry.insert(NodeChunk { tree, header: is_first.then_some(header), nodes });
        Ok(())
    }

    fn read_names(&mut self, mut reader: Reader<'_>) -> Result<(), Error> {
        reader.take(CHUNK_HEADER)?;
        loop {
            let offset = reader.base + reader.position;
            match reader.u8()? {
                record::END => return Ok(()),
                record::MODULE => {
                    let (key, mvid) = (reader.u64()?, reader.array()?);
                    let (assembly, name, tool) = (reader.string()?, reader.string()?, reader.string()?);
                    self.modules.push(Module { key, mvid, assembly, name, tool });
                }
                record::METHOD => {
                    let id = reader.u64()?;
                    let name = MethodName { type_name: reader.string()?, method: reader.string()? };
                    self.names.insert(id, name);
                }
                kind => return Err(Error::Unknown { what: "a name record of kind", value: kind.into(), offset }),
            }
        }
    }
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader { bytes, position: 0, base: 0 };
        if reader.array() != Ok(*MAGIC) {
            return Err(Error::NotAProfile);
        }
        let version = reader.u32()?;
        if version != VERSION {
            return Err(Error::Version { found: version, known: VERSION });
        }
        let end = match reader.u32()? {
            flags if flags & !(flag::CLEAN_EXIT | flag::UNHANDLED_EXCEPTION) != 0 => return Err(reader.unknown("flags", flags)),
            // A program that ends by an exception may come by the other way out, too.
            flags if flags & flag::UNHANDLED_EXCEPTION != 0 => End::UnhandledException,
            flags if flags & flag::CLEAN_EXIT != 0 => End::Clean,
            _ => End::Unknown,
        };
        let pid = reader.u32()?;
        let _pointer_size = reader.u32()?;
        let clock = match reader.u32()? {
            0 => Clock::Stopwatch,
            code => return Err(reader.unknown("clock", code)),
        };
        let size = reader.u32()? as usize;
        let (ticks_per_second, start_ticks, end_ticks) = (reader.u64()?.max(1), reader.i64()?, reader.i64()?);
        let (start_time, max_nodes) = (reader.u64()?, reader.u32()?);
        let mode = match reader.u32()? {
            0 => Mode::Exact,
            code => return Err(reader.unknown("mode", code)),
        };
        while reader.position < STRINGS_AT {
            match reader.u32()? {
                0 => {}
                value => return Err(reader.unknown("a header field of value", value)),
            }
        }
        let strings = bytes.get(STRINGS_AT..size).unwrap_or_default();
        let mut strings = Reader { bytes: strings, position: 0, base: STRINGS_AT };
        let (program, runtime) = (strings.string()?, strings.string()?);
        Ok(Self {
            program,
            runtime,
            pid,
            end,
            mode,
            clock,
            ticks_per_second,
            start_ticks,
            end_ticks,
            start_time,
            max_nodes,
            size,
        })
    }
}

impl NodeChunk<'_> {
    /// Its nodes.
    pub(crate) fn nodes(&self) -> impl ExactSizeIterator<Item = RawNode> {
        self.nodes.iter().map(RawNode::read)
    }
}

/// Where a node of this address stands: in the chunk of which address, as which of its nodes.
pub(crate) fn node_place(address: u64) -> Option<(u64, usize)> {
    let offset = (address % CHUNK_SIZE) as usize;
    let place = offset.checked_sub(FIRST_NODE).filter(|offset| offset % NODE_SIZE == 0)?;
    Some((address - address % CHUNK_SIZE, place / NODE_SIZE))
}

impl RawNode {
    fn read(bytes: &[u8; NODE_SIZE]) -> Self {
        let (fields, _) = bytes.as_chunks();
        let field = |index: usize| u64::from_le_bytes(fields.get(index).copied().unwrap_or_default());
        // Between them, the lists of callees: they may have been in the middle of a change.
        let (method_id, caller, start, total) = (field(0), field(3), field(4) as i64, field(5) as i64);
        Self { method_id, caller, start, total, calls: field(6), leaves: field(7) }
    }
}

/// A window on the file that knows where it sits.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let end = self.position.checked_add(count);
        let bytes = end.and_then(|end| self.bytes.get(self.position..end));
        let bytes = bytes.ok_or(Error::Damaged { what: "the file ends here", offset: self.base + self.position })?;
        self.position += count;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        Ok(self.take(N)?.first_chunk().copied().unwrap_or([0; N]))
    }

    fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, Error> {
        self.array().map(i64::from_le_bytes)
    }

    fn string(&mut self) -> Result<String, Error> {
        let length = self.u32()? as usize;
        let bytes = self.take(length)?;
        Ok(match bytes.get(..MAX_NAME) {
            None => String::from_utf8_lossy(bytes).into_owned(),
            Some(head) => String::from_utf8_lossy(head).into_owned() + "…",
        })
    }

    /// The error that the number just read has no meaning.
    fn unknown(&self, what: &'static str, value: u32) -> Error {
        Error::Unknown { what, value, offset: self.base + self.position - 4 }
    }
}
