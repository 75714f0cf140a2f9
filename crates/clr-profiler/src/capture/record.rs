//! A record of a call, while it is written: in its place, and never beyond it.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};

use profile::calls::{kind, record, unread};

/// Units of a string that are kept.
const MAX_UNITS: u32 = 256;
/// What stands for a value that there is no room for.
const UNREAD_SIZE: usize = 2;

/// A record: bytes from `start` on, of which those before `at` are written.
pub(super) struct Record {
    start: *mut u8,
    at: *mut u8,
    end: *mut u8,
    /// Where its size is counted.
    used: *const AtomicU64,
    /// How much room is left for what has no room.
    reserve: usize,
    head: Head,
}

/// What it begins with (docs/profile-format.md).
#[repr(C, packed)]
struct Head {
    size: u16,
    kind: u8,
    what: u8,
    signature: u32,
    number: u64,
    clock: i64,
}

impl Record {
    /// # Safety
    /// There have to be `record::MAX_SIZE` bytes that nobody else writes to, and the counter, which this thread alone changes.
    pub(super) unsafe fn new(start: *mut u8, used: *const AtomicU64, kind: u8, signature: u32, number: u64) -> Self {
        // Each value but those that fit may become two bytes: for that many parameters there is room in any case.
        const RESERVE: usize = 512;
        let head = Head { size: 0, kind, what: 0, signature, number, clock: 0 };
        // SAFETY: the caller's word.
        let (at, end) = unsafe { (start.add(size_of::<Head>()), start.add(record::MAX_SIZE)) };
        Self { start, at, end, used, reserve: RESERVE, head }
    }

    /// It has that, too: a flag of its head.
    pub(super) fn has(&mut self, what: u8) {
        self.head.what |= what;
    }

    /// It is whole: who reads the file sees it from now on.
    pub(super) fn end(self, clock: i64) {
        let size = self.at.addr() - self.start.addr();
        // SAFETY: its place was left free, and needs no alignment; nobody else changes the counter.
        unsafe {
            self.start.cast::<Head>().write(Head { size: size as u16, clock, ..self.head });
            (*self.used).store((*self.used).load(Relaxed) + size as u64, Release);
        }
    }

    /// A value as a whole, or that there was no room for it.
    pub(super) fn whole(&mut self, put: impl FnOnce(&mut Self) -> Option<()>) {
        let before = self.at;
        if put(self).is_none() {
            self.at = before;
            self.unread(unread::NO_ROOM);
        }
    }

    /// Why a value is not there: for that there is room.
    pub(super) fn unread(&mut self, reason: u8) {
        self.reserve = self.reserve.saturating_sub(UNREAD_SIZE);
        let _ = self.try_unread(reason);
    }

    pub(super) fn try_unread(&mut self, reason: u8) -> Option<()> {
        self.put(&[kind::UNREAD, reason])
    }

    pub(super) fn byte(&mut self, byte: u8) -> Option<()> {
        self.put(&[byte])
    }

    pub(super) fn u32(&mut self, number: u32) -> Option<()> {
        self.put(&number.to_le_bytes())
    }

    pub(super) fn u64(&mut self, number: u64) -> Option<()> {
        self.put(&number.to_le_bytes())
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        // SAFETY: they are there.
        unsafe { self.copy(bytes.as_ptr().expose_provenance(), bytes.len()) }
    }

    /// A string's length, and the first of its units.
    ///
    /// # Safety
    /// There have to be that many.
    pub(super) unsafe fn string(&mut self, length: u32, units_at: usize) -> Option<()> {
        let shown = length.min(MAX_UNITS);
        self.byte(kind::STRING)?;
        self.u32(length)?;
        self.put(&(shown as u16).to_le_bytes())?;
        // SAFETY: the caller's word.
        unsafe { self.copy(units_at, 2 * shown as usize) }
    }

    /// Bytes of the program's.
    ///
    /// # Safety
    /// They have to be there.
    #[inline]
    pub(super) unsafe fn copy(&mut self, from: usize, size: usize) -> Option<()> {
        if self.end.addr() - self.at.addr() < size + self.reserve {
            return None;
        }
        // SAFETY: there is room for them.
        unsafe {
            std::ptr::copy_nonoverlapping(std::ptr::with_exposed_provenance::<u8>(from), self.at, size);
            self.at = self.at.add(size);
        }
        Some(())
    }
}
