//! Matching of methods between profiles: by assembly, name, type parameters and types of parameters. Tokens and module keys
//! differ between builds.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::method::{MethodChange, Verdict};
use crate::model::{Function, Profile};

/// The identity of a method, the same in each build.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Identity {
    assembly: String,
    /// `Namespace.Type::Method` from metadata, or the token of a method without a name.
    name: String,
    /// Its type parameters and the types of its parameters: `<T>(int)`. `None` if some profile does not know them.
    signature: Option<String>,
}

/// The methods of several profiles.
pub(super) struct Matching {
    /// Each method once, without metrics.
    pub(super) methods: Vec<MethodChange>,
    /// By profile and function: the index of the method.
    pub(super) method_of: Vec<Vec<usize>>,
}

impl Matching {
    pub(super) fn new(profiles: &[&Profile]) -> Self {
        // Names of functions without a known signature: all overloads of these count as one method.
        let mut vague: HashSet<(String, String)> = HashSet::new();
        for (profile, function) in functions(profiles) {
            if signature(function).is_none() {
                vague.insert((assembly(profile, function), name(profile, function)));
            }
        }
        let mut places: IndexMap<Identity, MethodChange> = IndexMap::new();
        let mut method_of: Vec<Vec<usize>> = Vec::new();
        for profile in profiles {
            let of_profile = profile.functions.iter().map(|function| {
                let key = (assembly(profile, function), name(profile, function));
                let signature = if vague.contains(&key) { None } else { signature(function) };
                let source = function.source.as_ref();
                let parameters = source.and_then(|source| source.parameters.clone()).filter(|_| signature.is_some());
                let (assembly, name) = key;
                let entry = places.entry(Identity { assembly: assembly.clone(), name, signature });
                let place = entry.index();
                let method = entry.or_insert_with(|| MethodChange {
                    name: String::new(),
                    raw_name: function.raw_name(),
                    type_name: None,
                    waits: function.method_id.waits(),
                    assembly,
                    parameters,
                    file: None,
                    line: None,
                    verdict: Verdict::Same,
                    metrics: IndexMap::new(),
                });
                // The last profile is of the newest build.
                (method.name, method.type_name) = (function.display_name(), function.type_name());
                if let Some(source) = source.filter(|source| source.file.is_some()) {
                    (method.file, method.line) = (source.file.clone(), source.line);
                }
                place
            });
            method_of.push(of_profile.collect());
        }
        let mut methods: Vec<MethodChange> = places.into_values().collect();
        tell_apart(&mut methods, |method| {
            method.parameters.as_ref().map(|parameters| format!("({parameters})")).unwrap_or_default()
        });
        tell_apart(&mut methods, |method| format!(" in {}", method.assembly));
        Self { methods, method_of }
    }
}

/// Adds a mark to names that several methods have.
fn tell_apart(methods: &mut [MethodChange], mark: impl Fn(&MethodChange) -> String) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    methods.iter().for_each(|method| *counts.entry(method.name.clone()).or_default() += 1);
    for method in methods.iter_mut().filter(|method| counts.get(&method.name) != Some(&1)) {
        let mark = mark(method);
        method.name.push_str(&mark);
    }
}

fn functions<'p>(profiles: &[&'p Profile]) -> impl Iterator<Item = (&'p Profile, &'p Function)> {
    profiles.iter().flat_map(|profile| profile.functions.iter().map(move |function| (*profile, function)))
}

/// Returns its assembly's name without the version, which differs between builds.
fn assembly(profile: &Profile, function: &Function) -> String {
    let module = profile.module_of(function);
    module.and_then(|module| module.assembly.split(',').next()).unwrap_or_default().to_owned()
}

fn name(profile: &Profile, function: &Function) -> String {
    let module = profile.module_of(function);
    function.raw_name().unwrap_or_else(|| format!("{}!{}", module.map_or("", |module| module.name.as_str()), function.token()))
}

fn signature(function: &Function) -> Option<String> {
    let source = function.source.as_ref()?;
    let parameters = source.parameters.as_ref()?;
    // Brackets behind a compiler-generated name contain no type parameters.
    let is_written = function.name.as_ref().is_some_and(|name| !name.method.starts_with('<'));
    let generics = source.method.find('<').filter(|_| is_written && source.method.ends_with('>'));
    let generics = generics.and_then(|at| source.method.get(at..)).unwrap_or_default();
    Some(format!("{generics}({parameters})"))
}
