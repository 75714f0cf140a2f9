//! Finds the methods that patterns name in a module: as written, or else with a prefix left out.

use std::borrow::Cow;

use ecma335::{Error, Metadata};

use crate::{
    calls,
    candidates::Candidates,
    options::Options,
    pattern::Pattern,
    plan::{MethodNames, for_each_method},
};

/// The way a pattern matches in a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Named {
    Nothing,
    /// The pattern would match with any prefix of the type's name.
    Unqualified,
    AsWritten,
}

/// The options with each pattern in the form that matches in a module.
pub(crate) fn as_meant<'o>(metadata: &Metadata<'_>, assembly: &str, options: &'o Options) -> Result<Cow<'o, Options>, Error> {
    let is_plain = |pattern: &&Pattern| pattern.is_plain() && pattern.matches_assembly(assembly);
    let plain: Vec<&Pattern> = options.lists().flat_map(|(_, patterns)| patterns).filter(is_plain).collect();
    let unqualified: Vec<bool> = named(metadata, &plain)?.into_iter().map(|named| named == Named::Unqualified).collect();
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
        let named = named(metadata, &patterns.iter().collect::<Vec<_>>())?;
        let pairs = patterns.iter().zip(named);
        used.extend(pairs.map(|(pattern, named)| named > Named::Nothing && pattern.matches_assembly(&assembly)));
    }
    let calls = &options.calls.named;
    let mut called = vec![false; calls.len()];
    let candidates = Candidates::new(calls.iter().enumerate());
    for (assembly, type_name, method) in
        if calls.is_empty() { None } else { Some(calls::members(metadata)) }.into_iter().flatten()
    {
        for number in candidates.of([&*format!("{type_name}::{method}")]) {
            called[number] |= calls[number].matches_assembly(&assembly) && calls[number].matches(&type_name, &method);
        }
    }
    used.append(&mut called);
    Ok(used)
}

fn named(metadata: &Metadata<'_>, patterns: &[&Pattern]) -> Result<Vec<Named>, Error> {
    let mut found = vec![Named::Nothing; patterns.len()];
    if patterns.is_empty() {
        return Ok(found);
    }
    // A pattern for properties of methods has no name that may be mistyped.
    let selectors = patterns.iter().zip(&mut found).filter(|(pattern, _)| pattern.selector().is_some());
    selectors.for_each(|(_, found)| *found = Named::AsWritten);
    let candidates = Candidates::new(patterns.iter().copied().enumerate());
    for_each_method(metadata, |_, names| {
        let MethodNames { type_name, name, .. } = names()?;
        for number in candidates.of([&*format!("{type_name}::{name}")]) {
            let (pattern, found) = (patterns[number], &mut found[number]);
            if *found == Named::AsWritten {
                continue;
            }
            if pattern.matches(type_name, &name) {
                *found = Named::AsWritten;
            } else if *found == Named::Nothing && pattern.matches_unqualified(type_name, &name) {
                *found = Named::Unqualified;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

pub(crate) fn assembly_name(metadata: &Metadata<'_>) -> Result<String, Error> {
    metadata.assembly().map_or_else(|| Ok(String::new()), |assembly| metadata.name(assembly.name))
}
