//! What rows may share: woven, each has its own, so a small file could ask for a large one.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes may be read, by however many threads. Where nothing is shared, no more are than there are.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    spent: AtomicU64,
}

impl Budget {
    /// Items below this are for free: compilers do share small ones, and a row that refers to one is not much smaller.
    const SMALL: usize = 128;
    /// How many times its size may be read of a file.
    const TIMES: u64 = 4;

    /// The budget of a file of this size.
    pub(crate) fn of(size: usize) -> Self {
        Self { limit: size as u64 * Self::TIMES, spent: AtomicU64::new(0) }
    }

    /// What an item of this size costs.
    pub(crate) fn cost(size: usize) -> u64 {
        if size < Self::SMALL { 0 } else { size as u64 }
    }

    /// Takes what an item costs off.
    pub(crate) fn spend(&self, cost: u64) {
        if cost > 0 {
            self.spent.fetch_add(cost, Ordering::Relaxed);
        }
    }

    /// Whether more was spent than there was.
    pub(crate) fn is_overdrawn(&self) -> bool {
        self.spent.load(Ordering::Relaxed) > self.limit
    }

    /// The items, by their costs, that can be paid for, one after another.
    pub(crate) fn affordable(&self, costs: impl Iterator<Item = u64>) -> Vec<bool> {
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
