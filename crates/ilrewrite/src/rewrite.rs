//! Rewrites one method: decode it, insert the probe's calls, lay it out, check it.

use std::{fmt, ops::Range};

use ecma335::{
    Cursor, FileOffset, Metadata, MethodBody, OpCode, Token,
    body::Clause,
    element::{ElementType, convention},
    schema::{MethodDef, StandAloneSig, TypeDefOrRef},
    signature::outline::{LocalsShape, MethodShape, effective_async_return, walk_signature, walk_type_spec},
};
use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::{
    check::Checker,
    code::{Code, Instruction, Operand, SiteAt},
    effects::{CallEffect, Effects},
    error::RewriteError,
    insert::{Insertion, Scratch, insert, keep_possible_sites, shape},
    layout::{Layout, ldloc, stloc},
    load::Passed,
    name::NamedType,
    probe::{Argument, Call, LeaveMode, OwnCalls, Probe, Returned, Shape, Site, SiteProbe, Value},
    stack::Exits,
    token::{Fixup, TokenProvider, TokenRequest},
};

/// The largest number of locals in a body (II.23.2.6).
const MAX_LOCALS: u32 = 0xFFFE;

/// The data shared by all rewrites of a module's methods.
#[derive(Debug)]
pub struct Context<'a, 'm> {
    metadata: &'m Metadata<'a>,
    /// The stack effects of calls.
    effects: Effects<'a, 'm>,
    probes: Vec<Prepared<'m>>,
}

/// A probe, and the types of the return values that locals keep.
#[derive(Debug)]
struct Prepared<'m> {
    probe: &'m Probe,
    enter: Option<&'m [u8]>,
    /// One entry for each site probe.
    before: Vec<Option<&'m [u8]>>,
}

impl<'a, 'm> Context<'a, 'm> {
    /// Prepares to rewrite bodies of the module with these metadata, with any of these probes.
    ///
    /// # Errors
    /// If a probe's calls do not fit: see [`Probe::validate`].
    pub fn new(metadata: &'m Metadata<'a>, probes: &'m [Probe]) -> Result<Self, ecma335::Error> {
        let prepare = |probe: &'m Probe| {
            probe.validate()?;
            let before = probe.sites.iter().map(|site| site.before.result_type()).collect::<Result<_, _>>()?;
            Ok(Prepared { probe, enter: probe.enter_result()?, before })
        };
        Ok(Self { metadata, effects: Effects::new(metadata), probes: probes.iter().map(prepare).collect::<Result<_, _>>()? })
    }

    /// The module's metadata.
    pub fn metadata(&self) -> &'m Metadata<'a> {
        self.metadata
    }

    /// A new batch for bodies rewritten with this context.
    pub fn batch(&self) -> Batch {
        let mut batch = Batch { bodies: Vec::new(), fixups: Vec::new(), requests: IndexMap::default(), calls: Vec::new() };
        let mut numbers = |probe: &Probe| probe.calls().map(|call| batch.ask(&call.request())).collect::<Vec<_>>();
        let calls = self.probes.iter().map(|prepared| numbers(prepared.probe)).collect();
        Batch { calls, ..batch }
    }
}

/// A method to rewrite.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a, 'b> {
    /// Its MethodDef row.
    pub row: &'b MethodDef,
    /// Its signature (II.23.2.1).
    pub signature: Cursor<'a>,
    /// Its body.
    pub body: &'b MethodBody<'a>,
    /// The index of its probe in the context.
    pub probe: usize,
    /// The place of the leave call.
    pub leave_mode: LeaveMode,
    /// The values its probe may pass.
    pub values: &'b [Value<'b>],
    /// Its return value, if probes may take that.
    pub returned: Returned<'b>,
    /// The choice of the calls in its body that get a probe.
    pub sites: Sites<'b>,
    /// Its additional calls, if any.
    pub own: Option<&'b OwnCalls>,
}

/// Chooses the calls (`call`, `callvirt`, `newobj`) that get a probe, by the token of the callee.
#[derive(Clone, Copy)]
pub struct Sites<'b>(pub &'b dyn Fn(Token) -> Option<Site>);

