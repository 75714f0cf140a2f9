//! Classifies compiler-generated methods. State machines are known by their kickoff method in the source. Other methods
//! have no body in the source.

use std::collections::{BTreeSet, HashMap};

use ecma335::{
    Budget, Image, Metadata, Rid, Table, Token,
    lists::ListOwners,
    schema::{
        CustomAttribute, Field, MemberRef, MethodDef, MethodSemantics, MethodSpec, NestedClass, TypeDef, TypeDefOrRef, TypeSpec,
    },
};

use crate::method_number::mentioned;

/// The origin of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// The method comes from source code.
    #[default]
    Written,
    /// A getter or setter of a property. It counts as source code unless it is trivial.
    Accessor,
    /// The method is compiler-generated.
    Generated,
    /// The method is an iterator in the source. Its body only creates the state machine.
    Kickoff,
    /// The method is compiler-generated unless it calls something: then it runs `finally` code of the source.
    GeneratedUnlessItCalls,
}

/// A method of a state machine that runs source code, or through which that code is run.
#[derive(Debug, Default)]
pub struct Step {
    /// The kickoff method in the source, if it is known.
    pub kickoff: Option<Rid<MethodDef>>,
    /// The types of the fields that report an async method's progress: a builder or a promise. Empty for iterators.
    pub builders: Vec<Vec<u8>>,
}

/// The origins and steps of a module's methods.
#[derive(Debug, Default)]
pub struct CompilerGenerated {
    /// The origin of each method. Indexed by MethodDef row number minus one.
    origins: Vec<Origin>,
    /// The steps, by MethodDef row number.
    steps: HashMap<u32, Step>,
}

/// A state machine.
struct Machine {
    class: Rid<TypeDef>,
    enclosing: Rid<TypeDef>,
    steps: Vec<Rid<MethodDef>>,
    builders: Vec<Vec<u8>>,
    /// Whether the machine is an iterator's, whose kickoff method only creates it. An async method's kickoff also starts
    /// it.
    is_iterator: bool,
    kickoff: Option<Rid<MethodDef>>,
}

/// The fields through which a state machine reports progress: those of Roslyn, Mono's C# compiler, and VB.
const BUILDERS: &[&[u8]] = &[b"<>t__builder", PROMISE, b"$builder", b"$Builder"];
/// The field of an async iterator.
const PROMISE: &[u8] = b"<>v__promiseOfValueOrEnd";
/// The attributes that lead from a kickoff method to its state machine.
const ATTRIBUTES: &[&str] = &[
    "System.Runtime.CompilerServices.AsyncStateMachineAttribute",
    "System.Runtime.CompilerServices.IteratorStateMachineAttribute",
    "System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute",
];
/// Compiler-generated types without source code.
const GENERATED_TYPES: &[&[u8]] =
    &[b"<PrivateImplementationDetails>", b"<>f__AnonymousType", b"<>__AnonType", b"<>z__", b"VB$AnonymousType_"];

impl CompilerGenerated {
    /// Finds the compiler-generated methods of a module.
    pub fn find(image: &Image<'_>, metadata: &Metadata<'_>) -> Self {
        let mut generated =
            Self { origins: vec![Origin::Written; metadata.tables.count(Table::MethodDef) as usize], ..Self::default() };
        for (_, row) in metadata.tables.rows::<MethodSemantics>() {
            if row.is_setter() || row.is_getter() {
                generated.set(row.method, Origin::Accessor);
            }
        }
        let name =
            |rid: Rid<TypeDef>| metadata.row(rid).and_then(|row| metadata.strings.string_bytes(row.name)).unwrap_or_default();
        // The compiler-generated entry point that waits for an async `Main`.
        if let Some(entry) = image.cli_header().entry_point_token().and_then(Token::rid_in::<MethodDef>)
            && metadata.row(entry).is_ok_and(|row| metadata.strings.string_bytes(row.name) == Ok(b"<Main>"))
        {
            generated.set(entry, Origin::Generated);
        }
        let mut machines = Vec::new();
        for (rid, row) in metadata.tables.rows::<TypeDef>() {
            let name = metadata.strings.string_bytes(row.name).unwrap_or_default();
            if name.first().is_some_and(|first| b"<V".contains(first))
                && GENERATED_TYPES.iter().any(|start| name.starts_with(start))
            {
                metadata.children::<TypeDef, MethodDef>(rid).for_each(|method| generated.set(method, Origin::Generated));
            }
        }
        for (_, row) in metadata.tables.rows::<NestedClass>() {
            let name = name(row.nested_class);
            if is_closure(name) {
                generated.constructors(metadata, row.nested_class);
            } else if name.starts_with(b"<") || name.starts_with(b"VB$StateMachine_") {
                machines.extend(generated.machine(metadata, row.nested_class, row.enclosing_class));
            }
        }
        if !machines.is_empty() {
            let owners = metadata.owners::<TypeDef, MethodDef>();
            by_attributes(metadata, &owners, &mut machines);
            by_names(image, metadata, &mut machines);
            for Machine { kickoff, .. } in machines.iter().filter(|machine| machine.is_iterator) {
                kickoff.iter().for_each(|kickoff| generated.set(*kickoff, Origin::Kickoff));
            }
        }
        for Machine { steps, builders, kickoff, .. } in machines {
            for step in steps {
                let is_move_next = metadata.row(step).is_ok_and(|row| metadata.strings.string_bytes(row.name) == Ok(b"MoveNext"));
                let builders = if is_move_next { builders.clone() } else { Vec::new() };
                generated.steps.insert(step.get(), Step { kickoff, builders });
            }
        }
        generated
    }

