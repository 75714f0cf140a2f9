//! Checks of control flow between protected blocks and handlers (III.1.7.3). They include unreachable code, since the CLR's
//! compiler reads all of it.

use ecma335::{MethodBody, OpCode, Table, Token, body::ClauseKind, nesting::Nesting, opcode::Flow};

use crate::{
    body::{
        code::{Code, Instruction},
        regions::{Block, Region, Regions},
    },
    context::Context,
    rule::{Rule, rule},
};

/// Checks one body whose clauses are valid.
pub(crate) fn check(context: &Context<'_>, token: Token, body: &MethodBody<'_>, code: &Code) {
    let regions = Regions::new(body);
    if let Some(last) = code.instructions.last().filter(|last| last.info.flow.falls_through()) {
        context.report_at(rule!("III.1.7.1-a"), token, last.offset, "");
    }
    for (index, instruction) in code.instructions.iter().enumerate() {
        let is_leave = matches!(instruction.info.opcode, OpCode::Leave | OpCode::LeaveS);
        for target in code.targets(instruction) {
            let to = code.at(*target);
            if to.is_some_and(|to| code.prefixes(to).next().is_none()) {
                check_way(context, token, &regions, instruction.offset, *target, is_leave);
            } else {
                let rule = if to.is_none() { rule!("III.1.7.2-a") } else { rule!("III.2-b") };
                context.report_at(rule, token, instruction.offset, format_args!("IL_{target:04x}"));
            }
        }
        if instruction.info.opcode == OpCode::Tail {
            check_tail(context, token, &regions, code, index);
        }
        check_end(context, token, &regions, instruction.info.opcode, instruction.offset);
        if regions.is_empty() {
            continue;
        }
        let next = code.instructions.get(index + 1).map_or(code.size, |next| next.offset);
        if instruction.info.flow.falls_through() && next < code.size && regions.is_bound(next) {
            check_way(context, token, &regions, instruction.offset, next, false);
        }
    }
}

fn is_prefix(instruction: &Instruction) -> bool {
    instruction.info.flow == Flow::Prefix
}

/// III.2.4: the prefix makes a tail call only of a call directly followed by `ret`.
fn check_tail(context: &Context<'_>, token: Token, regions: &Regions, code: &Code, index: usize) {
    let rest = code.instructions.get(index..).unwrap_or_default();
    let Some(tail) = rest.first() else { return };
    let behind = rest.iter().skip_while(|instruction| is_prefix(instruction)).nth(1);
    if behind.is_none_or(|behind| behind.info.opcode != OpCode::Ret) {
        context.report_at(rule!("III.2.4-a"), token, tail.offset, "");
    }
    if regions.around(tail.offset).next().is_some() {
        context.report_at(rule!("III.2.4-b"), token, tail.offset, "");
    }
}

/// Checks the transfer of control from one instruction to another.
fn check_way(context: &Context<'_>, token: Token, regions: &Regions, from: u32, to: u32, is_leave: bool) {
    if regions.is_empty() {
        return;
    }
    let left = regions.around(from).take_while(|region| !region.holds(to)).find_map(|region| left(region, is_leave));
    let broken = left.or_else(|| {
        let mut entered = regions.around(to).take_while(|region| !region.holds(from));
        // A catch handler may leave to any place in its protected block.
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
        context.report_at(rule, token, from, format_args!("to IL_{to:04x}"));
    }
}

/// The rule that leaving a region breaks, if it breaks one.
fn left(region: &Region, is_leave: bool) -> Option<&'static Rule> {
    match region.block {
        Block::Try | Block::Catch if is_leave => None,
        Block::Try => Some(rule!("III.1.7.3-a")),
        _ => Some(rule!("III.1.7.3-b")),
    }
}

/// Checks that instructions that end a method or a handler are inside of it, and that no handler has a `localloc`.
fn check_end(context: &Context<'_>, token: Token, regions: &Regions, opcode: OpCode, offset: u32) {
    let innermost = || regions.around(offset).next();
    let is_in = |block: Block| innermost().is_some_and(|region| region.block == block);
    let (is_well, rule) = match opcode {
        OpCode::Ret => (innermost().is_none(), rule!("III.1.7.3-c")),
        OpCode::Endfinally => (is_in(Block::Finally), rule!("III.1.7.3-d")),
        OpCode::Endfilter => {
            let ends = |region: &Region| region.block == Block::Filter && region.end == offset + opcode.size() as u32;
            (innermost().is_some_and(ends), rule!("III.1.7.3-d"))
        }
        OpCode::Rethrow => {
            let mut handlers = regions.around(offset).filter(|region| region.block != Block::Try);
            match handlers.next() {
                Some(region) if region.block == Block::Catch => return,
                // Runtimes rethrow the exception of an outer handler too.
                Some(Region { block: Block::Finally, .. }) => (false, rule!("III.1.7.3-e/clr")),
                _ => (false, rule!("III.1.7.3-e")),
            }
        }
        OpCode::Localloc => (regions.around(offset).all(|region| region.block == Block::Try), rule!("III.3.47-a")),
        _ => return,
    };
    if !is_well {
        context.report_at(rule, token, offset, "");
    }
}

/// II.25.4.6, I.12.4.2: clauses begin and end at instructions and nest, inner ones first. Returns whether all are valid.
pub(crate) fn check_clauses(context: &Context<'_>, token: Token, body: &MethodBody<'_>, code: &Code) -> bool {
    let mut is_sound = true;
    for (number, clause) in body.clauses.iter().enumerate() {
        let ranges = [clause.protected(), clause.handler()];
        if ranges.iter().any(|(start, end)| start >= end || !code.is_boundary(*start) || !code.is_boundary(*end)) {
            context.report(rule!("II.25.4.6-a"), token, format_args!("clause {number}"));
            return false;
        }
        match clause.kind {
            ClauseKind::Catch(class) => {
                let is_type = matches!(class.table(), Some(Table::TypeDef | Table::TypeRef | Table::TypeSpec));
                if !is_type || !context.is_row(class) {
                    context.report(rule!("II.25.4.6-b"), token, format_args!("clause {number}: {class}"));
                }
            }
            ClauseKind::Filter(filter) if filter >= clause.handler_offset || !code.is_boundary(clause.handler_offset) => {
                context.report(rule!("II.25.4.6-c"), token, format_args!("clause {number}"));
                return false;
            }
            _ => {}
        }
    }
    for number in Nesting::default().misplaced(&body.clauses) {
        context.report(rule!("I.12.4.2-a"), token, format_args!("clause {number}"));
        is_sound = false;
    }
    is_sound
}