impl Sites<'_> {
    /// Chooses no call.
    pub const NONE: Sites<'static> = Sites(&|_| None);
}

impl fmt::Debug for Sites<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sites")
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
    /// The offset of the first added type in that signature.
    first_new_type: usize,
}

/// Rewritten bodies and their token requests. A batch belongs to one [`Context`].
#[derive(Debug)]
pub struct Batch {
    /// The bodies, each at a multiple of 4.
    pub bodies: Vec<u8>,
    /// The missing tokens in the bodies, in order.
    pub fixups: Vec<Fixup>,
    /// The requests without duplicates, each with its effect as a call. Those of the probes' calls come first.
    requests: IndexMap<TokenRequest, Option<CallEffect>, RandomState>,
    /// For each probe: the requests of its calls, in the order of [`Probe::calls`].
    calls: Vec<Vec<u32>>,
}

/// A rewritten body in a [`Batch`].
#[derive(Clone, Debug)]
pub struct RewrittenBody {
    /// Its range of the batch's bytes.
    pub range: Range<usize>,
    /// Its range of the batch's fix-ups.
    pub fixups: Range<usize>,
    /// The request for its locals' signature. None if the method keeps its own.
    pub local_sig: Option<u32>,
    /// The shape of the rewritten body.
    pub shape: Shape,
}

impl Batch {
    /// The number of a request. A new request gets the next number.
    pub fn ask(&mut self, request: &TokenRequest) -> u32 {
        if let Some(known) = self.requests.get_index_of(request) {
            return known as u32;
        }
        let effect = match request {
            TokenRequest::MemberRef(method) | TokenRequest::MethodSpec(method, _) => {
                CallEffect::of_signature(&method.signature, FileOffset(0))
            }
            TokenRequest::MethodSig(signature) => CallEffect::of_signature(signature, FileOffset(0)),
            _ => None,
        };
        self.requests.insert_full(request.clone(), effect).0 as u32
    }

    /// Writes the requested tokens into the bodies, in the order of their bytes. `settled` holds the tokens of
    /// requests that were settled before.
    ///
    /// # Errors
    /// The provider's error.
    pub fn settle<P: TokenProvider>(
        &mut self,
        body: &RewrittenBody,
        settled: &mut Vec<Option<Token>>,
        provider: &mut P,
    ) -> Result<(), P::Error> {
        settled.resize(self.requests.len(), None);
        for fixup in self.fixups.get(body.fixups.clone()).unwrap_or_default() {
            let request = fixup.request as usize;
            let (Some(known), Some((asked, _))) = (settled.get_mut(request), self.requests.get_index(request)) else { continue };
            let token = match *known {
                Some(token) => token,
                None => *known.insert(provider.settle(asked)?),
            };
            let at = fixup.at as usize;
            self.bodies[at..at + 4].copy_from_slice(&token.0.to_le_bytes());
        }
        Ok(())
    }

