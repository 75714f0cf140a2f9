//! From a file's records to the model: addresses become indices, and what was still running is counted to the end.

use std::{collections::HashMap, ops::Range};

use identity::MethodId;

use crate::{
    error::Error,
    format::{Header, NodeChunk, RawNode, Records, node_place},
    model::{CallTree, Function, MethodName, Module, Node, Profile, SampleType},
};

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// If the header is not there, or says what is not known. What is missing behind it goes into
    /// [`damage`](Self::damage).
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let Records { header, chunks, modules, names, damage } = Records::read(bytes)?;
        let mut functions = Functions::new(&modules, names);
        let mut trees = Trees::default();
        for (address, chunk) in &chunks {
            trees.add(*address, chunk, &mut functions);
        }
        Ok(Self {
            trees: trees.into_flat(&header),
            functions: functions.list,
            modules,
            damage,
            sample_types: EXACT.to_vec(),
            duration: header.end_ticks.saturating_sub(header.start_ticks).max(0),
            program: header.program,
            runtime: header.runtime,
            pid: header.pid,
            end: header.end,
            mode: header.mode,
            clock: header.clock,
            ticks_per_second: header.ticks_per_second,
            start_time: header.start_time,
            max_nodes: header.max_nodes,
        })
    }
}

/// The functions met so far.
struct Functions {
    list: Vec<Function>,
    by_id: HashMap<u64, usize>,
    names: HashMap<u64, MethodName>,
    modules: HashMap<u64, usize>,
}

impl Functions {
    fn new(modules: &[Module], names: HashMap<u64, MethodName>) -> Self {
        // Of several modules with the same key the first is meant.
        let modules = modules.iter().enumerate().rev().map(|(index, module)| (module.key, index)).collect();
        Self { list: Vec::new(), by_id: HashMap::new(), names, modules }
    }

    fn index_of(&mut self, method_id: u64) -> usize {
        *self.by_id.entry(method_id).or_insert_with(|| {
            let (id, name) = (MethodId(method_id), self.names.remove(&method_id));
            self.list.push(Function { method_id: id, name, module: self.modules.get(&id.module_key()).copied() });
            self.list.len() - 1
        })
    }
}

/// The call trees, while their chunks come together.
#[derive(Default)]
struct Trees {
    list: Vec<Tree>,
    /// By a tree's address.
    by_address: HashMap<u64, usize>,
    /// Of each chunk, by its address: the tree, and which of its slots these are.
    chunks: HashMap<u64, (usize, Range<usize>)>,
}

/// A call tree; its lists have an entry for each node.
#[derive(Default)]
struct Tree {
    threads: u64,
    lost_calls: u64,
    bad_tokens: u64,
    /// The address of the node that was running.
    current: u64,
    /// Which node stands in each place of the chunks; none in the root's.
    slots: Vec<Option<usize>>,
    nodes: Vec<Node>,
    starts: Vec<i64>,
    calls: Vec<i64>,
    leaves: Vec<i64>,
    open: Vec<i64>,
    wall: Vec<i64>,
}

/// What is measured where each call is counted and timed: the order of [`Tree::into_flat`]'s lists.
const EXACT: [SampleType; 4] = [SampleType::CALLS, SampleType::LEAVES, SampleType::OPEN, SampleType::WALL];

impl Trees {
    fn add(&mut self, address: u64, chunk: &NodeChunk<'_>, functions: &mut Functions) {
        let number = *self.by_address.entry(chunk.tree).or_insert_with(|| {
            self.list.push(Tree::default());
            self.list.len() - 1
        });
        let Some(tree) = self.list.get_mut(number) else { return };
        if let Some(header) = chunk.header {
            (tree.threads, tree.current) = (header.threads, header.current);
            (tree.lost_calls, tree.bad_tokens) = (header.lost_calls, header.bad_tokens);
        }
        let first = tree.slots.len();
        self.chunks.insert(address, (number, first..first + chunk.nodes().len()));
        for raw in chunk.nodes() {
            // A caller is always older than its callee: anything else is damage, and would make a ring.
            let caller = slot(&self.chunks, number, raw.caller).and_then(|slot| *tree.slots.get(slot)?);
            tree.push(&raw, caller, functions);
        }
    }

    fn into_flat(mut self, header: &Header) -> Vec<CallTree> {
        for (number, tree) in self.list.iter_mut().enumerate() {
            let current = slot(&self.chunks, number, tree.current).and_then(|slot| *tree.slots.get(slot)?);
            tree.close_open_calls(current, header);
        }
        self.list.into_iter().map(Tree::into_flat).collect()
    }
}

/// The place of the node of this address among its tree's.
fn slot(chunks: &HashMap<u64, (usize, Range<usize>)>, tree: usize, address: u64) -> Option<usize> {
    let (chunk, index) = node_place(address)?;
    let (_, slots) = chunks.get(&chunk).filter(|(owner, _)| *owner == tree)?;
    slots.clone().nth(index)
}

impl Tree {
    fn push(&mut self, raw: &RawNode, caller: Option<usize>, functions: &mut Functions) {
        let is_root = raw.method_id == 0;
        self.slots.push((!is_root).then_some(self.nodes.len()));
        if !is_root {
            self.nodes.push(Node { function: functions.index_of(raw.method_id), caller });
            self.starts.push(raw.start);
            self.calls.push(raw.calls.try_into().unwrap_or(i64::MAX));
            self.leaves.push(raw.leaves.try_into().unwrap_or(i64::MAX));
            self.open.push(0);
            self.wall.push(raw.total.max(0));
        }
    }

    /// What was running when the file was written goes on to the end: the current node and its callers.
    fn close_open_calls(&mut self, current: Option<usize>, header: &Header) {
        let start_of = |index: usize| self.starts.get(index).copied().unwrap_or(header.start_ticks);
        let mut next = current;
        while let Some((index, node)) = next.and_then(|index| Some((index, self.nodes.get(index)?))) {
            // As many leaves as calls: it was just about to hand back to its caller.
            if self.calls.get(index) > self.leaves.get(index)
                && let (Some(open), Some(wall)) = (self.open.get_mut(index), self.wall.get_mut(index))
            {
                // A call starts no earlier than its caller's: what says so was in the middle of a change.
                let start = start_of(index).max(node.caller.map_or(header.start_ticks, start_of)).max(header.start_ticks);
                *open += 1;
                *wall = wall.saturating_add(header.end_ticks.saturating_sub(start).max(0));
            }
            next = node.caller;
        }
    }

    /// Takes the time of callees out of that of their callers.
    fn into_flat(mut self) -> CallTree {
        for (index, node) in self.nodes.iter().enumerate() {
            // A node's own callees stand behind it, so that its time is still whole here.
            let total = self.wall.get(index).copied().unwrap_or_default();
            if let Some(of_caller) = node.caller.and_then(|caller| self.wall.get_mut(caller)) {
                *of_caller = of_caller.saturating_sub(total);
            }
        }
        let values = vec![self.calls, self.leaves, self.open, self.wall];
        let Self { threads, lost_calls, bad_tokens, nodes, .. } = self;
        CallTree { threads, lost_calls, bad_tokens, nodes, values }
    }
}
