//! One method: read, woven, laid out, checked.

use std::ops::Range;

use ecma335::{
    Cursor, FileOffset, Image, Metadata, MethodBody, Rid, Rva, Token,
    body::Clause,
    element::{ElementType, convention},
    schema::{MethodDef, StandAloneSig},
    signature::{LocalsShape, MethodShape, effective_async_return},
};
use identity::MethodId;
use indexmap::IndexSet;

use crate::{
    check::Checker,
    code::Code,
    effects::Effects,
    layout::Layout,
    pdb::{MethodDebug, Pdb},
    probe::{self, LeaveMode, Probe, Shape},
    reason::Reason,
    tracker::TrackerRefs,
};

/// `native int` in a signature: the type of the probe's token.
pub(crate) const NATIVE_INT: u8 = ElementType::I as u8;
/// The most locals a body can have (II.23.2.6).
const MAX_LOCALS: u32 = 0xFFFE;

/// What all methods of a module are woven with.
#[derive(Debug)]
pub struct Context<'a, 'm> {
    /// The input.
    pub image: &'m Image<'a>,
    /// Its metadata.
    pub metadata: &'m Metadata<'a>,
    /// What calls do to the stack.
    pub effects: Effects<'a, 'm>,
    /// What the probes call.
    pub refs: TrackerRefs,
    /// The key that the method ids begin with.
    pub module_key: u64,
    /// The leave mode that was asked for.
    pub mode: LeaveMode,
    /// The PDB that is to follow.
    pub(crate) pdb: Option<&'m Pdb<'m>>,
}

/// Weaves methods one after another, in room that it uses again.
#[derive(Default, Debug)]
pub struct MethodWeaver {
    code: Code,
    layout: Layout,
    checker: Checker,
    clauses: Vec<Clause>,
    scratch: probe::Scratch,
    local_sig: Vec<u8>,
}

/// Bodies that were woven one after another, with the signatures of their locals.
#[derive(Default, Debug)]
pub struct Batch {
    /// The bodies, each at a multiple of 4. The token of their locals is not in them yet.
    pub bodies: Vec<u8>,
    /// The signatures of the locals of all bodies that were ever in here, each once.
    pub local_sigs: IndexSet<Vec<u8>>,
    /// What the PDB says of each body, if there is one.
    pub(crate) debug: Vec<Result<MethodDebug, ecma335::Error>>,
}

/// A woven body in a [`Batch`].
#[derive(Clone, Debug)]
pub struct WovenBody {
    /// Where in the batch's bytes it is.
    pub range: Range<usize>,
    /// Which of the batch's local signatures it has.
    pub local_sig: usize,
    /// The shape it was woven in.
    pub shape: Shape,
}