    /// Takes the rewritten bodies out. The rest is an empty batch of the same context that keeps its buffers.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let own = self.calls.iter().flatten().max().map_or(0, |last| *last as usize + 1);
        let left = self.requests.iter().take(own).map(|(request, effect)| (request.clone(), *effect)).collect();
        // The copy gets the exact size, and the buffers stay warm for the next bodies.
        let taken = Self {
            bodies: self.bodies.as_slice().to_vec(),
            fixups: std::mem::take(&mut self.fixups),
            requests: std::mem::replace(&mut self.requests, left),
            calls: self.calls.clone(),
        };
        self.bodies.clear();
        taken
    }
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
        let prepared = context.probes.get(method.probe);
        let Prepared { probe, enter: result, before } =
            prepared.ok_or_else(|| RewriteError::BadBody("no probe is meant for it".into()))?;
        if !self.code.sites.is_empty() {
            keep_possible_sites(&mut self.code, &probe.sites);
        }
        // An exception leaves a suspended call when none of its callers runs. Only a finally block observes it in
        // time.
        let mode = match probe.leave {
            Some(_) if row.is_async() => LeaveMode::Finally,
            Some(_) => method.leave_mode,
            None => LeaveMode::Return,
        };
        let shape = shape(&self.code, mode);
        if row.is_async() && shape != Shape::Finally && probe.leave.is_some() {
            return Err(RewriteError::TailOfSuspended);
        }
        let passes = |call: &Option<Call>, argument| call.as_ref().is_some_and(|call| call.passes(argument));
        let is_changed = passes(&probe.leave, Argument::ReturnAddress);
        let is_seen = method.returned != Returned::Nothing && (is_changed || passes(&probe.leave, Argument::ReturnValue));
        let own = method.own;
        let is_handed_out = own.is_some_and(OwnCalls::pass_returned);
        let spill = return_type.filter(|_| shape == Shape::Finally || is_seen || is_handed_out);
        // Holds an exception on its way to a handler, or a stand-in for the value of a method that returns none.
        let needs_object = is_changed && !is_seen || !self.code.clauses.is_empty() && passes(&probe.catch, Argument::Exception);
        let object = needs_object.then_some(&[ElementType::Object as u8][..]);
        // A fault in the method's return type would recur in the signature of its locals.
        if let Some(wrong) = spill.and_then(|ty| mistaken_kind(context.metadata, ty)) {
            return Err(RewriteError::BadSignature(format!(
                "{wrong} is a value type, and it says a class, or the other way round"
            )));
        }
        // One local for each site probe: no two calls with the same probe overlap.
        let is_used = |number: usize| self.code.sites.iter().any(|at| at.site.probe == number);
        let of_sites = before.iter().enumerate().map(|(number, ty)| ty.filter(|_| is_used(number)));
        let kept = own.map(|_| OwnCalls::KEPT);
        let more = [*result, spill, object].into_iter().chain(of_sites.clone()).chain([kept]).flatten();
        let (first_local, first_new_type) = extend_locals(context.metadata, body.local_var_sig, more, &mut self.local_sig)?;
        self.first_new_type = first_new_type;
        if let Some(spill) = spill {
            let spill = Cursor::new(spill, signature.offset());
            refuse_lost_types(context.metadata, |mut visit| walk_type_spec(spill, &mut visit))?;
        }
        // The runtime rejects such a body. It must not become valid through the probe's locals.
        if let Some(last) = self.code.locals_used.checked_sub(1).filter(|last| *last >= u32::from(first_local)) {
            return Err(RewriteError::BadLocal(last));
        }
        let mut next = first_local;
        let mut local = |ty: Option<&[u8]>| {
            ty.map(|_| {
                next += 1;
                next - 1
            })
        };
        let result_local = local(*result);
        self.insertion.return_local = local(spill);
        let object_local = local(object);
        let site_locals: Vec<Option<u16>> =
            if self.code.sites.is_empty() { Vec::new() } else { of_sites.map(&mut local).collect() };
        let kept_local = local(kept);
        let has_locals = next > first_local;
        let passed = Passed {
            values: method.values,
            result: result_local,
            returned: if is_seen { method.returned } else { Returned::Nothing },
            return_type: spill.unwrap_or_default(),
            return_local: self.insertion.return_local,
            object_local,
            site_constant: 0,
            site_result: None,
            kept: kept_local,
        };
        self.make_calls(probe, method, shape, &passed, &site_locals, batch);
        insert(&mut self.code, &self.insertion, shape, &mut self.scratch)?;
        self.layout.lay_out(&mut self.code, body.il);

        let local_sig = has_locals.then(|| self.ask_for_locals(result_local.and(probe.enter.as_ref()), batch));
        // The arguments of a leave call before `ret` lie on top of the return value. Those of a site's calls lie on
        // top of the callee's arguments or its return value.
        let at_leave = probe.leave.as_ref().filter(|_| shape == Shape::Return).map_or(0, Call::depth);
        let on_top = if self.code.sites.is_empty() { at_leave } else { at_leave.max(probe.most_at_sites()) };
        let on_top = on_top.max(own.map_or(0, OwnCalls::depth));
        let enter_depth = probe.enter.as_ref().map_or(0, Call::depth).max(usize::from(result.is_some()));
        let enter_depth = enter_depth.max(own.map_or(0, OwnCalls::depth));
        let rewritten = MethodBody {
            is_tiny: false,
            max_stack: body.max_stack.saturating_add(on_top as u16).max(enter_depth as u16),
            // The flag of a body without locals had no effect; to be verifiable, the body needs it now (III.1.8.1.1).
            // With `localloc` it stays, because it also decides whether that memory is zeroed.
            init_locals: body.init_locals || (has_locals && first_local == 0 && !self.code.has_localloc),
            local_var_sig: if has_locals { Fixup::UNSETTLED } else { body.local_var_sig },
            il: &self.layout.il,
            il_offset: body.il_offset,
            clauses: std::mem::take(&mut self.layout.clauses),
        };
        let (room, fixups) = (batch.bodies.len(), batch.fixups.len());
        let start = rewritten.write_fat(&mut batch.bodies);
        let local_sig_at = (start + MethodBody::LOCAL_VAR_SIG_AT) as u32;
        batch.fixups.extend(local_sig.map(|request| Fixup { at: local_sig_at, request }));
        let il_at = (start + MethodBody::FAT_HEADER_SIZE) as u32;
        batch.fixups.extend(self.layout.fixups.iter().map(|fixup| Fixup { at: il_at + fixup.at, ..*fixup }));
        let max_stack = rewritten.max_stack;
        self.layout.clauses = rewritten.clauses;
        let returns = return_type.is_some();
        let checked = self.check(context, batch, (start, fixups), returns, shape).map_err(RewriteError::CheckFailed);
        match checked.and_then(|depth| self.check_original(context, body, returns, depth).map(|()| depth)) {
            Ok(depth) => {
                let at = MethodBody::MAX_STACK_AT + start;
                batch.bodies[at..at + 2].copy_from_slice(&max_stack.max(depth).to_le_bytes());
            }
            Err(error) => {
                batch.bodies.truncate(room);
                batch.fixups.truncate(fixups);
                return Err(error);
            }
        }
        Ok(RewrittenBody { range: start..batch.bodies.len(), fixups: fixups..batch.fixups.len(), local_sig, shape })
    }

    /// The code of the last rewritten body.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The layout of the last rewritten body.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Makes the instructions of the probe's calls. `site_locals` keep the return values of the calls before sites.
    fn make_calls(
        &mut self,
        probe: &Probe,
        method: &Method<'_, '_>,
        shape: Shape,
        passed: &Passed<'_>,
        site_results: &[Option<u16>],
        batch: &mut Batch,
    ) {
        let Insertion { enter, leave, leave_with_value, behind, handle, catch, pass, sites, .. } = &mut self.insertion;
        [&mut *enter, &mut *leave, &mut *leave_with_value, &mut *behind, &mut *handle, &mut *catch, &mut *pass]
            .into_iter()
            .for_each(Vec::clear);
        let requests = std::mem::take(&mut batch.calls);
        let mut numbers = requests.get(method.probe).into_iter().flatten().copied();
        let mut number = || numbers.next().unwrap_or_default();
        if let Some(call) = &probe.enter {
            batch.put_call(call, number(), passed, enter);
            enter.extend(passed.result.map(stloc));
        }
        // Only handlers need these calls.
        let has_handlers = !self.code.clauses.is_empty();
        let calls =
            [(&probe.leave, &mut *leave, true), (&probe.handle, handle, has_handlers), (&probe.catch, catch, has_handlers)];
        for (call, out, is_used) in calls {
            if let Some((call, number)) = call.as_ref().map(|call| (call, number())).filter(|_| is_used) {
                if call.passes(Argument::Exception) {
                    // The handler's exception stays on the stack.
                    out.push(Instruction::new(OpCode::Dup, Operand::Value(0)));
                    out.extend(passed.object_local.map(stloc));
                }
                batch.put_call(call, number, passed, out);
            }
        }
        if let Some(local) = passed.return_local.filter(|_| passed.returned != Returned::Nothing) {
            leave_with_value.push(stloc(local));
            leave_with_value.extend_from_slice(leave);
            leave_with_value.push(ldloc(local));
        }
        if let Some(own) = method.own {
            if let [first, rest @ ..] = &own.enter[..] {
                batch.put_own(std::slice::from_ref(first), passed, enter);
                enter.extend(passed.kept.map(stloc));
                batch.put_own(rest, passed, enter);
            }
            if has_handlers {
                batch.put_own(&own.catch, passed, catch);
            }
            if shape == Shape::Finally {
                let of_probe = std::mem::take(leave);
                batch.put_own(&own.end, passed, leave);
                leave.extend(of_probe);
                batch.put_own(&own.ret, passed, behind);
                batch.put_own(&own.pass, passed, pass);
            } else {
                let of_probe = std::mem::take(leave);
                let value = passed.return_local;
                leave_with_value.clear();
                leave_with_value.extend(value.map(stloc));
                batch.put_own(&own.ret, passed, leave_with_value);
                leave_with_value.extend_from_slice(&of_probe);
                leave_with_value.extend(value.map(ldloc));
                batch.put_own(&own.replace, passed, leave);
                leave.extend(of_probe);
            }
        }
        sites.clear();
        if !self.code.sites.is_empty() {
            let mut probes: Vec<(&SiteProbe, u32, u32, u32)> = Vec::with_capacity(probe.sites.len());
            for site in &probe.sites {
                // In the order of `Probe::calls`.
                let at_before = number();
                let mut number_of = |call: &Option<Call>| if call.is_some() { number() } else { 0 };
                let at_ahead = number_of(&site.ahead);
                probes.push((site, at_before, at_ahead, number_of(&site.behind)));
            }
            for SiteAt { site, ahead: is_ahead, .. } in &self.code.sites {
                let mut around = [Vec::new(), Vec::new()];
                if let Some((SiteProbe { before, ahead, behind }, at_before, at_ahead, at_behind)) = probes.get(site.probe) {
                    let site_result = site_results.get(site.probe).copied().flatten();
                    let passed = Passed { site_constant: site.constant, site_result, ..*passed };
                    let [out, out_behind] = &mut around;
                    if let Some(ahead) = ahead.as_ref().filter(|_| is_ahead.is_some()) {
                        batch.put_call(ahead, *at_ahead, &passed, out);
                    } else {
                        batch.put_call(before, *at_before, &passed, out);
                        out.extend(site_result.map(stloc));
                    }
                    behind.iter().for_each(|call| batch.put_call(call, *at_behind, &passed, out_behind));
                }
                sites.push(around);
            }
        }
        batch.calls = requests;
    }

    /// The request for the locals' signature, which reuses a buffer.
    fn ask_for_locals(&mut self, enter: Option<&Call>, batch: &mut Batch) -> u32 {
        let types = enter.filter(|enter| !enter.method.types.is_empty()).and_then(|enter| self.types_of_result(enter));
        let request = TokenRequest::LocalVarSig(std::mem::take(&mut self.local_sig), types.unwrap_or_default());
        let number = batch.ask(&request);
        if let TokenRequest::LocalVarSig(room, _) = request {
            self.local_sig = room;
        }
        number
    }

    /// The named types in the return type of the enter call, at their offsets in the locals' signature.
    fn types_of_result(&self, enter: &Call) -> Option<Vec<NamedType>> {
        let result = enter.method.shape().ok()?.return_type;
        let places = result.start as u32..result.end as u32;
        let of_result = enter.method.types.iter().filter(|named| places.contains(&named.at));
        let moved = |at: u32| at - places.start + self.first_new_type as u32;
        Some(of_result.map(|named| NamedType { at: moved(named.at), name: named.name.clone() }).collect())
    }

    /// Checks the bytes as written, from `start`, with their fix-ups.
    fn check(
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
                return context.effects.of(token);
            }
            // The token follows the opcode of one or two bytes. At a fix-up, the input has no token.
            let fixup = fixups.get(fixups.partition_point(|fixup| fixup.at <= il_at + offset))?;
            let (_, effect) = batch.requests.get_index(fixup.request as usize).filter(|_| fixup.at - il_at - offset <= 2)?;
            *effect
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
        let depth = self.checker.check(body, &|_, token| context.effects.of(token), exits).map_err(RewriteError::CheckFailed)?;
        if depth > max_stack { Err(RewriteError::BadMaxStack { depth, max_stack }) } else { Ok(()) }
    }
}

