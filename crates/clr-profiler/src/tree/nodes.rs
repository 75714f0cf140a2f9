//! Nodes, statistics and trees in chunks of the file.

use std::{
    cell::{Cell, RefCell},
    ptr::null_mut,
    sync::atomic::{AtomicI64, Ordering::Relaxed, Ordering::Release},
};

use hashbrown::HashMap;
use profile_format::{
    chunk::HEADER as CHUNK_HEADER,
    header::BLOCK,
    node::{FIRST_AT as FIRST_NODE, SIZE as NODE},
    statistics::SIZE as STATISTICS,
};

use super::{
    allocations,
    layout::{Compiling, Memory, Node, OVERFLOW, Own, ROOT, Statistics, Tree, add},
};
use crate::{
    file::{self, Chunk, ChunkKind},
    process::clock,
};

/// Nodes with more callees than this use the index.
const MAX_WALK: u64 = 8;

/// The number of nodes that may still be created, over all trees.
static NODES_LEFT: AtomicI64 = AtomicI64::new(0);

/// Sets the number of nodes that may be created.
pub(super) fn set_limit(nodes: u32) {
    NODES_LEFT.store(nodes.into(), Relaxed);
}

/// The node of a caller's callee, created if necessary. `None` if no node is left: then all such calls of the method
/// share one node.
#[cold]
pub(super) fn callee_with_path(tree: Own<Tree>, caller: Own<Node>, method_id: u64) -> Option<Own<Node>> {
    let has_path = tree.memory.overflowed.borrow().is_empty();
    if has_path { callee(tree, caller, method_id) } else { None }
}

/// The node of a caller's callee, created if necessary; `None` if no node is left.
pub(super) fn callee(tree: Own<Tree>, caller: Own<Node>, method_id: u64) -> Option<Own<Node>> {
    let (first, count) = (caller.callees.get(), caller.callee_count.get());
    let mut node = first;
    for _ in 0..MAX_WALK.min(count) {
        node = node.and_then(|node| node.next.get());
        if let Some(found) = node.filter(|node| node.method_id.get() == method_id) {
            return Some(found);
        }
    }
    let mut index = tree.memory.index.borrow_mut();
    if count > MAX_WALK
        && let Some(found) = index.get(&(caller.address(), method_id))
    {
        return Some(*found);
    }
    let added = new_node(tree, method_id, Some(caller))?;
    match first {
        None => added.next.set(Some(added)),
        Some(first) => added.next.set(first.next.replace(Some(added))),
    }
    add(&caller.callee_count, 1);
    if count == MAX_WALK {
        let mut node = Some(added);
        for _ in 0..=MAX_WALK {
            let Some(of_ring) = node else { break };
            index.insert((caller.address(), of_ring.method_id.get()), of_ring);
            node = of_ring.next.get();
        }
    } else if count > MAX_WALK {
        index.insert((caller.address(), method_id), added);
    }
    Some(added)
}

/// The root of calls without a node of their path; `None` if there is no room for it.
pub(super) fn overflow_root(tree: Own<Tree>) -> Option<Own<Node>> {
    if tree.overflow_root.get().is_none() {
        let added = new_node(tree, 0, None);
        added.iter().for_each(|root| root.flags.set(ROOT | OVERFLOW));
        tree.overflow_root.set(added);
    }
    tree.overflow_root.get()
}

/// Only roots have no caller.
fn new_node(tree: Own<Tree>, method_id: u64, caller: Option<Own<Node>>) -> Option<Own<Node>> {
    let overflow = caller.map_or(0, |caller| caller.flags.get() & OVERFLOW);
    // The overflow root has at most one node per method.
    if caller.is_some() && overflow == 0 && NODES_LEFT.fetch_sub(1, Relaxed) <= 0 {
        NODES_LEFT.fetch_add(1, Relaxed);
        return None;
    }
    let memory = tree.memory;
    if tree.free.get() == tree.end.get() {
        let chunk = file::take(ChunkKind::Nodes, tree.address() as u64, memory.tree_number, FIRST_NODE)?;
        // SAFETY: the chunk is new, and the tree's alone.
        memory.node_chunk.set(unsafe { Own::new(chunk) }?);
        // SAFETY: a chunk is a whole block, and its nodes begin here.
        unsafe {
            tree.free.set(chunk.byte_add(FIRST_NODE).cast());
            tree.end.set(chunk.byte_add(BLOCK).cast());
        }
    }
    let free = tree.free.get();
    // SAFETY: from here to the end of the tree's chunk, all nodes are zeroed, which is valid, and unused.
    let node = unsafe {
        tree.free.set(free.add(allocations::slots_of_node()));
        Own::new(free)
    }?;
    node.method_id.set(method_id);
    node.caller.set(caller);
    node.flags.set(overflow);
    node.number.set(memory.numbered.replace(memory.numbered.get() + 1));
    // Readers of the file see complete nodes only.
    memory.node_chunk.get().used.fetch_add((allocations::slots_of_node() * NODE) as u64, Release);
    Some(node)
}

