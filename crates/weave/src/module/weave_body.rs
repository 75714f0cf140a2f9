//! Weaves one method: decides by its body, chooses its probe, and has it rewritten.

use ecma335::{
    Budget, Cursor, Error, Image, MethodBody, Rid, Rva, Token,
    schema::{MethodDef, MethodSpec, StandAloneSig},
};
use ilrewrite::{
    Batch, BodyRewriter, Context, CountedPlace, Method, Returned, RewriteError, RewrittenBody, Shape, Site, Sites, TokenRequest,
    Value,
};
use names::{CompilerGenerated, MethodId, Step};

use super::lines::LineCounters;
use crate::{
    output::pdb::{MethodDebug, Pdb},
    probes::{
        call_sites::CallTable,
        capture::Receiver,
        captured::Captured,
        hook_values::HookContext,
        hooks::Hooks,
        tracker::{CallProbe, MethodProbe},
    },
    select::{
        forwarders::Forwarders,
        method_options::{MethodOptions, OptionsByMethod},
        options::Options,
        policy,
        reason::Reason,
    },
};

/// Weaves the methods of a module. Several threads use it at a time.
pub(super) struct BodyWeaver<'a, 'm> {
    pub(super) image: &'m Image<'a>,
    pub(super) bodies: Context<'a, 'm>,
    /// The first part of the method ids.
    pub(super) module_key: u64,
    pub(super) options: &'m Options,
    /// The hooks other than the tracker's probes, in the order of their probes.
    pub(super) hooks: &'m [&'m Hooks],
    pub(super) hook_context: HookContext<'a, 'm>,
    /// The receiver of captured values.
    pub(super) receiver: Receiver,
    /// Whether the probes are native functions. Those do not follow an async call across its steps.
    pub(super) is_native: bool,
    /// The method that gives native probes the bytes that a thread has allocated.
    pub(super) counted_bytes: Option<TokenRequest>,
    pub(super) options_by_method: &'m OptionsByMethod,
    pub(super) generated: &'m CompilerGenerated,
    pub(super) forwarders: &'m Forwarders,
    pub(super) calls: CallTable,
    /// The PDB to update.
    pub(super) pdb: Option<&'m Pdb<'m>>,
    /// The counters of lines, if those are counted.
    pub(super) lines: Option<&'m LineCounters>,
    /// The limit on the bodies to read in total.
    pub(super) budget: Budget,
    /// The limit on the PDB records to read in total.
    pub(super) pdb_budget: Budget,
}

/// The state of one thread. It reuses its buffers.
pub(super) struct Worker {
    rewriter: BodyRewriter,
    pub(super) batch: Batch,
    pub(super) debug: Vec<Result<MethodDebug, Error>>,
}

impl Worker {
    pub(super) fn new(weaver: &BodyWeaver<'_, '_>) -> Self {
        Self { rewriter: BodyRewriter::default(), batch: weaver.bodies.batch(), debug: Vec::new() }
    }
}

/// A method that gets a probe.
struct Target<'a, 'b> {
    rid: Rid<MethodDef>,
    row: &'b MethodDef,
    body: &'b MethodBody<'a>,
    signature: Cursor<'a>,
    options: MethodOptions,
    /// The lines to count.
    places: &'b [CountedPlace],
}

