//! Rewrites one method: decode it, plan its locals, build the probe's calls, insert them, emit the body, check it.

use std::ops::Range;

use ecma335::{
    Cursor, FileOffset, Metadata, MethodBody, Token,
    body::Clause,
    schema::MethodDef,
    signature::outline::{MethodShape, effective_async_return},
};
use little_endian::{ByteOrder, LE};

use crate::{
    batch::{Batch, Requests, RewrittenBody},
    calls::build_calls,
    check::Checker,
    code::Code,
    counter::{Counter, PreparedCounter, possible_places},
    effects::Effects,
    error::RewriteError,
    insert::{Insertion, Scratch, insert, keep_possible_sites, shape},
    layout::Layout,
    locals::Locals,
    method::Method,
    name::NamedType,
    prepared::PreparedProbe,
    probe::{Call, LeaveMode, OwnCalls, Probe, Shape},
    stack::Exits,
    token::{Fixup, TokenRequest},
};

/// The data shared by all rewrites of a module's methods.
#[derive(Debug)]
pub struct Context<'a, 'm> {
    metadata: &'m Metadata<'a>,
    /// The stack effects of calls.
    effects: Effects<'a, 'm>,
    probes: Vec<PreparedProbe<'m>>,
    counter: Option<PreparedCounter>,
    /// The requests of the probes' calls.
    requests: Requests,
}

impl<'a, 'm> Context<'a, 'm> {
    /// Prepares to rewrite bodies of the module with these metadata, with any of these probes. Without a counter, no places
    /// are counted.
    ///
    /// # Errors
    /// If a probe's calls do not fit: see [`Probe::validate`].
    pub fn new(metadata: &'m Metadata<'a>, probes: &'m [Probe], counter: Option<&Counter>) -> Result<Self, ecma335::Error> {
        let mut requests = Requests::default();
        let probes = probes.iter().map(|probe| PreparedProbe::new(probe, &mut requests)).collect::<Result<_, _>>()?;
        let counter = counter.map(|counter| PreparedCounter::new(counter, &mut requests));
        Ok(Self { metadata, effects: Effects::new(metadata), probes, counter, requests })
    }

    /// The module's metadata.
    pub fn metadata(&self) -> &'m Metadata<'a> {
        self.metadata
    }

    /// A new batch for bodies rewritten with this context.
    pub fn batch(&self) -> Batch {
        Batch::new(self.requests.clone())
    }
}

/// Rewrites bodies one after another, and reuses its buffers.
#[derive(Default, Debug)]
pub struct BodyRewriter {
    code: Code,
    layout: Layout,
    checker: Checker,
    clauses: Vec<Clause>,
    insertion: Insertion,
    scratch: Scratch,
    local_sig: Vec<u8>,
}

/// A decoded body: the type that its IL returns, and its shape with the probe.
#[derive(Clone, Copy)]
struct Decoded<'t> {
    return_type: Option<&'t [u8]>,
    shape: Shape,
}

/// A body in a batch, before its check.
struct Emitted {
    start: usize,
    /// The index of its first fix-up.
    fixups: usize,
    local_sig: Option<u32>,
    /// Its `MaxStack`, as far as the probe's calls tell it.
    max_stack: u16,
}

impl BodyRewriter {
    /// Rewrites a method's body and appends it to a batch. If that fails, the batch keeps its previous bodies.
    ///
    /// # Errors
    /// The reason to skip the method.
    pub fn rewrite(
        &mut self,
        context: &Context<'_, '_>,
        method: &Method<'_, '_>,
        batch: &mut Batch,
    ) -> Result<RewrittenBody, RewriteError> {
        let (decoded, probe) = self.decode(context, method)?;
        let Decoded { return_type, shape } = decoded;
        let locals = Locals::plan(context.metadata, &self.code, method, probe, (shape, return_type), &mut self.local_sig)?;
        build_calls(&self.code, probe, method, shape, &locals, batch, &mut self.insertion);
        let counters = self.count_places(context, method);
        insert(&mut self.code, &self.insertion, shape, &mut self.scratch)?;
        self.layout.lay_out(&mut self.code, method.body.il);
        let emitted = self.emit(probe, method, shape, &locals, batch);
        self.check(context, method.body, decoded, &emitted, batch)?;
        let Emitted { start, fixups, local_sig, .. } = emitted;
        Ok(RewrittenBody { range: start..batch.bodies.len(), fixups: fixups..batch.fixups.len(), local_sig, shape, counters })
    }

    /// The code of the last rewritten body.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The layout of the last rewritten body.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Builds the code that counts the method's places, and returns the numbers of their counters.
    fn count_places(&mut self, context: &Context<'_, '_>, method: &Method<'_, '_>) -> Vec<u32> {
        let Some(counter) = context.counter.filter(|_| !method.places.is_empty()) else { return Vec::new() };
        let places = possible_places(&self.code, method.places);
        self.insertion.counters.extend(places.iter().map(|(index, number)| (*index, counter.count(*number))));
        places.into_iter().map(|(_, number)| number).collect()
    }

