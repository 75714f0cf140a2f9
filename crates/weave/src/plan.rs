//! Selects the methods to weave, before any body is read, and decides which files are refused as a whole.

use std::fmt;

use ecma335::{
    Error, ErrorKind, Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    error::Place,
    image::Precompiled,
    schema::{CustomAttribute, GenericParam, MethodDef, TypeDef},
};

use crate::{
    facts::Facts,
    forwarders::Forwarders,
    hooks::Hooks,
    made::Made,
    named,
    options::Options,
    pattern::Pattern,
    pdb, policy,
    reason::Reason,
    rules::{Chooser, Holds},
    selector::Selector,
    tracker::{Mark, Tracker},
};

/// The reason for refusing a file as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The file refers to the tracker.
    AlreadyWoven,
    /// The file has the mark of a woven file, and no other trace of weaving.
    DamagedMark,
    /// The file is the tracker.
    IsTracker,
    /// The file defines `System.Object`. The tracker needs that type, so the file cannot depend on the tracker.
    IsCoreLibrary,
    /// The file is a module without a manifest, and the tracker is to be embedded. The assembly's other modules would not
    /// find it.
    NoManifest,
    /// The tracker refers to the file's assembly, and is to be embedded in it.
    TrackerNeeds,
    /// The tracker is to be embedded, and its type parameters would have to be numbered among the file's own.
    TypeParameters,
    /// The file has native code from NGen or another precompiler that cannot be removed.
    Precompiled,
    /// A dangling reference would point to metadata that weaving adds. Only weaving detects this: see [`Refusal::of`].
    Dangling(Place),
}

impl Refusal {
    /// The refusal that an error of weaving stands for, if it does.
    pub fn of(error: &Error) -> Option<Self> {
        if let ErrorKind::Dangling(place) = error.kind() { Some(Self::Dangling(*place)) } else { None }
    }

    /// The stable identifier of the refusal, for scripts.
    pub fn code(self) -> &'static str {
        match self {
            Self::AlreadyWoven => "already-woven",
            Self::DamagedMark => "damaged-mark",
            Self::IsTracker => "is-tracker",
            Self::IsCoreLibrary => "is-core-library",
            Self::NoManifest => "no-manifest",
            Self::TrackerNeeds => "tracker-needs",
            Self::TypeParameters => "type-parameters",
            Self::Precompiled => "precompiled",
            Self::Dangling(_) => "dangling-reference",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyWoven => "it is instrumented already; instrument the original",
            Self::DamagedMark => {
                "it has the mark of a woven assembly, but does not refer to the tracker: it was damaged or changed after it was \
                 woven; weave the original"
            }
            Self::IsTracker => "it is the tracker itself",
            Self::IsCoreLibrary => {
                "it is the core library (it defines System.Object), which the tracker needs and which cannot need the tracker"
            }
            Self::Dangling(place) => {
                return write!(f, "{place} leads to what it has not got, and rows that instrumentation adds would be taken for that");
            }
            Self::NoManifest => "it is a module of an assembly of several, and --embed puts the tracker into whole assemblies",
            Self::TrackerNeeds => "the tracker refers to it, so --embed cannot put the tracker into it: instrument it without --embed",
            Self::TypeParameters => {
                "it has more types than methods before a generic type, so --embed has no place for the tracker's type parameters: \
                 instrument it without --embed"
            }
            Self::Precompiled => "it holds precompiled code of an unknown kind, which would run in place of the instrumented IL",
        })
    }
}

/// The decisions for all methods of a module.
#[derive(Debug)]
pub struct Plan {
    /// Whether each method is woven, or the reason for skipping it. Indexed by MethodDef row number minus one.
    pub methods: Vec<Result<(), Reason>>,
    /// The compiler-generated methods and state machines.
    pub(crate) made: Made,
    /// The options that hold for each method.
    pub(crate) choices: Choices,
    /// The methods that only call skipped methods.
    pub(crate) forwarders: Forwarders,
}

/// The options that hold for each selected method.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// The options of each method, by MethodDef row number minus one. Empty if the same options hold for all.
    by_method: Vec<Holds>,
    for_all: Holds,
}

impl Choices {
    /// The options that hold for a method.
    pub(crate) fn of(&self, method: Rid<MethodDef>) -> Holds {
        let index = (method.get() as usize).wrapping_sub(1);
        self.by_method.get(index).copied().unwrap_or(self.for_all)
    }
}

/// The patterns that select methods.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Selects only the methods that these patterns name. Empty selects all.
    pub include: Vec<Pattern>,
    /// Leaves out the methods that these patterns name, even included ones.
    pub exclude: Vec<Pattern>,
}

