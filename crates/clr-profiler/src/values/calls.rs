//! Captured calls of threads: the open calls, and the chunks for their records.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    ptr::null_mut,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed, Ordering::Release},
    },
};

use profile_format::{
    CallRecordKind,
    calls::{LOST_AT, MAX_SIZE, NEWER_AT, SEQUENCE_AT},
    chunk::HEADER as CHUNK_HEADER,
    header::BLOCK,
};

use super::record::Record;
use crate::{
    file::{self, Chunk, ChunkKind},
    function::{Function, Instance},
    tree::{self, TreeId},
};

/// The maximum number of captured open calls per thread. Calls within these are not captured.
const MAX_FRAMES: usize = 4096;

/// The maximum number of by-reference parameters of a call that are read again at its end.
pub(super) const MAX_REFERENCES: usize = 6;

/// An open call.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) function: &'static Function,
    /// The stack pointer at which the method was called; 0 if unknown.
    pub(super) called_at: usize,
    /// `None` if its types are unknown.
    pub(super) instance: Option<&'static Instance>,
    pub(super) number: u64,
    /// The number of thread suspensions when the call began.
    pub(super) suspensions: u64,
    /// The targets of its by-reference parameters.
    pub(super) references: [usize; MAX_REFERENCES],
}

impl Frame {
    pub(super) fn unknown(function: &'static Function, called_at: usize) -> Self {
        Self { function, called_at, instance: None, number: 0, suspensions: 0, references: [0; MAX_REFERENCES] }
    }
}

/// The captured calls of a thread.
pub(super) struct ThreadCalls {
    tree: TreeId,
    chunk: *mut Chunk,
    oldest: *mut Chunk,
    sequence: u64,
    numbered: u64,
    lost: u64,
    /// The number of open calls that are not captured: the innermost ones.
    too_deep: usize,
    stack_end: usize,
    frames: Vec<Frame>,
}

static BYTES_LEFT: AtomicI64 = AtomicI64::new(0);

/// The captured calls of a tree. Threads that take the tree over continue them.
struct OfTree {
    tree: TreeId,
    calls: RefCell<ThreadCalls>,
}

/// Calls of any thread.
#[derive(Clone, Copy)]
struct AnyCalls(&'static OfTree);

// SAFETY: only the thread that owns the tree uses its calls.
unsafe impl Send for AnyCalls {}

/// Those of all trees, by their numbers. They are never freed.
static ALL: Mutex<Option<HashMap<u64, AnyCalls>>> = Mutex::new(None);

thread_local! {
    static CALLS: Cell<Option<&'static OfTree>> = const { Cell::new(None) };
}

/// Sets how many bytes may be taken, over all threads.
pub(super) fn set_budget(trace_size: u32) {
    BYTES_LEFT.store(trace_size.into(), Relaxed);
}

/// Calls a function with this thread's captured calls; returns `None` if the thread has no tree.
#[inline]
pub(super) fn of_thread<T>(with: impl FnOnce(&mut ThreadCalls) -> T) -> Option<T> {
    let tree = tree::tree_of_thread()?;
    let calls = CALLS.get().filter(|calls| calls.tree == tree).unwrap_or_else(|| begin_thread(tree));
    Some(with(&mut calls.calls.borrow_mut()))
}

#[cold]
fn begin_thread(tree: TreeId) -> &'static OfTree {
    let new = || AnyCalls(Box::leak(Box::new(OfTree { tree, calls: RefCell::new(ThreadCalls::new(tree)) })));
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let AnyCalls(of_tree) = *all.get_or_insert_default().entry(tree.number).or_insert_with(new);
    let mut calls = of_tree.calls.borrow_mut();
    calls.frames.clear();
    (calls.too_deep, calls.stack_end) = (0, stack_end().unwrap_or_default());
    CALLS.set(Some(of_tree));
    of_tree
}

impl ThreadCalls {
    fn new(tree: TreeId) -> Self {
        let (chunk, oldest) = (null_mut(), null_mut());
        // The system provides the memory when it is first written.
        let frames = Vec::with_capacity(MAX_FRAMES);
        Self { tree, chunk, oldest, sequence: 0, numbered: 0, lost: 0, too_deep: 0, stack_end: 0, frames }
    }

    /// Whether an address is on this thread's stack, above this function.
    pub(super) fn is_on_stack(&self, address: usize) -> bool {
        let here = 0_u8;
        (std::ptr::from_ref(&here).addr()..self.stack_end).contains(&address)
    }

    pub(super) fn is_too_deep(&mut self) -> bool {
        let is_it = self.frames.len() == MAX_FRAMES;
        if is_it {
            self.too_deep += 1;
            self.lose();
        }
        is_it
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }

    pub(super) fn push(&mut self, frame: Frame) {
        if self.frames.len() < MAX_FRAMES {
            self.frames.push(frame);
        }
    }

    /// Whether the innermost open call cannot be open while a method runs that was called at this stack pointer.
    pub(super) fn has_gone(&self, called_at: usize) -> bool {
        self.frames.last().is_some_and(|innermost| innermost.called_at != 0 && innermost.called_at <= called_at)
    }

    /// Removes the innermost open call, if [`Self::has_gone`].
    pub(super) fn pop_gone(&mut self, called_at: usize) -> Option<Frame> {
        if !self.has_gone(called_at) {
            return None;
        }
        self.too_deep = 0;
        self.frames.pop()
    }

    /// Removes the innermost open call, if a call of the function at that stack pointer is open.
    pub(super) fn pop(&mut self, function: &Function, called_at: usize) -> Option<Frame> {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return None;
        }
        // At a known stack pointer the call is still open, so only calls within it have ended.
        let seen = if called_at == 0 { self.frames.len() } else { 1 };
        let is_open = self.frames.iter().rev().take(seen).any(|frame| std::ptr::eq(frame.function, function));
        if is_open { self.frames.pop() } else { None }
    }

    /// Begins a record; `None` if there is no room.
    pub(super) fn record(&mut self, kind: CallRecordKind, signature: u32, number: u64) -> Option<Record> {
        loop {
            // SAFETY: chunks stay mapped, and this thread alone writes to its own.
            unsafe {
                if !self.chunk.is_null() {
                    let used = (*self.chunk).in_use();
                    if used + MAX_SIZE <= BLOCK {
                        let place = self.chunk.byte_add(used).cast();
                        return Some(Record::new(place, &raw const (*self.chunk).used, kind, signature, number));
                    }
                }
            }
            self.next_chunk()?;
        }
    }

    /// A new chunk, or the oldest one, to be overwritten.
    #[cold]
    fn next_chunk(&mut self) -> Option<()> {
        let block = BLOCK as i64;
        let has_budget = self.chunk.is_null() || BYTES_LEFT.fetch_sub(block, Relaxed) >= block;
        let taken = has_budget.then(|| file::take(ChunkKind::Calls, self.tree.address, self.tree.number, CHUNK_HEADER));
        let chunk = taken.flatten().unwrap_or(self.oldest);
        if chunk.is_null() {
            self.lose();
            return None;
        }
        // SAFETY: as in `record`; the header has room for these fields, aligned.
        unsafe {
            let link = |chunk: *mut Chunk| chunk.byte_add(NEWER_AT).cast::<*mut Chunk>();
            if chunk == self.oldest {
                let next = link(chunk).read();
                // Other processes can write to the file, so the value is checked.
                self.oldest = if file::is_chunk(next) { next } else { chunk };
                // Readers see a complete chunk, or an empty one.
                (*chunk).used.store(CHUNK_HEADER as u64, Release);
            }
            if self.chunk.is_null() {
                self.oldest = chunk;
            } else if self.chunk != chunk {
                link(self.chunk).write(chunk);
            }
            link(chunk).write(null_mut());
            self.sequence += 1;
            chunk.byte_add(SEQUENCE_AT).cast::<u64>().write(self.sequence);
            chunk.byte_add(LOST_AT).cast::<u64>().write(std::mem::take(&mut self.lost));
        }
        self.chunk = chunk;
        Some(())
    }

    /// Counts a call that is not captured.
    fn lose(&mut self) {
        if self.chunk.is_null() {
            self.lost += 1;
            return;
        }
        // SAFETY: as in `record`.
        unsafe {
            let lost = self.chunk.byte_add(LOST_AT).cast::<u64>();
            lost.write(lost.read() + 1);
        }
    }
}

/// The highest address of this thread's stack.
#[cfg(target_os = "linux")]
fn stack_end() -> Option<usize> {
    let (mut start, mut size) = (null_mut(), 0);
    // SAFETY: the attributes are initialized, read and destroyed in order.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let found = libc::pthread_attr_getstack(&attributes, &mut start, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        (found == 0).then(|| start.addr() + size)
    }
}

#[cfg(windows)]
fn stack_end() -> Option<usize> {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetCurrentThreadStackLimits(low: *mut usize, high: *mut usize);
    }
    let (mut low, mut high) = (0, 0);
    // SAFETY: the call writes both numbers.
    unsafe { GetCurrentThreadStackLimits(&mut low, &mut high) };
    Some(high)
}

#[cfg(not(any(target_os = "linux", windows)))]
fn stack_end() -> Option<usize> {
    None
}
