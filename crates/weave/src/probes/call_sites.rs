//! Selects the calls that get probes of their own. These are calls of other assemblies' members that wait, or that
//! `--calls` names. In the steps of an async method they are also the calls of its builder.

use std::{
    collections::HashMap,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use ecma335::{
    Metadata, Rid, Table, Token,
    element::ElementType,
    schema::{AssemblyRef, MemberRef, MethodDef, MethodSpec, TypeDef, TypeDefOrRef, TypeRef, TypeSpec},
};
use ilrewrite::Site;
use names::MethodId;

use super::{timed_calls::Calls, tracker::CallProbe, waits::waits};
use crate::patterns::{candidates::Candidates, pattern::Pattern};

/// The awaiters' types. Their calls wait, except in a state machine, which makes them only after completion.
const AWAITERS: &[&str] = &[
    "System.Runtime.CompilerServices.TaskAwaiter",
    "System.Runtime.CompilerServices.TaskAwaiter`1",
    "System.Runtime.CompilerServices.ConfiguredTaskAwaitable/ConfiguredTaskAwaiter",
    "System.Runtime.CompilerServices.ConfiguredTaskAwaitable`1/ConfiguredTaskAwaiter",
    "System.Runtime.CompilerServices.ValueTaskAwaiter",
    "System.Runtime.CompilerServices.ValueTaskAwaiter`1",
    "System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable/ConfiguredValueTaskAwaiter",
    "System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable`1/ConfiguredValueTaskAwaiter",
];
const GET_RESULT: &str = "GetResult";

/// The builder's methods, by name, each with its probe.
const BUILDER: &[(&str, CallProbe)] = &[
    ("AwaitOnCompleted", CallProbe::Await),
    ("AwaitUnsafeOnCompleted", CallProbe::Await),
    ("SetResult", CallProbe::Complete),
    ("Complete", CallProbe::Complete),
    ("SetException", CallProbe::Fault),
];

/// The type whose methods suspend a runtime-async method.
const ASYNC_HELPERS: &str = "System.Runtime.CompilerServices.AsyncHelpers";
const SUSPENDING: &[&[u8]] = &[b"Await", b"AwaitAwaiter", b"UnsafeAwaitAwaiter"];

/// The rules that decide by name whether calls of a method are waits.
#[derive(Default)]
struct ByName {
    types: Vec<&'static str>,
    builder: Option<CallProbe>,
}

static BY_NAME: LazyLock<HashMap<&'static [u8], ByName>> = LazyLock::new(|| {
    let mut by_name: HashMap<&[u8], ByName> = HashMap::new();
    waits().for_each(|(class, method)| by_name.entry(method.as_bytes()).or_default().types.push(class));
    by_name.entry(GET_RESULT.as_bytes()).or_default().types.extend(AWAITERS);
    BUILDER.iter().for_each(|(method, probe)| by_name.entry(method.as_bytes()).or_default().builder = Some(*probe));
    by_name
});

/// The probe of calls of a MemberRef.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Kind {
    #[default]
    Plain,
    Named,
    Waits,
    /// A member of an awaiter.
    WaitsOutsideOfMachines,
}

/// A method of another assembly whose calls have probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallTarget {
    /// The MemberRef row of the method.
    pub member_ref: Rid<MemberRef>,
    /// The id that the probes pass.
    pub id: MethodId,
}

impl CallTarget {
    /// The full name of the method, without type arguments: `Namespace.Type::Method`.
    ///
    /// # Errors
    /// If the name cannot be read.
    pub fn name(&self, metadata: &Metadata<'_>) -> ecma335::Result<String> {
        let (class, name) = self.names(metadata)?;
        Ok(format!("{class}::{name}"))
    }

    /// The full name in two parts: the type and the method.
    ///
    /// # Errors
    /// If the name cannot be read.
    pub fn names(&self, metadata: &Metadata<'_>) -> ecma335::Result<(String, String)> {
        let row = metadata.row(self.member_ref)?;
        let class = metadata.class_of_reference(&row).map(|class| metadata.type_ref_name(class)).transpose()?;
        Ok((class.unwrap_or_default(), metadata.name(row.name)?))
    }
}

/// The calls of a module that have probes. Names are looked up once for each called method, not for each call.
#[derive(Debug)]
pub(crate) struct CallTable {
    module_key: u64,
    /// The kind of each MemberRef. Indexed by row number minus one.
    kinds: Vec<Kind>,
    used: Vec<AtomicBool>,
    /// The MemberRef of each MethodSpec whose calls have probes. Indexed by MethodSpec row number minus one.
    instances: Vec<u32>,
    /// The methods with builder method names: token, class and probe.
    builder_methods: Vec<(Token, Token, CallProbe)>,
    suspending: Vec<Token>,
}