/// Types that the tracker's fast path calls. Outside the core library they could be woven, and would then call the tracker
/// in an endless recursion.
const TRACKER_CALLEES: &[&str] = &["System.Diagnostics.Stopwatch"];

/// The reason for refusing a file as a whole, if there is one.
pub fn refusal(image: &Image<'_>, metadata: &Metadata<'_>, tracker: &Tracker) -> Option<Refusal> {
    if tracker.is_in(metadata) {
        return Some(Refusal::AlreadyWoven);
    }
    if metadata.assembly().and_then(|assembly| metadata.name(assembly.name).ok()).is_some_and(|name| name == tracker.name()) {
        return Some(Refusal::IsTracker);
    }
    if Mark::is_in(metadata) {
        return Some(Refusal::DamagedMark);
    }
    if defines_object(metadata) {
        return Some(Refusal::IsCoreLibrary);
    }
    (image.precompiled() == Some(Precompiled::Other)).then_some(Refusal::Precompiled)
}

/// The reason for not embedding the tracker in a file, if there is one.
pub fn embedding_refusal(metadata: &Metadata<'_>, tracker: &Tracker) -> Option<Refusal> {
    let Some(assembly) = metadata.assembly() else { return Some(Refusal::NoManifest) };
    let name = metadata.name(assembly.name).ok()?;
    if tracker.refers_to(&name) {
        return Some(Refusal::TrackerNeeds);
    }
    // GenericParam rows are sorted by owner. The tracker's methods come after the assembly's own.
    let first = metadata.tables.count(Table::MethodDef).checked_add(tracker.first_generic_method()?)?;
    let is_behind =
        |row: &GenericParam| row.owner.token().and_then(Token::rid_in::<TypeDef>).is_some_and(|rid| rid.get() > first);
    metadata.tables.rows::<GenericParam>().any(|(_, row)| is_behind(&row)).then_some(Refusal::TypeParameters)
}

fn defines_object(metadata: &Metadata<'_>) -> bool {
    metadata.tables.rows::<TypeDef>().any(|(_, row)| {
        row.extends.rid() == 0
            && metadata.strings.string_bytes(row.name) == Ok(b"Object")
            && metadata.strings.string_bytes(row.namespace) == Ok(b"System")
    })
}

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
        for (_, row) in metadata.tables.rows::<MethodDef>() {
            methods.push(if row.rva == 0 || row.is_internal_call() {
                Err(Reason::NoBody)
            } else if !row.has_il_body() {
                Err(if row.is_native() || row.is_unmanaged() { Reason::NativeCode } else { Reason::NoBody })
            } else if is_reference {
                Err(Reason::ReferenceAssembly)
            } else {
                Ok(())
            });
        }
        let choices = Choices { by_method: Vec::new(), for_all: Holds::of(options) };
        let forwarders = Forwarders::default();
        let mut plan = Self { methods, made: Made::find(image, metadata), choices, forwarders };
        plan.leave_tracker_callees(metadata)?;
        let assembly = named::assembly_name(metadata)?;
        if options.all_hooks().flat_map(Hooks::methods).any(|(_, hook)| hook.assembly().name == assembly) {
            plan.leave((1..=metadata.tables.count(Table::MethodDef)).map(Rid::new), &Reason::Hook);
        }
        if !image.is_il_only() && image.precompiled().is_none() {
            plan.leave_start_of_mixed_mode(metadata)?;
        }
        plan.select(image, metadata, options, pdb)?;
        if plan.selected() > 0 {
            plan.forwarders = Forwarders::find(image, metadata, &plan.made, &plan.choices, options, &plan.methods);
        }
        Ok(plan)
    }

    /// The method under whose id calls of a method are recorded where no body is rewritten. For the steps of an iterator,
    /// that is its kickoff method. `None` if the method is skipped.
    pub fn recorded_as(&self, image: &Image<'_>, metadata: &Metadata<'_>, method: Rid<MethodDef>) -> Option<Rid<MethodDef>> {
        let planned = (method.get() as usize).checked_sub(1).and_then(|index| self.methods.get(index));
        planned.filter(|planned| planned.is_ok())?;
        let row = metadata.row(method).ok()?;
        let body = MethodBody::parse(image.cursor_at(Rva(row.rva)).ok()?).ok()?;
        let Holds { worth: (worth, _), .. } = self.choices.of(method);
        if policy::left_alone(worth, self.made.origin(method), false, &body, self.forwarders.has(method)).is_some() {
            return None;
        }
        let iterator = self.made.step(method).filter(|step| step.builders.is_empty());
        Some(iterator.and_then(|step| step.kickoff).unwrap_or(method))
    }

    /// The number of methods to weave.
    pub fn selected(&self) -> usize {
        self.methods.iter().filter(|method| method.is_ok()).count()
    }

    /// Skips the methods that run while a C++/CLI image is being loaded. No other assembly can be loaded at that time.
    fn leave_start_of_mixed_mode(&mut self, metadata: &Metadata<'_>) -> Result<(), ecma335::Error> {
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

    fn leave_tracker_callees(&mut self, metadata: &Metadata<'_>) -> Result<(), ecma335::Error> {
        for (rid, row) in metadata.tables.rows::<TypeDef>() {
            let is_callee = TRACKER_CALLEES.iter().any(|callee| {
                callee.rsplit_once('.').is_some_and(|(namespace, name)| {
                    metadata.strings.string_bytes(row.name) == Ok(name.as_bytes())
                        && metadata.strings.string_bytes(row.namespace) == Ok(namespace.as_bytes())
                })
            });
            if is_callee {
                self.leave(metadata.children(rid), &Reason::TrackerCallee);
            }
        }
        Ok(())
    }

    fn leave(&mut self, methods: impl Iterator<Item = Rid<MethodDef>>, reason: &Reason) {
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
        let assembly = named::assembly_name(metadata)?;
        let options = &*named::as_meant(metadata, &assembly, options)?;
        let Self { methods, made, choices: Choices { by_method, for_all }, .. } = self;
        let names_files = options.all_patterns().any(|pattern| matches!(pattern.selector(), Some(Selector::File(_))));
        let pdb = if names_files { pdb::find(image, pdb).ok().flatten() } else { None };
        let facts = Facts::new(image, metadata, made, pdb);
        if Facts::may_be_marked(metadata) {
            for (rid, method) in (1..).map(Rid::new).zip(methods.iter_mut()).filter(|(_, method)| method.is_ok()) {
                if facts.is_marked(rid) {
                    *method = Err(Reason::Marked);
                }
            }
        }
        let Some(chooser) = Chooser::new(options, &assembly) else { return Ok(()) };
        *by_method = vec![*for_all; methods.len()];
        for_each_method(metadata, |index, names| {
            let Some((slot @ Ok(()), holds)) = methods.get_mut(index).zip(by_method.get_mut(index)) else { return Ok(()) };
            let names = names()?;
            let rid = Rid::new(index as u32 + 1);
            let called = names.called();
            match chooser
                .choose(called.iter().map(String::as_str), &|pattern| names.are_of(pattern) || facts.are_of(pattern, rid))
            {
                Ok(chosen) => *holds = chosen,
                Err(reason) => *slot = Err(reason),
            }
            Ok(())
        })
    }
}

