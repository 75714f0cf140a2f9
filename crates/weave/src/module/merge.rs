//! Merges woven methods: one thread gives tokens, in the order of the methods, while others weave the next ones.

use std::ops::Range;

use ecma335::{Budget, Error, Image, Metadata, Rid, Segments, Token, schema::MethodDef};
use ilrewrite::{Batch, Context, Counter, Probe, RewrittenBody, Shape, TokenProvider};
use rayon::prelude::*;

use super::{
    lines::LineCounters,
    plan::Plan,
    weave_body::{BodyWeaver, Worker},
    weaving::Weave,
};
use crate::{
    output::pdb::{MethodDebug, Pdb},
    probes::{
        call_sites::{CallTable, CallTarget},
        capture::Receiver,
        hook_values::HookContext,
        hooks::Hooks,
    },
    select::reason::Reason,
};

/// The number of methods that a thread processes at a time.
const CHUNK: usize = 256;
/// The number of methods for each thread that are merged at a time.
const PART: usize = 16 * CHUNK;

/// The methods that a thread processed in one step.
struct Chunk {
    /// The rewritten bodies, one after another, with the tokens that they need.
    batch: Batch,
    /// The debug information of each method, if there is a PDB.
    debug: Vec<Result<MethodDebug, Error>>,
    /// The outcome for each method.
    methods: Vec<(Rid<MethodDef>, Result<RewrittenBody, Reason>)>,
}

/// The chunks merged so far, in the order of the methods.
pub(super) struct Merged<'a, P> {
    pub(super) tokens: P,
    pub(super) code: Segments<'a>,
    /// The code range of each body.
    pub(super) bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    /// The signature of locals in [`LocalSigs`](crate::output::local_sigs::LocalSigs) for each body. `None` if the body keeps its own.
    pub(super) body_sigs: Vec<Option<Token>>,
    /// The debug information of each method, if there is a PDB, and its new signature of locals.
    pub(super) records: Vec<(Result<MethodDebug, Error>, Option<Token>)>,
    /// The methods with counted lines, and their counters.
    pub(super) counted: Vec<(Rid<MethodDef>, Vec<u32>)>,
    /// The outcome for each method so far. Indexed by row number minus one.
    pub(super) methods: Vec<Result<Shape, Reason>>,
}

impl<P: TokenProvider<Error = Error>> Merged<'_, P> {
    pub(super) fn new(tokens: P, methods: Vec<Result<Shape, Reason>>) -> Self {
        let (code, bodies, body_sigs, records, counted) = Default::default();
        Self { tokens, code, bodies, body_sigs, records, counted, methods }
    }

    fn add(&mut self, Chunk { mut batch, debug, methods }: Chunk) -> Result<(), Error> {
        let (mut debug, mut settled) = (debug.into_iter(), Vec::new());
        for (rid, result) in methods {
            self.methods[rid.get() as usize - 1] = match result {
                Ok(body) => {
                    batch.settle(&body, &mut settled, &mut self.tokens)?;
                    let start = self.code.len() + body.range.start;
                    self.bodies.push((rid, start..start + body.range.len()));
                    if !body.counters.is_empty() {
                        self.counted.push((rid, body.counters));
                    }
                    let local_sig = body.local_sig.and_then(|request| settled.get(request as usize).copied().flatten());
                    self.body_sigs.push(local_sig);
                    self.records.extend(debug.next().map(|records| (records, local_sig)));
                    Ok(body.shape)
                }
                Err(reason) => Err(reason),
            };
        }
        batch.bodies.resize(batch.bodies.len().next_multiple_of(4), 0);
        self.code.push_copy(&batch.bodies);
        Ok(())
    }
}

/// A PDB to update.
pub(super) struct FollowedPdb<'p> {
    pub(super) pdb: &'p Pdb<'p>,
    /// Its size.
    pub(super) size: usize,
    /// The counters of its lines and the code that counts, if lines are counted.
    pub(super) lines: Option<(LineCounters, Counter)>,
}

/// The woven methods of a plan.
pub(super) struct WovenMethods<'a, P> {
    pub(super) merged: Merged<'a, P>,
    pub(super) calls: Vec<CallTarget>,
    pub(super) pdb_is_overdrawn: bool,
}

