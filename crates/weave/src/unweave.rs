//! Weaving undone: what a body was before the two shapes of [`probe`](crate::probe) were put into it, and whether the
//! woven body is, to the byte, what weaving makes of its original.
//!
//! A body is recognised in whole or not at all. What weaving does not keep (the form of a branch, a tiny header) is
//! taken from the original, where there is one.

use std::collections::BTreeSet;

use ecma335::{
    Clause, ClauseKind, Cursor, FileOffset, Image, Metadata, MethodBody, OpCode, Rid, Table,
    cursor::put_compressed_u32,
    element::convention,
    flags::cli_flags,
    image::Precompiled,
    opcode::Flow,
    schema::{MethodDef, StandAloneSig},
    signature::MethodShape,
};
use identity::MethodId;

use crate::{
    code::{Code, Instruction, Label, Operand},
    effects::Effects,
    layout::{Layout, ldloc, stloc},
    method::{Batch, Context, MethodWeaver, NATIVE_INT, effective_return},
    module::{module_key, woven_mvid},
    output_check,
    probe::{LeaveMode, Shape},
    tracker::{Tracker, TrackerRefs, TrackerRows},
};

/// A body without its probes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwoven {
    /// The shape it was woven in.
    pub shape: Shape,
    /// The IL.
    pub il: Vec<u8>,
    /// The exception clauses.
    pub clauses: Vec<Clause>,
    /// The signature of the locals that are not the probe's.
    pub locals: Vec<u8>,
    /// Where each instruction stood in the woven body, and where it stands in this one.
    pub places: Vec<(u32, u32)>,
}

/// Takes probes out of bodies one after another, in room that it uses again.
#[derive(Default, Debug)]
pub struct Unweaver {
    code: Code,
    original: Code,
    layout: Layout,
    out: Vec<Instruction>,
    moved: Vec<u32>,
}

/// Nothing of the original was here: nobody may lead here.
const NOWHERE: u32 = u32::MAX;
/// The instructions of the enter probe.
const ENTER: usize = 3;

/// What a body's probes are made of, by its signature and that of its locals.
struct Expected {
    shape: Shape,
    token_local: u16,
    /// The local of the return value, in the shape that has one.
    return_local: Option<u16>,
    /// The signature of the other locals.
    locals: Vec<u8>,
}

impl Unweaver {
    /// Takes the probes out of a method's body; none if it is not exactly one of the two shapes. `original` says how the
    /// branches were written, if it has the same.
    pub fn unweave(
        &mut self,
        metadata: &Metadata<'_>,
        rows: &TrackerRows,
        rid: Rid<MethodDef>,
        body: &MethodBody<'_>,
        original: Option<&MethodBody<'_>>,
    ) -> Option<Unwoven> {
        self.code.decode(body).ok()?;
        let id = MethodId::new(rows.mark()?.module_key, rid.get()).0;
        let enter = self.at(body, 0)?;
        if enter.opcode() != OpCode::LdcI8 || enter.value() != id || !self.is_call(body, 1, rows.refs.when_entering.0) {
            return None;
        }
        if original.is_none_or(|original| self.original.decode(original).is_err()) {
            self.original.instructions.clear();
        }
        let mut found = None;
        for shape in [Shape::Finally, Shape::Return] {
            self.code.decode(body).ok()?;
            found =
                expected(metadata, rid, body, shape).filter(|expected| self.unweave_shape(body, expected, &rows.refs).is_some());
            if found.is_some() {
                break;
            }
        }
        let (shape, locals) = found.map(|expected| (expected.shape, expected.locals))?;
        if shape == Shape::Finally {
            self.code.clauses.pop();
        }
        self.check_labels()?;
        self.code.replace(&mut self.out, &self.moved);
        self.take_forms();
        self.layout.lay_out(&mut self.code, body.il);
        let woven = self.code.instructions.iter().map(|instruction| instruction.origin);
        let places = woven.zip(self.layout.offsets.iter().copied()).collect();
        Some(Unwoven { shape, il: self.layout.il.clone(), clauses: self.layout.clauses.clone(), locals, places })
    }

