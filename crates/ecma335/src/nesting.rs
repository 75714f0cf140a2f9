//! The nesting of exception clauses' blocks (I.12.4.2). Bodies with thousands of clauses exist, so the blocks are not
//! compared in pairs.

use std::cmp::Reverse;

use crate::body::{Clause, ClauseKind};

impl Clause {
    /// The range of the protected block; the end is exclusive.
    pub fn protected(&self) -> (u32, u32) {
        (self.try_offset, self.try_offset.saturating_add(self.try_length))
    }

    /// The range of the handler, including its filter.
    pub fn handler(&self) -> (u32, u32) {
        let start = match self.kind {
            ClauseKind::Filter(filter) => filter.min(self.handler_offset),
            _ => self.handler_offset,
        };
        (start, self.handler_offset.saturating_add(self.handler_length))
    }
}

/// Checks the clauses of one body after another, and reuses its buffers.
#[derive(Default, Debug)]
pub struct Nesting {
    /// The range, the index of the clause, and whether the block is the protected one.
    blocks: Vec<((u32, u32), usize, bool)>,
    open: Vec<Open>,
}

/// An enclosing block of those being checked: its range, and the lowest clause that protects it or an enclosing
/// block.
#[derive(Debug)]
struct Open {
    range: (u32, u32),
    /// The lowest clause among the enclosing blocks.
    around: usize,
    /// The same, including its own.
    lowest: usize,
}

impl Nesting {
    /// The misplaced clauses, in order (I.12.4.2). Their blocks overlap others, or lie in a protected block of an
    /// earlier clause. Inner clauses must come first, and only a handler may contain later ones.
    pub fn misplaced(&mut self, clauses: &[Clause]) -> Vec<usize> {
        let mut found = Vec::new();
        let Self { blocks, open } = self;
        blocks.clear();
        open.clear();
        for (number, clause) in clauses.iter().enumerate() {
            let (one, other) = (clause.protected(), clause.handler());
            if one.0 < other.1 && other.0 < one.1 {
                found.push(number);
            }
            blocks.extend([(one, number, true), (other, number, false)]);
        }
        blocks.sort_unstable_by_key(|((start, end), number, _)| (*start, Reverse(*end), Reverse(*number)));
        for (range, number, is_protected) in blocks.iter().copied() {
            while open.last().is_some_and(|last| last.range.1 <= range.0) {
                open.pop();
            }
            let own = if is_protected { number } else { usize::MAX };
            match open.last_mut() {
                Some(last) if last.range == range => {
                    if last.around < number {
                        found.push(number);
                    }
                    last.lowest = last.lowest.min(own);
                }
                last => {
                    let (end, around) = last.map_or((u32::MAX, usize::MAX), |last| (last.range.1, last.lowest));
                    if range.1 > end || around < number {
                        found.push(number);
                    }
                    open.push(Open { range, around, lowest: around.min(own) });
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same check, by comparing all pairs of blocks.
    fn slowly(clauses: &[Clause]) -> bool {
        let within = |one: (u32, u32), other: (u32, u32)| one.0 >= other.0 && one.1 <= other.1;
        let apart = |one: (u32, u32), other: (u32, u32)| one.1 <= other.0 || other.1 <= one.0;
        clauses.iter().enumerate().any(|(number, clause)| {
            let ranges = [clause.protected(), clause.handler()];
            let is_within = |inner: &Clause| {
                [inner.protected(), inner.handler()].iter().all(|one| {
                    ranges.iter().all(|other| apart(*one, *other) || within(*one, *other) || within(*other, inner.handler()))
                })
            };
            !apart(ranges[0], ranges[1]) || !clauses[..number].iter().all(is_within)
        })
    }

    #[test]
    fn each_block_is_compared_with_each_other_one_or_with_those_around_it() {
        let mut random = 1_u32;
        let mut below = |limit: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % limit
        };
        let (mut nesting, mut sound) = (Nesting::default(), 0);
        for round in 0..200_000 {
            let size = 4 + round % 8;
            let clauses: Vec<Clause> = (0..1 + below(4))
                .map(|_| {
                    let [mut a, mut b, mut c] = [below(size), below(size), below(size)];
                    if a > b {
                        std::mem::swap(&mut a, &mut b);
                    }
                    c = if below(2) == 0 { b + 1 } else { c };
                    let (try_length, handler_length) = (b - a + 1, 1 + below(3));
                    Clause { kind: ClauseKind::Finally, try_offset: a, try_length, handler_offset: c, handler_length }
                })
                .collect();
            let misplaced = nesting.misplaced(&clauses);
            assert_eq!(!misplaced.is_empty(), slowly(&clauses), "{clauses:?}: {misplaced:?}");
            sound += usize::from(misplaced.is_empty());
        }
        assert!((10_000..190_000).contains(&sound), "{sound}");
    }
}
