//! The samples of one thread: its signal handler writes them, the sampler's thread reads them.

use std::{
    ptr::NonNull,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release},
};

use super::walk::{End, MAX_FRAMES};
use crate::sampler::prologue::TOP_WORDS;

/// The size of a ring in words, a power of two.
const WORDS: usize = 8 << 10;
const BYTES: usize = WORDS * size_of::<u64>();
/// Words of a sample before its addresses: its size and weight, its end and the number of top words.
const HEAD: usize = 2;
/// The most words that a sample takes.
const LARGEST: usize = HEAD + 1 + MAX_FRAMES + 2 + TOP_WORDS;

/// A ring of samples with one writer and one reader.
pub(in crate::sampler) struct Ring {
    words: NonNull<AtomicU64>,
    /// Words written and read so far.
    written: AtomicUsize,
    read: AtomicUsize,
    /// The weight of samples for which there was no room.
    lost: AtomicU64,
}

// SAFETY: the words are atomic, and they stay mapped as long as the ring lives.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the ring's own mapping.
        unsafe { libc::munmap(self.words.as_ptr().cast(), BYTES) };
    }
}

/// A sample, as it is read.
#[derive(Default, Debug)]
pub(in crate::sampler) struct Sample {
    /// The number of periods that it stands for.
    pub(in crate::sampler) weight: u64,
    pub(in crate::sampler) end: Option<End>,
    /// The interrupted address, then return addresses, innermost first. Empty for time in the kernel without a known caller.
    pub(in crate::sampler) addresses: Vec<usize>,
    /// The words from the stack pointer on.
    pub(in crate::sampler) top: Vec<usize>,
}

impl Ring {
    /// Maps an empty ring. Its pages take memory once they are written.
    pub(in crate::sampler) fn new() -> Option<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new anonymous mapping.
        let words = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, kind, -1, 0) };
        let words = NonNull::new(words.cast()).filter(|_| words != libc::MAP_FAILED)?;
        Some(Self { words, written: 0.into(), read: 0.into(), lost: 0.into() })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the index is within the mapping, which lives as long as `self`.
        unsafe { self.words.add(index & (WORDS - 1)).as_ref() }
    }

    /// Begins a sample; `None` if there is no room. For signal handlers.
    pub(in crate::sampler) fn begin(&self, weight: u64) -> Option<Writer<'_>> {
        let start = self.written.load(Relaxed);
        if start.wrapping_sub(self.read.load(Acquire)) > WORDS - LARGEST {
            self.lost.fetch_add(weight, Relaxed);
            return None;
        }
        Some(Writer { ring: self, start, weight, count: 0 })
    }

    /// The weight of lost samples since the last call.
    pub(in crate::sampler) fn take_lost(&self) -> u64 {
        self.lost.swap(0, Relaxed)
    }

    /// Reads the next sample into `sample`. Returns whether there was one.
    pub(in crate::sampler) fn next(&self, sample: &mut Sample) -> bool {
        let start = self.read.load(Relaxed);
        if start == self.written.load(Acquire) {
            return false;
        }
        let word = |index: usize| self.word(start.wrapping_add(index)).load(Relaxed);
        let (head, rest) = (word(0), word(1));
        let (count, top) = (head as u32 as usize, (rest >> 8) as usize);
        sample.weight = head >> 32;
        sample.end = match rest & 0xFF {
            1 => Some(End::UnknownCode),
            2 => Some(End::Cut),
            _ => Some(End::Outermost),
        };
        sample.addresses.clear();
        sample.addresses.extend((HEAD..HEAD + count).map(|index| word(index) as usize));
        sample.top.clear();
        sample.top.extend((HEAD + count..HEAD + count + top).map(|index| word(index) as usize));
        self.read.store(start.wrapping_add(HEAD + count + top), Release);
        true
    }
}

/// Writes a sample. It becomes visible by [`Writer::end`].
pub(in crate::sampler) struct Writer<'r> {
    ring: &'r Ring,
    start: usize,
    weight: u64,
    count: usize,
}

impl Writer<'_> {
    pub(in crate::sampler) fn address(&mut self, address: usize) {
        self.ring.word(self.start.wrapping_add(HEAD + self.count)).store(address as u64, Relaxed);
        self.count += 1;
    }

    /// Ends the sample with the words of its stack's top.
    pub(in crate::sampler) fn end(self, end: End, top: impl Iterator<Item = usize>) {
        let mut words = 0;
        for word in top.take(TOP_WORDS) {
            self.ring.word(self.start.wrapping_add(HEAD + self.count + words)).store(word as u64, Relaxed);
            words += 1;
        }
        let end = match end {
            End::Outermost => 0,
            End::UnknownCode => 1,
            End::Cut => 2,
        };
        self.ring.word(self.start).store(self.weight.min(u32::MAX.into()) << 32 | self.count as u64, Relaxed);
        self.ring.word(self.start.wrapping_add(1)).store((words as u64) << 8 | end, Relaxed);
        self.ring.written.store(self.start.wrapping_add(HEAD + self.count + words), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_back_in_order_over_the_end_of_the_ring() {
        let (ring, mut sample) = (Ring::new().expect("memory"), Sample::default());
        for round in 0..1000_usize {
            let mut writer = ring.begin(round as u64 + 1).expect("the ring was read");
            (0..round % 40).for_each(|index| writer.address(round + index));
            let end = if round % 2 == 0 { End::Cut } else { End::UnknownCode };
            writer.end(end, (0..round % 17).map(|word| word * 3));
            assert!(ring.next(&mut sample));
            assert_eq!((sample.weight, sample.end), (round as u64 + 1, Some(end)));
            assert!(sample.addresses.iter().copied().eq((0..round % 40).map(|index| round + index)));
            assert!(sample.top.iter().copied().eq((0..round % 17).map(|word| word * 3)));
            assert!(!ring.next(&mut sample));
        }
    }

    #[test]
    fn a_full_ring_counts_what_it_loses() {
        let (ring, mut sample) = (Ring::new().expect("memory"), Sample::default());
        let mut kept = 0;
        while let Some(mut writer) = ring.begin(2) {
            (0..MAX_FRAMES).for_each(|address| writer.address(address));
            writer.end(End::Cut, std::iter::repeat_n(7, TOP_WORDS));
            kept += 1;
        }
        assert!(kept > 10 && ring.take_lost() == 2);
        let mut read = 0;
        while ring.next(&mut sample) {
            assert_eq!(sample.addresses.len(), MAX_FRAMES);
            read += 1;
        }
        assert_eq!(read, kept);
        assert!(ring.begin(1).is_some());
    }
}
