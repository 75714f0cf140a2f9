//! The call paths of samples: nodes in the profile's file, a tree for each thread (docs/profile-format.md).

use std::{ptr::null_mut, sync::atomic::Ordering::Release, time::Duration};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use profile_format::{NodeFlags, chunk, header::BLOCK, node, tree};

use crate::{
    file::{self, Chunk, ChunkKind},
    process::clock,
    tree::check_offsets,
};

/// A node, as it lies in the file.
#[repr(C)]
struct Node {
    method_id: u64,
    _links: u64,
    caller: *mut Node,
    samples: i64,
    _calls: u64,
    /// Ticks of the method itself.
    ticks: i64,
    _others: [u64; 4],
    flags: u32,
    _exceptions: u32,
    _exception_type: u32,
    number: u32,
    _more: [u64; 3],
    /// The part of the ticks that was CPU time, in ns.
    cpu: i64,
}

/// The head of a tree, in front of its nodes.
#[repr(C)]
struct Head {
    _current: u64,
    _free: u64,
    _end: u64,
    root: *mut Node,
    threads: u64,
    lost: u64,
    _bad: u64,
    _frames: [u64; 2],
    cpu: i64,
    started: i64,
    thread_id: u64,
    _tracker: u64,
    run_delay: i64,
    _rest: [u64; 10],
}

check_offsets! {
    Node: node {
        method_id: METHOD_ID_AT, caller: CALLER_AT, samples: START_AT, ticks: TOTAL_AT, flags: FLAGS_AT, number: NUMBER_AT,
        cpu: CPU_AT
    }
    Head: tree {
        root: ROOT_AT, threads: THREADS_AT, lost: LOST_CALLS_AT, cpu: CPU_AT, started: STARTED_AT, thread_id: MANAGED_THREAD_AT,
        run_delay: RUN_DELAY_AT
    }
}

/// The paths of one thread, or of several threads one after another.
pub(super) struct Paths {
    head: *mut Head,
    chunk: *mut Chunk,
    /// The number of the next node, and of nodes for which the chunk has room.
    next: usize,
    root: *mut Node,
    number: u64,
    numbered: u32,
    callees: HashMap<(usize, u64), usize, RandomState>,
}

// SAFETY: the pointers lead into the profile's mapping, and only the owner writes there.
unsafe impl Send for Paths {}

/// Paths for threads. Those of ended threads are used again.
#[derive(Default)]
pub(super) struct AllPaths {
    unowned: Vec<Paths>,
    count: u64,
}

impl AllPaths {
    /// Paths for a new thread; `None` if the profile has no room.
    pub(super) fn take(&mut self) -> Option<Paths> {
        if let Some(mut paths) = self.unowned.pop() {
            paths.next_thread();
            return Some(paths);
        }
        self.count += 1;
        Paths::new(self.count)
    }

    /// The thread of these paths has ended.
    pub(super) fn give_back(&mut self, paths: Paths) {
        self.unowned.push(paths);
    }
}

const PER_CHUNK: usize = (BLOCK - node::FIRST_AT) / node::SIZE;

/// How much a sample adds to its path.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) samples: i64,
    pub(super) ticks: i64,
    pub(super) cpu: i64,
}

impl Value {
    /// The value of one sample of elapsed time.
    pub(super) fn of_elapsed(time: Duration, is_running: bool) -> Self {
        let ns = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        Self { samples: 1, ticks: ns, cpu: if is_running { ns } else { 0 } }
    }
}

impl Paths {
    /// New paths with this number; `None` if the profile has no room.
    fn new(number: u64) -> Option<Self> {
        let chunk = file::take_first(number)?;
        let mut paths = Self {
            // SAFETY: a first chunk has room for a head behind its own header.
            head: unsafe { chunk.byte_add(chunk::HEADER).cast() },
            chunk,
            next: 0,
            root: null_mut(),
            number,
            numbered: 0,
            callees: HashMap::default(),
        };
        paths.root = paths.add(null_mut(), 0)?;
        // SAFETY: the head and the root are in the chunk, which stays mapped while samples are recorded.
        unsafe {
            (*paths.root).flags = NodeFlags::ROOT.bits();
            let head = &mut *paths.head;
            (head.root, head.threads, head.cpu, head.run_delay) = (paths.root, 1, -1, -1);
            (head.started, head.thread_id) = (clock::now(), number);
        }
        Some(paths)
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Another thread uses the tree from here on.
    fn next_thread(&mut self) {
        // SAFETY: as in `new`.
        unsafe { (*self.head).threads += 1 };
    }

    /// Adds CPU time of the thread, in ns.
    pub(super) fn add_cpu_time(&mut self, ns: i64) {
        // SAFETY: as in `new`.
        unsafe { (*self.head).cpu = (*self.head).cpu.max(0) + ns };
    }

    /// Adds a sample of a path, outermost method first. `left` is the number of nodes that may still be created: if none may, the
    /// sample counts for the callers that have nodes.
    pub(super) fn record(&mut self, path: impl Iterator<Item = u64>, value: Value, left: &mut i64) {
        let mut node = self.root;
        for method in path {
            node = match self.callees.get(&(node.addr(), method)) {
                Some(known) => std::ptr::with_exposed_provenance_mut(*known),
                None => match self.add_limited(node, method, left) {
                    Some(added) => added,
                    None => {
                        // SAFETY: as in `new`.
                        unsafe { (*self.head).lost += value.samples.max(0) as u64 };
                        break;
                    }
                },
            };
        }
        // A root has no values.
        if node != self.root {
            // SAFETY: as in `new`.
            unsafe {
                (*node).samples += value.samples;
                (*node).ticks += value.ticks;
                (*node).cpu += value.cpu;
            }
        }
    }

    fn add_limited(&mut self, caller: *mut Node, method: u64, left: &mut i64) -> Option<*mut Node> {
        if *left <= 0 {
            return None;
        }
        *left -= 1;
        let added = self.add(caller, method)?;
        // Chunks lie in several mappings, so that addresses alone are kept.
        self.callees.insert((caller.addr(), method), added.expose_provenance());
        Some(added)
    }

    fn add(&mut self, caller: *mut Node, method: u64) -> Option<*mut Node> {
        if self.next == PER_CHUNK {
            self.chunk = file::take(ChunkKind::Nodes, self.head.addr() as u64, self.number, node::FIRST_AT)?;
            self.next = 0;
        }
        // SAFETY: the chunk has room for it, and is zeroed there.
        unsafe {
            let node: *mut Node = self.chunk.byte_add(node::FIRST_AT + node::SIZE * self.next).cast();
            (*node).method_id = method;
            (*node).caller = caller;
            (*node).number = self.numbered;
            self.next += 1;
            self.numbered += 1;
            // Readers of the file see complete nodes only.
            (*self.chunk).used.fetch_add(node::SIZE as u64, Release);
            Some(node)
        }
    }
}