impl CallTable {
    /// Looks up all members that a module refers to.
    pub(crate) fn new(metadata: &Metadata<'_>, module_key: u64, calls: &Calls) -> Self {
        let count = metadata.tables.count(Table::MemberRef) as usize;
        let (mut kinds, mut builder_methods, mut suspending) = (vec![Kind::Plain; count], Vec::new(), Vec::new());
        let named = Candidates::new(calls.named.iter().enumerate());
        for (rid, row) in metadata.tables.rows::<MemberRef>().take(MethodId::MAX_CALL_SITE as usize) {
            let Ok(name) = metadata.strings.string_bytes(row.name) else { continue };
            if SUSPENDING.contains(&name)
                && metadata.class_of_reference(&row).is_some_and(|class| is_named(metadata, class, ASYNC_HELPERS))
            {
                suspending.push(Token::new(Table::MemberRef, rid.get()));
            }
            let known = BY_NAME.get(name);
            if known.is_none() && calls.named.is_empty() {
                continue;
            }
            if let (Some(probe), Some(class)) = (known.and_then(|known| known.builder), row.class.token()) {
                builder_methods.push((Token::new(Table::MemberRef, rid.get()), class, probe));
            }
            if let (Some(kind), Some(slot)) =
                (kind(metadata, &row, name, known, (calls, &named)), kinds.get_mut((rid.get() as usize).wrapping_sub(1)))
            {
                *slot = kind;
            }
        }
        let mut instances = Vec::new();
        if kinds.iter().any(|kind| *kind != Kind::Plain) {
            let member = |row: MethodSpec| row.method.token().and_then(Token::rid_in::<MemberRef>);
            let probed =
                |rid: &Rid<MemberRef>| kinds.get((rid.get() as usize).wrapping_sub(1)).is_some_and(|kind| *kind != Kind::Plain);
            let rows = metadata.tables.rows::<MethodSpec>();
            instances.extend(rows.map(|(_, row)| member(row).filter(probed).map_or(0, Rid::get)));
        }
        let used = kinds.iter().map(|_| AtomicBool::new(false)).collect();
        Self { module_key, kinds, used, instances, builder_methods, suspending }
    }

    /// The probe of a call, if it has one.
    #[inline]
    pub(crate) fn site(&self, callee: Token, in_machine: impl FnOnce() -> bool) -> Option<Site> {
        const MEMBER_REF: u8 = Table::MemberRef as u8;
        const METHOD_SPEC: u8 = Table::MethodSpec as u8;
        let index = (callee.rid() as usize).checked_sub(1)?;
        let index = match callee.kind() {
            MEMBER_REF => index,
            METHOD_SPEC => (*self.instances.get(index)? as usize).checked_sub(1)?,
            _ => return None,
        };
        let kind = *self.kinds.get(index)?;
        if kind == Kind::Plain || kind == Kind::WaitsOutsideOfMachines && in_machine() {
            return None;
        }
        self.used.get(index)?.store(true, Ordering::Relaxed);
        Some(Site { probe: CallProbe::Around as usize, constant: self.id(index)?.0 })
    }

    fn id(&self, index: usize) -> Option<MethodId> {
        let waits = *self.kinds.get(index)? != Kind::Named;
        MethodId::call_site(self.module_key, index as u32 + 1, waits)
    }

    /// The targets that woven methods call.
    pub(crate) fn targets(&self) -> Vec<CallTarget> {
        let used = self.used.iter().enumerate().filter(|(_, used)| used.load(Ordering::Relaxed));
        used.filter_map(|(index, _)| Some(CallTarget { member_ref: Rid::new(index as u32 + 1), id: self.id(index)? })).collect()
    }

    /// The methods that suspend a runtime-async method, with their probe.
    pub(crate) fn suspending(&self) -> Vec<(Token, CallProbe)> {
        self.suspending.iter().map(|method| (*method, CallProbe::Suspend)).collect()
    }

