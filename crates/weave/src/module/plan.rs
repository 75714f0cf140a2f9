//! Decides for each method of a module whether it is woven, before bodies are rewritten.

use std::collections::HashSet;

use ecma335::{
    Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    schema::{CustomAttribute, MethodDef, TypeDef},
};
use ilrewrite::{RewriteError, Shape};
use names::CompilerGenerated;
use names::MethodId;

use crate::{
    output::{lines_type::LinesType, pdb},
    patterns::condition::Condition,
    probes::hooks::Hooks,
    select::{
        facts::Facts,
        forwarders::Forwarders,
        matches,
        method_names::for_each_method,
        method_options::{MethodOptions, OptionsByMethod},
        options::Options,
        policy,
        reason::Reason,
        rules::Resolver,
    },
};

/// The decisions for all methods of a module.
#[derive(Debug)]
pub struct Plan {
    /// Whether each method is woven, or the reason for skipping it. Indexed by MethodDef row number minus one.
    pub methods: Vec<Result<(), Reason>>,
    /// The compiler-generated methods and state machines.
    pub(crate) generated: CompilerGenerated,
    /// The options that hold for each method.
    pub(crate) options_by_method: OptionsByMethod,
    /// The methods that only call skipped methods.
    pub(crate) forwarders: Forwarders,
    /// Whether lines are counted.
    pub(crate) counts_lines: bool,
    /// The methods that are excluded from code coverage, if lines are counted.
    not_covered: HashSet<Rid<MethodDef>>,
}

/// Types that the tracker's fast path calls. Outside the core library they could be woven, and would then call the tracker
/// in an endless recursion.
const TRACKER_CALLEES: &[&str] = &["System.Diagnostics.Stopwatch"];

/// Whether an assembly is a reference assembly, by its custom attributes (II.22.10).
fn is_reference_assembly(metadata: &Metadata<'_>) -> bool {
    let assembly = Token::new(Table::Assembly, 1);
    let attributes = metadata.tables.rows::<CustomAttribute>().filter(|(_, row)| row.parent.token() == Some(assembly));
    attributes
        .filter_map(|(_, row)| metadata.attribute_type_name(&row))
        .any(|name| name == "System.Runtime.CompilerServices.ReferenceAssemblyAttribute")
}

impl Plan {
    /// Decides for each method, by its row and its name alone.
    ///
    /// # Errors
    /// If names cannot be read.
    pub fn new(image: &Image<'_>, metadata: &Metadata<'_>, options: &Options) -> Result<Self, ecma335::Error> {
        Self::with_pdb(image, metadata, options, None)
    }