/// The names by which patterns match a method.
#[derive(Debug)]
pub struct MethodNames<'n> {
    /// The full name of the declaring type.
    pub type_name: &'n str,
    /// The method's own name.
    pub name: String,
    source: Option<identity::SourceName>,
    metadata: &'n Metadata<'n>,
    method: Rid<MethodDef>,
}

impl MethodNames<'_> {
    /// The names that patterns may match: `Type::Method`.
    fn called(&self) -> Vec<String> {
        let written = self.source.as_ref().map(|source| format!("{}::{}", source.type_name, source.method));
        std::iter::once(format!("{}::{}", self.type_name, self.name)).chain(written).collect()
    }

    /// Whether a pattern names the method. A compiler-generated method also matches by the name of the method it was made
    /// for.
    pub fn are_of(&self, pattern: &Pattern) -> bool {
        let has_parameters = || pattern.parameters().is_none_or(|parameters| parameters.are_of(self.metadata, self.method));
        let is_named = pattern.matches(self.type_name, &self.name)
            || self.source.as_ref().is_some_and(|source| pattern.matches(&source.type_name, &source.method));
        is_named && has_parameters()
    }
}

/// A function that returns a method's names when they are needed.
pub type Naming<'n> = &'n dyn Fn() -> Result<MethodNames<'n>, Error>;

/// Calls a function for each method that belongs to a type, with its row number minus one.
///
/// # Errors
/// If names cannot be read, or the function fails.
pub fn for_each_method(
    metadata: &Metadata<'_>,
    mut action: impl FnMut(usize, Naming<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    metadata.check_type_names()?;
    let names = metadata.full_names();
    for rid in names.types() {
        let mut methods = metadata.children::<TypeDef, MethodDef>(rid).peekable();
        let type_name = &if methods.peek().is_some() { names.of(rid)? } else { continue };
        for method in methods {
            let Some(index) = (method.get() as usize).checked_sub(1) else { continue };
            action(index, &|| {
                let name = metadata.name(metadata.row(method)?.name)?;
                let source = identity::source_name(type_name, &name);
                Ok(MethodNames { type_name, name, source, metadata, method })
            })?;
        }
    }
    Ok(())
}
