//! Method bodies: stack, locals, instructions with labels, exception blocks (III, II.15.4, II.19).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use ecma335::{
    Clause, ClauseKind, Cursor, MethodBody, OpCode, Result, Table, Token, body::Instruction, opcode::Operand,
    schema::StandAloneSig, signature::Signature,
};

use sha2::{Digest as _, Sha256};

use super::{
    blocks::{self, Mark},
    debug::MethodDebug,
    lines::{Lines, listed, one_line},
    names::Names,
    printer::Options,
};
use crate::quote;

/// Prints a body: all between a method's braces, except its attributes.
pub fn print(names: &Names<'_, '_>, body: &MethodBody<'_>, debug: &MethodDebug, options: Options, lines: &mut Lines) {
    lines.line(format_args!(".maxstack {}", body.max_stack));
    print_locals(names, body, debug, lines);
    let mut instructions = Vec::new();
    let mut rest = None;
    for instruction in body.instructions() {
        match instruction {
            Ok(instruction) => instructions.push(instruction),
            Err(error) => rest = Some(error),
        }
    }
    let end = instructions.last().map_or(0, Instruction::end);
    let mut starts: BTreeSet<u32> = instructions.iter().map(|instruction| instruction.offset).collect();
    starts.insert(end);
    let marks = blocks::nest(&body.clauses, &starts, |kind| caught(names, kind));
    let mut next = marks.as_deref().unwrap_or_default();
    let stable = options.stable.then(|| stable_labels(names, &instructions, &body.clauses));
    let mut printer = Printer { names, options, clauses: &body.clauses, starts: &starts, stable, labelled: None, lines };
    for instruction in &instructions {
        blocks::up_to(&mut next, instruction.offset).for_each(|mark| printer.mark(mark));
        if let Some(line) = debug.lines.get(&instruction.offset) {
            printer.lines.comment(line);
        }
        printer.instruction(instruction);
    }
    if let Some(error) = rest {
        printer.lines.comment(error);
        printer.bytes(end, body.il.get(end as usize..).unwrap_or_default());
    }
    if marks.is_none() || instructions.iter().any(|each| targets(each).any(|target| target == end)) {
        printer.label_alone(end);
    }
    blocks::up_to(&mut next, u32::MAX).for_each(|mark| printer.mark(mark));
    if marks.is_none() {
        body.clauses.iter().for_each(|clause| printer.clause(clause));
    }
}

