//! The file: a header of 4 KiB, then chunks as they were in the program's memory (docs/profile-format.md).

use std::collections::HashMap;

use byteorder::{ByteOrder, LE};
use indexmap::IndexMap;

use crate::aggregate::{CallTree, Node, add};

const MAGIC: &[u8; 8] = b"ILPROF\r\n";
const VERSION: u32 = 1;
const STRINGS_AT: usize = 128;
const CHUNK_HEADER: usize = 64;
const NODE_SIZE: usize = 64;
/// In a chunk of nodes: the header, then the place of the tree, then nodes.
const FIRST_NODE: usize = 2 * CHUNK_HEADER;

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

/// A profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The program's name.
    pub program: String,
    /// What it ran on.
    pub runtime: String,
    /// The process.
    pub pid: u32,
    /// How the program ended.
    pub end: End,
    /// Clock ticks in a second.
    pub ticks_per_second: u64,
    /// The clock at the first probe.
    pub start_ticks: i64,
    /// The clock when the file was written.
    pub end_ticks: i64,
    /// When the first probe ran: 100 ns units since the year 1, UTC.
    pub start_time: u64,
    /// The modules that were woven and loaded.
    pub modules: Vec<Module>,
    /// The names of methods, by id.
    pub methods: IndexMap<u64, MethodName>,
    /// The call trees, one a thread; a thread may have taken over another's that had ended.
    pub trees: Vec<CallTree>,
    /// How many threads these are of.
    pub threads: u64,
    /// How many nodes the program's trees were allowed; 0 if it isn't said.
    pub max_nodes: u32,
    /// How many calls are not in the trees, since there was no room for more nodes.
    pub lost_calls: u64,
    /// What is missing: a file cut short still says all that it holds.
    pub damage: Option<Error>,
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It came to its end.
    Clean,
    /// By an exception that nobody caught.
    UnhandledException,
    /// Unknown: the program was cut off.
    Unknown,
}

/// A woven module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// What the ids of its methods begin with.
    pub key: u64,
    /// Its version identifier.
    pub mvid: [u8; 16],
    /// The full name of its assembly.
    pub assembly: String,
    /// Its own name.
    pub name: String,
    /// What wove it.
    pub tool: String,
}

/// A method's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodName {
    /// `Namespace.Outer/Inner`
    pub type_name: String,
    /// The method's own.
    pub method: String,
}

/// A profile that cannot be read, or not to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// It does not start as a profile does.
    #[error("not an ilinst profile")]
    NotAProfile,
    /// It was written by a later version.
    #[error("format version {0}; this ilinst reads version {VERSION}")]
    Version(u32),
    /// The bytes end too early, or make no sense.
    #[error("{what} (file offset 0x{offset:x})")]
    Damaged {
        /// What is wrong.
        what: &'static str,
        /// Where.
        offset: usize,
    },
}