impl MethodWeaver {
    /// Weaves a method into a batch, which stays as it was if that fails.
    ///
    /// # Errors
    /// Why the method is to be left alone.
    pub fn weave(&mut self, context: &Context<'_, '_>, rid: Rid<MethodDef>, batch: &mut Batch) -> Result<WovenBody, Reason> {
        let metadata = context.metadata;
        let bad_body = |error: ecma335::Error| Reason::BadBody(error.to_string());
        let bad_signature = |error: ecma335::Error| Reason::BadSignature(error.to_string());
        let row = metadata.row(rid).map_err(bad_body)?;
        let body = MethodBody::parse(context.image.cursor_at(Rva(row.rva)).map_err(bad_body)?).map_err(bad_body)?;
        let signature = metadata.blobs.blob(row.signature).map_err(bad_signature)?;
        let shape = MethodShape::read(signature.rest(), signature.offset()).map_err(bad_signature)?;
        let return_type =
            effective_return(&row, &shape, signature.rest()).map(|range| signature.rest().get(range).unwrap_or_default());

        self.code.decode(&body)?;
        let woven_shape = probe::shape(&self.code, context.mode);
        let spill = return_type.filter(|_| woven_shape == Shape::Finally);
        let first_local = extend_locals(metadata, body.local_var_sig, spill, &mut self.local_sig)?;
        let probe = Probe {
            method_id: MethodId::new(context.module_key, rid.get()).0,
            when_entering: context.refs.when_entering,
            when_leaving: context.refs.when_leaving,
            when_handling: context.refs.when_handling,
            token_local: first_local,
            return_local: spill.map(|_| first_local + 1),
        };
        probe::weave(&mut self.code, &probe, woven_shape, &mut self.scratch)?;
        self.layout.lay_out(&mut self.code, body.il);
        let woven = MethodBody {
            is_tiny: false,
            // The probe before a `ret` has its token on top of what the method left there.
            max_stack: body.max_stack.saturating_add(u16::from(woven_shape == Shape::Return)).max(1),
            // A tiny body has no locals and so no say in it; the standard wants it where there are some (II.25.4.3).
            init_locals: body.init_locals || body.is_tiny,
            local_var_sig: Token(1),
            il: &self.layout.il,
            il_offset: body.il_offset,
            clauses: std::mem::take(&mut self.layout.clauses),
        };
        let room = batch.bodies.len();
        let start = woven.write(&mut batch.bodies);
        self.layout.clauses = woven.clauses;
        // What is checked is what was written, as who reads it will see it.
        let written = Cursor::new(&batch.bodies[start..], FileOffset(0));
        let checked = MethodBody::parse_with(written, std::mem::take(&mut self.clauses))
            .map_err(|error| error.to_string())
            .and_then(|body| {
                let checked = self.checker.check(&body, &context.effects, return_type.is_some());
                self.clauses = body.clauses;
                checked
            });
        match checked {
            Ok(depth) => {
                let max_stack = MethodBody::MAX_STACK_AT + start;
                batch.bodies[max_stack..max_stack + 2].copy_from_slice(&woven.max_stack.max(depth).to_le_bytes());
            }
            Err(what) => {
                batch.bodies.truncate(room);
                return Err(Reason::CheckFailed(what));
            }
        }
        let local_sig = match batch.local_sigs.get_index_of(self.local_sig.as_slice()) {
            Some(index) => index,
            None => batch.local_sigs.insert_full(self.local_sig.clone()).0,
        };
        let debug = context.pdb.as_ref().map(|pdb| pdb.follow(rid, &self.code, &self.layout, body.il.len() as u32));
        batch.debug.extend(debug);
        Ok(WovenBody { range: start..batch.bodies.len(), local_sig, shape: woven_shape })
    }
}

/// Puts the signature of a body's locals, with the probe's behind them, in place of another. Gives the number of the first
/// of the probe's.
fn extend_locals(metadata: &Metadata<'_>, locals: Token, spill: Option<&[u8]>, signature: &mut Vec<u8>) -> Result<u16, Reason> {
    let bad = |error: ecma335::Error| Reason::BadSignature(error.to_string());
    let (count, types) = match locals.rid_in::<StandAloneSig>() {
        Some(rid) => {
            let blob = metadata.row(rid).and_then(|row| metadata.blobs.blob(row.signature)).map_err(bad)?;
            let LocalsShape { count, types } = LocalsShape::read(blob.rest(), blob.offset()).map_err(bad)?;
            (count, blob.rest().get(types).unwrap_or_default())
        }
        None if locals == Token::default() => (0, &[][..]),
        None => return Err(Reason::BadSignature("the body's locals are no StandAloneSig".into())),
    };
    let total = count.saturating_add(1 + u32::from(spill.is_some()));
    if total > MAX_LOCALS {
        return Err(Reason::TooManyLocals);
    }
    signature.clear();
    signature.push(convention::LOCAL);
    ecma335::cursor::put_compressed_u32(signature, total);
    signature.extend_from_slice(types);
    signature.push(NATIVE_INT);
    signature.extend_from_slice(spill.unwrap_or_default());
    Ok(count as u16)
}

/// Where in a signature the type is that the IL returns; none if it returns nothing.
pub(crate) fn effective_return(row: &MethodDef, shape: &MethodShape, signature: &[u8]) -> Option<Range<usize>> {
    if !shape.returns_value {
        return None;
    }
    // Its IL returns `T` although it declares `Task<T>`: the runtime makes the task.
    if row.is_async() {
        return effective_async_return(signature, &shape.return_type);
    }
    Some(shape.return_type.clone())
}