/// Statistics for a node whose first call took that long; `None` if there is no room.
pub(super) fn new_statistics(tree: Own<Tree>, first: i64) -> Option<Own<Statistics>> {
    let memory = tree.memory;
    if tree.free_statistics.get() == tree.end_of_statistics.get() {
        let chunk = file::take(ChunkKind::Statistics, tree.address() as u64, memory.tree_number, STATISTICS)?;
        // SAFETY: the chunk is new, a whole block, and the tree's alone.
        unsafe { use_statistics(tree, chunk) };
    }
    let free = tree.free_statistics.get();
    // SAFETY: from here to the end of the tree's chunk, all statistics are zeroed, which is valid, and unused.
    let added = unsafe {
        tree.free_statistics.set(free.add(1));
        Own::new(free)
    }?;
    added.first.set(first);
    added.min.set(i64::MAX);
    memory.statistics_chunk.get()?.used.fetch_add(STATISTICS as u64, Release);
    Some(added)
}

/// # Safety
/// The chunk must be one block, zeroed except for its header, and belong to the tree alone.
unsafe fn use_statistics(tree: Own<Tree>, chunk: *mut Chunk) {
    // SAFETY: the caller guarantees this.
    unsafe {
        tree.memory.statistics_chunk.set(Own::new(chunk));
        tree.free_statistics.set(chunk.byte_add(STATISTICS).cast());
        tree.end_of_statistics.set(chunk.byte_add(BLOCK).cast());
    }
}

/// A tree in a new chunk of the file.
pub(super) fn new_tree(number: u64) -> Option<Own<Tree>> {
    let chunk = file::take_first(number)?;
    // SAFETY: the chunk is new.
    unsafe { tree_in(chunk, number) }
}

/// A tree that is in no file, with room for a few nodes.
pub(super) fn tree_of_no_file() -> Option<Own<Tree>> {
    let block = || Box::leak(vec![0_u64; BLOCK / size_of::<u64>()].into_boxed_slice()).as_mut_ptr().cast::<Chunk>();
    // SAFETY: the blocks are zeroed, as large as chunks, and never freed.
    unsafe {
        let tree = tree_in(block(), 0)?;
        use_statistics(tree, block());
        Some(tree)
    }
}

/// # Safety
/// The chunk must be a node chunk of one block, zeroed except for its header, and belong to this thread. It must stay
/// mapped for as long as a thread uses the tree.
unsafe fn tree_in(chunk: *mut Chunk, number: u64) -> Option<Own<Tree>> {
    let (now, slots) = (clock::now(), allocations::slots_of_node());
    // SAFETY: a chunk has room for a tree and nodes, and a zeroed node is valid. The box is freed with the tree.
    unsafe {
        let (first, node_chunk) = (chunk.byte_add(FIRST_NODE).cast::<Node>(), Own::new(chunk)?);
        let root = Own::new(first)?;
        root.flags.set(ROOT);
        root.start.set(now);
        let memory = Box::into_raw(Box::new(Memory {
            node_chunk: Cell::new(node_chunk),
            statistics_chunk: Cell::default(),
            tree_number: number,
            numbered: Cell::new(1),
            overflowed: RefCell::default(),
            skipped: RefCell::default(),
            searching: RefCell::default(),
            index: RefCell::new(HashMap::default()),
            compiling: Compiling::default(),
            pauses_seen: Cell::default(),
            bytes_before: Cell::default(),
        }));
        let tree: *mut Tree = chunk.byte_add(CHUNK_HEADER).cast();
        tree.write(Tree {
            current: Cell::new(root),
            free: Cell::new(first.add(slots)),
            end: Cell::new(chunk.byte_add(BLOCK).cast()),
            root,
            threads: Cell::new(1),
            lost_calls: Cell::default(),
            bad_leaves: Cell::default(),
            frame: 0,
            overflow_root: Cell::default(),
            cpu_time: AtomicI64::new(-1),
            started: now,
            managed_thread_id: number,
            bytes: Cell::default(),
            run_delay: -1,
            cpu_clock: AtomicI64::default(),
            cpu_before: AtomicI64::default(),
            free_statistics: Cell::new(null_mut()),
            end_of_statistics: Cell::new(null_mut()),
            skipped: Cell::default(),
            reserved: 0,
            memory: Own::new(memory)?,
            throwing_type: 0,
            events: [0; 2],
        });
        node_chunk.used.fetch_add((slots * NODE) as u64, Release);
        Own::new(tree)
    }
}