/// Writes a signature of a body's locals with `more` types at its end. Returns the number of the first new local, and
/// the offset of its type.
fn extend_locals<'s>(
    metadata: &Metadata<'_>,
    locals: Token,
    more: impl Iterator<Item = &'s [u8]> + Clone,
    signature: &mut Vec<u8>,
) -> Result<(u16, usize), RewriteError> {
    let bad = |error: ecma335::Error| RewriteError::BadSignature(error.to_string());
    let (count, types) = match locals.rid_in::<StandAloneSig>() {
        Some(rid) => {
            let blob = metadata.row(rid).and_then(|row| metadata.blobs.blob(row.signature)).map_err(bad)?;
            let LocalsShape { count, types } = LocalsShape::read(blob.rest(), blob.offset()).map_err(bad)?;
            if types.end != blob.rest().len() {
                return Err(RewriteError::BadSignature("its locals' has bytes behind the last type".into()));
            }
            refuse_lost_types(metadata, |mut visit| walk_signature(blob, &mut visit))?;
            (count, blob.rest().get(types).unwrap_or_default())
        }
        None if locals == Token::default() => (0, &[][..]),
        None => return Err(RewriteError::BadSignature("the body's locals are no StandAloneSig".into())),
    };
    let total = count.saturating_add(more.clone().count() as u32);
    if total > MAX_LOCALS {
        return Err(RewriteError::TooManyLocals);
    }
    signature.clear();
    signature.push(convention::LOCAL);
    ecma335::cursor::put_compressed_u32(signature, total);
    signature.extend_from_slice(types);
    let behind = signature.len();
    more.for_each(|each| signature.extend_from_slice(each));
    Ok((count as u16, behind))
}

