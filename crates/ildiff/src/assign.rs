//! Pairs several items of one side with several of the other: by their owners, their shapes and their order.

use std::{cmp::Ordering, collections::HashMap, collections::VecDeque};

use super::shape::Shape;

/// An item to pair.
#[derive(Default, Debug)]
pub(crate) struct Candidate {
    /// The method it was generated from, as a number that both sides share.
    pub(crate) owner: Option<usize>,
    pub(crate) shape: Shape,
}

/// The minimum likeness of two items, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least {
    /// The minimum if both have the same owner.
    pub(crate) owned: f64,
    /// The minimum otherwise.
    pub(crate) other: f64,
}

/// The maximum number of comparisons. Beyond it, only equal items are paired.
const MOST: usize = 4_000_000;

/// Pairs of indexes. Each index is in at most one pair.
pub(crate) fn assign(old: &[Candidate], new: &[Candidate], least: Least) -> Vec<(usize, usize)> {
    let mut work = Work { old, new, old_taken: vec![false; old.len()], new_taken: vec![false; new.len()], pairs: Vec::new() };
    work.equal(|one| one.owner);
    work.alike(least.owned, |one, two| one.owner == two.owner);
    work.equal(|_| None);
    work.alike(least.other, |_, _| true);
    work.pairs
}

struct Work<'c> {
    old: &'c [Candidate],
    new: &'c [Candidate],
    old_taken: Vec<bool>,
    new_taken: Vec<bool>,
    pairs: Vec<(usize, usize)>,
}

impl Work<'_> {
    fn take(&mut self, old: usize, new: usize) {
        if let (Some(old_taken), Some(new_taken)) = (self.old_taken.get_mut(old), self.new_taken.get_mut(new)) {
            (*old_taken, *new_taken) = (true, true);
            self.pairs.push((old, new));
        }
    }

    /// The unpaired items of a side.
    fn left<'s>(side: &'s [Candidate], taken: &'s [bool]) -> impl Iterator<Item = (usize, &'s Candidate)> {
        side.iter().enumerate().zip(taken).filter(|(_, taken)| !**taken).map(|(each, _)| each)
    }

    /// Pairs equal items, in order.
    fn equal(&mut self, owner: impl Fn(&Candidate) -> Option<usize>) {
        let mut places: HashMap<(Option<usize>, &Shape), VecDeque<usize>> = HashMap::new();
        for (place, each) in Self::left(self.new, &self.new_taken) {
            places.entry((owner(each), &each.shape)).or_default().push_back(place);
        }
        let mut found = Vec::new();
        for (place, each) in Self::left(self.old, &self.old_taken) {
            let next = places.get_mut(&(owner(each), &each.shape)).and_then(VecDeque::pop_front);
            found.extend(next.map(|next| (place, next)));
        }
        found.into_iter().for_each(|(old, new)| self.take(old, new));
    }

    /// Pairs similar items, the most similar first. Among equally similar ones, it prefers equal positions in the
    /// rest.
    fn alike(&mut self, least: f64, may: impl Fn(&Candidate, &Candidate) -> bool) {
        let old: Vec<_> = Self::left(self.old, &self.old_taken).collect();
        let new: Vec<_> = Self::left(self.new, &self.new_taken).collect();
        if old.len().saturating_mul(new.len()) > MOST {
            return;
        }
        let mut scores = Vec::new();
        for (old_order, (old, one)) in old.iter().enumerate() {
            for (new_order, (new, two)) in new.iter().enumerate() {
                let score = if may(one, two) { one.shape.likeness(&two.shape) } else { -1.0 };
                if score >= least {
                    scores.push((score, old_order.abs_diff(new_order), *old, *new));
                }
            }
        }
        scores.sort_by(|one, two| match two.0.total_cmp(&one.0) {
            Ordering::Equal => (one.1, one.2, one.3).cmp(&(two.1, two.2, two.3)),
            order => order,
        });
        for (_, _, old, new) in scores {
            let is_taken = |taken: &[bool], place: usize| taken.get(place).copied().unwrap_or(true);
            if !is_taken(&self.old_taken, old) && !is_taken(&self.new_taken, new) {
                self.take(old, new);
            }
        }
    }
}