/// Labels for branch targets that depend on the instructions there, and on the number of equal places before. Changes
/// elsewhere in the code do not affect them.
fn stable_labels(names: &Names<'_, '_>, instructions: &[Instruction<'_>], clauses: &[Clause]) -> BTreeMap<u32, String> {
    /// The number of instructions that identify a place.
    const WINDOW: usize = 4;
    let mut places: BTreeSet<u32> = instructions.iter().flat_map(targets).collect();
    for clause in clauses {
        let end = |start: u32, length: u32| start.saturating_add(length);
        places.extend([clause.try_offset, end(clause.try_offset, clause.try_length)]);
        places.extend([clause.handler_offset, end(clause.handler_offset, clause.handler_length)]);
        places.extend(match clause.kind {
            ClauseKind::Filter(filter) => Some(filter),
            _ => None,
        });
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let label = |place: u32| {
        let first = instructions.partition_point(|each| each.offset < place);
        let window = instructions.iter().skip(first).take(WINDOW);
        let words = window.map(|each| text(names, each, |_| String::new()).unwrap_or_default() + "\n");
        let hash = hex::encode(Sha256::digest(words.collect::<String>()));
        let name = format!("L_{}", hash.get(..6).unwrap_or_default());
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        (place, if *count > 1 { format!("{name}_{count}") } else { name })
    };
    places.into_iter().map(label).collect()
}

/// The possible branch targets of an instruction.
pub fn targets<'i>(instruction: &'i Instruction<'_>) -> impl Iterator<Item = u32> + 'i {
    instruction.branch_target().into_iter().chain(instruction.switch_targets())
}

fn print_locals(names: &Names<'_, '_>, body: &MethodBody<'_>, debug: &MethodDebug, lines: &mut Lines) {
    let token = body.local_var_sig;
    let init = if body.init_locals { "init " } else { "" };
    if token == Token::default() {
        return;
    }
    match locals(names, token) {
        Ok(types) if types.is_empty() => {}
        Ok(types) => {
            lines.line(format_args!(".locals {init}("));
            let last = types.len() - 1;
            for (number, each) in types.iter().enumerate() {
                let name = u16::try_from(number).ok().and_then(|slot| debug.locals.get(&slot));
                let name = name.map(|name| format!(" {}", quote::name(name))).unwrap_or_default();
                lines.line(format_args!("  [{number}] {each}{name}{}", if number == last { ")" } else { "," }));
            }
            if types.iter().any(|each| each.ends_with(" pinned")) {
                lines.comment("Mono's ilasm leaves out `pinned`");
            }
        }
        Err(error) => lines.comment(format_args!(".locals {init}{token}: {error}")),
    }
}

/// The types of a body's locals, by the signature's token.
pub fn locals(names: &Names<'_, '_>, token: Token) -> Result<Vec<String>> {
    let row: StandAloneSig = names.metadata.row(token.rid_in().unwrap_or_default())?;
    local_types(names, names.metadata.blobs.blob(row.signature)?)
}

/// The types in a signature of locals.
pub fn local_types(names: &Names<'_, '_>, signature: Cursor<'_>) -> Result<Vec<String>> {
    match Signature::parse(signature)? {
        Signature::Locals(types) => Ok(listed(types.iter().map(|each| names.type_text(each)))),
        _ => Ok(Vec::new()),
    }
}

struct Printer<'n, 'a, 'm, 'l> {
    names: &'n Names<'a, 'm>,
    options: Options,
    clauses: &'n [Clause],
    /// The offsets of instructions, and of the end.
    starts: &'n BTreeSet<u32>,
    /// The labels of branch targets, if they must be stable.
    stable: Option<BTreeMap<u32, String>>,
    /// The place whose label is printed before its instruction.
    labelled: Option<u32>,
    lines: &'l mut Lines,
}

impl Printer<'_, '_, '_, '_> {
    fn label(&self, offset: u32) -> String {
        let stable = self.stable.as_ref().and_then(|labels| labels.get(&offset)).cloned();
        stable.unwrap_or_else(|| format!("IL_{offset:04x}"))
    }

    /// A label and a space. Empty if no label is needed.
    fn label_before(&self, offset: u32) -> String {
        match &self.stable {
            _ if self.labelled == Some(offset) => String::new(),
            Some(labels) if !labels.contains_key(&offset) => String::new(),
            _ => format!("{}:  ", self.label(offset)),
        }
    }

    /// Prints the label of a place on its own line, once.
    fn label_alone(&mut self, offset: u32) {
        if self.labelled != Some(offset) {
            let label = self.label(offset);
            self.lines.line(format_args!("{label}:"));
            self.labelled = Some(offset);
        }
    }

    fn mark(&mut self, mark: &Mark) {
        match mark {
            Mark::Open(words) => {
                if !words.is_empty() {
                    self.lines.line(words);
                }
                self.lines.open();
            }
            Mark::Close => self.lines.close(),
            Mark::Clause(number) => {
                if let Some(clause) = self.clauses.get(*number) {
                    self.label_alone(clause.handler_offset.saturating_add(clause.handler_length));
                    self.clause(clause);
                }
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let inside = targets(instruction).find(|target| !self.starts.contains(target));
        let has_words =
            instruction.opcode() != OpCode::No && (instruction.info.operand != Operand::Switch || instruction.value() != 0);
        let text = match inside {
            Some(target) => Err(format!("{} leads to {}, which is no instruction", instruction.info.name, self.label(target))),
            None if has_words => text(self.names, instruction, |target| self.label(target))
                .map_err(|error| format!("{}: {error}", instruction.info.name)),
            None => Err(format!("{}, which Mono's ilasm does not know", instruction.info.name)),
        };
        match text {
            Ok(text) => {
                let comment = self.comment(instruction);
                let line = format!("{}{text}", self.label_before(instruction.offset));
                self.lines.line(if comment.is_empty() { line } else { format!("{line:<48}  // {comment}") });
            }
            Err(error) => {
                self.lines.comment(error);
                let mut bytes = Vec::new();
                instruction.opcode().put(&mut bytes);
                bytes.extend_from_slice(instruction.operand);
                self.bytes(instruction.offset, &bytes);
            }
        }
    }

    /// Prints bytes that no instruction represents.
    fn bytes(&mut self, offset: u32, bytes: &[u8]) {
        let label = self.label_before(offset);
        self.lines.line(label.trim_end());
        for byte in bytes {
            self.lines.line(format_args!("  .emitbyte 0x{byte:02x}"));
        }
    }

    /// The comment of an instruction for `--bytes` and `--tokens`.
    fn comment(&self, instruction: &Instruction<'_>) -> String {
        let mut comment = String::new();
        if self.options.bytes {
            let mut bytes = Vec::new();
            instruction.opcode().put(&mut bytes);
            bytes.extend_from_slice(instruction.operand);
            comment = quote::hex(&bytes);
        }
        let has_token = matches!(
            instruction.info.operand,
            Operand::Method | Operand::Field | Operand::Type | Operand::Token | Operand::String | Operand::Sig
        );
        if self.options.tokens && has_token {
            let _ = write!(comment, "{}{}", if comment.is_empty() { "" } else { "  " }, instruction.token());
        }
        comment
    }

    /// Prints a clause with labels, because it is no block (II.19.1).
    fn clause(&mut self, clause: &Clause) {
        let label = |offset| self.label(offset);
        let end = clause.try_offset.saturating_add(clause.try_length);
        let handler_end = clause.handler_offset.saturating_add(clause.handler_length);
        let mut handler = blocks::words(&clause.kind, |kind| caught(self.names, kind));
        let mut labels = vec![clause.try_offset, end, clause.handler_offset, handler_end];
        if let ClauseKind::Filter(filter) = clause.kind {
            handler = format!("filter {}", label(filter));
            labels.push(filter);
        }
        let line = format!(
            ".try {} to {} {handler} handler {} to {}",
            label(clause.try_offset),
            label(end),
            label(clause.handler_offset),
            label(handler_end)
        );
        let missing = labels.iter().find(|each| !self.starts.contains(each)).map(|missing| label(*missing));
        match missing {
            Some(missing) => self.lines.comment(format_args!("{line}: {missing} is no instruction")),
            None => self.lines.line(line),
        }
    }
}

/// An instruction as text. `label` formats its targets.
pub fn text(names: &Names<'_, '_>, instruction: &Instruction<'_>, label: impl Fn(u32) -> String) -> Result<String> {
    let (value, token) = (instruction.value(), instruction.token());
    let operand = match instruction.info.operand {
        Operand::None => return Ok(instruction.info.name.to_owned()),
        Operand::I1 if instruction.opcode() == OpCode::LdcI4S => (value as i8).to_string(),
        Operand::I1 | Operand::VarS | Operand::Var => value.to_string(),
        Operand::I4 => (value as i32).to_string(),
        Operand::I8 => (value as i64).to_string(),
        Operand::R4 => {
            let float = f32::from_bits(value as u32);
            quote::float32(float).unwrap_or_else(|| format!("({}) /* {float:?} */", quote::hex(instruction.operand)))
        }
        Operand::R8 => {
            let float = f64::from_bits(value);
            quote::float64(float).unwrap_or_else(|| format!("({}) /* {float:?} */", quote::hex(instruction.operand)))
        }
        Operand::BranchS | Operand::Branch => instruction.branch_target().map(&label).unwrap_or_default(),
        Operand::Switch => format!("({})", instruction.switch_targets().map(&label).collect::<Vec<_>>().join(", ")),
        Operand::Method => names.method(token)?,
        Operand::Field => names.field(token)?,
        Operand::Type => names.type_operand(token)?,
        Operand::Token => token_text(names, token)?,
        Operand::String => quote::string(&names.metadata.user_strings.user_string(token.rid())?, names.ilasm),
        Operand::Sig => call_site(names, token)?,
    };
    Ok(format!("{} {operand}", instruction.info.name))
}

fn token_text(names: &Names<'_, '_>, token: Token) -> Result<String> {
    match token.table() {
        _ if names.is_field(token) => Ok(format!("field {}", names.field(token)?)),
        Some(Table::MethodDef | Table::MemberRef) => Ok(format!("method {}", names.open_method(token)?)),
        Some(Table::MethodSpec) => Ok(format!("method {}", names.method(token)?)),
        _ => names.type_operand(token),
    }
}

fn call_site(names: &Names<'_, '_>, token: Token) -> Result<String> {
    let row: StandAloneSig = names.metadata.row(token.rid_in().unwrap_or_default())?;
    match Signature::parse(names.metadata.blobs.blob(row.signature)?)? {
        Signature::Method(method) => Ok(method.display(names).to_string()),
        _ => Ok(format!("/* {token} is no method's signature */")),
    }
}

/// The type that a clause catches; empty for other kinds.
pub fn caught(names: &Names<'_, '_>, kind: &ClauseKind) -> String {
    match kind {
        ClauseKind::Catch(token) => names.type_ref(*token).unwrap_or_else(|error| format!("/* {} */", one_line(error))),
        _ => String::new(),
    }
}
