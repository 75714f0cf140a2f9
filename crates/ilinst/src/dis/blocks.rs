//! Exception clauses as blocks within each other, where they are so (II.19).

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use ecma335::{Clause, ClauseKind};

/// What stands before the instruction at an offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// A block's words; its brace follows.
    Open(String),
    /// A block's other brace.
    Close,
}

/// A block: where it starts and ends, its words, the clause it comes from, and which `.try` it belongs to.
struct Block {
    start: u32,
    end: u32,
    words: String,
    clause: usize,
    group: usize,
    is_try: bool,
}

/// A `.try` with its handlers: where the next handler has to start, and the number of its first clause.
struct Group {
    next: u32,
    first: usize,
}

/// The marks of a body's clauses in the order they are to be written in; none if they are not blocks within each other
/// as the assembler's grammar has them. `starts` are the offsets of instructions; `type_name` names what a clause catches.
pub(crate) fn nest(
    clauses: &[Clause],
    starts: &BTreeSet<u32>,
    type_name: impl Fn(&ClauseKind) -> String,
) -> Option<Vec<(u32, Mark)>> {
    let (mut blocks, groups) = blocks(clauses, type_name)?;
    let is_block = |block: &Block| block.start < block.end && starts.contains(&block.start) && starts.contains(&block.end);
    if !blocks.iter().all(is_block) {
        return None;
    }
    // Outer blocks open first.
    blocks.sort_by_key(|block| (block.start, Reverse(block.end)));
    let mut marks = Vec::new();
    let mut open: Vec<(usize, &Block)> = Vec::new();
    let mut places: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    for (number, block) in blocks.iter().enumerate() {
        while let Some((_, inner)) = open.pop_if(|(_, inner)| inner.end <= block.start) {
            marks.push((inner.end, Mark::Close));
        }
        if let Some((_, parent)) = open.last() {
            // The assembler lists inner clauses first, and the runtime goes by that order.
            let comes_first = !parent.is_try || groups.get(parent.group).is_some_and(|group| block.clause < group.first);
            if block.end > parent.end || !comes_first {
                return None;
            }
        }
        // A block and its handlers stand side by side.
        let place = open.last().map(|(number, _)| *number);
        if *places.entry(block.group).or_insert(place) != place {
            return None;
        }
        open.push((number, block));
        marks.push((block.start, Mark::Open(block.words.clone())));
    }
    marks.extend(open.into_iter().rev().map(|(_, block)| (block.end, Mark::Close)));
    Some(marks)
}

/// The blocks of all clauses; none if a handler does not stand right behind its block or the handler before it.
fn blocks(clauses: &[Clause], type_name: impl Fn(&ClauseKind) -> String) -> Option<(Vec<Block>, Vec<Group>)> {
    let mut blocks = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut by_range: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (clause, row) in clauses.iter().enumerate() {
        let end = row.try_offset.checked_add(row.try_length)?;
        let handler_end = row.handler_offset.checked_add(row.handler_length)?;
        let group = *by_range.entry((row.try_offset, end)).or_insert_with(|| {
            groups.push(Group { next: end, first: clause });
            let group = groups.len() - 1;
            blocks.push(Block { start: row.try_offset, end, words: ".try".into(), clause, group, is_try: true });
            group
        });
        let mut block = |start, end, words| blocks.push(Block { start, end, words, clause, group, is_try: false });
        let start = match row.kind {
            ClauseKind::Filter(filter) => {
                block(filter, row.handler_offset, "filter".into());
                filter
            }
            _ => row.handler_offset,
        };
        block(row.handler_offset, handler_end, words(&row.kind, &type_name));
        let group = groups.get_mut(group)?;
        if start != group.next {
            return None;
        }
        group.next = handler_end;
    }
    Some((blocks, groups))
}

/// What a handler starts with: `catch T`, `finally`, `fault`, and nothing for one behind its filter.
pub(crate) fn words(kind: &ClauseKind, type_name: impl Fn(&ClauseKind) -> String) -> String {
    match kind {
        ClauseKind::Catch(_) => format!("catch {}", type_name(kind)),
        ClauseKind::Filter(_) => String::new(),
        ClauseKind::Finally => "finally".into(),
        ClauseKind::Fault => "fault".into(),
    }
}
