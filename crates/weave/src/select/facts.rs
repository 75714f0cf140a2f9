//! Properties of methods for patterns that select by more than the name. Each is computed at its first use.

use std::{
    borrow::Cow,
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use ecma335::{
    Budget, Cursor, FileOffset, FullNames, Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    pdb::document_name,
    schema::{CustomAttribute, MethodDebugInformation, MethodDef, MethodSemantics, StateMachineMethod, TypeDef, TypeRef},
};
use names::{CompilerGenerated, Part};
use regex::Regex;

use crate::patterns::{
    condition::{Condition, Kind, Visibility},
    pattern::Pattern,
};

/// The attribute for code that is to be skipped. Its namespace does not matter.
const NO_INSTRUMENT: &str = "NoInstrument";
/// The attribute for code that no coverage is measured of. As in coverage tools, its namespace does not matter.
const NOT_COVERED: &str = "ExcludeFromCodeCoverageAttribute";
const COMPILER_GENERATED: &str = "System.Runtime.CompilerServices.CompilerGeneratedAttribute";
const ASYNC: [&str; 2] = [
    "System.Runtime.CompilerServices.AsyncStateMachineAttribute",
    "System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute",
];
const ITERATOR: [&str; 2] = [
    "System.Runtime.CompilerServices.IteratorStateMachineAttribute",
    "System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute",
];

/// The tables of what attributes are read of.
const HAVE_ATTRIBUTES: [Table; 5] = [Table::MethodDef, Table::TypeDef, Table::Assembly, Table::Property, Table::Event];

/// The properties of a module's methods.
pub(crate) struct Facts<'a, 'm> {
    image: &'m Image<'a>,
    metadata: &'m Metadata<'a>,
    generated: &'m CompilerGenerated,
    pdb: Option<Cow<'m, [u8]>>,
    names: FullNames<'a, 'm>,
    /// The names of custom attributes, by parent.
    attributes: OnceCell<HashMap<Token, Vec<String>>>,
    /// The accessors of properties and events.
    accessors: OnceCell<HashSet<Rid<MethodDef>>>,
    /// The source file of each method. Indexed by MethodDef row number minus one.
    files: OnceCell<Vec<String>>,
}

impl<'a, 'm> Facts<'a, 'm> {
    pub(crate) fn new(
        image: &'m Image<'a>,
        metadata: &'m Metadata<'a>,
        generated: &'m CompilerGenerated,
        pdb: Option<Cow<'m, [u8]>>,
    ) -> Self {
        let (attributes, accessors, files) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { image, metadata, generated, pdb, names: metadata.full_names(), attributes, accessors, files }
    }

    /// Whether a method meets a pattern's condition.
    pub(crate) fn match_pattern(&self, pattern: &Pattern, method: Rid<MethodDef>) -> bool {
        let Some(condition) = pattern.condition() else { return false };
        match condition {
            Condition::Attribute(name) => self.has_attribute(method, |attribute| name.is_match(attribute)),
            Condition::Kind(kind) => self.is(method, *kind).unwrap_or(false),
            Condition::Visibility(visibility) => {
                self.metadata.row(method).is_ok_and(|row| visibility_of(&row) == Some(*visibility))
            }
            Condition::Size(low, high) => self.size(method).is_some_and(|size| (*low..=*high).contains(&size)),
            Condition::File(file) => self.is_in(method, file),
        }
    }

    /// Whether the method, a type or the assembly has the attribute `NoInstrument`.
    pub(crate) fn is_marked(&self, method: Rid<MethodDef>) -> bool {
        let is_it = |name: &str| {
            let simple = name.rsplit(['.', '/']).next().unwrap_or_default();
            simple.strip_suffix("Attribute").unwrap_or(simple) == NO_INSTRUMENT
        };
        let of_assembly = self.attributes().get(&Token::new(Table::Assembly, 1));
        of_assembly.is_some_and(|names| names.iter().any(|name| is_it(name))) || self.has_attribute(method, is_it)
    }

    /// The methods that the attribute `ExcludeFromCodeCoverage` leaves out: on the method, its property or event, a type, or the
    /// assembly. It also holds for the lambdas, local functions and state machines of such a method.
    pub(crate) fn not_covered(&self) -> HashSet<Rid<MethodDef>> {
        let metadata = self.metadata;
        let is = |name| metadata.strings.string_bytes(name) == Ok(NOT_COVERED.as_bytes());
        let mut types = metadata.tables.rows::<TypeRef>().map(|(_, row)| row.name);
        if !types.any(is) && !metadata.tables.rows::<TypeDef>().any(|(_, row)| is(row.name)) {
            return HashSet::new();
        }
        let is_it = |name: &str| name.rsplit(['.', '/']).next() == Some(NOT_COVERED);
        let is_on = |token: Token| self.attributes().get(&token).is_some_and(|names| names.iter().any(|name| is_it(name)));
        let methods = || metadata.tables.rows::<MethodDef>().map(|(rid, _)| rid);
        if is_on(Token::new(Table::Assembly, 1)) {
            return methods().collect();
        }
        let accessors = metadata.tables.rows::<MethodSemantics>().filter(|(_, row)| row.association.token().is_some_and(is_on));
        let mut not_covered: HashSet<Rid<MethodDef>> = accessors.map(|(_, row)| row.method).collect();
        not_covered.extend(methods().filter(|rid| self.has_attribute(*rid, is_it)));
        let parts = self.parts_of(&not_covered);
        not_covered.extend(parts);
        let kickoff = |rid: Rid<MethodDef>| self.generated.step(rid)?.kickoff;
        let steps: Vec<_> = methods().filter(|rid| kickoff(*rid).is_some_and(|rid| not_covered.contains(&rid))).collect();
        not_covered.extend(steps);
        not_covered
    }

    /// The lambdas and local functions of methods, and their state machines whose kickoff method is not known. The compiler's number
    /// of the method tells which overload has them. Where it has none, all overloads do.
    fn parts_of(&self, methods: &HashSet<Rid<MethodDef>>) -> Vec<Rid<MethodDef>> {
        let (image, metadata) = (self.image, self.metadata);
        let all = || metadata.tables.rows::<MethodDef>().map(|(rid, _)| rid);
        let name_of = |rid: Rid<MethodDef>| {
            Some((self.names.name_of(metadata.owner(rid)?).ok()?, metadata.name(metadata.row(rid).ok()?.name).ok()?))
        };
        let mut numbers: HashMap<(String, String), HashSet<u32>> = HashMap::new();
        let budget = Budget::for_file(image.bytes().len());
        for rid in all() {
            // The code of an async method is in its state machine.
            let written = self.generated.step(rid).and_then(|step| step.kickoff).unwrap_or(rid);
            if let Some(name) = name_of(written).filter(|_| methods.contains(&written)) {
                numbers.entry(name).or_default().extend(names::numbers_in(image, metadata, rid, &budget));
            }
        }
        let is_part = |rid: &Rid<MethodDef>| {
            let Some((class, name)) =
                name_of(*rid).filter(|_| self.generated.step(*rid).is_none_or(|step| step.kickoff.is_none()))
            else {
                return false;
            };
            let source = names::source_name(&class, &name).map(|source| (source.type_name, source.method));
            source
                .and_then(|source| numbers.get(&source))
                .is_some_and(|numbers| names::method_number(&class, &name).is_none_or(|number| numbers.contains(&number)))
        };
        all().filter(is_part).collect()
    }

    /// Whether a module refers to or defines that attribute.
    pub(crate) fn may_be_marked(metadata: &Metadata<'_>) -> bool {
        let is = |name| metadata.strings.string_bytes(name).is_ok_and(|name| name.starts_with(NO_INSTRUMENT.as_bytes()));
        metadata.tables.rows::<TypeRef>().any(|(_, row)| is(row.name))
            || metadata.tables.rows::<TypeDef>().any(|(_, row)| is(row.name))
    }

    /// Whether a method, its kickoff method, or a type that contains one of them has such an attribute.
    fn has_attribute(&self, method: Rid<MethodDef>, is_it: impl Fn(&str) -> bool) -> bool {
        let written = self.generated.step(method).and_then(|step| step.kickoff);
        let methods = [Some(method), written];
        let methods = methods.into_iter().flatten();
        let on = |token: Token| self.attributes().get(&token).is_some_and(|names| names.iter().any(|name| is_it(name)));
        methods.into_iter().any(|method| {
            let types = self.metadata.owner(method).into_iter().flat_map(|class| self.names.chain(class));
            let mut types = types.map(|class| Token::new(Table::TypeDef, class.get()));
            on(Token::new(Table::MethodDef, method.get())) || types.any(on)
        })
    }

    fn attributes(&self) -> &HashMap<Token, Vec<String>> {
        self.attributes.get_or_init(|| {
            let mut attributes: HashMap<Token, Vec<String>> = HashMap::new();
            let mut names: HashMap<u32, Option<String>> = HashMap::new();
            for (_, row) in self.metadata.tables.rows::<CustomAttribute>() {
                let on = row.parent.token().filter(|on| on.table().is_some_and(|table| HAVE_ATTRIBUTES.contains(&table)));
                let name = names.entry(row.constructor.0).or_insert_with(|| self.metadata.attribute_type_name(&row));
                if let (Some(on), Some(name)) = (on, name) {
                    attributes.entry(on).or_default().push(name.clone());
                }
            }
            attributes
        })
    }

    fn is(&self, method: Rid<MethodDef>, kind: Kind) -> Option<bool> {
        let row = self.metadata.row(method).ok()?;
        let name = self.metadata.name(row.name).ok()?;
        let step = self.generated.step(method);
        let own = || self.attributes().get(&Token::new(Table::MethodDef, method.get()));
        let has = |known: &[&str]| own().is_some_and(|names| names.iter().any(|name| known.contains(&name.as_str())));
        Some(match kind {
            Kind::Accessor => self.accessors().contains(&method),
            Kind::Constructor => name == ".ctor" || name == ".cctor",
            Kind::Generated => name.starts_with('<') || self.has_attribute(method, |attribute| attribute == COMPILER_GENERATED),
            Kind::Async => row.is_async() || has(&ASYNC) || step.is_some_and(|step| !step.builders.is_empty()),
            Kind::Iterator => {
                has(&ITERATOR) || self.generated.is_kickoff(method) || step.is_some_and(|step| step.builders.is_empty())
            }
            Kind::Lambda => {
                let class = self.names.name_of(self.metadata.owner(method)?).ok()?;
                names::source_name(&class, &name).is_some_and(|source| source.parts.contains(&Part::Lambda))
            }
        })
    }

    fn accessors(&self) -> &HashSet<Rid<MethodDef>> {
        self.accessors.get_or_init(|| self.metadata.tables.rows::<MethodSemantics>().map(|(_, row)| row.method).collect())
    }

    fn size(&self, method: Rid<MethodDef>) -> Option<u32> {
        let row = self.metadata.row(method).ok().filter(MethodDef::has_il_body)?;
        Some(MethodBody::parse(self.image.cursor_at(Rva(row.rva)).ok()?).ok()?.il.len() as u32)
    }

    fn is_in(&self, method: Rid<MethodDef>, file: &Regex) -> bool {
        let files = self.files.get_or_init(|| self.pdb.as_ref().map_or_else(Vec::new, |pdb| files(pdb)));
        let file_of = |method: Rid<MethodDef>| files.get((method.get() as usize).checked_sub(1)?).filter(|file| !file.is_empty());
        let written = || self.generated.step(method).and_then(|step| step.kickoff).and_then(file_of);
        file_of(method).or_else(written).is_some_and(|name| file.is_match(name))
    }
}

/// The source file of each method. Empty if the PDB has none.
fn files(pdb: &[u8]) -> Vec<String> {
    let Ok(metadata) = Metadata::parse(Cursor::new(pdb, FileOffset(0))) else { return Vec::new() };
    let mut names: HashMap<u32, String> = HashMap::new();
    let rows = metadata.tables.rows::<MethodDebugInformation>();
    let files = rows.map(|(_, row)| {
        let name = names.entry(row.document.get()).or_insert_with(|| {
            let document = metadata.row(row.document).and_then(|document| document_name(&metadata, &document));
            document.unwrap_or_default().replace('\\', "/")
        });
        name.clone()
    });
    let mut files: Vec<String> = files.collect();
    // A kickoff method has no sequence points: all its source code is in the state machine.
    for (_, row) in metadata.tables.rows::<StateMachineMethod>() {
        let place = |method: Rid<MethodDef>| (method.get() as usize).checked_sub(1).filter(|place| *place < files.len());
        if let (Some(machine), Some(kickoff)) = (place(row.move_next_method), place(row.kickoff_method))
            && files[kickoff].is_empty()
        {
            files[kickoff] = files[machine].clone();
        }
    }
    files
}

fn visibility_of(row: &MethodDef) -> Option<Visibility> {
    Some(match () {
        () if row.is_public() => Visibility::Public,
        () if row.is_family() || row.is_fam_or_assem() || row.is_fam_and_assem() => Visibility::Protected,
        () if row.is_assembly() => Visibility::Internal,
        () if row.is_private() => Visibility::Private,
        () => return None,
    })
}
