//! The blocks of exception clauses (I.12.4.2), and the blocks around each place.
//!
//! Bodies with thousands of clauses exist, so no code here compares all pairs of blocks.

use std::cmp::Reverse;

use ecma335::{MethodBody, body::ClauseKind};

/// The kind of a block.
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
    /// The index of the enclosing region.
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
    /// The innermost region from each offset on, sorted by offset.
    innermost: Vec<(u32, Option<usize>)>,
}

impl Regions {
    pub(crate) fn new(body: &MethodBody<'_>) -> Self {
        let mut items = Vec::new();
        for clause in &body.clauses {
            let of = clause.protected();
            let (start, end) = clause.handler();
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
        // Outer regions come first. Of equal ones, later clauses are the outer ones.
        items.reverse();
        items.sort_by_key(|region| (region.start, Reverse(region.end)));
        // Several clauses may share a protected block.
        items.dedup_by_key(|region| (region.start, region.end, region.block, region.of));
        let mut regions = Self { items, innermost: vec![(0, None)] };
        regions.nest();
        regions
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The innermost region around an offset, then the enclosing ones, outwards.
    pub(crate) fn around(&self, offset: u32) -> impl Iterator<Item = &Region> {
        let index = self.innermost.partition_point(|(start, _)| *start <= offset);
        let first = index.checked_sub(1).and_then(|index| self.innermost.get(index)?.1);
        std::iter::successors(first.and_then(|first| self.items.get(first)), |region| self.items.get(region.parent?))
    }

    /// Whether a region starts or ends at an offset. Only there can control pass between regions without a branch.
    pub(crate) fn is_bound(&self, offset: u32) -> bool {
        self.innermost.binary_search_by_key(&offset, |(start, _)| *start).is_ok()
    }

    /// Finds the parent of each region, and the innermost region of each range.
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

    /// Closes the regions that end at or before an offset.
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