    /// Decodes the body, and chooses its shape.
    fn decode<'t, 'p>(
        &mut self,
        context: &'p Context<'_, '_>,
        method: &Method<'t, '_>,
    ) -> Result<(Decoded<'t>, &'p PreparedProbe<'p>), RewriteError> {
        let Method { row, signature, body, .. } = *method;
        let bad_signature = |error: ecma335::Error| RewriteError::BadSignature(error.to_string());
        let outline = MethodShape::read(signature.rest(), signature.offset()).map_err(bad_signature)?;
        let return_type =
            effective_return(row, &outline, signature.rest()).map(|range| signature.rest().get(range).unwrap_or_default());
        self.code.decode(body, context.metadata, method.sites.0)?;
        if self.code.instructions.last().is_none_or(|last| last.info.flow.falls_through()) {
            return Err(RewriteError::NoEnd);
        }
        let arguments = outline.params.saturating_add(outline.has_this.into());
        if let Some(last) = self.code.arguments_used.checked_sub(1).filter(|last| *last >= arguments) {
            return Err(RewriteError::BadArgument(last));
        }
        let probe = context.probes.get(method.probe);
        let probe = probe.ok_or_else(|| RewriteError::BadBody("no probe is meant for it".into()))?;
        if !self.code.sites.is_empty() {
            keep_possible_sites(&mut self.code, &probe.calls.sites);
        }
        // An exception leaves a suspended call when none of its callers runs. Only a finally block observes it in
        // time.
        let has_leave = probe.calls.leave.is_some();
        let mode = match has_leave {
            true if row.is_async() => LeaveMode::Finally,
            true => method.leave_mode,
            false => LeaveMode::Return,
        };
        let shape = if probe.calls.is_none() { Shape::Counted } else { shape(&self.code, mode) };
        if row.is_async() && shape != Shape::Finally && has_leave {
            return Err(RewriteError::TailOfSuspended);
        }
        Ok((Decoded { return_type, shape }, probe))
    }

    /// Writes the laid out body into the batch.
    fn emit(
        &mut self,
        probe: &PreparedProbe<'_>,
        method: &Method<'_, '_>,
        shape: Shape,
        locals: &Locals<'_>,
        batch: &mut Batch,
    ) -> Emitted {
        let (body, enter) = (method.body, probe.calls.enter.map(|enter| enter.call));
        let of_result = enter.filter(|_| locals.enter_result.is_some());
        let local_sig = locals.has_new.then(|| self.ask_for_locals(of_result, locals.first_new_type, batch));
        // The arguments of a leave call before `ret` lie on top of the return value. Those of a site's calls lie on
        // top of the callee's arguments or its return value.
        let at_leave = probe.calls.leave.filter(|_| shape == Shape::Return).map_or(0, |leave| leave.call.depth());
        let own_depth = method.own.map_or(0, OwnCalls::depth);
        let on_top = if self.code.sites.is_empty() { at_leave } else { at_leave.max(probe.site_depth) }.max(own_depth);
        let enter_depth = enter.map_or(0, Call::depth).max(usize::from(probe.enter_result.is_some())).max(own_depth);
        let rewritten = MethodBody {
            is_tiny: false,
            max_stack: body.max_stack.saturating_add(on_top as u16).max(enter_depth as u16),
            // The flag of a body without locals had no effect; to be verifiable, the body needs it now (III.1.8.1.1).
            // With `localloc` it stays, because it also decides whether that memory is zeroed.
            init_locals: body.init_locals || (locals.has_new && locals.first == 0 && !self.code.has_localloc),
            local_var_sig: if locals.has_new { Fixup::UNSETTLED } else { body.local_var_sig },
            il: &self.layout.il,
            il_offset: body.il_offset,
            clauses: std::mem::take(&mut self.layout.clauses),
        };
        let fixups = batch.fixups.len();
        let start = rewritten.write_fat(&mut batch.bodies);
        let local_sig_at = (start + MethodBody::LOCAL_VAR_SIG_AT) as u32;
        batch.fixups.extend(local_sig.map(|request| Fixup { at: local_sig_at, request }));
        let il_at = (start + MethodBody::FAT_HEADER_SIZE) as u32;
        batch.fixups.extend(self.layout.fixups.iter().map(|fixup| Fixup { at: il_at + fixup.at, ..*fixup }));
        let max_stack = rewritten.max_stack;
        self.layout.clauses = rewritten.clauses;
        Emitted { start, fixups, local_sig, max_stack }
    }

