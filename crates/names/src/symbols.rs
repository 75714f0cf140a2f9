//! The names of methods in the source, from their assembly and its PDB. In an original assembly, an id leads to a row. In an
//! instrumented one, it leads to the code that passes it, as a later tool may have renumbered the rows. The module's key in the id
//! identifies the assembly.

mod manifest;
mod symbol;
mod types;

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use ecma335::{
    Cursor, Error, FileOffset, Metadata, Rid, Table, Token,
    lists::ListOwners,
    pdb::{SequencePoints, document_name},
    schema::{
        CustomAttribute, Document, GenericParam, MemberRef, MethodDebugInformation, MethodDef, StateMachineMethod, TypeDef,
    },
    signature::Signature,
};

pub use self::{manifest::Manifest, symbol::Symbol};
use crate::{
    mark::{Mark, module_key},
    member::{is_compiler_generated, written_member, written_type},
    method_id::MethodId,
    source_name::{Part, source_name},
    woven_ids::woven_ids,
    woven_names::WovenNames,
};

/// An assembly, and its PDB.
pub struct Symbols<'a> {
    metadata: Metadata<'a>,
    pdb: Option<Metadata<'a>>,
    key: u64,
    woven: Option<Woven>,
    owners: ListOwners<TypeDef, MethodDef>,
    /// The parameters of generic types and methods: by owner's token, in their order.
    generics: Vec<(Token, u16, String)>,
    /// Methods that continue another method's source, by the PDB: the steps of an async method or iterator.
    steps: HashMap<u32, Rid<MethodDef>>,
}

/// A method's lines in its source.
pub struct MethodLines {
    /// Its row.
    pub method: Rid<MethodDef>,
    /// Whether it has probes; true in an assembly that is not instrumented.
    pub has_probes: bool,
    /// A path as the compiler wrote it.
    pub file: String,
    /// The first and last line of each sequence point.
    pub spans: Vec<RangeInclusive<u32>>,
}

/// The ids of an instrumented assembly.
struct Woven {
    /// The token for each id.
    ids: HashMap<MethodId, Token>,
    /// The names of methods when they were instrumented.
    names: WovenNames,
}

/// The keys that an assembly's method ids begin with: those in its marks, of which there are several if others were merged into it.
/// An original has the key that it would be instrumented with. Empty if the assembly cannot be read.
pub fn module_keys(assembly: &[u8]) -> Vec<u64> {
    ecma335::open(assembly).map_or_else(|_| Vec::new(), |(_, metadata)| keys_of(&metadata))
}

fn keys_of(metadata: &Metadata<'_>) -> Vec<u64> {
    let marked: Vec<u64> = Mark::read_all(metadata).map(|mark| mark.module_key).collect();
    if marked.is_empty() { module_key(metadata).into_iter().collect() } else { marked }
}

impl<'a> Symbols<'a> {
    /// Reads an assembly for ids of one of its keys, and its PDB if that is at hand; none if the key is not one of them.
    ///
    /// # Errors
    /// If it is no assembly, or a damaged one.
    pub fn read(assembly: &'a [u8], pdb: Option<&'a [u8]>, key: u64) -> Result<Option<Self>, Error> {
        let (image, metadata) = ecma335::open(assembly)?;
        if !keys_of(&metadata).contains(&key) {
            return Ok(None);
        }
        let mark = Mark::read_all(&metadata).find(|mark| mark.module_key == key);
        let woven = mark.map(|mark| Woven {
            ids: woven_ids(&image, &metadata, key),
            names: mark.names.and_then(|names| WovenNames::read(names).ok()).unwrap_or_default(),
        });
        let owners = metadata.owners::<TypeDef, MethodDef>();
        let pdb = pdb.and_then(|bytes| Metadata::parse(Cursor::new(bytes, FileOffset(0))).ok());
        let rows = metadata.tables.rows::<GenericParam>();
        let name = |row: &GenericParam| Some((row.owner.token()?, row.number, metadata.name(row.name).ok()?));
        let mut generics: Vec<(Token, u16, String)> = rows.filter_map(|(_, row)| name(&row)).collect();
        generics.sort_by_key(|(owner, number, _)| (owner.0, *number));
        let steps = pdb.iter().flat_map(|pdb| pdb.tables.rows::<StateMachineMethod>());
        let steps = steps.map(|(_, row)| (row.kickoff_method.get(), row.move_next_method)).collect();
        Ok(Some(Self { metadata, pdb, key, woven, owners, generics, steps }))
    }