/// Refuses a signature that names a type without a row.
fn refuse_lost_types(
    metadata: &Metadata<'_>,
    walk: impl FnOnce(&mut dyn FnMut(TypeDefOrRef)) -> ecma335::Result<()>,
) -> Result<(), RewriteError> {
    let mut lost = None;
    let mut find = |ty: TypeDefOrRef| {
        let token = ty.token().filter(|token| (1..=metadata.tables.counts()[usize::from(token.kind())]).contains(&token.rid()));
        if token.is_none() {
            lost = Some(ty);
        }
    };
    walk(&mut find).map_err(|error| RewriteError::BadSignature(error.to_string()))?;
    match lost {
        Some(ty) => Err(RewriteError::BadSignature(format!("the type {:#x} in it is not there", ty.0))),
        None => Ok(()),
    }
}

/// The TypeDef at the core of a type, below arrays, pointers and references, if its encoding contradicts its
/// definition. The encoding is `CLASS` for a value type, or `VALUETYPE` for a class (II.23.2.12).
fn mistaken_kind(metadata: &Metadata<'_>, ty: &[u8]) -> Option<Token> {
    use ElementType::{ByRef, Class, GenericInst, Ptr, SzArray, ValueType};
    let is_around = |byte: &u8| [ByRef, GenericInst, Ptr, SzArray].iter().any(|element| *byte == *element as u8);
    let start = ty.iter().position(|byte| !is_around(byte))?;
    let (element, rest) = ty.get(start..)?.split_first()?;
    if ![Class as u8, ValueType as u8].contains(element) {
        return None;
    }
    let named = TypeDefOrRef(Cursor::new(rest, FileOffset(0)).compressed_u32().ok()?).token()?;
    let is_value = metadata.is_value_type(named.rid_in()?)?;
    (is_value != (*element == ValueType as u8)).then_some(named)
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