    /// Takes the probes of one shape out, into `out` and `moved`.
    fn unweave_shape(&mut self, body: &MethodBody<'_>, expected: &Expected, refs: &TrackerRefs) -> Option<()> {
        let is_finally = expected.shape == Shape::Finally;
        // The last clause of that shape is the leave probe's.
        let handlers = self.code.clauses.len().checked_sub(usize::from(is_finally))?;
        if handlers > 0 {
            self.unweave_handlers(body, expected, refs.when_handling.0, handlers)?;
            self.check_labels()?;
            self.code.replace(&mut self.out, &self.moved);
        }
        self.out.clear();
        self.moved.clear();
        if is_finally {
            self.unweave_finally(body, expected, refs.when_leaving.0)
        } else {
            self.unweave_return(body, expected, refs.when_leaving.0)
        }
    }

    /// The body without the probe where each handler begins.
    fn unweave_handlers(&mut self, body: &MethodBody<'_>, expected: &Expected, handle: u32, clauses: usize) -> Option<()> {
        self.out.clear();
        self.moved.clear();
        let mut starts: Vec<usize> =
            self.code.clauses[..clauses].iter().map(|clause| self.code.target(clause.handler.0)).collect();
        starts.sort_unstable();
        let mut index = 0;
        while index < self.code.instructions.len() {
            self.moved.push(self.out.len() as u32);
            if starts.binary_search(&index).is_ok() {
                if !self.is_probe(body, index, expected, handle) {
                    return None;
                }
                // Whoever led to the handler's own start leads to the probe.
                index += 2;
                self.moved.resize(index + 1, NOWHERE);
            }
            self.out.push(*self.code.instructions.get(index)?);
            index += 1;
        }
        self.moved.push(self.out.len() as u32);
        Some(())
    }

    /// The body of the protected block, with a `ret` for each way to the epilogue.
    fn unweave_finally(&mut self, body: &MethodBody<'_>, expected: &Expected, leave: u32) -> Option<()> {
        let clause = *self.code.clauses.last()?;
        let range = |(start, end): (Label, Label)| (self.code.target(start), self.code.target(end));
        let ((start, end), (handler, epilogue)) = (range(clause.protected), range(clause.handler));
        let is_probe = clause.kind == ClauseKind::Finally
            && (start, end, epilogue) == (ENTER, handler, handler + 3)
            && self.is_local(body, ENTER - 1, stloc(expected.token_local))
            && self.is_probe(body, handler, expected, leave)
            && self.opcode(handler + 2) == Some(OpCode::Endfinally);
        if !is_probe {
            return None;
        }
        let count = self.code.instructions.len();
        let mut ret = epilogue;
        if let Some(local) = expected.return_local.filter(|_| epilogue < count) {
            ret += usize::from(self.is_local(body, epilogue, ldloc(local)));
            (ret == epilogue + 1).then_some(())?;
        }
        let returns = epilogue < count;
        if returns && (ret + 1 != count || self.opcode(ret) != Some(OpCode::Ret)) {
            return None;
        }
        self.moved.resize(ENTER, NOWHERE);
        let mut exits = 0;
        for index in ENTER..handler {
            let instruction = *self.code.instructions.get(index)?;
            let is_exit = matches!(instruction.opcode(), OpCode::Leave | OpCode::LeaveS)
                && matches!(instruction.operand, Operand::Label(label) if self.code.target(label) == epilogue);
            if instruction.opcode() == OpCode::Ret {
                return None;
            }
            if !is_exit {
                self.moved.push(self.out.len() as u32);
                self.out.push(instruction);
                continue;
            }
            exits += 1;
            let mut origin = instruction.origin;
            if let Some(local) = expected.return_local {
                // Who jumped to the `ret` jumps to the store before it, and nobody to what leaves.
                if index == ENTER || !self.is_local(body, index - 1, stloc(local)) {
                    return None;
                }
                origin = self.out.pop()?.origin;
                self.moved.push(NOWHERE);
            } else {
                self.moved.push(self.out.len() as u32);
            }
            self.out.push(Instruction { origin, ..Instruction::new(OpCode::Ret, Operand::Value(0)) });
        }
        self.moved.push(self.out.len() as u32);
        self.moved.resize(count + 1, NOWHERE);
        (returns == (exits > 0)).then_some(())
    }

