//! Where control may go between protected blocks and handlers (III.1.7.3), in code that is never reached too: the CLR's
//! compiler looks at all of it.

use ecma335::{MethodBody, OpCode, Token, body::ClauseKind};

use crate::{
    body::{Code, handler, protected},
    context::Context,
    rule::rule,
};

/// What a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Block {
    Try,
    Filter,
    Catch,
    Finally,
}

/// A block of an exception clause.
#[derive(Clone, Copy, Debug)]
struct Region {
    block: Block,
    start: u32,
    end: u32,
    /// The protected block that it belongs to.
    of: (u32, u32),
}

impl Region {
    fn holds(&self, offset: u32) -> bool {
        (self.start..self.end).contains(&offset)
    }
}

/// Checks one body whose clauses are sound.
pub(crate) fn check(context: &Context<'_, '_>, token: Token, body: &MethodBody<'_>, code: &Code) {
    let regions = regions(body);
    let mut bounds: Vec<u32> = regions.iter().flat_map(|region| [region.start, region.end]).collect();
    bounds.sort_unstable();
    if let Some(last) = code.steps.last().filter(|last| last.info.flow.falls_through()) {
        context.find_at(rule!("III.1.7.1-a"), token, last.offset, "");
    }
    for (index, step) in code.steps.iter().enumerate() {
        let is_leave = matches!(step.info.opcode, OpCode::Leave | OpCode::LeaveS);
        for target in code.targets(step) {
            if code.at(*target).is_none() {
                let detail = format_args!("IL_{target:04x}");
                context.find_at(rule!("III.1.7.2-a"), token, step.offset, detail);
            } else {
                check_way(context, token, &regions, step.offset, *target, is_leave);
            }
        }
        check_end(context, token, &regions, step.info.opcode, step.offset);
        if regions.is_empty() {
            continue;
        }
        let next = code.steps.get(index + 1).map_or(code.size, |next| next.offset);
        if step.info.flow.falls_through() && next < code.size && bounds.binary_search(&next).is_ok() {
            check_way(context, token, &regions, step.offset, next, false);
        }
    }
}

fn regions(body: &MethodBody<'_>) -> Vec<Region> {
    let mut regions = Vec::new();
    for clause in &body.clauses {
        let of = protected(clause);
        let (start, end) = handler(clause);
        regions.push(Region { block: Block::Try, start: of.0, end: of.1, of });
        match clause.kind {
            ClauseKind::Catch(_) => regions.push(Region { block: Block::Catch, start, end, of }),
            ClauseKind::Finally | ClauseKind::Fault => regions.push(Region { block: Block::Finally, start, end, of }),
            ClauseKind::Filter(_) => {
                regions.push(Region { block: Block::Filter, start, end: clause.handler_offset, of });
                regions.push(Region { block: Block::Catch, start: clause.handler_offset, end, of });
            }
        }
    }
    regions
}

/// Whether control may go from one instruction to another.
fn check_way(context: &Context<'_, '_>, token: Token, regions: &[Region], from: u32, to: u32, is_leave: bool) {
    for region in regions {
        let (is_from, is_to) = (region.holds(from), region.holds(to));
        if is_from == is_to {
            continue;
        }
        let rule = match region.block {
            Block::Try if is_from && is_leave || is_to && to == region.start => continue,
            // A catch handler may leave for any place in the block that it is of.
            Block::Try if is_to && is_leave && is_in_catch_of(regions, from, region.of) => continue,
            Block::Try => rule!("III.1.7.3-a"),
            Block::Catch if is_from && is_leave => continue,
            _ => rule!("III.1.7.3-b"),
        };
        context.find_at(rule, token, from, format_args!("to IL_{to:04x}"));
        return;
    }
}

fn is_in_catch_of(regions: &[Region], offset: u32, of: (u32, u32)) -> bool {
    regions.iter().any(|region| region.block == Block::Catch && region.of == of && region.holds(offset))
}

/// Instructions that end a method or a handler are in what they end.
fn check_end(context: &Context<'_, '_>, token: Token, regions: &[Region], opcode: OpCode, offset: u32) {
    let innermost = || regions.iter().filter(|region| region.holds(offset)).min_by_key(|region| region.end - region.start);
    let is_in = |block: Block| innermost().is_some_and(|region| region.block == block);
    let (is_well, rule) = match opcode {
        OpCode::Ret => (innermost().is_none(), rule!("III.1.7.3-c")),
        OpCode::Endfinally => (is_in(Block::Finally), rule!("III.1.7.3-d")),
        OpCode::Endfilter => (is_in(Block::Filter), rule!("III.1.7.3-d")),
        OpCode::Rethrow => {
            let is_in_catch = regions.iter().any(|region| region.block == Block::Catch && region.holds(offset));
            (is_in_catch, rule!("III.1.7.3-e"))
        }
        _ => return,
    };
    if !is_well {
        context.find_at(rule, token, offset, "");
    }
}
