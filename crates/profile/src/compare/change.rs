//! Statistical tests: do two sides of runs differ by more than noise?

use std::collections::HashMap;

use serde::Serialize;

/// The test that tells changes from noise; the number of runs decides which.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Test {
    /// The Mann-Whitney U test, two-sided, for four or more runs on each side.
    MannWhitney,
    /// Non-overlapping ranges, for two or three runs.
    Ranges,
    /// The size of the change alone, for one run.
    Threshold,
}

/// The significance level: a larger probability counts as noise.
pub const ALPHA: f64 = 0.05;

impl Test {
    /// Returns the test for these numbers of runs.
    pub fn new(base: usize, new: usize) -> Self {
        match base.min(new) {
            0 | 1 => Self::Threshold,
            2 | 3 => Self::Ranges,
            _ => Self::MannWhitney,
        }
    }
}

/// The change of a number.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The median of the base's runs.
    pub base: f64,
    /// The median of the new runs.
    pub new: f64,
    /// `new` minus `base`.
    pub change: f64,
    /// The change in percent of `base`; `None` if `base` is 0.
    pub change_percent: Option<f64>,
    /// The probability of such a difference by chance; `None` if there are too few runs.
    pub p: Option<f64>,
    /// Whether the test finds a difference.
    pub differs: bool,
    /// Whether the difference is found and reaches the threshold.
    pub counts: bool,
}

impl Change {
    /// Compares the runs of two sides, some of which may lack the number. Returns `None` if all runs lack it.
    pub(super) fn new(
        [base, new]: [&[Option<f64>]; 2],
        (threshold_percent, least): (f64, f64),
        distributions: &mut Distributions,
    ) -> Option<Self> {
        let [base, new] = [base, new].map(|side| side.iter().flatten().copied().collect::<Vec<f64>>());
        if base.is_empty() && new.is_empty() {
            return None;
        }
        let (of_base, of_new) = (median(&base), median(&new));
        let change = of_new - of_base;
        let change_percent = (of_base != 0.0).then(|| change / of_base * 100.0);
        // Runs without the number leave fewer for the test.
        let test = Test::new(base.len(), new.len());
        let p = (test == Test::MannWhitney).then(|| distributions.mann_whitney(&base, &new));
        let differs = match test {
            Test::MannWhitney => p.is_some_and(|p| p <= ALPHA),
            Test::Ranges => are_apart(&base, &new) || are_apart(&new, &base),
            Test::Threshold => change != 0.0,
        };
        let is_large = change.abs() >= least && change_percent.is_none_or(|percent| percent.abs() >= threshold_percent);
        Some(Self {
            base: of_base,
            new: of_new,
            change,
            change_percent,
            p,
            differs,
            counts: differs && is_large && change != 0.0,
        })
    }
}

/// Returns the median; 0 without values.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    if values.len() % 2 == 1 { at(middle) } else { middle.checked_sub(1).map_or(0.0, |below| (at(below) + at(middle)) / 2.0) }
}

/// Returns whether all values of `low` are below all values of `high`.
fn are_apart(low: &[f64], high: &[f64]) -> bool {
    let largest = low.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high.iter().all(|value| *value > largest)
}

/// The most runs for which the rank distribution is enumerated; for more, the normal approximation is close.
const COUNTED_OUT: usize = 24;

/// Enumerated rank distributions, by the ranks and the number of one side's runs. Each list has the probability of a sum at least
/// as far from the mean. Most methods share the same distribution.
#[derive(Default)]
pub(super) struct Distributions(HashMap<(Vec<usize>, usize), Vec<f64>>);

impl Distributions {
    /// Returns the two-sided probability that two samples of one distribution differ at least this much, by Mann and Whitney's U.
    /// The result is exact, with mid-ranks for ties, for up to [`COUNTED_OUT`] numbers. Above that it is the normal
    /// approximation.
    fn mann_whitney(&mut self, one: &[f64], other: &[f64]) -> f64 {
        let (one, other) = (one.iter().map(|value| (*value, true)), other.iter().map(|value| (*value, false)));
        let mut all: Vec<(f64, bool)> = one.chain(other).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        // Twice the ranks, which are whole numbers even with ties.
        let mut ranks = vec![0_usize; all.len()];
        let (mut start, mut ties) = (0, 0.0);
        while let Some((value, _)) = all.get(start) {
            let count = all[start..].iter().take_while(|(next, _)| next == value).count().max(1);
            ranks[start..start + count].fill(2 * start + count + 1);
            ties += (count * count * count - count) as f64;
            start += count;
        }
        let of_one = ranks.iter().zip(&all).filter(|(_, (_, is_one))| *is_one).map(|(rank, _)| rank);
        let (size, sum) = of_one.fold((0, 0), |(size, sum), rank| (size + 1, sum + rank));
        if all.len() > COUNTED_OUT {
            return normal(size as f64, all.len() as f64, sum as f64 / 2.0, ties);
        }
        let chances = self.0.entry((ranks, size)).or_insert_with_key(|(ranks, size)| chances(ranks, *size));
        chances.get(sum).copied().unwrap_or(1.0)
    }
}

