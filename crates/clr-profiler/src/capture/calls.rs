//! Captured calls of threads: the open calls, and the chunks for their records.

use std::{
    alloc::{Layout, alloc_zeroed, handle_alloc_error},
    cell::Cell,
    ptr::{null_mut, slice_from_raw_parts_mut},
    sync::atomic::{AtomicI64, Ordering::Relaxed, Ordering::Release},
};

use profile_format::{
    CallRecordKind,
    calls::{self as layout, MAX_SIZE},
    chunk::HEADER as CHUNK_HEADER,
    header::BLOCK,
};

use super::{MAX_REFERENCES, record::Record};
use crate::{
    call_tree,
    functions::Function,
    profile_file::{self, Chunk, ChunkKind},
    signature::Instance,
};

/// The maximum number of captured open calls per thread. Calls within these are not captured.
const MAX_FRAMES: usize = 4096;
/// Offset in a chunk of calls, after the common header: its number in its tree, the number of the thread's calls that
/// were not captured, and, for the writer, the thread's next older chunk.
const SEQUENCE_AT: usize = layout::SEQUENCE_AT;
const LOST_AT: usize = layout::LOST_AT;
const OLDER_AT: usize = layout::NEWER_AT;

/// An open call.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) function: *const Function,
    /// The stack pointer at which the method was called; 0 if unknown.
    pub(super) called_at: usize,
    /// Null if its types are unknown.
    pub(super) instance: *const Instance,
    pub(super) number: u64,
    /// The number of thread suspensions when the call began.
    pub(super) suspensions: u64,
    /// The targets of its by-reference parameters.
    pub(super) references: [usize; MAX_REFERENCES],
}

impl Frame {
    pub(super) fn unknown(function: &'static Function, called_at: usize) -> Self {
        Self { function, called_at, instance: std::ptr::null(), number: 0, suspensions: 0, references: [0; MAX_REFERENCES] }
    }
}

/// The captured calls of a thread.
pub(crate) struct ThreadCalls {
    tree: u64,
    tree_number: u64,
    chunk: *mut Chunk,
    oldest: *mut Chunk,
    sequence: u64,
    numbered: u64,
    lost: u64,
    /// The number of open calls that are not captured: the innermost ones.
    too_deep: usize,
    depth: usize,
    stack_end: usize,
    frames: Box<[Frame]>,
}

static BYTES_LEFT: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static CALLS: Cell<*mut ThreadCalls> = const { Cell::new(null_mut()) };
}

pub(super) fn start(trace_size: u32) {
    BYTES_LEFT.store(trace_size.into(), Relaxed);
}

/// A thread releases its tree.
pub(crate) fn end_thread() {
    CALLS.set(null_mut());
}

/// This thread's captured calls; `None` if the thread has no tree.
#[inline]
pub(super) fn of_thread() -> Option<&'static mut ThreadCalls> {
    let calls = CALLS.get();
    let calls = if calls.is_null() { begin_thread() } else { calls };
    // SAFETY: they are never freed, and only this thread uses them.
    unsafe { calls.as_mut() }
}

#[cold]
fn begin_thread() -> *mut ThreadCalls {
    let Some((tree, tree_number, calls)) = call_tree::calls_of_thread() else { return null_mut() };
    let calls = calls.get_or_insert_with(|| {
        let frames = no_frames();
        let none = null_mut();
        let (sequence, numbered, lost, too_deep, depth, stack_end) = (0, 0, 0, 0, 0, 0);
        let chunk: *mut Chunk = none;
        Box::new(ThreadCalls {
            tree,
            tree_number,
            chunk,
            oldest: chunk,
            sequence,
            numbered,
            lost,
            too_deep,
            depth,
            stack_end,
            frames,
        })
    });
    (calls.depth, calls.too_deep, calls.stack_end) = (0, 0, stack_end().unwrap_or_default());
    let calls: *mut ThreadCalls = &mut **calls;
    CALLS.set(calls);
    calls
}

/// Zeroed frames; the system provides their memory when they are first written.
fn no_frames() -> Box<[Frame]> {
    let layout = const { Layout::new::<[Frame; MAX_FRAMES]>() };
    // SAFETY: the size is not zero.
    let frames = unsafe { alloc_zeroed(layout) }.cast::<Frame>();
    if frames.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: zeroed frames are valid, and a box of them has that layout.
    unsafe { Box::from_raw(slice_from_raw_parts_mut(frames, MAX_FRAMES)) }
}

/// Whether an address is on this thread's stack, above this function.
pub(super) fn is_on_stack(address: usize) -> bool {
    let here = 0_u8;
    let calls = CALLS.get();
    // SAFETY: as in `of_thread`; only a number is read.
    let end = if calls.is_null() { 0 } else { unsafe { (*calls).stack_end } };
    (std::ptr::from_ref(&here).addr()..end).contains(&address)
}

impl ThreadCalls {
    pub(super) fn is_too_deep(&mut self) -> bool {
        let is_it = self.depth == MAX_FRAMES;
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
        if let Some(slot) = self.frames.get_mut(self.depth) {
            *slot = frame;
            self.depth += 1;
        }
    }

    /// Whether the innermost open call cannot be open while a method runs that was called at this stack pointer.
    pub(super) fn has_gone(&self, called_at: usize) -> bool {
        let innermost = self.depth.checked_sub(1).and_then(|last| self.frames.get(last));
        innermost.is_some_and(|innermost| innermost.called_at != 0 && innermost.called_at <= called_at)
    }

    /// Removes the innermost open call, if [`Self::has_gone`].
    pub(super) fn pop_gone(&mut self, called_at: usize) -> Option<Frame> {
        if !self.has_gone(called_at) {
            return None;
        }
        self.too_deep = 0;
        self.depth -= 1;
        self.frames.get(self.depth).copied()
    }

    /// Removes the innermost open call, if a call of the function at that stack pointer is open.
    pub(super) fn pop(&mut self, function: &'static Function, called_at: usize) -> Option<Frame> {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return None;
        }
        let open = self.frames.get(..self.depth)?;
        // The call is still open, so only calls within it have ended.
        let open = if called_at == 0 { open } else { open.split_at(self.depth.saturating_sub(1)).1 };
        open.iter().rev().position(|frame| std::ptr::eq(frame.function, function))?;
        self.depth -= 1;
        self.frames.get(self.depth).copied()
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
        let taken = has_budget.then(|| profile_file::take(ChunkKind::Calls, self.tree, self.tree_number, CHUNK_HEADER));
        let chunk = taken.flatten().unwrap_or(self.oldest);
        if chunk.is_null() {
            self.lose();
            return None;
        }
        // SAFETY: as in `record`; the header has room for these fields, aligned.
        unsafe {
            let link = |chunk: *mut Chunk| chunk.byte_add(OLDER_AT).cast::<*mut Chunk>();
            if chunk == self.oldest {
                let next = link(chunk).read();
                // Other processes can write to the file, so the value is checked.
                self.oldest = if profile_file::is_chunk(next) { next } else { chunk };
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