/// Weaves the methods of a plan. `begin` returns the provider of tokens. It is called again if methods share more data than
/// the budget allows. The PDB is updated if there is one.
pub(super) fn weave_methods<'a, P: TokenProvider<Error = Error> + Send>(
    image: &Image<'a>,
    metadata: &Metadata<'a>,
    weaving: &Weave<'_>,
    module_key: u64,
    plan: &Plan,
    pdb: Option<&FollowedPdb<'_>>,
    begin: impl Fn() -> Result<P, Error>,
) -> Result<WovenMethods<'a, P>, Error> {
    let methods = plan.outcomes();
    let selected: Vec<Rid<MethodDef>> =
        (1..).zip(&methods).filter(|(_, method)| method.is_ok()).map(|(number, _)| Rid::new(number)).collect();
    // The tracker's probes come first, then those of hooks, in order.
    let hooks: Vec<&Hooks> = weaving.options.all_hooks().filter(|hooks| hooks.probe().is_some()).collect();
    let own = hooks.iter().filter_map(|hooks| hooks.probe().cloned());
    let probes: Vec<Probe> = weaving.tracker.probes().into_iter().chain(own).collect();
    let budgets = || [image.bytes().len(), pdb.map_or(0, |pdb| pdb.size)].map(Budget::for_file);
    let [budget, pdb_budget] = budgets();
    let calls = || CallTable::new(metadata, module_key, &weaving.options.calls);
    let lines = pdb.and_then(|pdb| pdb.lines.as_ref());
    let mut weaver = BodyWeaver {
        image,
        bodies: Context::new(metadata, &probes, lines.map(|(_, counter)| counter))?,
        module_key,
        options: weaving.options,
        hooks: &hooks,
        hook_context: HookContext::new(metadata),
        receiver: Receiver::new(weaving.tracker),
        is_native: weaving.tracker.is_native(),
        counted_bytes: weaving.tracker.counted_bytes(),
        options_by_method: &plan.options_by_method,
        generated: &plan.generated,
        forwarders: &plan.forwarders,
        calls: calls(),
        pdb: pdb.map(|pdb| pdb.pdb),
        lines: lines.map(|(counters, _)| counters),
        budget,
        pdb_budget,
    };
    let mut merged = Merged::new(begin()?, methods);
    weave_and_merge(&weaver, &selected, &mut merged)?;
    if weaver.budget.is_overdrawn() {
        // The results up to here depend on the threads' timing, and are dropped.
        merged = Merged::new(begin()?, merged.methods);
        let affordable = weaver.skip_shared(&selected, &mut merged.methods);
        [weaver.budget, weaver.pdb_budget] = budgets();
        weaver.calls = calls();
        weave_and_merge(&weaver, &affordable, &mut merged)?;
    }
    Ok(WovenMethods { merged, calls: weaver.calls.targets(), pdb_is_overdrawn: weaver.pdb_budget.is_overdrawn() })
}

/// Weaves the methods part by part, and merges one part while it weaves the next. So the data beside the bodies is never in
/// memory for all methods at once.
fn weave_and_merge<P: TokenProvider<Error = Error> + Send>(
    weaver: &BodyWeaver<'_, '_>,
    selected: &[Rid<MethodDef>],
    merged: &mut Merged<'_, P>,
) -> Result<(), Error> {
    // A few methods are not worth waking a thread pool.
    if selected.len() <= CHUNK || rayon::current_num_threads() == 1 {
        let mut worker = Worker::new(weaver);
        return selected.chunks(CHUNK).try_for_each(|chunk| merged.add(weave_chunk(weaver, &mut worker, chunk)));
    }
    let mut woven = Vec::new();
    for part in selected.chunks(PART * rayon::current_num_threads()) {
        let weave =
            || part.par_chunks(CHUNK).map_init(|| Worker::new(weaver), |worker, chunk| weave_chunk(weaver, worker, chunk));
        let before = std::mem::take(&mut woven);
        let (result, chunks) = rayon::join(|| before.into_iter().try_for_each(|chunk| merged.add(chunk)), || weave().collect());
        result?;
        woven = chunks;
    }
    woven.into_iter().try_for_each(|chunk| merged.add(chunk))
}

fn weave_chunk(weaver: &BodyWeaver<'_, '_>, worker: &mut Worker, chunk: &[Rid<MethodDef>]) -> Chunk {
    let methods = chunk.iter().map(|rid| (*rid, weaver.weave(*rid, worker))).collect();
    Chunk { batch: worker.batch.take(), debug: std::mem::take(&mut worker.debug), methods }
}