/// A window on the file that knows where it sits.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, position: 0, base }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let end = self.position.checked_add(count);
        let bytes = end.and_then(|end| self.bytes.get(self.position..end));
        let bytes = bytes.ok_or(Error::Damaged { what: "the file ends here", offset: self.base + self.position })?;
        self.position += count;
        Ok(bytes)
    }

    fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn u32(&mut self) -> Result<u32, Error> {
        self.take(4).map(LE::read_u32)
    }

    fn u64(&mut self) -> Result<u64, Error> {
        self.take(8).map(LE::read_u64)
    }

    fn string(&mut self) -> Result<String, Error> {
        let length = self.u32()? as usize;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

/// A chunk of nodes: where it was in memory, and whose it is.
struct NodeChunk {
    address: u64,
    tree: u64,
    /// If it is the tree's first chunk.
    header: Option<TreeHeader>,
    nodes: Vec<RawNode>,
}

/// What a tree's first chunk says of all of it.
#[derive(Clone, Copy)]
struct TreeHeader {
    /// The node that was running.
    current: u64,
    threads: u64,
    lost_calls: u64,
}

/// A node as it stands in the file.
#[derive(Clone, Copy)]
struct RawNode {
    method_id: u64,
    caller: u64,
    start: i64,
    total: i64,
    calls: u64,
    leaves: u64,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// If the header is not there. What is missing behind it goes into [`damage`](Self::damage).
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, 0);
        if reader.take(MAGIC.len()) != Ok(MAGIC) {
            return Err(Error::NotAProfile);
        }
        let version = reader.u32()?;
        if version != VERSION {
            return Err(Error::Version(version));
        }
        let flags = reader.u32()?;
        let pid = reader.u32()?;
        let _pointer_size = reader.u32()?;
        let _clock = reader.u32()?;
        let header_size = reader.u32()? as usize;
        let mut profile = Self {
            program: String::new(),
            runtime: String::new(),
            pid,
            end: match flags {
                _ if flags & flag::UNHANDLED_EXCEPTION != 0 => End::UnhandledException,
                _ if flags & flag::CLEAN_EXIT != 0 => End::Clean,
                _ => End::Unknown,
            },
            ticks_per_second: reader.u64()?.max(1),
            start_ticks: reader.u64()? as i64,
            end_ticks: reader.u64()? as i64,
            start_time: reader.u64()?,
            max_nodes: reader.u32()?,
            modules: Vec::new(),
            methods: IndexMap::new(),
            trees: Vec::new(),
            threads: 0,
            lost_calls: 0,
            damage: None,
        };
        let mut strings = Reader::new(bytes.get(STRINGS_AT..header_size).unwrap_or_default(), STRINGS_AT);
        profile.program = strings.string()?;
        profile.runtime = strings.string()?;
        let mut chunks = Vec::new();
        reader.position = header_size;
        profile.damage = profile.read_chunks(reader, &mut chunks).err();
        for header in chunks.iter().filter_map(|chunk| chunk.header) {
            add(&mut profile.threads, header.threads);
            add(&mut profile.lost_calls, header.lost_calls);
        }
        profile.trees = join_trees(&chunks, profile.start_ticks, profile.end_ticks);
        Ok(profile)
    }

    /// How long the program ran, from the first probe on, in ticks.
    pub fn wall_ticks(&self) -> u64 {
        self.end_ticks.saturating_sub(self.start_ticks).max(0) as u64
    }

    /// Ticks in milliseconds.
    pub fn milliseconds(&self, ticks: u64) -> f64 {
        ticks as f64 * 1e3 / self.ticks_per_second as f64
    }

    fn read_chunks(&mut self, mut reader: Reader<'_>, chunks: &mut Vec<NodeChunk>) -> Result<(), Error> {
        if reader.position > reader.bytes.len() {
            return Err(Error::Damaged { what: "the file ends here", offset: reader.bytes.len() });
        }
        while reader.position < reader.bytes.len() {
            let offset = reader.position;
            let kind = reader.u32()?;
            let size = reader.u32()? as usize;
            if size < CHUNK_HEADER {
                return Err(Error::Damaged { what: "a chunk of no size", offset });
            }
            let rest = reader.bytes.get(offset..).unwrap_or_default();
            let chunk = Reader::new(rest.get(..size).unwrap_or(rest), offset);
            match kind {
                chunk_kind::NODES => chunks.push(read_nodes(chunk)?),
                chunk_kind::NAMES => self.read_names(chunk)?,
                // A later version's: nothing here depends on it.
                _ => {}
            }
            reader.position = offset.saturating_add(size);
            if reader.position > reader.bytes.len() {
                return Err(Error::Damaged { what: "the file ends here", offset: reader.bytes.len() });
            }
        }
        Ok(())
    }

    fn read_names(&mut self, mut reader: Reader<'_>) -> Result<(), Error> {
        reader.take(CHUNK_HEADER)?;
        loop {
            let offset = reader.base + reader.position;
            match reader.u8()? {
                record::END => return Ok(()),
                record::MODULE => {
                    let key = reader.u64()?;
                    let mut mvid = [0; 16];
                    mvid.copy_from_slice(reader.take(16)?);
                    let (assembly, name, tool) = (reader.string()?, reader.string()?, reader.string()?);
                    self.modules.push(Module { key, mvid, assembly, name, tool });
                }
                record::METHOD => {
                    let id = reader.u64()?;
                    let name = MethodName { type_name: reader.string()?, method: reader.string()? };
                    self.methods.insert(id, name);
                }
                _ => return Err(Error::Damaged { what: "a name record of unknown kind", offset }),
            }
        }
    }
}

