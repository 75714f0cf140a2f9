//! Where control may go between protected blocks and handlers (III.1.7.3), in code that is never reached too: the CLR's
//! compiler looks at all of it.

use ecma335::{MethodBody, OpCode, Token};

use crate::{
    body::{
        Code,
        regions::{Block, Region, Regions},
    },
    context::Context,
    rule::{Rule, rule},
};

/// Checks one body whose clauses are sound.
pub(crate) fn check(context: &Context<'_, '_>, token: Token, body: &MethodBody<'_>, code: &Code) {
    let regions = Regions::new(body);
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
        if step.info.flow.falls_through() && next < code.size && regions.is_bound(next) {
            check_way(context, token, &regions, step.offset, next, false);
        }
    }
}

/// Whether control may go from one instruction to another.
fn check_way(context: &Context<'_, '_>, token: Token, regions: &Regions, from: u32, to: u32, is_leave: bool) {
    if regions.is_empty() {
        return;
    }
    let left = regions.around(from).take_while(|region| !region.holds(to)).find_map(|region| left(region, is_leave));
    let broken = left.or_else(|| {
        let mut entered = regions.around(to).take_while(|region| !region.holds(from));
        // A catch handler may leave for any place in the block that it is of.
        let is_of = |region: &Region| {
            let is_it = |other: &Region| other.block == Block::Catch && other.of == region.of;
            is_leave && regions.around(from).take_while(|other| !other.holds(to)).any(is_it)
        };
        entered.find_map(|region| match region.block {
            Block::Try if to == region.start || is_of(region) => None,
            Block::Try => Some(rule!("III.1.7.3-a")),
            _ => Some(rule!("III.1.7.3-b")),
        })
    });
    if let Some(rule) = broken {
        context.find_at(rule, token, from, format_args!("to IL_{to:04x}"));
    }
}

/// What is broken by the way out of a region.
fn left(region: &Region, is_leave: bool) -> Option<&'static Rule> {
    match region.block {
        Block::Try | Block::Catch if is_leave => None,
        Block::Try => Some(rule!("III.1.7.3-a")),
        _ => Some(rule!("III.1.7.3-b")),
    }
}

/// Instructions that end a method or a handler are in what they end.
fn check_end(context: &Context<'_, '_>, token: Token, regions: &Regions, opcode: OpCode, offset: u32) {
    let innermost = || regions.around(offset).next();
    let is_in = |block: Block| innermost().is_some_and(|region| region.block == block);
    let (is_well, rule) = match opcode {
        OpCode::Ret => (innermost().is_none(), rule!("III.1.7.3-c")),
        OpCode::Endfinally => (is_in(Block::Finally), rule!("III.1.7.3-d")),
        OpCode::Endfilter => (is_in(Block::Filter), rule!("III.1.7.3-d")),
        OpCode::Rethrow => {
            let is_in_catch = regions.around(offset).any(|region| region.block == Block::Catch);
            (is_in_catch, rule!("III.1.7.3-e"))
        }
        _ => return,
    };
    if !is_well {
        context.find_at(rule, token, offset, "");
    }
}
