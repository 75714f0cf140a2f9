//! Exception clauses as nested blocks, if they nest (II.19).

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    mem::discriminant,
};

use ecma335::{Clause, ClauseKind};

/// A mark before the instruction at an offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The words that open a block; its brace follows.
    Open(String),
    /// The closing brace of a block.
    Close,
    /// A clause, by its number, that has to be written with labels. It stands behind its handler: .NET's ilasm knows a label
    /// only then.
    Clause(usize),
}

/// A block: its start and end, its words, its clause, and the group of its `.try`.
struct Block {
    start: u32,
    end: u32,
    mark: Option<Mark>,
    clause: usize,
    group: usize,
    is_try: bool,
}

/// A `.try` with its handlers: the required start of the next handler, the first clause, and whether all handlers so
/// far are of one kind. Mono's ilasm gives all handlers of a `.try` the kind of the last one. So handlers of other
/// kinds are written with labels.
struct Group {
    next: u32,
    first: usize,
    is_uniform: bool,
}

/// Takes the marks up to an offset.
pub fn up_to<'k>(marks: &mut &'k [(u32, Mark)], offset: u32) -> impl Iterator<Item = &'k Mark> {
    let count = marks.iter().take_while(|(at, _)| *at <= offset).count();
    let taken = marks.split_off(..count).unwrap_or_default();
    taken.iter().map(|(_, mark)| mark)
}

/// The marks of a body's clauses, in output order. None if they do not nest as the assembler's grammar requires.
/// `starts` are the offsets of instructions; `type_name` formats the caught type of a clause.
pub fn nest(clauses: &[Clause], starts: &BTreeSet<u32>, type_name: impl Fn(&ClauseKind) -> String) -> Option<Vec<(u32, Mark)>> {
    let (mut blocks, groups) = blocks(clauses, type_name)?;
    let is_block = |block: &Block| block.start < block.end && starts.contains(&block.start) && starts.contains(&block.end);
    if !blocks.iter().all(is_block) {
        return None;
    }
    // Outer blocks open first.
    blocks.sort_by_key(|block| (block.start, Reverse(block.end)));
    let mut marks = Vec::new();
    let close = |block: &Block| {
        let mark = match block.mark.as_ref()? {
            Mark::Open(_) => Mark::Close,
            mark => mark.clone(),
        };
        Some((block.end, mark))
    };
    let mut open: Vec<(usize, &Block)> = Vec::new();
    let mut places: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    for (number, block) in blocks.iter().enumerate() {
        while let Some((_, inner)) = open.pop_if(|(_, inner)| inner.end <= block.start) {
            marks.extend(close(inner));
        }
        if let Some((_, parent)) = open.last() {
            // The assembler lists inner clauses first, and the runtime relies on that order.
            let comes_first = !parent.is_try || groups.get(parent.group).is_some_and(|group| block.clause < group.first);
            if block.end > parent.end || !comes_first {
                return None;
            }
        }
        // A block and its handlers are siblings.
        let place = open.last().map(|(number, _)| *number);
        if *places.entry(block.group).or_insert(place) != place {
            return None;
        }
        open.push((number, block));
        if let Some(Mark::Open(words)) = &block.mark {
            marks.push((block.start, Mark::Open(words.clone())));
        }
    }
    marks.extend(open.into_iter().rev().filter_map(|(_, block)| close(block)));
    Some(marks)
}

/// The blocks of all clauses. None if a handler does not directly follow its block or the preceding handler.
fn blocks(clauses: &[Clause], type_name: impl Fn(&ClauseKind) -> String) -> Option<(Vec<Block>, Vec<Group>)> {
    let mut blocks = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut by_range: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (clause, row) in clauses.iter().enumerate() {
        let end = row.try_offset.checked_add(row.try_length)?;
        let handler_end = ends(row)?;
        let group = *by_range.entry((row.try_offset, end)).or_insert_with(|| {
            groups.push(Group { next: end, first: clause, is_uniform: true });
            let group = groups.len() - 1;
            let mark = Some(Mark::Open(".try".into()));
            blocks.push(Block { start: row.try_offset, end, mark, clause, group, is_try: true });
            group
        });
        let state = groups.get_mut(group)?;
        let first_kind = clauses.get(state.first).map(|first| discriminant(&first.kind));
        state.is_uniform &= first_kind == Some(discriminant(&row.kind));
        let mut marks = if state.is_uniform {
            vec![Mark::Open(words(&row.kind, &type_name)), Mark::Open("filter".into())]
        } else {
            vec![Mark::Clause(clause)]
        };
        let mut start = row.handler_offset;
        if let ClauseKind::Filter(filter) = row.kind {
            start = filter;
            let mark = if state.is_uniform { marks.pop() } else { None };
            blocks.push(Block { start, end: row.handler_offset, mark, clause, group, is_try: false });
        } else if state.is_uniform {
            marks.pop();
        }
        blocks.push(Block { start: row.handler_offset, end: handler_end, mark: marks.pop(), clause, group, is_try: false });
        if start != state.next {
            return None;
        }
        state.next = handler_end;
    }
    Some((blocks, groups))
}