    /// The request for the locals' signature, which reuses a buffer. The enter call's return type may have names.
    fn ask_for_locals(&mut self, enter: Option<&Call>, first_new_type: usize, batch: &mut Batch) -> u32 {
        let types = enter.filter(|enter| !enter.method.types.is_empty());
        let types = types.and_then(|enter| types_of_result(enter, first_new_type));
        let request = TokenRequest::LocalVarSig(std::mem::take(&mut self.local_sig), types.unwrap_or_default());
        let number = batch.ask(&request);
        if let TokenRequest::LocalVarSig(room, _) = request {
            self.local_sig = room;
        }
        number
    }

    /// Checks an emitted body, and raises its `MaxStack` if its stack gets deeper. A body that fails is taken out of the
    /// batch.
    fn check(
        &mut self,
        context: &Context<'_, '_>,
        body: &MethodBody<'_>,
        Decoded { return_type, shape }: Decoded<'_>,
        emitted: &Emitted,
        batch: &mut Batch,
    ) -> Result<(), RewriteError> {
        let Emitted { start, fixups, max_stack, .. } = *emitted;
        let returns = return_type.is_some();
        let checked = self.check_written(context, batch, (start, fixups), returns, shape).map_err(RewriteError::CheckFailed);
        match checked.and_then(|depth| self.check_original(context, body, returns, depth).map(|()| depth)) {
            Ok(depth) => {
                let at = MethodBody::MAX_STACK_AT + start;
                LE::write_u16(&mut batch.bodies[at..], max_stack.max(depth));
                Ok(())
            }
            Err(error) => {
                batch.bodies.truncate(start);
                batch.fixups.truncate(fixups);
                Err(error)
            }
        }
    }

    /// Checks the bytes as written, from `start`, with their fix-ups.
    fn check_written(
        &mut self,
        context: &Context<'_, '_>,
        batch: &Batch,
        (start, fixups): (usize, usize),
        returns: bool,
        shape: Shape,
    ) -> Result<u16, String> {
        let written = Cursor::new(&batch.bodies[start..], FileOffset(0));
        let body = MethodBody::parse_with(written, std::mem::take(&mut self.clauses)).map_err(|error| error.to_string())?;
        let il_at = (start + MethodBody::FAT_HEADER_SIZE) as u32;
        let fixups = &batch.fixups[fixups..];
        let effect = |offset: u32, token: Token| {
            if token != Fixup::UNSETTLED {
                return context.effects.effect(token);
            }
            // The token follows the opcode of one or two bytes. At a fix-up, the input has no token.
            let fixup = fixups.get(fixups.partition_point(|fixup| fixup.at <= il_at + offset))?;
            if fixup.at - il_at - offset <= 2 { batch.requests.effect(fixup.request) } else { None }
        };
        // The epilogue follows the outermost handler.
        let last = body.clauses.last().filter(|_| shape == Shape::Finally);
        let epilogue = last.map(|clause| clause.handler_offset.saturating_add(clause.handler_length));
        let checked = self.checker.check(&body, &effect, Exits { returns, epilogue });
        self.clauses = body.clauses;
        checked
    }

    /// Rejects an input body whose own stack exceeds its `MaxStack`. Only runs if the rewritten body exceeds it.
    fn check_original(
        &mut self,
        context: &Context<'_, '_>,
        body: &MethodBody<'_>,
        returns: bool,
        woven_depth: u16,
    ) -> Result<(), RewriteError> {
        let max_stack = body.max_stack;
        if woven_depth <= max_stack {
            return Ok(());
        }
        let exits = Exits { returns, epilogue: None };
        let depth =
            self.checker.check(body, &|_, token| context.effects.effect(token), exits).map_err(RewriteError::CheckFailed)?;
        if depth > max_stack { Err(RewriteError::BadMaxStack { depth, max_stack }) } else { Ok(()) }
    }
}

/// The named types in the return type of the enter call, at their offsets in the locals' signature.
fn types_of_result(enter: &Call, first_new_type: usize) -> Option<Vec<NamedType>> {
    let result = enter.method.shape().ok()?.return_type;
    let places = result.start as u32..result.end as u32;
    let of_result = enter.method.types.iter().filter(|named| places.contains(&named.at));
    let moved = |at: u32| at - places.start + first_new_type as u32;
    Some(of_result.map(|named| NamedType { at: moved(named.at), name: named.name.clone() }).collect())
}

/// The range of the type in a method's signature that its IL returns. None if it returns nothing.
pub fn effective_return(row: &MethodDef, outline: &MethodShape, signature: &[u8]) -> Option<Range<usize>> {
    if !outline.returns_value {
        return None;
    }
    // The IL returns `T` although the signature declares `Task<T>`: the runtime creates the task.
    if row.is_async() {
        return effective_async_return(signature, &outline.return_type);
    }
    Some(outline.return_type.clone())
}
