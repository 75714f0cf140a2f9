//! A record of a call, while it is written: in its place, and never beyond it.

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
    used: *const std::sync::atomic::AtomicU64,
    /// How much room is left for what has no room.
    reserve: usize,
}

impl Record {
    /// # Safety
    /// There have to be `record::MAX_SIZE` bytes that nobody else writes to, and the counter.
    pub(super) unsafe fn new(start: *mut u8, used: *const std::sync::atomic::AtomicU64) -> Self {
        // Each value but those that fit may become two bytes: for that many parameters there is room in any case.
        const RESERVE: usize = 512;
        // SAFETY: the caller's word.
        let end = unsafe { start.add(record::MAX_SIZE) };
        Self { start, at: start, end, used, reserve: RESERVE }
    }

    /// What it begins with; the rest comes by [`end`](Self::end).
    pub(super) fn head(&mut self, kind: u8, signature: u32, number: u64) {
        let _ = self.put(&[0, 0, kind, 0]).and_then(|()| self.u32(signature)).and_then(|()| self.u64(number));
        let _ = self.u64(0);
    }

    /// It is whole: who reads the file sees it from now on.
    pub(super) fn end(self, what: u8, clock: i64) {
        let size = self.at.addr() - self.start.addr();
        // SAFETY: the head was written.
        unsafe {
            self.start.cast::<[u8; 2]>().write((size as u16).to_le_bytes());
            self.start.add(3).write(what);
            self.start.add(16).cast::<[u8; 8]>().write(clock.to_le_bytes());
            (*self.used).fetch_add(size as u64, std::sync::atomic::Ordering::Release);
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
