//! Chunks of statistics.

use super::{cursor::Cursor, layout::STATISTICS as SLOT_SIZE};
use crate::{
    error::Error,
    statistics::{BUCKETS, Statistics},
};

const BUCKETS_AT: usize = 32;

/// A chunk of statistics.
pub(crate) struct StatisticsChunk<'a> {
    /// Its address in the program's memory.
    pub(crate) address: u64,
    bytes: &'a [u8],
}

impl<'a> StatisticsChunk<'a> {
    /// Reads a chunk; `reader` is at its address.
    pub(crate) fn read(mut reader: Cursor<'a>) -> Result<Self, Error> {
        let address = reader.u64()?;
        reader.take(16)?;
        let used = usize::try_from(reader.u64()?).unwrap_or(usize::MAX).min(reader.bytes.len());
        Ok(Self { address, bytes: reader.bytes.get(SLOT_SIZE..used).unwrap_or_default() })
    }

    /// Returns the number of slots in use.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len() / SLOT_SIZE
    }

    /// Returns the statistics in a slot.
    pub(crate) fn slot(&self, index: usize) -> Option<Statistics> {
        let slot = self.bytes.get(index * SLOT_SIZE..(index + 1) * SLOT_SIZE)?;
        let word = |at: usize| slot.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word));
        let field = |at: usize| (i64::from(word(at + 4)) << 32 | i64::from(word(at))).max(0);
        let mut buckets = [0; BUCKETS];
        buckets.iter_mut().enumerate().for_each(|(index, bucket)| *bucket = u64::from(word(BUCKETS_AT + 4 * index)));
        Some(Statistics { first: field(0), min: field(8), max: field(16), count: field(24) as u64, buckets })
    }

    /// Returns the index of the slot with this address.
    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?.checked_sub(SLOT_SIZE)?;
        let index = offset / SLOT_SIZE;
        (offset % SLOT_SIZE == 0 && index < self.count()).then_some(index)
    }
}
