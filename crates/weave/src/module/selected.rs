//! Weaves the methods of a plan with the tokens of a file's metadata or of a runtime.

use super::*;

/// The woven methods of a plan.
pub(super) struct Selected<'a, P> {
    pub(super) merged: Merged<'a, P>,
    pub(super) calls: Vec<CallTarget>,
    pub(super) pdb_is_overdrawn: bool,
}

/// Weaves the methods of a plan. `begin` returns the provider of tokens. The PDB, given with its size, is updated if there
/// is one.
pub(super) fn weave_selected<'a, P: TokenProvider<Error = Error> + Send>(
    container: &Image<'a>,
    metadata: &Metadata<'a>,
    weaving: &Weave<'_>,
    module_key: u64,
    Plan { methods, made, choices, forwarders }: &Plan,
    pdb: Option<(&Pdb<'_>, usize)>,
    begin: impl Fn() -> Result<P, Error>,
) -> Result<Selected<'a, P>, Error> {
    let methods = unwoven(methods);
    let selected: Vec<Rid<MethodDef>> =
        (1..).zip(&methods).filter(|(_, method)| method.is_ok()).map(|(number, _)| Rid::new(number)).collect();
    // The tracker's probes come first, then those of hooks, in order.
    let hooks: Vec<&Hooks> = weaving.options.all_hooks().filter(|hooks| hooks.probe().is_some()).collect();
    let own = hooks.iter().filter_map(|hooks| hooks.probe().cloned());
    let probes: Vec<Probe> = weaving.tracker.probes().into_iter().chain(own).collect();
    let budgets = || [container.bytes().len(), pdb.map_or(0, |(_, size)| size)].map(Budget::of);
    let [budget, pdb_budget] = budgets();
    let calls = || CallTable::new(metadata, module_key, &weaving.options.calls);
    let mut source = Source {
        container,
        bodies: Context::new(metadata, &probes)?,
        module_key,
        options: weaving.options,
        hooks: &hooks,
        hook_context: HookContext::new(metadata),
        receiver: Receiver::of(weaving.tracker),
        is_native: weaving.tracker.is_native(),
        choices,
        made,
        forwarders,
        calls: calls(),
        pdb: pdb.map(|(pdb, _)| pdb),
        budget,
        pdb_budget,
    };
    let mut merged = Merged::new(begin()?, methods);
    weave_and_merge(&source, &selected, &mut merged)?;
    if source.budget.is_overdrawn() {
        // The results up to here depend on the threads' timing, and are dropped.
        merged = Merged::new(begin()?, merged.methods);
        let affordable = source.leave_shared(&selected, &mut merged.methods);
        [source.budget, source.pdb_budget] = budgets();
        source.calls = calls();
        weave_and_merge(&source, &affordable, &mut merged)?;
    }
    Ok(Selected { merged, calls: source.calls.targets(), pdb_is_overdrawn: source.pdb_budget.is_overdrawn() })
}