fn read_nodes(mut reader: Reader<'_>) -> Result<NodeChunk, Error> {
    reader.take(8)?;
    let address = reader.u64()?;
    let tree = reader.u64()?;
    let _tree_number = reader.u64()?;
    let used = (reader.u64()? as usize).min(reader.bytes.len());
    reader.position = CHUNK_HEADER;
    let mut fields = [0; CHUNK_HEADER / 8];
    LE::read_u64_into(reader.take(CHUNK_HEADER)?, &mut fields);
    let [current, _free, _end, _root, threads, lost_calls, ..] = fields;
    let is_first = tree == address.wrapping_add(CHUNK_HEADER as u64);
    let header = is_first.then_some(TreeHeader { current, threads, lost_calls });
    let mut nodes = Vec::new();
    for node in reader.bytes.get(FIRST_NODE..used).unwrap_or_default().chunks_exact(NODE_SIZE) {
        let mut fields = [0; NODE_SIZE / 8];
        LE::read_u64_into(node, &mut fields);
        let [method_id, _callees, _next, caller, start, total, calls, leaves] = fields;
        nodes.push(RawNode { method_id, caller, start: start as i64, total: total as i64, calls, leaves });
    }
    Ok(NodeChunk { address, tree, header, nodes })
}

/// Turns the addresses that nodes name each other by into numbers, a tree for each thread. Only the way up, to the
/// caller, is followed: the lists of callees may have been in the middle of a change.
fn join_trees(chunks: &[NodeChunk], start_ticks: i64, end_ticks: i64) -> Vec<CallTree> {
    let mut trees: IndexMap<u64, (CallTree, Vec<RawNode>)> = IndexMap::new();
    let mut places: HashMap<(u64, u64), usize> = HashMap::new();
    for chunk in chunks {
        let (tree, raw) = trees.entry(chunk.tree).or_default();
        let mut address = chunk.address.wrapping_add(FIRST_NODE as u64);
        for node in &chunk.nodes {
            places.insert((chunk.tree, address), tree.nodes.len());
            tree.nodes.push(Node {
                method_id: node.method_id,
                // A caller is always older than its callee: anything else is damage, and would make a ring.
                caller: places.get(&(chunk.tree, node.caller)).copied().filter(|caller| *caller < tree.nodes.len()),
                calls: node.calls,
                leaves: node.leaves,
                open: 0,
                total: node.total.max(0) as u64,
            });
            raw.push(*node);
            address = address.wrapping_add(NODE_SIZE as u64);
        }
    }
    for chunk in chunks {
        let Some((tree, raw)) = trees.get_mut(&chunk.tree) else { continue };
        let current = chunk.header.and_then(|header| places.get(&(chunk.tree, header.current)).copied());
        close_open_calls(tree, raw, current, start_ticks, end_ticks);
    }
    trees.into_values().map(|(tree, _)| tree).collect()
}

/// What was running when the file was written goes on to the end: the current node and its callers.
fn close_open_calls(tree: &mut CallTree, raw: &[RawNode], current: Option<usize>, start_ticks: i64, end_ticks: i64) {
    let start_of = |index: usize| raw.get(index).map_or(start_ticks, |node| node.start);
    let mut next = current;
    while let Some((index, node)) = next.and_then(|index| Some((index, tree.nodes.get_mut(index)?))) {
        // As many leaves as calls: it was just about to hand back to its caller.
        if node.method_id != 0 && node.calls > node.leaves {
            // A call starts no earlier than its caller's: what says so was in the middle of a change.
            let start = start_of(index).max(node.caller.map_or(start_ticks, start_of)).max(start_ticks);
            node.open += 1;
            node.total = node.total.saturating_add(end_ticks.saturating_sub(start).max(0) as u64);
        }
        next = node.caller;
    }
}