    /// Returns the symbol of a method, or of the target of call sites. `None` if it is of another module, has no probes, or was
    /// renamed since.
    pub fn symbol(&self, id: MethodId) -> Option<Symbol> {
        if id.module_key() != self.key {
            return None;
        }
        let Some(Woven { ids, names }) = &self.woven else { return self.of_token(Token(id.token())) };
        let found = ids.get(&id.with_own_bytes(true)).and_then(|token| self.of_token(*token));
        let is_its_name = |symbol: &Symbol| names.is_name_of(id, &symbol.raw.0, &symbol.raw.1);
        found.filter(is_its_name).or_else(|| names.name(id).map(|(class, name)| Symbol::from_names(class, name)))
    }

    /// The file and line that a method begins in, by its row in this assembly; none if the PDB does not say so.
    pub fn place_of(&self, rid: Rid<MethodDef>) -> Option<(String, u32)> {
        self.place(rid).or_else(|| self.place(*self.steps.get(&rid.get())?))
    }

    /// Returns the row of a method of this module; `None` if it has no probes, or is of another module.
    pub fn row_of(&self, id: MethodId) -> Option<Rid<MethodDef>> {
        let token = match &self.woven {
            Some(Woven { ids, .. }) => *ids.get(&id.with_own_bytes(true))?,
            None => Token(id.token()),
        };
        token.rid_in().filter(|_| id.module_key() == self.key)
    }

    /// Returns the rows of methods that have an attribute whose type has one of these names, without namespace.
    pub fn rows_with(&self, is_name: impl Fn(&str) -> bool) -> HashSet<Rid<MethodDef>> {
        let mut known: HashMap<u32, bool> = HashMap::new();
        let rows = self.metadata.tables.rows::<CustomAttribute>();
        let on_methods = rows.filter_map(|(_, row)| Some((row.parent.token()?.rid_in()?, row)));
        let mut is_one = |row: &CustomAttribute| {
            *known.entry(row.constructor.0).or_insert_with(|| {
                let name = self.metadata.attribute_type_name(row);
                name.is_some_and(|name| is_name(name.rsplit(['.', '/']).next().unwrap_or_default()))
            })
        };
        on_methods.filter(|(_, row)| is_one(row)).map(|(method, _)| method).collect()
    }

    /// Returns the lines of each method that the PDB has lines of. The lines of a state machine are those of the method that it was
    /// made for.
    pub fn lines_of_methods(&self) -> Vec<MethodLines> {
        let kickoff_of: HashMap<u32, u32> = self.steps.iter().map(|(kickoff, step)| (step.get(), *kickoff)).collect();
        let probed: Option<HashSet<Token>> = self.woven.as_ref().map(|woven| woven.ids.values().copied().collect());
        let rows = self.metadata.tables.rows::<MethodDef>();
        let lines = rows.filter_map(|(rid, _)| {
            let (file, points) = self.points(rid)?;
            let first = points.points.iter().find(|point| point.span.is_some())?.document;
            let spans = points.points.iter().filter(|point| point.document == first).filter_map(|point| point.span);
            let method = Rid::new(kickoff_of.get(&rid.get()).copied().unwrap_or(rid.get()));
            let has_probes = probed.as_ref().is_none_or(|probed| probed.contains(&method.into()));
            Some(MethodLines { method, has_probes, file, spans: spans.map(|span| span.start.0..=span.end.0).collect() })
        });
        lines.collect()
    }

    fn of_token(&self, token: Token) -> Option<Symbol> {
        token.rid_in().map_or_else(|| self.called(token.rid_in()?), |rid| self.method(rid))
    }

    fn called(&self, rid: Rid<MemberRef>) -> Option<Symbol> {
        let row = self.metadata.row(rid).ok()?;
        let (raw_type, type_name) = self.type_of(row.class.token()?)?;
        let name = self.metadata.name(row.name).ok()?;
        let parameters = self.parameters(row.signature, &[], &[]);
        Some(Symbol { member: written_member(&name), raw: (raw_type, name), type_name, parameters, ..Symbol::default() })
    }