/// Returns the probability of a rank sum at least as far from the mean, by the normal approximation.
fn normal(size: f64, all: f64, sum: f64, ties: f64) -> f64 {
    let mean = size * (all + 1.0) / 2.0;
    let variance = size * (all - size) / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // With the continuity correction for a whole sum.
    let z = ((sum - mean).abs() - 0.5).max(0.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2)
}

/// Returns by sum: the share of choices of `size` ranks whose sum is at least as far from the mean.
fn chances(ranks: &[usize], size: usize) -> Vec<f64> {
    let largest: usize = ranks.iter().sum();
    // By number of chosen ranks and their sum: the number of choices.
    let mut choices = vec![vec![0.0_f64; largest + 1]; size + 1];
    choices[0][0] = 1.0;
    for rank in ranks {
        for count in (1..=size).rev() {
            for sum in (*rank..=largest).rev() {
                choices[count][sum] += choices[count - 1][sum - rank];
            }
        }
    }
    let choices = &choices[size];
    let all: f64 = choices.iter().sum();
    let mut by_distance: Vec<(usize, usize)> =
        (0..choices.len()).map(|sum| ((sum * ranks.len()).abs_diff(largest * size), sum)).collect();
    by_distance.sort_unstable_by(|one, other| other.cmp(one));
    let (mut as_far, mut chances) = (0.0, vec![1.0; choices.len()]);
    for same in by_distance.chunk_by(|one, other| one.0 == other.0) {
        as_far += same.iter().map(|(_, sum)| choices[*sum]).sum::<f64>();
        same.iter().for_each(|(_, sum)| chances[*sum] = as_far / all);
    }
    chances
}

/// Returns the complementary error function, to seven digits: Abramowitz and Stegun 7.1.26.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    polynomial.iter().fold(0.0, |sum, factor| (sum + factor) * t) * (-x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(one: &[f64], other: &[f64]) -> f64 {
        (Distributions::default().mann_whitney(one, other) * 1e4).round() / 1e4
    }

    #[test]
    fn p_values_are_those_of_the_tables() {
        // Computed by hand, and equal to R's wilcox.test.
        assert_eq!(p(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]), 0.0286);
        assert_eq!(p(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0]), 0.0286);
        assert_eq!(p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]), 0.0079);
        assert_eq!(p(&[1.0, 3.0, 5.0, 7.0], &[2.0, 4.0, 6.0, 8.0]), 0.6857);
        assert_eq!(p(&[1.0; 5], &[1.0; 5]), 1.0);
        // 1 1 | 1 2: of six choices of two ranks, 3 are at least as far from the mean as (2, 2).
        assert_eq!(p(&[1.0, 1.0], &[1.0, 2.0]), 1.0);
        assert_eq!(p(&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0]), 0.1);
    }

    #[test]
    fn many_runs_are_judged_by_the_normal_distribution() {
        let one: Vec<f64> = (0..30).map(f64::from).collect();
        let shifted = |by: f64| one.iter().map(|value| value + by).collect::<Vec<f64>>();
        assert_eq!(p(&one, &one), 1.0);
        // U is 190 and 351; its mean is 450 and its standard deviation 67.6. These are 3.84 and 1.46 deviations.
        assert_eq!((p(&one, &shifted(10.5)), p(&one, &shifted(3.5)), p(&one, &shifted(100.0))), (0.0001, 0.1453, 0.0));
    }

    #[test]
    fn noise_is_told_from_change_as_well_as_the_runs_allow() {
        let change = |base: &[f64], new: &[f64]| {
            let [of_base, of_new] = [base, new].map(|side| side.iter().copied().map(Some).collect::<Vec<_>>());
            Change::new([&of_base, &of_new], (5.0, 1.0), &mut Distributions::default()).expect("there are numbers")
        };
        for (base, new, expected) in [
            // One run: the size of the change decides.
            (&[100.0][..], &[106.0][..], true),
            (&[100.0], &[104.0], false),
            (&[1.0], &[1.9], false),
            // Two or three runs: ranges must not overlap.
            (&[100.0, 120.0, 90.0], &[121.0, 130.0, 140.0], true),
            (&[100.0, 120.0, 90.0], &[119.0, 130.0, 140.0], false),
            // Four or more runs: ranks decide.
            (&[100.0, 101.0, 99.0, 102.0], &[110.0, 111.0, 112.0, 109.0], true),
            (&[100.0, 140.0, 99.0, 102.0], &[110.0, 111.0, 112.0, 109.0], false),
            (&[100.0, 101.0, 99.0, 102.0], &[103.0, 103.5, 104.0, 103.2], false),
        ] {
            assert_eq!(change(base, new).counts, expected, "{base:?} {new:?}");
            assert_eq!(change(new, base).counts, expected, "{new:?} {base:?}");
        }
    }
}
