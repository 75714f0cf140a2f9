//! The functions of a page, each once, whatever profiles they come from.

use identity::{MethodId, Visible};
use indexmap::{IndexMap, IndexSet};
use profile::{Profile, model::Function};
use serde::Serialize;

/// The functions of a page.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    known: IndexMap<MethodId, Entry>,
    types: IndexSet<Type>,
    pub(crate) strings: Strings,
}

/// Where a function is, and what it is called.
#[derive(Clone, Debug)]
struct Entry {
    /// An index into the types.
    of: usize,
    /// Its name without its type's.
    member: String,
    token: String,
    /// The source file it begins in, an index into the strings, and the line.
    line: Option<(usize, u32)>,
    waits: bool,
}

/// A type: indexes into the strings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Type {
    name: usize,
    namespace: usize,
    assembly: usize,
}

/// Strings, each once, and all of them visible.
#[derive(Debug, Default)]
pub(crate) struct Strings(IndexSet<String>);

impl Strings {
    pub(crate) fn add(&mut self, text: &str) -> usize {
        self.0.insert_full(Visible(text).to_string()).0
    }
}

impl Functions {
    /// Where each of a profile's functions is here.
    pub(crate) fn add(&mut self, profile: &Profile) -> Vec<usize> {
        let names = profile.display_names();
        let functions = profile.functions.iter().zip(names);
        functions.map(|(function, name)| self.add_one(profile, function, &name)).collect()
    }

    fn add_one(&mut self, profile: &Profile, function: &Function, name: &str) -> usize {
        if let Some(place) = self.known.get_index_of(&function.method_id) {
            return place;
        }
        let module = function.module.and_then(|module| profile.modules.get(module));
        let assembly = module.and_then(|module| module.assembly.split(',').next()).unwrap_or_default();
        let type_name = function.type_name().unwrap_or_default();
        let member = name.strip_prefix(&type_name).and_then(|rest| rest.strip_prefix('.'));
        let of = Type {
            name: self.strings.add(if member.is_some() { &type_name } else { "" }),
            namespace: self.strings.add(function.namespace().unwrap_or_default()),
            assembly: self.strings.add(assembly),
        };
        let source = function.source.as_ref();
        let line = source.and_then(|source| Some((self.strings.add(source.file.as_deref()?), source.line?)));
        let entry = Entry {
            line,
            of: self.types.insert_full(of).0,
            member: Visible(member.unwrap_or(name)).to_string(),
            token: function.token(),
            waits: function.method_id.waits(),
        };
        self.known.insert_full(function.method_id, entry).0
    }

    /// What the page has of them.
    pub(crate) fn tables(&self) -> Tables {
        let entries = || self.known.values();
        Tables {
            strings: self.strings.0.iter().cloned().collect(),
            types: self.types.iter().map(|of| [of.name, of.namespace, of.assembly]).collect(),
            members: entries().map(|entry| entry.member.clone()).collect(),
            member_types: entries().map(|entry| entry.of).collect(),
            tokens: entries().map(|entry| entry.token.clone()).collect(),
            lines: entries().map(|entry| entry.line).collect(),
            waits: entries().enumerate().filter(|(_, entry)| entry.waits).map(|(index, _)| index).collect(),
        }
    }
}

/// Functions and their types, as columns.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tables {
    strings: Vec<String>,
    /// Name, namespace, assembly: indexes into the strings.
    types: Vec<[usize; 3]>,
    /// By function: its name without its type's, and its type.
    members: Vec<String>,
    member_types: Vec<usize>,
    tokens: Vec<String>,
    /// The source file, an index into the strings, and the line.
    lines: Vec<Option<(usize, u32)>>,
    /// The functions that are calls that wait.
    waits: Vec<usize>,
}
