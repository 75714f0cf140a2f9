//! The functions of a page, each once for all profiles.

use std::collections::HashMap;

use indexmap::IndexSet;
use names::{MethodId, Visible};
use profile::{Profile, compare::Comparison, model::Function};
use serde::Serialize;

/// The functions of a page.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    entries: Vec<Entry>,
    known: HashMap<MethodId, usize>,
    types: IndexSet<Type>,
    strings: Strings,
}

/// The names and the place of a function.
struct Named<'n> {
    name: &'n str,
    type_name: Option<&'n str>,
    namespace: Option<&'n str>,
    assembly: Option<&'n str>,
    file: Option<&'n str>,
    line: Option<u32>,
    token: String,
    waits: bool,
}

/// A function: its type, name and source line.
#[derive(Clone, Debug)]
struct Entry {
    /// An index into the types.
    of: usize,
    /// Its name without its type's.
    member: String,
    token: String,
    /// The source file (an index into the strings) and the line where the function begins.
    line: Option<(usize, u32)>,
    waits: bool,
}

/// A type, as indexes into the strings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Type {
    name: usize,
    namespace: usize,
    assembly: usize,
}

/// Strings, each once, with control characters made visible.
#[derive(Debug, Default)]
struct Strings(IndexSet<String>);

impl Strings {
    fn add(&mut self, text: &str) -> usize {
        self.0.insert_full(Visible(text).to_string()).0
    }
}

impl Functions {
    /// Adds the functions of a profile, and returns the index of each.
    pub(crate) fn add(&mut self, profile: &Profile) -> Vec<usize> {
        let names = profile.display_names();
        let functions = profile.functions.iter().zip(names);
        functions.map(|(function, name)| self.add_one(profile, function, &name)).collect()
    }

    fn add_one(&mut self, profile: &Profile, function: &Function, name: &str) -> usize {
        if let Some(place) = self.known.get(&function.method_id) {
            return *place;
        }
        let module = profile.module_of(function);
        let place = self.push(&Named {
            name,
            type_name: function.type_name().as_deref(),
            namespace: function.namespace(),
            assembly: module.and_then(|module| module.assembly.split(',').next()),
            file: function.file(),
            line: function.line(),
            token: function.token(),
            waits: function.method_id.waits(),
        });
        self.known.insert(function.method_id, place);
        place
    }

    /// Adds the methods of a comparison's paths, in its order.
    pub(crate) fn add_compared(&mut self, comparison: &Comparison) {
        for method in comparison.methods_of_paths() {
            let outermost = method.raw_name.as_deref().and_then(|name| name.split("::").next()?.split('/').next());
            self.push(&Named {
                name: &method.name,
                type_name: method.type_name.as_deref(),
                namespace: outermost.map(|name| name.rsplit_once('.').map_or("", |(namespace, _)| namespace)),
                assembly: Some(&method.assembly),
                file: method.file.as_deref(),
                line: method.line,
                token: String::new(),
                waits: method.waits,
            });
        }
    }

    fn push(&mut self, named: &Named<'_>) -> usize {
        let type_name = named.type_name.unwrap_or_default();
        let member = named.name.strip_prefix(type_name).and_then(|rest| rest.strip_prefix('.'));
        let of = Type {
            name: self.strings.add(if member.is_some() { type_name } else { "" }),
            namespace: self.strings.add(named.namespace.unwrap_or_default()),
            assembly: self.strings.add(named.assembly.unwrap_or_default()),
        };
        self.entries.push(Entry {
            of: self.types.insert_full(of).0,
            member: Visible(member.unwrap_or(named.name)).to_string(),
            token: named.token.clone(),
            line: named.file.and_then(|file| Some((self.strings.add(file), named.line?))),
            waits: named.waits,
        });
        self.entries.len() - 1
    }

    /// Returns the functions as columns for the page.
    pub(crate) fn tables(&self) -> Tables {
        let entries = || self.entries.iter();
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
    /// The source file (an index into the strings), and the line.
    lines: Vec<Option<(usize, u32)>>,
    /// The functions that are blocking calls.
    waits: Vec<usize>,
}