    /// The methods by which a state machine reports its progress to its builder, with their probes. The builder is given by
    /// its type signature (II.23.2.12).
    pub(crate) fn builder_methods(&self, metadata: &Metadata<'_>, builder: &[u8]) -> Vec<(Token, CallProbe)> {
        let of_others = self.builder_methods.iter().filter(|(_, class, _)| is_type(metadata, *class, builder));
        let mut methods: Vec<(Token, CallProbe)> = of_others.map(|(method, _, probe)| (*method, *probe)).collect();
        // A builder type that the module defines and that is not generic.
        if let Some(class) = named_type(builder).and_then(Token::rid_in::<TypeDef>) {
            let own = metadata.children::<TypeDef, MethodDef>(class).filter_map(|rid| {
                let name = metadata.strings.string_bytes(metadata.row(rid).ok()?.name).ok()?;
                Some((Token::new(Table::MethodDef, rid.get()), BY_NAME.get(name)?.builder?))
            });
            methods.extend(own);
        }
        methods
    }
}

fn is_named(metadata: &Metadata<'_>, class: Rid<TypeRef>, name: &str) -> bool {
    metadata.type_ref_name(class).is_ok_and(|found| found == name)
}

/// Whether the class of a MemberRef is a given type.
fn is_type(metadata: &Metadata<'_>, class: Token, ty: &[u8]) -> bool {
    if let Some(spec) = class.rid_in::<TypeSpec>() {
        return metadata.row(spec).and_then(|row| metadata.blob(row.signature)).is_ok_and(|blob| blob == ty);
    }
    named_type(ty) == Some(class)
}

/// The type that a signature names, unless it is generic.
fn named_type(ty: &[u8]) -> Option<Token> {
    let (element, rest) = ty.split_first()?;
    let is_named = [ElementType::Class as u8, ElementType::ValueType as u8].contains(element);
    let mut cursor = ecma335::Cursor::new(rest, ecma335::FileOffset(0));
    let token = cursor.compressed_u32().ok().filter(|_| is_named)?;
    TypeDefOrRef(token).token().filter(|_| cursor.is_empty())
}

/// The members of other assemblies that a module refers to: assembly, type, name. Unreadable rows are left out.
pub(crate) fn members(metadata: &Metadata<'_>) -> impl Iterator<Item = (String, String, String)> {
    metadata.tables.rows::<MemberRef>().filter_map(|(_, row)| {
        let class = metadata.class_of_reference(&row)?;
        let assembly = metadata.name(assembly_of(metadata, class)?.name).ok()?;
        Some((assembly, metadata.type_ref_name(class).ok()?, metadata.name(row.name).ok()?))
    })
}

/// The assembly that defines a type.
fn assembly_of(metadata: &Metadata<'_>, class: Rid<TypeRef>) -> Option<AssemblyRef> {
    let outermost = metadata.type_ref_chain(class).last()?.ok()?;
    metadata.row(outermost.resolution_scope.token()?.rid_in()?).ok()
}

/// Decides which members of other assemblies have probes at their calls.
pub(crate) struct WaitingCalls<'o> {
    calls: &'o Calls,
    named: Candidates,
}

impl<'o> WaitingCalls<'o> {
    pub(crate) fn new(calls: &'o Calls) -> Self {
        Self { calls, named: Candidates::new(calls.named.iter().enumerate()) }
    }

    /// Whether calls of this member have probes.
    pub(crate) fn have(&self, metadata: &Metadata<'_>, row: &MemberRef) -> bool {
        let Ok(name) = metadata.strings.string_bytes(row.name) else { return false };
        kind(metadata, row, name, BY_NAME.get(name), (self.calls, &self.named)).is_some()
    }
}

/// The kind of calls of a member of another assembly.
fn kind(
    metadata: &Metadata<'_>,
    row: &MemberRef,
    name: &[u8],
    known: Option<&ByName>,
    (calls, named): (&Calls, &Candidates),
) -> Option<Kind> {
    let class = metadata.class_of_reference(row)?;
    let assembly = assembly_of(metadata, class)?;
    let class = metadata.type_ref_name(class).ok()?;
    let known = known.filter(|_| calls.waits).and_then(|known| known.types.iter().find(|ty| **ty == class));
    if let Some(ty) = known {
        return Some(if AWAITERS.contains(ty) { Kind::WaitsOutsideOfMachines } else { Kind::Waits });
    }
    let name = std::str::from_utf8(name).ok()?;
    let assembly = metadata.name(assembly.name).ok()?;
    let is_named = |pattern: &Pattern| pattern.matches_assembly(&assembly) && pattern.matches(&class, name);
    named.matching([&*format!("{class}::{name}")]).into_iter().any(|number| is_named(&calls.named[number])).then_some(Kind::Named)
}