    /// The origin of a method.
    pub fn origin(&self, method: Rid<MethodDef>) -> Origin {
        (method.get() as usize).checked_sub(1).and_then(|index| self.origins.get(index)).copied().unwrap_or_default()
    }

    /// Whether a method is a property's getter or setter.
    pub fn is_accessor(&self, method: Rid<MethodDef>) -> bool {
        self.origin(method) == Origin::Accessor
    }

    /// Whether a method only creates an iterator.
    pub fn is_kickoff(&self, method: Rid<MethodDef>) -> bool {
        self.origin(method) == Origin::Kickoff
    }

    /// The step that a method is.
    pub fn step(&self, method: Rid<MethodDef>) -> Option<&Step> {
        if self.steps.is_empty() { None } else { self.steps.get(&method.get()) }
    }

    fn set(&mut self, method: Rid<MethodDef>, origin: Origin) {
        if let Some(slot) = (method.get() as usize).checked_sub(1).and_then(|index| self.origins.get_mut(index)) {
            *slot = origin;
        }
    }

    /// Marks the constructors of a closure as compiler-generated. Its source code is in other methods.
    fn constructors(&mut self, metadata: &Metadata<'_>, class: Rid<TypeDef>) {
        for method in metadata.children::<TypeDef, MethodDef>(class) {
            let name = metadata.row(method).and_then(|row| metadata.strings.string_bytes(row.name));
            if matches!(name, Ok(b".ctor" | b".cctor")) {
                self.set(method, Origin::Generated);
            }
        }
    }

    /// The state machine of a type, if it is one. Its compiler-generated methods are marked.
    fn machine(&mut self, metadata: &Metadata<'_>, class: Rid<TypeDef>, enclosing: Rid<TypeDef>) -> Option<Machine> {
        let methods: Vec<(Rid<MethodDef>, &[u8])> = metadata
            .children::<TypeDef, MethodDef>(class)
            .filter_map(|rid| Some((rid, metadata.strings.string_bytes(metadata.row(rid).ok()?.name).ok()?)))
            .collect();
        if !methods.iter().any(|(_, name)| *name == b"MoveNext") {
            return None;
        }
        let mut steps = Vec::new();
        for (method, name) in methods {
            let simple = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
            match simple {
                b"MoveNext" if simple == name => steps.push(method),
                // `IAsyncEnumerator<int>.MoveNextAsync`
                b"MoveNextAsync" => steps.push(method),
                b"Dispose" => self.set(method, Origin::GeneratedUnlessItCalls),
                _ if name.starts_with(b"<>") => {}
                _ => self.set(method, Origin::Generated),
            }
        }
        let (mut builders, mut is_async, mut has_promise) = (Vec::new(), false, false);
        for field in metadata.children::<TypeDef, Field>(class) {
            let Ok(row) = metadata.row(field) else { continue };
            let name = metadata.strings.string_bytes(row.name).unwrap_or_default();
            if BUILDERS.contains(&name) {
                (is_async, has_promise) = (true, has_promise || name == PROMISE);
                // The type follows the byte that marks a field signature (II.23.2.4).
                builders.extend(metadata.blob(row.signature).ok().and_then(|blob| Some(blob.get(1..)?.to_vec())));
            }
        }
        let is_iterator = !is_async || has_promise;
        Some(Machine { class, enclosing, steps, builders, is_iterator, kickoff: None })
    }
}

/// Whether a type's methods are lambdas: those of Roslyn, Mono's C# compiler, VB and F#.
fn is_closure(name: &[u8]) -> bool {
    let contains = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    match name.first() {
        Some(b'<') => name.starts_with(b"<>c") || contains(b">c__AnonStorey"),
        Some(b'_') => name.starts_with(b"_Closure$__"),
        _ => name.contains(&b'@'),
    }
}

