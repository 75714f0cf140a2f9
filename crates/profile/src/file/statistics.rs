//! Chunks of statistics.

use profile_format::statistics::{self as layout, BUCKETS};

use super::{
    chunks::{Chunk, Slots},
    cursor::{i64_at, u32_at},
};
use crate::{error::Error, statistics::Statistics};

/// A chunk of statistics.
pub(crate) struct StatisticsChunk<'a>(pub(super) Slots<'a>);

impl<'a> StatisticsChunk<'a> {
    pub(super) fn read(chunk: &Chunk<'a>) -> Result<Self, Error> {
        Slots::read(chunk, layout::SIZE, layout::SIZE).map(Self)
    }

    /// Returns the statistics in a slot.
    pub(crate) fn slot(&self, index: usize) -> Option<Statistics> {
        let slot = self.0.slot::<{ layout::SIZE }>(index)?;
        let mut buckets = [0; BUCKETS];
        let numbers = buckets.iter_mut().enumerate();
        numbers.for_each(|(index, bucket)| *bucket = u32_at(slot, layout::BUCKETS_AT + 4 * index).into());
        let time = |at| i64_at(slot, at).max(0);
        Some(Statistics {
            first: time(layout::FIRST_AT),
            min: time(layout::MIN_AT),
            max: time(layout::MAX_AT),
            count: time(layout::COUNT_AT) as u64,
            buckets,
        })
    }
}