    /// The body without the probe before each `ret`, `jmp` and tail call.
    fn unweave_return(&mut self, body: &MethodBody<'_>, expected: &Expected, leave: u32) -> Option<()> {
        if !self.is_local(body, ENTER - 1, stloc(expected.token_local)) {
            return None;
        }
        self.moved.resize(ENTER, NOWHERE);
        let mut index = ENTER;
        while index < self.code.instructions.len() {
            self.moved.push(self.out.len() as u32);
            let is_probed = self.is_probe(body, index, expected, leave);
            let first = if is_probed { index + 2 } else { index };
            let mut last = first;
            let mut is_tail = false;
            while self.code.instructions.get(last)?.info.flow == Flow::Prefix {
                is_tail |= self.opcode(last) == Some(OpCode::Tail);
                last += 1;
            }
            let is_exit = is_tail || matches!(self.opcode(first), Some(OpCode::Ret | OpCode::Jmp));
            if is_exit != is_probed {
                return None;
            }
            if !is_tail {
                self.out.push(*self.code.instructions.get(first)?);
                index = first + 1;
                self.moved.resize(index, NOWHERE);
                continue;
            }
            // Prefixes, call, `ret`; nobody leads to those but the first.
            last += 1;
            if self.opcode(last) != Some(OpCode::Ret) {
                return None;
            }
            self.out.extend_from_slice(self.code.instructions.get(first..=last)?);
            index = last + 1;
            self.moved.resize(index, NOWHERE);
            // Who jumped to that `ret` jumps to a copy of it with a probe of its own.
            if self.has_copy(body, index, expected, leave) {
                self.moved.push(self.out.len() as u32 - 1);
                index += 3;
                self.moved.resize(index, NOWHERE);
            }
        }
        self.moved.push(self.out.len() as u32);
        Some(())
    }

    /// Whether the probed `ret` here is the copy of one behind a tail call: then the original has one less.
    fn has_copy(&self, body: &MethodBody<'_>, index: usize, expected: &Expected, leave: u32) -> bool {
        let is_probed_ret = |at: usize| self.is_probe(body, at, expected, leave) && self.opcode(at + 2) == Some(OpCode::Ret);
        let probed = (0..).take_while(|number| is_probed_ret(index + number * 3)).count();
        let original = self.original.instructions.iter().skip(self.out.len());
        let plain = original.take_while(|instruction| instruction.opcode() == OpCode::Ret).count();
        probed > plain
    }

    /// Whether all that labels still lead to is the original's.
    fn check_labels(&self) -> Option<()> {
        let is_there = |label: &Label| self.moved.get(self.code.target(*label)).is_some_and(|place| *place != NOWHERE);
        let are_there = |(start, end): &(Label, Label)| is_there(start) && is_there(end);
        let operands = self.out.iter().all(|instruction| match instruction.operand {
            Operand::Label(label) => is_there(&label),
            _ => true,
        });
        let clauses = self.code.clauses.iter().all(|clause| {
            are_there(&clause.protected) && are_there(&clause.handler) && clause.filter.as_ref().is_none_or(is_there)
        });
        (operands && clauses && self.code.switch_labels.iter().all(is_there)).then_some(())
    }

