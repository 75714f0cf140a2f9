//! The blocks of exception clauses (I.12.4.2): how they nest, and which are around a place.
//!
//! Bodies with thousands of clauses are real, so nothing here compares each block with each other one.

use std::cmp::Reverse;

use ecma335::{
    MethodBody,
    body::{Clause, ClauseKind},
};

/// What a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    Try,
    Filter,
    Catch,
    Finally,
}

/// A block of an exception clause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) block: Block,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The protected block that it belongs to.
    pub(crate) of: (u32, u32),
    /// The number of the region that it lies in.
    pub(crate) parent: Option<usize>,
}

impl Region {
    pub(crate) fn holds(&self, offset: u32) -> bool {
        (self.start..self.end).contains(&offset)
    }
}

/// The regions of a body whose clauses nest.
#[derive(Debug)]
pub(crate) struct Regions {
    items: Vec<Region>,
    /// From which offset on which region is the innermost, by offset.
    innermost: Vec<(u32, Option<usize>)>,
}

impl Regions {
    pub(crate) fn new(body: &MethodBody<'_>) -> Self {
        let mut items = Vec::new();
        for clause in &body.clauses {
            let of = protected(clause);
            let (start, end) = handler(clause);
            let mut put = |block: Block, start: u32, end: u32| {
                items.push(Region { block, start, end, of, parent: None });
            };
            put(Block::Try, of.0, of.1);
            match clause.kind {
                ClauseKind::Catch(_) => put(Block::Catch, start, end),
                ClauseKind::Finally | ClauseKind::Fault => put(Block::Finally, start, end),
                ClauseKind::Filter(_) => {
                    put(Block::Filter, start, clause.handler_offset);
                    put(Block::Catch, clause.handler_offset, end);
                }
            }
        }
        // Outer ones first; of equals, those of later clauses are the outer ones.
        items.reverse();
        items.sort_by_key(|region| (region.start, Reverse(region.end)));
        // Clauses may share a protected block.
        items.dedup_by_key(|region| (region.start, region.end, region.block, region.of));
        let mut regions = Self { items, innermost: vec![(0, None)] };
        regions.nest();
        regions
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The innermost region that holds an offset, and those around it, outwards.
    pub(crate) fn around(&self, offset: u32) -> impl Iterator<Item = &Region> {
        let index = self.innermost.partition_point(|(start, _)| *start <= offset);
        let first = index.checked_sub(1).and_then(|index| self.innermost.get(index)?.1);
        std::iter::successors(first.and_then(|first| self.items.get(first)), |region| self.items.get(region.parent?))
    }

    /// Whether a region starts or ends at an offset: only there does control pass from one to another by itself.
    pub(crate) fn is_bound(&self, offset: u32) -> bool {
        self.innermost.binary_search_by_key(&offset, |(start, _)| *start).is_ok()
    }

    /// Finds each region's parent, and the innermost of each stretch.
    fn nest(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        for index in 0..self.items.len() {
            let Some(region) = self.items.get(index).copied() else { break };
            self.close(&mut open, region.start);
            let parent = open.last().copied();
            if let Some(region) = self.items.get_mut(index) {
                region.parent = parent;
            }
            open.push(index);
            self.from(region.start, Some(index));
        }
        self.close(&mut open, u32::MAX);
    }

    /// Ends the regions that end up to an offset.
    fn close(&mut self, open: &mut Vec<usize>, offset: u32) {
        while let Some(region) = open.last().and_then(|last| self.items.get(*last)).copied().filter(|last| last.end <= offset) {
            open.pop();
            self.from(region.end, open.last().copied());
        }
    }

    fn from(&mut self, offset: u32, region: Option<usize>) {
        match self.innermost.last_mut() {
            Some(last) if last.0 == offset => last.1 = region,
            _ => self.innermost.push((offset, region)),
        }
    }
}

/// A block while the later ones are looked at: a range, and the lowest clause whose protected block this is, or one around.
struct Open {
    range: (u32, u32),
    /// Of the blocks around it.
    around: usize,
    /// With its own.
    lowest: usize,
}

/// The clauses whose blocks overlap with others, or lie in a protected block of an earlier clause (I.12.4.2): inner
/// clauses come first, and only a handler has later ones in it.
pub(crate) fn misplaced(clauses: &[Clause]) -> Vec<usize> {
    let mut blocks: Vec<((u32, u32), usize, bool)> = Vec::with_capacity(clauses.len() * 2);
    let mut found = Vec::new();
    for (number, clause) in clauses.iter().enumerate() {
        let (one, other) = (protected(clause), handler(clause));
        if one.0 < other.1 && other.0 < one.1 {
            found.push(number);
        }
        blocks.extend([(one, number, true), (other, number, false)]);
    }
    blocks.sort_by_key(|((start, end), number, _)| (*start, Reverse(*end), Reverse(*number)));
    let mut open: Vec<Open> = Vec::new();
    for (range, number, is_protected) in blocks {
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

/// The protected block.
pub(crate) fn protected(clause: &Clause) -> (u32, u32) {
    (clause.try_offset, clause.try_offset.saturating_add(clause.try_length))
}

/// The handler, with its filter before it.
pub(crate) fn handler(clause: &Clause) -> (u32, u32) {
    let start = match clause.kind {
        ClauseKind::Filter(filter) => filter.min(clause.handler_offset),
        _ => clause.handler_offset,
    };
    (start, clause.handler_offset.saturating_add(clause.handler_length))
}