/// Finds kickoff methods by their attributes.
fn by_attributes(metadata: &Metadata<'_>, owners: &ListOwners<TypeDef, MethodDef>, machines: &mut [Machine]) {
    let name = |rid: Rid<TypeDef>| metadata.row(rid).and_then(|row| metadata.strings.string_bytes(row.name)).unwrap_or_default();
    let places: HashMap<(Rid<TypeDef>, &[u8]), usize> =
        machines.iter().enumerate().map(|(index, machine)| ((machine.enclosing, name(machine.class)), index)).collect();
    let mut constructors: HashMap<u32, bool> = HashMap::new();
    for (_, row) in metadata.tables.rows::<CustomAttribute>() {
        let Some(method) = row.parent.token().and_then(Token::rid_in::<MethodDef>) else { continue };
        let is_one = constructors
            .entry(row.constructor.0)
            .or_insert_with(|| metadata.attribute_type_name(&row).is_some_and(|name| ATTRIBUTES.contains(&name.as_str())));
        if !*is_one {
            continue;
        }
        let machine = metadata.blob(row.value).ok().and_then(nested_name);
        let (Some(name), Some(owner)) = (machine, owners.owner_of(method)) else { continue };
        if let Some(machine) = places.get(&(owner, &name[..])).and_then(|place| machines.get_mut(*place)) {
            machine.kickoff = Some(method);
        }
    }
}

/// The innermost name of the type that is an attribute's argument (II.23.3): `Shop.Order+<Load>d__5, Shop`.
fn nested_name(value: &[u8]) -> Option<Vec<u8>> {
    let mut cursor = ecma335::Cursor::new(value.get(2..)?, ecma335::FileOffset(0));
    let length = cursor.compressed_u32().ok()?;
    let mut name = Vec::new();
    let mut text = cursor.bytes(length as usize).ok()?.iter();
    while let Some(byte) = text.next() {
        match byte {
            b'\\' => name.push(*text.next()?),
            b'+' => name.clear(),
            b',' => break,
            _ => name.push(*byte),
        }
    }
    Some(name)
}

/// Finds kickoff methods by the names in their machines' names. Of several, it takes the one whose body creates the
/// machine.
fn by_names(image: &Image<'_>, metadata: &Metadata<'_>, machines: &mut [Machine]) {
    let simple = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let mut written: HashMap<(Rid<TypeDef>, String), Vec<Rid<MethodDef>>> = HashMap::new();
    let unknown = || machines.iter().filter(|machine| machine.kickoff.is_none()).map(|machine| machine.enclosing);
    for class in unknown().collect::<BTreeSet<_>>() {
        for method in metadata.children::<TypeDef, MethodDef>(class) {
            if let Ok(name) = metadata.row(method).and_then(|row| metadata.strings.string(row.name)) {
                written.entry((class, simple(&name))).or_default().push(method);
            }
        }
    }
    let budget = Budget::for_file(image.bytes().len());
    for machine in machines.iter_mut().filter(|machine| machine.kickoff.is_none()) {
        let generated = metadata.row(machine.class).and_then(|row| metadata.name(row.name)).unwrap_or_default();
        let Some((name, _)) = generated.strip_prefix('<').and_then(|rest| rest.rsplit_once('>')) else { continue };
        // A type's name has a dash for the dot in the name of an explicit implementation.
        let candidates = written.get(&(machine.enclosing, simple(&name.replace('-', ".")))).map_or(&[][..], Vec::as_slice);
        machine.kickoff = match candidates {
            [only] => Some(*only),
            _ => candidates.iter().copied().find(|method| makes(image, metadata, *method, machine.class, &budget)),
        };
    }
}

/// Whether a body mentions a type, or a member of it.
fn makes(image: &Image<'_>, metadata: &Metadata<'_>, method: Rid<MethodDef>, class: Rid<TypeDef>, budget: &Budget) -> bool {
    mentioned(image, metadata, method, budget).into_iter().any(|token| class_of(metadata, token) == Some(class))
}

/// The type of this module that a token names, as a type or as the owner of a member.
pub(crate) fn class_of(metadata: &Metadata<'_>, token: Token) -> Option<Rid<TypeDef>> {
    if let Some(spec) = token.rid_in::<MethodSpec>() {
        return class_of(metadata, metadata.row(spec).ok()?.method.token()?);
    }
    if let Some(member) = token.rid_in::<MemberRef>() {
        return class_of(metadata, metadata.row(member).ok()?.class.token()?);
    }
    if let Some(spec) = token.rid_in::<TypeSpec>() {
        let blob = metadata.blob(metadata.row(spec).ok()?.signature).ok()?;
        // An instantiation of a generic type begins with GENERICINST and CLASS or VALUETYPE.
        let mut cursor = ecma335::Cursor::new(blob.get(2..)?, ecma335::FileOffset(0));
        return TypeDefOrRef(cursor.compressed_u32().ok()?).token()?.rid_in();
    }
    match (token.rid_in::<MethodDef>(), token.rid_in::<Field>()) {
        (Some(method), _) => metadata.owner(method),
        (_, Some(field)) => metadata.owner(field),
        _ => token.rid_in(),
    }
}