    /// Gives branches the short form that they have in the original.
    fn take_forms(&mut self) {
        if self.original.instructions.len() != self.code.instructions.len() {
            return;
        }
        for (instruction, original) in self.code.instructions.iter_mut().zip(&self.original.instructions) {
            if instruction.opcode() != original.opcode() && instruction.opcode() == original.opcode().long_form() {
                instruction.info = original.info;
            }
        }
    }

    fn opcode(&self, index: usize) -> Option<OpCode> {
        self.code.instructions.get(index).map(Instruction::opcode)
    }

    /// An instruction as it stands in the woven body.
    fn at<'b>(&self, body: &MethodBody<'b>, index: usize) -> Option<ecma335::body::Instruction<'b>> {
        body.instructions_from(self.code.instructions.get(index)?.origin).next()?.ok()
    }

    fn is_call(&self, body: &MethodBody<'_>, index: usize, method: u32) -> bool {
        self.at(body, index).is_some_and(|call| call.opcode() == OpCode::Call && call.token().0 == method)
    }

    fn is_local(&self, body: &MethodBody<'_>, index: usize, expected: Instruction) -> bool {
        let Operand::Value(local) = expected.operand else { return false };
        self.at(body, index).is_some_and(|found| found.opcode() == expected.opcode() && found.value() == local)
    }

    /// Whether a probe is here that takes the token.
    fn is_probe(&self, body: &MethodBody<'_>, index: usize, expected: &Expected, method: u32) -> bool {
        self.is_local(body, index, ldloc(expected.token_local)) && self.is_call(body, index + 1, method)
    }
}

/// Takes the probe's types off the end of the locals' signature; none if they are not there.
fn expected(metadata: &Metadata<'_>, rid: Rid<MethodDef>, body: &MethodBody<'_>, shape: Shape) -> Option<Expected> {
    let row = metadata.row(rid).ok()?;
    let signature = metadata.blobs.blob(row.signature).ok()?;
    let method = MethodShape::read(signature.rest(), signature.offset()).ok()?;
    let spill = effective_return(&row, &method, signature.rest()).filter(|_| shape == Shape::Finally);
    let spill = spill.map(|range| signature.rest().get(range).unwrap_or_default());

    let sig = metadata.row(body.local_var_sig.rid_in::<StandAloneSig>()?).ok()?;
    let mut cursor = metadata.blobs.blob(sig.signature).ok()?;
    (cursor.u8().ok()? == convention::LOCAL).then_some(())?;
    let total = cursor.compressed_u32().ok()?;
    let types = cursor.rest().strip_suffix(spill.unwrap_or_default())?.strip_suffix(&[NATIVE_INT])?;
    let count = u16::try_from(total.checked_sub(1 + u32::from(spill.is_some()))?).ok()?;
    let mut locals = vec![convention::LOCAL];
    put_compressed_u32(&mut locals, count.into());
    locals.extend_from_slice(types);
    Some(Expected { shape, token_local: count, return_local: spill.and(count.checked_add(1)), locals })
}

/// Tells whether a woven module is its original and the probes, and nothing else.
#[derive(Debug)]
pub struct Audit<'a, 'm> {
    context: Context<'a, 'm>,
    weaver: MethodWeaver,
    batch: Batch,
    woven: &'m Metadata<'m>,
    rows: &'m TrackerRows,
    /// The rows of StandAloneSig that woven bodies have.
    local_sigs: BTreeSet<u32>,
}

impl<'a, 'm> Audit<'a, 'm> {
    /// Begins with an original and a woven module; none if the rows of the one are not all in the other, or the mark has
    /// another original's key: then no woven body can be its.
    pub fn new(original: (&'m Image<'a>, &'m Metadata<'a>), woven: &'m Metadata<'m>, rows: &'m TrackerRows) -> Option<Self> {
        let (image, metadata) = original;
        let module_key = module_key(metadata).ok()?;
        if rows.mark()?.module_key != module_key || !extends(woven, metadata) {
            return None;
        }
        let effects = Effects::new(metadata, &rows.refs);
        let context = Context { image, metadata, effects, refs: rows.refs, module_key, mode: LeaveMode::Finally, pdb: None };
        let (weaver, batch) = (MethodWeaver::default(), Batch::default());
        Some(Self { context, weaver, batch, woven, rows, local_sigs: BTreeSet::new() })
    }

