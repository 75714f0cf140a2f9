//! Prints a body as lines that do not depend on the positions of its code and names.

use std::{cell::RefCell, collections::BTreeMap, collections::BTreeSet};

use ecma335::{
    Clause, ClauseKind, MethodBody, OpCode, Result, Token,
    body::Instruction,
    opcode::{OpCodeInfo, Operand},
};

use super::{
    debug::Facts,
    lines::{LABEL, Text},
};
use disasm::quote;
use disasm::{
    blocks::{self, Mark},
    bodies::{caught, locals, targets, text},
    lines::one_line,
    names::Names,
};

/// The number of bytes on a line.
const BYTES_A_LINE: usize = 16;

/// Prints a body with the locals of its signature, and the facts from a PDB.
pub(crate) fn print(names: &Names<'_, '_>, body: &MethodBody<'_>, facts: &Facts, out: &mut Text) {
    let types = if body.local_var_sig == Token::default() { Ok(Vec::new()) } else { locals(names, body.local_var_sig) };
    print_with(names, body, types, facts, out);
}

/// Prints a body with the given locals.
pub(crate) fn print_with(
    names: &Names<'_, '_>,
    body: &MethodBody<'_>,
    locals: Result<Vec<String>>,
    facts: &Facts,
    out: &mut Text,
) {
    out.push(1, format!(".maxstack {}", body.max_stack));
    let instructions: Result<Vec<Instruction<'_>>> = body.instructions().collect();
    // The flag also zeroes the memory of `localloc`.
    let allocates = |each: &Instruction<'_>| each.opcode() == OpCode::Localloc;
    let clears = body.init_locals && !names.hides_init.get();
    let is_init = clears && instructions.as_ref().map_or(true, |all| all.iter().any(allocates));
    print_locals(clears, is_init, locals, out);
    let instructions = match instructions {
        Ok(instructions) => instructions,
        Err(error) => {
            out.push(1, format!("// its IL cannot be decoded ({}): compared by bytes", one_line(error.kind())));
            body.clauses.iter().for_each(|clause| out.push(1, format!("// {clause:?}")));
            return print_bytes(body.il, out);
        }
    };
    let end = instructions.last().map_or(0, Instruction::end);
    let mut starts: BTreeSet<u32> = instructions.iter().map(|instruction| instruction.offset).collect();
    starts.insert(end);
    let marks = blocks::nest(&body.clauses, &starts, |kind| caught(names, kind));
    let is_end = |clause: &Clause| {
        let ends = [(clause.try_offset, clause.try_length), (clause.handler_offset, clause.handler_length)];
        ends.iter().any(|(start, length)| start.saturating_add(*length) == end)
    };
    let leads_to_end = instructions.iter().any(|each| targets(each).any(|target| target == end))
        || marks.is_none() && body.clauses.iter().any(is_end)
        || facts.lines.iter().any(|(.., places)| places.contains(&end));
    let mut printer =
        Printer { names, clauses: &body.clauses, starts: &starts, places: BTreeMap::new(), leads_to_end, indent: 1, out };
    let mut next = marks.as_deref().unwrap_or_default();
    for instruction in &instructions {
        blocks::up_to(&mut next, instruction.offset).for_each(|mark| printer.mark(mark));
        if let Some(point) = facts.points.get(&instruction.offset) {
            printer.out.push(printer.indent, point);
        }
        printer.places.insert(instruction.offset, printer.out.len());
        printer.instruction(instruction);
    }
    blocks::up_to(&mut next, u32::MAX).for_each(|mark| printer.mark(mark));
    printer.places.insert(end, printer.out.len());
    if printer.leads_to_end {
        printer.out.push(1, "// end");
    }
    if marks.is_none() {
        body.clauses.iter().for_each(|clause| printer.clause(clause));
    }
    for (indent, line, places) in &facts.lines {
        printer.out.push_leading(*indent, line.clone(), places.iter().map(|place| *place as usize).collect());
    }
    let places = printer.places;
    out.resolve(&places);
}

pub(crate) fn print_bytes(bytes: &[u8], out: &mut Text) {
    bytes.chunks(BYTES_A_LINE).for_each(|chunk| out.push(2, quote::hex(chunk)));
}

/// Prints the locals. `is_init` tells whether the flag `InitLocals` matters without locals.
fn print_locals(clears: bool, is_init: bool, locals: Result<Vec<String>>, out: &mut Text) {
    let init = if clears { " init" } else { "" };
    match locals {
        Ok(types) if types.is_empty() && !is_init => {}
        Ok(types) => {
            out.push(1, format!(".locals{init}"));
            types.iter().enumerate().for_each(|(number, each)| out.push(2, format!("[{number}] {each}")));
        }
        Err(error) => out.push(1, format!(".locals{init} // {}", one_line(error.kind()))),
    }
}

struct Printer<'p, 'a, 'm> {
    names: &'p Names<'a, 'm>,
    clauses: &'p [Clause],
    /// The offsets of instructions, and of the end.
    starts: &'p BTreeSet<u32>,
    /// The line numbers of offsets.
    places: BTreeMap<u32, usize>,
    /// Whether a target is the end of the code.
    leads_to_end: bool,
    indent: usize,
    out: &'p mut Text,
}

impl Printer<'_, '_, '_> {
    fn mark(&mut self, mark: &Mark) {
        match mark {
            Mark::Open(words) => {
                self.out.push(self.indent, format!("{words} {{").trim_start());
                self.indent += 1;
            }
            Mark::Close => {
                self.indent = self.indent.saturating_sub(1);
                self.out.push(self.indent, "}");
            }
            Mark::Clause(number) => self.clauses.get(*number).into_iter().for_each(|clause| self.clause(clause)),
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let targets = RefCell::new(Vec::new());
        let words = match text(self.names, instruction, |target| self.label(target, &targets)) {
            Ok(words) => words,
            Err(error) => {
                format!("{} {}  // {}", instruction.info.name, quote::hex(instruction.operand), one_line(error.kind()))
            }
        };
        // Both forms of a branch have the same meaning.
        let words = match words.strip_prefix(instruction.info.name) {
            Some(operand) => format!("{}{operand}", plain_name(instruction.info)),
            None => words,
        };
        self.out.push_leading(self.indent, words, targets.into_inner());
    }

    /// The label of a target, which is recorded. The offset, if no instruction starts there.
    fn label(&self, offset: u32, targets: &RefCell<Vec<usize>>) -> String {
        if !self.starts.contains(&offset) {
            return format!("IL_{offset:04x} /* which is no instruction */");
        }
        targets.borrow_mut().push(offset as usize);
        LABEL.into()
    }

    /// Prints a clause with labels, because it is no block.
    fn clause(&mut self, clause: &Clause) {
        let targets = RefCell::new(Vec::new());
        let label = |offset: u32| self.label(offset, &targets);
        let range = |start: u32, length: u32| format!("{} to {}", label(start), label(start.saturating_add(length)));
        let protected = range(clause.try_offset, clause.try_length);
        let kind = match clause.kind {
            ClauseKind::Filter(filter) => format!("filter {}", label(filter)),
            kind => blocks::words(&kind, |kind| caught(self.names, kind)),
        };
        let handler = range(clause.handler_offset, clause.handler_length);
        self.out.push_leading(1, format!(".try {protected} {kind} handler {handler}"), targets.into_inner());
    }
}

/// The name of an opcode. For a branch, that of its long form.
fn plain_name(info: &OpCodeInfo) -> &'static str {
    if info.operand == Operand::BranchS { OpCode::long_form(info.opcode).info().name } else { info.name }
}