    /// Decides as [`new`](Self::new) does. Patterns may also name source files of the PDB, which is beside the image or
    /// embedded.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_pdb(
        image: &Image<'_>,
        metadata: &Metadata<'_>,
        options: &Options,
        pdb: Option<&[u8]>,
    ) -> Result<Self, ecma335::Error> {
        let is_reference = is_reference_assembly(metadata);
        let mut methods: Vec<Result<(), Reason>> = Vec::with_capacity(metadata.tables.count(Table::MethodDef) as usize);
        for (rid, row) in metadata.tables.rows::<MethodDef>() {
            methods.push(if rid.get() > MethodId::MAX_METHOD {
                Err(Reason::Body(RewriteError::BadBody("ids of methods have 22 bits for the row".to_owned())))
            } else if row.rva == 0 || row.is_internal_call() {
                Err(Reason::NoBody)
            } else if !row.has_il_body() {
                Err(if row.is_native() || row.is_unmanaged() { Reason::NativeCode } else { Reason::NoBody })
            } else if is_reference {
                Err(Reason::ReferenceAssembly)
            } else {
                Ok(())
            });
        }
        let options_by_method = OptionsByMethod::same(MethodOptions::without_rules(options));
        let forwarders = Forwarders::default();
        let generated = CompilerGenerated::find(image, metadata);
        let counts_lines = options.counts_lines() && LinesType::fits(metadata);
        let mut plan = Self { methods, generated, options_by_method, forwarders, counts_lines, not_covered: HashSet::new() };
        plan.skip_tracker_callees(metadata)?;
        let assembly = matches::assembly_name(metadata)?;
        if options.all_hooks().flat_map(Hooks::methods).any(|(_, hook)| hook.assembly().name == assembly) {
            plan.skip((1..=metadata.tables.count(Table::MethodDef)).map(Rid::new), &Reason::Hook);
        }
        if !image.is_il_only() && image.precompiled().is_none() {
            plan.skip_start_of_mixed_mode(metadata)?;
        }
        plan.select(image, metadata, options, pdb)?;
        if plan.selected() > 0 {
            plan.forwarders = Forwarders::find(image, metadata, &plan.generated, &plan.options_by_method, options, &plan.methods);
        }
        Ok(plan)
    }

    /// Whether the bytes that a method allocates are its own, and not its caller's.
    pub fn has_own_bytes(&self, method: Rid<MethodDef>) -> bool {
        self.options_by_method.get(method).allocations.0
    }

    /// The method under whose id calls of a method are recorded where no body is rewritten. For the steps of an iterator,
    /// that is its kickoff method. `None` if the method is skipped.
    pub fn recorded_as(&self, image: &Image<'_>, metadata: &Metadata<'_>, method: Rid<MethodDef>) -> Option<Rid<MethodDef>> {
        let planned = (method.get() as usize).checked_sub(1).and_then(|index| self.methods.get(index));
        planned.filter(|planned| planned.is_ok())?;
        let row = metadata.row(method).ok()?;
        let body = MethodBody::parse(image.cursor_at(Rva(row.rva)).ok()?).ok()?;
        let MethodOptions { body_filter: (body_filter, _), .. } = self.options_by_method.get(method);
        if policy::skip_reason(body_filter, self.generated.origin(method), false, &body, self.forwarders.has(method)).is_some() {
            return None;
        }
        let iterator = self.generated.step(method).filter(|step| step.builders.is_empty());
        Some(iterator.and_then(|step| step.kickoff).unwrap_or(method))
    }

    /// The outcome for each method before any body is woven: a shape stands for all selected ones.
    pub(crate) fn outcomes(&self) -> Vec<Result<Shape, Reason>> {
        self.methods.iter().map(|method| method.clone().map(|()| Shape::Finally)).collect()
    }

    /// The methods whose ids the tracker's probes pass in these woven methods. Indexed by MethodDef row number minus one.
    pub(crate) fn methods_with_ids(&self, woven: impl Iterator<Item = Rid<MethodDef>>, options: &Options) -> Vec<bool> {
        let mut has_id = vec![false; self.methods.len()];
        let has_hooks = |rid| options.hooks_set_by(self.options_by_method.get(rid).hooks).probe().is_some();
        for rid in woven.filter(|rid| !has_hooks(*rid)) {
            let written = self.generated.step(rid).and_then(|step| step.kickoff).unwrap_or(rid);
            has_id.get_mut(written.get().wrapping_sub(1) as usize).into_iter().for_each(|has_id| *has_id = true);
        }
        has_id
    }

    /// Whether the lines of a method are counted, if it has any.
    pub(crate) fn has_lines(&self, method: Rid<MethodDef>) -> bool {
        let planned = self.methods.get((method.get() as usize).wrapping_sub(1));
        self.counts_lines && planned.is_some_and(Result::is_ok) && !self.not_covered.contains(&method)
    }

    /// The number of methods to weave.
    pub fn selected(&self) -> usize {
        self.methods.iter().filter(|method| method.is_ok()).count()
    }

    /// Skips the methods that run while a C++/CLI image is being loaded. No other assembly can be loaded at that time.
    fn skip_start_of_mixed_mode(&mut self, metadata: &Metadata<'_>) -> Result<(), ecma335::Error> {
        // Global functions belong to the first type, `<Module>` (II.22.37).
        for rid in metadata.children::<TypeDef, MethodDef>(Rid::new(1)) {
            let name = metadata.name(metadata.row(rid)?.name)?;
            let is_start = name == ".cctor" || name.starts_with("<CrtImplementationDetails>");
            if let Some(method @ Ok(())) = self.methods.get_mut((rid.get() as usize).wrapping_sub(1)).filter(|_| is_start) {
                *method = Err(Reason::ImageStart);
            }
        }
        Ok(())
    }

    fn skip_tracker_callees(&mut self, metadata: &Metadata<'_>) -> Result<(), ecma335::Error> {
        for (rid, row) in metadata.tables.rows::<TypeDef>() {
            let is_callee = TRACKER_CALLEES.iter().any(|callee| {
                callee.rsplit_once('.').is_some_and(|(namespace, name)| {
                    metadata.strings.string_bytes(row.name) == Ok(name.as_bytes())
                        && metadata.strings.string_bytes(row.namespace) == Ok(namespace.as_bytes())
                })
            });
            if is_callee {
                self.skip(metadata.children(rid), &Reason::TrackerCallee);
            }
        }
        Ok(())
    }

    fn skip(&mut self, methods: impl Iterator<Item = Rid<MethodDef>>, reason: &Reason) {
        for method in methods {
            if let Some(slot @ Ok(())) = (method.get() as usize).checked_sub(1).and_then(|index| self.methods.get_mut(index)) {
                *slot = Err(reason.clone());
            }
        }
    }

    fn select(
        &mut self,
        image: &Image<'_>,
        metadata: &Metadata<'_>,
        options: &Options,
        pdb: Option<&[u8]>,
    ) -> Result<(), ecma335::Error> {
        let assembly = matches::assembly_name(metadata)?;
        let options = &*matches::with_matching_patterns(metadata, &assembly, options)?;
        let Self { methods, generated, options_by_method, counts_lines, not_covered, .. } = self;
        let names_files = options.all_patterns().any(|pattern| matches!(pattern.condition(), Some(Condition::File(_))));
        let pdb = if names_files { pdb::find(image, pdb).ok().flatten() } else { None };
        let facts = Facts::new(image, metadata, generated, pdb);
        if Facts::may_be_marked(metadata) {
            for (rid, method) in (1..).map(Rid::new).zip(methods.iter_mut()).filter(|(_, method)| method.is_ok()) {
                if facts.is_marked(rid) {
                    *method = Err(Reason::Marked);
                }
            }
        }
        if *counts_lines {
            *not_covered = facts.not_covered();
        }
        let Some(resolver) = Resolver::new(options, &assembly) else { return Ok(()) };
        let by_method = options_by_method.by_method_mut(methods.len());
        for_each_method(metadata, |index, names| {
            let Some((slot @ Ok(()), method_options)) = methods.get_mut(index).zip(by_method.get_mut(index)) else {
                return Ok(());
            };
            let names = names()?;
            let rid = Rid::new(index as u32 + 1);
            let full_names = names.full_names();
            match resolver.resolve(full_names.iter().map(String::as_str), &|pattern| {
                names.match_pattern(pattern) || facts.match_pattern(pattern, rid)
            }) {
                Ok(resolved) => *method_options = resolved,
                Err(reason) => *slot = Err(reason),
            }
            Ok(())
        })
    }
}
