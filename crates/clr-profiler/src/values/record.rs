//! A call's record, written in place and never beyond its maximum size.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};

use profile_format::{
    CallEnd, CallFlags, CallRecordKind, UnreadReason, ValueKind,
    calls::{self, MAX_SIZE},
};

/// The number of UTF-16 code units of a string that are kept.
const MAX_UNITS: u32 = 256;
/// The size of the marker for a value without room.
const UNREAD_SIZE: usize = 2;

/// A record: its bytes from `start` to `at` are written.
pub(super) struct Record {
    start: *mut u8,
    at: *mut u8,
    end: *mut u8,
    /// The counter of the chunk's used bytes.
    used: *const AtomicU64,
    /// The number of bytes reserved for markers of values without room.
    reserve: usize,
    head: Head,
}

/// The fixed head of a record (docs/profile-format.md).
#[repr(C, packed)]
struct Head {
    size: u16,
    kind: u8,
    flags: u8,
    signature: u32,
    number: u64,
    clock: i64,
}

const _: () = assert!(size_of::<Head>() == calls::HEADER);

impl Record {
    /// # Safety
    /// `MAX_SIZE` bytes must be available at `start`, with no other writer. Only this thread may change the
    /// counter.
    pub(super) unsafe fn new(start: *mut u8, used: *const AtomicU64, kind: CallRecordKind, signature: u32, number: u64) -> Self {
        // Each value without room is replaced by two bytes: this reserve is enough for that many parameters.
        const RESERVE: usize = 512;
        let head = Head { size: 0, kind: kind.number(), flags: 0, signature, number, clock: 0 };
        // SAFETY: the caller guarantees this.
        let (at, end) = unsafe { (start.add(size_of::<Head>()), start.add(MAX_SIZE)) };
        Self { start, at, end, used, reserve: RESERVE, head }
    }

    /// Sets a flag of its head.
    pub(super) fn set_flag(&mut self, flag: CallFlags) {
        self.head.flags |= flag.bits();
    }

    /// Notes how the call ended.
    pub(super) fn set_end(&mut self, end: CallEnd) {
        self.head.flags |= end.number();
    }

    /// Completes the record: readers of the file see it from now on.
    pub(super) fn finish(self, clock: i64) {
        let size = self.at.addr() - self.start.addr();
        // SAFETY: the head's place is reserved, and needs no alignment. Only this thread changes the counter.
        unsafe {
            self.start.cast::<Head>().write(Head { size: size as u16, clock, ..self.head });
            (*self.used).store((*self.used).load(Relaxed) + size as u64, Release);
        }
    }

    /// Writes a complete value, or a marker that there was no room for it.
    pub(super) fn whole(&mut self, put: impl FnOnce(&mut Self) -> Option<()>) {
        let before = self.at;
        if put(self).is_none() {
            self.at = before;
            self.unread(UnreadReason::NoRoom);
        }
    }

    /// Writes the reason why a value was not read. There is always room for it.
    pub(super) fn unread(&mut self, reason: UnreadReason) {
        self.reserve = self.reserve.saturating_sub(UNREAD_SIZE);
        let _ = self.try_unread(reason);
    }

    pub(super) fn try_unread(&mut self, reason: UnreadReason) -> Option<()> {
        self.put(&[ValueKind::Unread.number(), reason.number()])
    }

    pub(super) fn byte(&mut self, byte: impl Into<u8>) -> Option<()> {
        self.put(&[byte.into()])
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

    /// Writes a string's length, and its first code units; none if they cannot be read.
    ///
    /// # Safety
    /// `length` units must be at `units_at`.
    pub(super) unsafe fn string(&mut self, length: u32, units_at: Option<usize>) -> Option<()> {
        let shown = if units_at.is_some() { length.min(MAX_UNITS) } else { 0 };
        self.byte(ValueKind::String)?;
        self.u32(length)?;
        self.put(&(shown as u16).to_le_bytes())?;
        // SAFETY: the caller guarantees this.
        unsafe { self.copy(units_at.unwrap_or_default(), 2 * shown as usize) }
    }

    /// Copies bytes of the program's memory.
    ///
    /// # Safety
    /// `size` bytes must be at `from`.
    #[inline]
    pub(super) unsafe fn copy(&mut self, from: usize, size: usize) -> Option<()> {
        if self.end.addr() - self.at.addr() < size + self.reserve {
            return None;
        }
        // SAFETY: the caller guarantees the source, and there is room for the bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(std::ptr::with_exposed_provenance::<u8>(from), self.at, size);
            self.at = self.at.add(size);
        }
        Some(())
    }
}