impl<'a> BodyWeaver<'a, '_> {
    /// Weaves a method into the worker's batch.
    ///
    /// # Errors
    /// The reason for skipping the method.
    pub(super) fn weave(&self, rid: Rid<MethodDef>, worker: &mut Worker) -> Result<RewrittenBody, Reason> {
        let metadata = self.bodies.metadata();
        let bad_body = |error: Error| RewriteError::BadBody(error.to_string());
        let row = metadata.row(rid).map_err(bad_body)?;
        let body = MethodBody::parse(self.image.cursor_at(Rva(row.rva)).map_err(bad_body)?).map_err(bad_body)?;
        let options = self.options_by_method.get(rid);
        let hooks = Some(self.options.hooks_set_by(options.hooks)).filter(|hooks| hooks.probe().is_some());
        let places = self.lines.zip(self.pdb).map_or_else(Vec::new, |(lines, pdb)| lines.places(pdb, rid));
        let skipped = match self.options.lines_only {
            true => Some(Reason::NoLines),
            false => self.check_policy(rid, &body, &options, hooks.is_some()).err(),
        };
        if let Some(reason) = skipped.clone().filter(|_| places.is_empty()) {
            return Err(reason);
        }
        let signature = metadata.blobs.blob(row.signature).map_err(|error| RewriteError::BadSignature(error.to_string()))?;
        self.budget.spend(self.cost(&body, signature.rest().len()));
        if self.budget.is_overdrawn() {
            return Err(Reason::SharedBody);
        }
        let target = Target { rid, row: &row, body: &body, signature, options, places: &places };
        let woven = match hooks {
            _ if skipped.is_some() => self.rewrite_counted(&target, worker),
            Some(hooks) => self.rewrite_with_hooks(&target, hooks, worker),
            None => self.rewrite_with_tracker(&target, worker),
        }?;
        let Worker { rewriter, debug, .. } = worker;
        let follow = |pdb: &Pdb<'_>| pdb.follow(rid, rewriter.code(), rewriter.layout(), body.il.len() as u32, &self.pdb_budget);
        debug.extend(self.pdb.map(follow));
        Ok(woven)
    }

    /// Skips a method by its body and the kind of its probe.
    fn check_policy(
        &self,
        rid: Rid<MethodDef>,
        body: &MethodBody<'_>,
        options: &MethodOptions,
        has_hooks: bool,
    ) -> Result<(), Reason> {
        let origin = self.generated.origin(rid);
        if let Some(reason) = policy::skip_reason(options.body_filter.0, origin, has_hooks, body, self.forwarders.has(rid)) {
            return Err(reason);
        }
        if has_hooks && self.generated.step(rid).is_some() {
            return Err(Reason::Step);
        }
        Ok(())
    }

    /// Counts the lines of a method that has no probe.
    fn rewrite_counted(&self, target: &Target<'a, '_>, worker: &mut Worker) -> Result<RewrittenBody, RewriteError> {
        let method = Method { probe: MethodProbe::None as usize, ..target.method() };
        worker.rewriter.rewrite(&self.bodies, &method, &mut worker.batch)
    }

    fn rewrite_with_tracker(&self, target: &Target<'a, '_>, worker: &mut Worker) -> Result<RewrittenBody, RewriteError> {
        let Target { rid, row, .. } = *target;
        // A step of a state machine counts as its kickoff method, the method in the source code.
        let step = self.generated.step(rid);
        let is_known = |step: &&Step| !self.is_native || step.builders.is_empty();
        let written = step.filter(is_known).and_then(|step| step.kickoff).unwrap_or(rid);
        let has_own_bytes = self.options_by_method.get(written).allocations.0;
        let id = MethodId::new(self.module_key, written.get()).with_own_bytes(has_own_bytes);
        let (probe, own_sites) = if row.is_async() {
            (MethodProbe::RuntimeAsync, self.calls.suspending())
        } else {
            let builder_methods = step.map_or_else(Vec::new, |step| self.builder_methods(step));
            (if builder_methods.is_empty() { MethodProbe::Method } else { MethodProbe::Step }, builder_methods)
        };
        // F# names its state machines differently, but their method has the same name.
        let name = || self.bodies.metadata().strings.string_bytes(row.name);
        let in_machine = || step.is_some() || row.is_async() || name() == Ok(b"MoveNext");
        let site = |callee: Token| self.calls.site(callee, in_machine).or_else(|| self.own_site(callee, &own_sites));
        let is_captured = step.is_none() && !row.is_async();
        let own = if is_captured { self.capture(target, id) } else { None };
        let id = Value::Int64(id.0);
        let with_bytes = self.counted_bytes.as_ref().map(|bytes| [id, Value::Result(bytes)]);
        let values = with_bytes.as_ref().map_or(std::slice::from_ref(&id), AsRef::as_ref);
        let method = Method { probe: probe as usize, values, sites: Sites(&site), own: own.as_ref(), ..target.method() };
        worker.rewriter.rewrite(&self.bodies, &method, &mut worker.batch)
    }

    fn rewrite_with_hooks(
        &self,
        target: &Target<'a, '_>,
        hooks: &Hooks,
        worker: &mut Worker,
    ) -> Result<RewrittenBody, RewriteError> {
        let Target { rid, row, signature, .. } = *target;
        let of_method = self.hook_context.values(hooks, rid, row, signature, target.options.leave.0).unwrap_or_default();
        let values = of_method.values(hooks, rid, MethodId::new(self.module_key, rid.get()));
        // The probes of hooks follow the tracker's.
        let place = self.hooks.iter().position(|other| std::ptr::eq(*other, hooks)).unwrap_or(0);
        let method =
            Method { probe: MethodProbe::ALL.len() + place, values: &values, returned: of_method.returned(), ..target.method() };
        worker.rewriter.rewrite(&self.bodies, &method, &mut worker.batch)
    }

    /// The calls that capture the method's values. A state machine has no arguments of its own, and a suspended method may
    /// resume on another thread.
    fn capture(&self, target: &Target<'_, '_>, id: MethodId) -> Option<ilrewrite::OwnCalls> {
        let captured: Captured = target.options.capture.0;
        captured.calls.then(|| self.hook_context.capturing(&self.receiver, captured, (target.rid, target.row), id)).flatten()
    }

    /// The builder methods that a step calls to report its progress.
    fn builder_methods(&self, step: &Step) -> Vec<(Token, CallProbe)> {
        step.builders.iter().flat_map(|builder| self.calls.builder_methods(self.bodies.metadata(), builder)).collect()
    }

    /// The probe for a call of one of these methods, or of an instantiation of one.
    fn own_site(&self, callee: Token, methods: &[(Token, CallProbe)]) -> Option<Site> {
        let instance = callee.rid_in::<MethodSpec>().filter(|_| !methods.is_empty());
        let callee = instance.and_then(|rid| self.bodies.metadata().row(rid).ok()?.method.token()).unwrap_or(callee);
        let (_, probe) = methods.iter().find(|(method, _)| *method == callee)?;
        Some(Site { probe: *probe as usize, constant: 0 })
    }

    /// The bytes that a method reads and may share with others: its code, clauses, signature and signature of locals.
    fn cost(&self, body: &MethodBody<'_>, signature: usize) -> u64 {
        let metadata = self.bodies.metadata();
        let locals = body.local_var_sig.rid_in::<StandAloneSig>().and_then(|rid| metadata.row(rid).ok());
        let locals = locals.and_then(|row| metadata.blob(row.signature).ok()).map_or(0, <[u8]>::len);
        [body.il.len() + body.clauses.len() * 24, signature, locals].map(Budget::cost).iter().sum()
    }

    /// The selected methods whose bodies can be woven within the budget. The others get a reason in `methods`.
    pub(super) fn skip_shared(&self, selected: &[Rid<MethodDef>], methods: &mut [Result<Shape, Reason>]) -> Vec<Rid<MethodDef>> {
        let cost = |rid: Rid<MethodDef>| {
            let row = self.bodies.metadata().row(rid).ok()?;
            let body = MethodBody::parse(self.image.cursor_at(Rva(row.rva)).ok()?).ok()?;
            Some(self.cost(&body, self.bodies.metadata().blob(row.signature).ok()?.len()))
        };
        let costs = selected.iter().map(|rid| cost(*rid).unwrap_or(0));
        let (kept, skipped): (Vec<_>, Vec<_>) =
            selected.iter().copied().zip(self.budget.affordable(costs)).partition(|(_, is_affordable)| *is_affordable);
        skipped.into_iter().for_each(|(rid, _)| methods[rid.get() as usize - 1] = Err(Reason::SharedBody));
        kept.into_iter().map(|(rid, _)| rid).collect()
    }
}

impl<'a, 'b> Target<'a, 'b> {
    /// The method for the rewriter, still without its probe.
    fn method(&self) -> Method<'a, 'b> {
        Method {
            row: self.row,
            signature: self.signature,
            body: self.body,
            probe: 0,
            leave_mode: self.options.leave.0,
            values: &[],
            returned: Returned::Nothing,
            sites: Sites::NONE,
            own: None,
            places: self.places,
        }
    }
}