    fn method(&self, rid: Rid<MethodDef>) -> Option<Symbol> {
        let row = self.metadata.row(rid).ok()?;
        let owner = self.owners.owner_of(rid)?;
        let names = self.metadata.full_names();
        let (raw_type, name) = (names.name_of(owner).ok()?, self.metadata.name(row.name).ok()?);
        let written = source_name(&raw_type, &name);
        let mut member = written_member(written.as_ref().map_or(name.as_str(), |written| written.method.as_str()));
        let own = self.generics_of(Token::new(Table::MethodDef, rid.get()));
        let place = self.place_of(rid);
        for part in written.iter().flat_map(|written| &written.parts) {
            match part {
                Part::StateMachine => member.push_str(" [steps]"),
                Part::Lambda => member.push_str(&lambda(place.as_ref())),
                Part::LocalFunction(name) => member.extend([".", name]),
            }
        }
        if written.is_none() && !own.is_empty() {
            member.push_str(&in_brackets(&own));
        }
        let of_type = self.generics_of(Token::new(Table::TypeDef, owner.get()));
        Some(Symbol {
            type_name: self.written_type(owner),
            member,
            parameters: self.parameters(row.signature, &of_type, &own),
            is_compiler_generated: is_compiler_generated(&raw_type, &name),
            raw: (raw_type, name),
            place,
        })
    }

    /// Returns the file and line of a method's beginning.
    fn place(&self, rid: Rid<MethodDef>) -> Option<(String, u32)> {
        let (document, points) = self.points(rid)?;
        Some((document, points.points.iter().find_map(|point| point.span)?.start.0))
    }

    /// Returns the sequence points of a method, and the document of the first visible one.
    fn points(&self, rid: Rid<MethodDef>) -> Option<(String, SequencePoints)> {
        let pdb = self.pdb.as_ref()?;
        let row: MethodDebugInformation = pdb.row(Rid::new(rid.get())).ok()?;
        let points = SequencePoints::parse(pdb.blobs.blob(row.sequence_points).ok()?, row.document).ok()?;
        let document: Document = pdb.row(points.points.iter().find(|point| point.span.is_some())?.document).ok()?;
        Some((document_name(pdb, &document).ok()?, points))
    }

    /// Returns the names of a type's or method's type parameters.
    fn generics_of(&self, owner: Token) -> Vec<&str> {
        let first = self.generics.partition_point(|(of, ..)| of.0 < owner.0);
        let own = self.generics.get(first..).unwrap_or_default().iter().take_while(|(of, ..)| *of == owner);
        own.map(|(.., name)| name.as_str()).collect()
    }

    /// Returns the source name of a type of this module, without compiler-generated nested types.
    fn written_type(&self, rid: Rid<TypeDef>) -> String {
        let names = self.metadata.full_names();
        let mut chain: Vec<Rid<TypeDef>> = names.chain(rid).collect();
        chain.reverse();
        let mut text = String::new();
        let mut given = 0;
        for (index, each) in chain.into_iter().enumerate() {
            let Ok(row) = self.metadata.row(each) else { break };
            let (Ok(namespace), Ok(name)) = (self.metadata.name(row.namespace), self.metadata.name(row.name)) else { break };
            if index > 0 && name.starts_with('<') {
                break;
            }
            if index > 0 {
                text.push('.');
            } else if !namespace.is_empty() {
                text.extend([&namespace, "."]);
            }
            // A nested type begins with the type parameters of its enclosing types.
            let all = self.generics_of(Token::new(Table::TypeDef, each.get()));
            let own = all.get(given..).unwrap_or_default();
            given = all.len().max(given);
            text.push_str(name.split('`').next().unwrap_or(&name));
            if !own.is_empty() {
                text.push_str(&in_brackets(own));
            }
        }
        text
    }

    /// Returns a type's name in metadata, and in source form.
    fn type_of(&self, token: Token) -> Option<(String, String)> {
        let raw = types::raw_name(&self.metadata, token)?;
        let written = written_type(&raw);
        let written: Vec<&str> = written.split('.').map(|part| part.split('`').next().unwrap_or(part)).collect();
        Some((raw, written.join(".")))
    }

    fn parameters(&self, signature: ecma335::schema::Blob, of_type: &[&str], of_method: &[&str]) -> Option<String> {
        let blob = self.metadata.blobs.blob(signature).ok();
        match blob.and_then(|blob| Signature::parse(blob).ok()) {
            Some(Signature::Method(signature)) => Some(types::list(&self.metadata, &signature.params, of_type, of_method)),
            _ => None,
        }
    }
}

/// Returns ` [lambda at Program.cs:41]`, if the PDB states the place.
fn lambda(place: Option<&(String, u32)>) -> String {
    place.map_or_else(
        || " [lambda]".into(),
        |(path, line)| format!(" [lambda at {}:{line}]", path.rsplit(['/', '\\']).next().unwrap_or_default()),
    )
}

fn in_brackets(names: &[&str]) -> String {
    format!("<{}>", names.join(", "))
}
