//! Finds the methods that patterns name in a module: as written, or else with a prefix left out.

use std::borrow::Cow;

use ecma335::{Error, Metadata};

use super::{
    method_names::{MethodNames, for_each_method},
    options::Options,
};
use crate::{
    patterns::{candidates::Candidates, pattern::Pattern},
    probes::call_sites,
};

/// The way a pattern matches in a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Match {
    None,
    /// The pattern would match with any prefix of the type's name.
    Unqualified,
    Exact,
}

/// The options with each pattern in the form that matches in a module.
pub(crate) fn with_matching_patterns<'o>(
    metadata: &Metadata<'_>,
    assembly: &str,
    options: &'o Options,
) -> Result<Cow<'o, Options>, Error> {
    let is_plain = |pattern: &&Pattern| pattern.is_plain() && pattern.matches_assembly(assembly);
    let plain: Vec<&Pattern> = options.lists().flat_map(|(_, patterns)| patterns).filter(is_plain).collect();
    let unqualified: Vec<bool> = find_matches(metadata, &plain)?.into_iter().map(|found| found == Match::Unqualified).collect();
    if !unqualified.contains(&true) {
        return Ok(Cow::Borrowed(options));
    }
    let mut meant = options.clone();
    let lists = meant.lists_mut().into_iter().flatten().filter(|pattern| is_plain(&&**pattern));
    for (pattern, _) in lists.zip(unqualified).filter(|(_, unqualified)| *unqualified) {
        *pattern = pattern.as_unqualified();
    }
    Ok(Cow::Owned(meant))
}

/// Whether each of the options' patterns ([`Options::patterns`]) matches anything in a module.
///
/// # Errors
/// If names cannot be read.
pub fn are_used(metadata: &Metadata<'_>, options: &Options) -> Result<Vec<bool>, Error> {
    let assembly = assembly_name(metadata)?;
    let mut used = Vec::new();
    for patterns in [&options.selection.include, &options.selection.exclude] {
        let named = find_matches(metadata, &patterns.iter().collect::<Vec<_>>())?;
        let pairs = patterns.iter().zip(named);
        used.extend(pairs.map(|(pattern, named)| named > Match::None && pattern.matches_assembly(&assembly)));
    }
    let calls = &options.calls.named;
    let mut called = vec![false; calls.len()];
    let candidates = Candidates::new(calls.iter().enumerate());
    for (assembly, type_name, method) in
        if calls.is_empty() { None } else { Some(call_sites::members(metadata)) }.into_iter().flatten()
    {
        for number in candidates.matching([&*format!("{type_name}::{method}")]) {
            called[number] |= calls[number].matches_assembly(&assembly) && calls[number].matches(&type_name, &method);
        }
    }
    used.append(&mut called);
    Ok(used)
}

fn find_matches(metadata: &Metadata<'_>, patterns: &[&Pattern]) -> Result<Vec<Match>, Error> {
    let mut found = vec![Match::None; patterns.len()];
    if patterns.is_empty() {
        return Ok(found);
    }
    // A pattern for properties of methods has no name that may be mistyped.
    let conditions = patterns.iter().zip(&mut found).filter(|(pattern, _)| pattern.condition().is_some());
    conditions.for_each(|(_, found)| *found = Match::Exact);
    let candidates = Candidates::new(patterns.iter().copied().enumerate());
    for_each_method(metadata, |_, names| {
        let MethodNames { type_name, name, .. } = names()?;
        for number in candidates.matching([&*format!("{type_name}::{name}")]) {
            let (pattern, found) = (patterns[number], &mut found[number]);
            if *found == Match::Exact {
                continue;
            }
            if pattern.matches(type_name, &name) {
                *found = Match::Exact;
            } else if *found == Match::None && pattern.matches_unqualified(type_name, &name) {
                *found = Match::Unqualified;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

pub(crate) fn assembly_name(metadata: &Metadata<'_>) -> Result<String, Error> {
    metadata.assembly().map_or_else(|| Ok(String::new()), |assembly| metadata.name(assembly.name))
}