    /// Whether weaving the original method in this shape makes these bytes of a body.
    pub fn is_exact(&mut self, rid: Rid<MethodDef>, shape: Shape, bytes: &[u8]) -> bool {
        self.batch.bodies.clear();
        self.batch.local_sigs.clear();
        self.context.mode = if shape == Shape::Finally { LeaveMode::Finally } else { LeaveMode::Return };
        if self.weaver.weave(&self.context, rid, &mut self.batch).is_err() {
            return false;
        }
        let token = MethodBody::LOCAL_VAR_SIG_AT..MethodBody::LOCAL_VAR_SIG_AT + 4;
        let without_token = |bytes: &[u8]| Some((bytes.get(..token.start)?.to_vec(), bytes.get(token.end..)?.to_vec()));
        let Ok(body) = MethodBody::parse(Cursor::new(bytes, FileOffset(0))) else { return false };
        let sig = body.local_var_sig.rid_in::<StandAloneSig>().unwrap_or_default();
        let blob = self.woven.row(sig).and_then(|row| self.woven.blob(row.signature)).unwrap_or_default();
        self.local_sigs.insert(sig.get());
        without_token(bytes) == without_token(&self.batch.bodies) && self.batch.local_sigs.first().is_some_and(|sig| sig == blob)
    }

    /// The tables with other rows than the probes need, and how many more; after all bodies were looked at.
    pub fn other_rows(&self) -> Vec<(Table, u32)> {
        let before = |table| self.context.metadata.tables.count(table);
        let added = |table| match table {
            Table::StandAloneSig => self.local_sigs.range(before(table) + 1..).count() as u32,
            _ => self.rows.count(table),
        };
        let more = |table: &Table| self.woven.tables.count(*table).wrapping_sub(before(*table)).wrapping_sub(added(*table));
        Table::ALL.iter().map(|table| (*table, more(table))).filter(|(_, more)| *more != 0).collect()
    }

    /// The version identifier that the woven module has to have.
    pub fn mvid(&self) -> Option<[u8; 16]> {
        let mark = self.rows.mark()?;
        let is_there = !self.context.metadata.guids.bytes.is_empty();
        Some(if is_there { woven_mvid(mark.module_key, mark.tool, mark.options) } else { [0; 16] })
    }
}

/// Whether all that a module's tokens mean they mean in the other too: rows and heaps are its own, and more behind them.
/// The places of bodies may differ.
pub fn extends(new: &Metadata<'_>, old: &Metadata<'_>) -> bool {
    let methods = || old.tables.rows::<MethodDef>().zip(new.tables.rows::<MethodDef>());
    output_check::check_tables(new, old).is_ok() && methods().all(|((_, old), (_, new))| MethodDef { rva: old.rva, ..new } == old)
}

/// The flags of the CLI header that a woven image may have, with its strong name kept or signed again, and without.
pub fn woven_flags(original: &Image<'_>) -> [u32; 3] {
    let mut flags = original.cli_header().flags;
    if original.precompiled() == Some(Precompiled::ReadyToRun) {
        flags = flags & !cli_flags::IL_LIBRARY | cli_flags::IL_ONLY;
    }
    [flags, flags | cli_flags::STRONG_NAME_SIGNED, flags & !cli_flags::STRONG_NAME_SIGNED]
}

/// Whether a module is woven by this tool: its tracker's rows and its mark.
pub fn rows(tracker: &Tracker, metadata: &Metadata<'_>) -> Option<TrackerRows> {
    tracker.find_in(metadata).filter(|rows| rows.mark().is_some())
}
