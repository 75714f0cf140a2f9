//! Limits the work on shared data. Each woven row gets a copy of its own, so a small file could expand to a large one.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes to read, across all threads. A file without shared data never exceeds it.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    spent: AtomicU64,
}

impl Budget {
    /// Items of fewer bytes than this cost nothing. Compilers share small items, and a row that refers to one is not much
    /// smaller.
    const SMALL: usize = 128;
    /// The limit as a multiple of the file's size.
    const TIMES: u64 = 4;

    /// The budget for a file of this size in bytes.
    pub fn for_file(size: usize) -> Self {
        Self { limit: size as u64 * Self::TIMES, spent: AtomicU64::new(0) }
    }

    /// The cost of an item of this size in bytes.
    pub fn cost(size: usize) -> u64 {
        if size < Self::SMALL { 0 } else { size as u64 }
    }

    /// Subtracts a cost.
    pub fn spend(&self, cost: u64) {
        if cost > 0 {
            self.spent.fetch_add(cost, Ordering::Relaxed);
        }
    }

    /// Whether more than the limit was spent.
    pub fn is_overdrawn(&self) -> bool {
        self.spent.load(Ordering::Relaxed) > self.limit
    }

    /// Whether each item is within the limit, taken in order by their costs. An item over the limit is passed over.
    pub fn affordable(&self, costs: impl Iterator<Item = u64>) -> Vec<bool> {
        let mut left = self.limit;
        costs
            .map(|cost| {
                let rest = left.checked_sub(cost);
                left = rest.unwrap_or(left);
                rest.is_some()
            })
            .collect()
    }
}