/// The end of a handler.
fn ends(clause: &Clause) -> Option<u32> {
    clause.handler_offset.checked_add(clause.handler_length)
}

/// The first words of a handler: `catch T`, `finally`, `fault`, and none for the handler of a filter.
pub fn words(kind: &ClauseKind, type_name: impl Fn(&ClauseKind) -> String) -> String {
    match kind {
        ClauseKind::Catch(_) => format!("catch {}", type_name(kind)),
        ClauseKind::Filter(_) => String::new(),
        ClauseKind::Finally => "finally".into(),
        ClauseKind::Fault => "fault".into(),
    }
}

#[cfg(test)]
mod tests {
    use ecma335::Token;

    use super::*;

    /// A clause: its kind by a letter, the protected range, the handler's range.
    fn clause(kind: char, (try_offset, try_end): (u32, u32), (handler_offset, handler_end): (u32, u32)) -> Clause {
        let kind = match kind {
            'c' => ClauseKind::Catch(Token(0x0100_0001)),
            // The filter is the two bytes before its handler.
            'i' => ClauseKind::Filter(handler_offset - 2),
            'f' => ClauseKind::Finally,
            _ => ClauseKind::Fault,
        };
        let (try_length, handler_length) = (try_end - try_offset, handler_end - handler_offset);
        Clause { kind, try_offset, try_length, handler_offset, handler_length }
    }

    /// The marks in short form: `0{.try 4}`.
    fn nested(clauses: &[Clause]) -> Option<String> {
        let starts: BTreeSet<u32> = (0..=20).collect();
        let marks = nest(clauses, &starts, |_| "T".into())?;
        let text = marks.iter().map(|(at, mark)| match mark {
            Mark::Open(words) => format!("{at}{{{words} "),
            Mark::Close => format!("{at}}} "),
            Mark::Clause(number) => format!("{at}#{number} "),
        });
        Some(text.collect::<String>().trim_end().to_owned())
    }

    #[test]
    fn clauses_become_blocks_where_they_are_some() {
        let inner = clause('c', (2, 4), (4, 6));
        for (clauses, expected) in [
            (vec![clause('f', (0, 4), (4, 8))], Some("0{.try 4} 4{finally 8}")),
            (vec![clause('c', (0, 4), (4, 6)), clause('c', (0, 4), (6, 8))], Some("0{.try 4} 4{catch T 6} 6{catch T 8}")),
            (vec![inner, clause('f', (0, 6), (6, 8))], Some("0{.try 2{.try 4} 4{catch T 6} 6} 6{finally 8}")),
            (vec![inner, clause('x', (2, 6), (6, 8))], Some("2{.try 2{.try 4} 4{catch T 6} 6} 6{fault 8}")),
            (vec![clause('i', (0, 4), (6, 8))], Some("0{.try 4} 4{filter 6} 6{ 8}")),
            // Handlers of two kinds: the second uses labels, and stands behind them.
            (vec![clause('i', (0, 4), (6, 8)), clause('c', (0, 4), (8, 9))], Some("0{.try 4} 4{filter 6} 6{ 8} 9#1")),
            (vec![clause('c', (0, 4), (4, 8)), clause('i', (0, 4), (10, 20))], Some("0{.try 4} 4{catch T 8} 20#1")),
            // The outer clause first, a separate handler, overlapping blocks, an empty block.
            (vec![clause('f', (0, 6), (6, 8)), inner], None),
            (vec![clause('f', (0, 4), (5, 8))], None),
            (vec![inner, clause('f', (3, 6), (6, 8))], None),
            (vec![clause('f', (0, 0), (0, 8))], None),
            (vec![clause('f', (0, 4), (4, 99))], None),
        ] {
            assert_eq!(nested(&clauses).as_deref(), expected, "{clauses:?}");
        }
        let endless = Clause { try_length: u32::MAX, ..inner };
        assert_eq!(nested(&[endless]), None);
    }
}
