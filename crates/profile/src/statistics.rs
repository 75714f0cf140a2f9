//! The distribution of single calls' times: the first, the least, the largest, and a histogram with four buckets to an octave.

pub use profile_format::statistics::BUCKETS;

/// The largest error of a percentile, in percent. Buckets are a quarter of an octave wide, and a reported value is the harmonic
/// mean of a bucket's bounds.
pub const HISTOGRAM_ERROR_PERCENT: u32 = 12;

/// Times of single calls, in ticks. All fields but `first` omit the first call of each path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// The first call's time, including compiling and loading. The largest of several paths.
    pub first: i64,
    /// The least time.
    pub min: i64,
    /// The largest time.
    pub max: i64,
    /// The number of calls.
    pub count: u64,
    /// The number of calls in each bucket.
    pub buckets: [u64; BUCKETS],
}

impl Statistics {
    /// Creates the statistics of a path that was called once.
    pub fn of_first(ticks: i64) -> Self {
        Self { first: ticks.max(0), min: 0, max: 0, count: 0, buckets: [0; BUCKETS] }
    }

    /// Adds a call that is not the first. `shift` is the histogram's.
    pub(crate) fn add_call(&mut self, ticks: i64, shift: u32) {
        self.min = if self.count == 0 { ticks } else { self.min.min(ticks) };
        self.max = self.max.max(ticks);
        self.count = self.count.saturating_add(1);
        if let Some(calls) = self.buckets.get_mut(profile_format::bucket(ticks.max(0) as u64 >> shift.min(63))) {
            *calls = calls.saturating_add(1);
        }
    }

    /// Adds the statistics of another path.
    pub fn add(&mut self, other: &Self) {
        self.first = self.first.max(other.first);
        if other.count > 0 {
            self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
            self.max = self.max.max(other.max);
        }
        self.count = self.count.saturating_add(other.count);
        for (sum, calls) in self.buckets.iter_mut().zip(&other.buckets) {
            *sum = sum.saturating_add(*calls);
        }
    }

    /// Converts the statistics to another clock; `convert` converts ticks. The calls of a bucket go to the bucket of its reported
    /// value.
    pub(crate) fn rescaled(&self, shift: u32, into_shift: u32, convert: impl Fn(i64) -> i64) -> Self {
        let mut buckets = [0_u64; BUCKETS];
        for (index, calls) in self.buckets.iter().enumerate().filter(|(_, calls)| **calls > 0) {
            let into = profile_format::bucket(convert(middle(index, shift)).max(0) as u64 >> into_shift.min(63));
            if let Some(sum) = buckets.get_mut(into) {
                *sum = sum.saturating_add(*calls);
            }
        }
        Self { first: convert(self.first), min: convert(self.min), max: convert(self.max), count: self.count, buckets }
    }

    /// Returns the statistics of a part of these calls, from its first call and its buckets. The least and the largest time are
    /// then as precise as a [`percentile`](Self::percentile).
    pub(crate) fn of_part(&self, first: i64, buckets: [u64; BUCKETS], shift: u32) -> Self {
        let count = buckets.iter().fold(0_u64, |sum, calls| sum.saturating_add(*calls));
        let mut part = Self { first, min: self.min, max: self.max, count, buckets };
        (part.min, part.max) = part.percentile(0, shift).zip(part.percentile(100, shift)).unwrap_or_default();
        part
    }

    /// Returns the time that `percent` of the calls did not exceed, within [`HISTOGRAM_ERROR_PERCENT`]. `shift` is the
    /// histogram's. Returns `None` if there were only first calls.
    pub fn percentile(&self, percent: u32, shift: u32) -> Option<i64> {
        let all = self.buckets.iter().fold(0_u64, |sum, calls| sum.saturating_add(*calls));
        let rank = (u128::from(all) * u128::from(percent)).div_ceil(100).max(1);
        let mut below = 0_u128;
        let bucket = self.buckets.iter().position(|calls| {
            below += u128::from(*calls);
            below >= rank
        })?;
        Some(middle(bucket, shift).min(self.max).max(self.min))
    }
}

/// Returns the reported value of a bucket.
fn middle(bucket: usize, shift: u32) -> i64 {
    let (low, high) = bounds(bucket, shift);
    // The last bucket has no upper bound.
    (if bucket + 1 == BUCKETS { low } else { 2.0 * low * high / (low + high) }) as i64
}

/// Returns the lower and upper bounds of a bucket, in ticks.
fn bounds(bucket: usize, shift: u32) -> (f64, f64) {
    let start = |bucket: usize| {
        let value = match bucket {
            0..4 => bucket as f64,
            _ => f64::from(4 + bucket as u32 % 4) * f64::from(bucket as u32 / 4 - 1).exp2(),
        };
        value * f64::from(shift).exp2()
    };
    (start(bucket), start(bucket + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_added_up_in_either_order() {
        let path = |first, min, max, count| Statistics { first, min, max, count, buckets: [count; BUCKETS] };
        let (one, other) = (path(30, 5, 20, 2), path(40, 7, 10, 3));
        for (mut sum, added) in [(one.clone(), &other), (other.clone(), &one)] {
            sum.add(added);
            assert_eq!(sum, path(40, 5, 20, 5));
            // A path that was called once has only a first call.
            sum.add(&Statistics::of_first(90));
            assert_eq!(sum, Statistics { first: 90, ..path(40, 5, 20, 5) });
        }
    }

    fn bucket(ticks: u64, shift: u32) -> usize {
        profile_format::bucket(ticks >> shift)
    }

    #[test]
    fn percentiles_are_as_near_as_they_say() {
        for shift in [0, 4] {
            for ticks in (64..4096).chain([5000, 99_999, 1 << 20, (1 << 28) - 1]) {
                let mut buckets = [0; BUCKETS];
                buckets[bucket(ticks, shift)] = 3;
                let all = Statistics { first: 0, min: 0, max: i64::MAX, count: 3, buckets };
                for percent in [0, 1, 50, 99, 100] {
                    let found = all.percentile(percent, shift).expect("there are calls") as f64;
                    let error = (found - ticks as f64).abs() / ticks as f64 * 100.0;
                    assert!(error <= f64::from(HISTOGRAM_ERROR_PERCENT), "{ticks} << {shift}: {found}");
                }
            }
        }
    }

    #[test]
    fn percentiles_are_by_rank_and_within_what_was_seen() {
        let mut buckets = [0; BUCKETS];
        (buckets[bucket(100, 0)], buckets[bucket(1000, 0)], buckets[BUCKETS - 1]) = (90, 9, 1);
        let all = Statistics { first: 7, min: 99, max: 1 << 40, count: 100, buckets };
        let near = |percent: u32| all.percentile(percent, 0).expect("there are calls");
        assert!((96..112).contains(&near(50)) && near(50) == near(90), "{}", near(90));
        assert!((900..1024).contains(&near(91)) && near(91) == near(99), "{}", near(91));
        assert_eq!(near(100), 7 << 28, "the last bucket's lower bound");
        let none = Statistics { buckets: [0; BUCKETS], ..all };
        assert_eq!(none.percentile(50, 0), None);
    }
}
