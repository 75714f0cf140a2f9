//! Compares a file with its copy that was disassembled and assembled again. Differences that Mono's ilasm cannot avoid are
//! excepted.
//!
//! Not compared is the order of types, methods, properties, events, attributes, constraints and references: Mono's ilasm numbers
//! them by first mention. Compared is the order of fields, of the contents of a method, and of the methods of COM types.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use little_endian::{ByteOrder, LE};

use regex::Regex;
use tests::{ilinst, said};

/// Expected differences with reasons: in both texts, matches of the pattern are replaced. `{own}` is the assembly's own name.
pub(super) const LISTED: &[(&str, &str, &str)] = &[
    (r"^// MVID .*", "", "a new module has a new number"),
    (r"\bD_[0-9a-f]{8}", "D_", "data lies at another address"),
    (r"^\.(imagebase|file alignment|corflags) .*", "", "ilasm has its own"),
    (r"^// there are native exports, .*", "", "native code beside the IL is gone"),
    (r"^\.maxstack [1-8]$", ".maxstack 8", "a body that fits a tiny header says no depth"),
    (r"^extends \[\w[\w.]*\](System\.(ValueType|Enum))$", "extends $1", "ilasm goes by the names of these alone"),
    (r"\[{own}\]", "", "types whose heads lead back to them go by their assembly's name"),
    (r"^// \.(permissionset|interfaceimpl|param constraint) .*", "", "what ilasm has no words for is a comment alone"),
    (r" pinned(,|\)|$)", "$1", "ilasm forgets that a local is pinned"),
    (r"^// Mono's ilasm leaves out `pinned`$", "", "ilasm forgets that a local is pinned"),
    (r" /\* mod(req|opt)\([^)]*\) \*/", "", "ilasm makes nothing of a constraint with a modifier"),
];

/// Instructions and clauses whose type ilasm writes as a keyword, if there is one.
const TYPED: &str = r"^((?:IL_\w+:  )?(?:box|castclass|catch|constrained\.|cpobj|initobj|isinst|ldelem|ldelema|ldobj|ldtoken|mkrefany|newarr|refanyval|sizeof|stelem|stobj|unbox|unbox\.any)) (?:valuetype )?\[mscorlib\]System\.(\w+)$";
/// The types of mscorlib that have a keyword.
const WORDS: &[(&str, &str)] = &[
    ("Boolean", "bool"),
    ("Byte", "uint8"),
    ("Char", "char"),
    ("Double", "float64"),
    ("Int16", "int16"),
    ("Int32", "int32"),
    ("Int64", "int64"),
    ("IntPtr", "native int"),
    ("Object", "object"),
    ("SByte", "int8"),
    ("Single", "float32"),
    ("String", "string"),
    ("TypedReference", "typedref"),
    ("UInt16", "uint16"),
    ("UInt32", "uint32"),
    ("UInt64", "uint64"),
    ("UIntPtr", "native uint"),
    ("Void", "void"),
];

/// Copies a file without its PDB, since names of locals are not compared.
pub(super) fn copied(file: &Path, scratch: &Path) -> PathBuf {
    let copy = scratch.join("copy").join(file.file_name().expect("a file has a name"));
    let mut bytes = fs::read(file).expect("it can be read");
    // II.25.2.1, II.25.2.3.3: the debug directory is the seventh of the optional header's.
    let number = |at: usize| LE::read_u32(&bytes[at..]) as usize;
    let optional_header = number(0x3C) + 24;
    let is_pe32_plus = bytes[optional_header..].starts_with(&[0x0B, 0x02]);
    let debug = optional_header + if is_pe32_plus { 160 } else { 144 };
    bytes[debug..debug + 8].fill(0);
    fs::create_dir_all(scratch.join("copy")).and_then(|()| fs::write(&copy, bytes)).expect("it can be written");
    copy
}

/// Checks that both disassembled texts are the same, apart from the listed differences.
pub(super) fn says_the_same(before: &Path, after: &Path) -> Result<(), String> {
    let own = before.file_stem().expect("a file has a name").to_string_lossy();
    compare(&canonical(&disassembled(before)?, &own), &canonical(&disassembled(after)?, &own))
}

fn disassembled(file: &Path) -> Result<String, String> {
    let output = ilinst().args(["dis", "--ilasm", "mono"]).arg(file).output().expect("ilinst runs");
    let (text, errors, code) = said(&output);
    if code == Some(0) { Ok(text) } else { Err(errors) }
}

/// Returns the first lines that differ.
fn compare(before: &[String], after: &[String]) -> Result<(), String> {
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    before.iter().for_each(|line| *counts.entry(line).or_default() += 1);
    after.iter().for_each(|line| *counts.entry(line).or_default() -= 1);
    let first = before.iter().zip(after).position(|(before, after)| before != after);
    if first.is_none() && before.len() == after.len() {
        return Ok(());
    }
    let only = counts.iter().filter(|(_, count)| **count != 0).take(20);
    let only: Vec<String> = only.map(|(line, count)| format!("{} {line}", if *count > 0 { "-" } else { "+" })).collect();
    let at = first.unwrap_or(before.len().min(after.len()));
    Err(format!("\n{:?}\n{:?}\n{}", before.get(at), after.get(at), only.join("\n")))
}

/// Returns a text as lines to compare.
fn canonical(text: &str, own: &str) -> Vec<String> {
    // Headers that ilasm must know first are repeated in their own place.
    let mut is_early = false;
    let lines = text.lines().filter(|line| {
        let is_head =
            line.is_empty() || [" ", "{", "}", ".class", ".assembly extern"].iter().any(|start| line.starts_with(start));
        is_early = line.starts_with("// Mono's ilasm has to know these first") || is_early && is_head;
        !is_early
    });
    let listed = Listed::new(own);
    let lines = lines.map(|line| (line.len() - line.trim_start().len(), listed.plain(line)));
    let mut groups = sorted(groups(&mut lines.filter(|(_, line)| !line.is_empty()), 0), "");
    // ilasm ignores exported types that are not forwarded themselves but nested in forwarded ones.
    let is_nested = |group: &[String]| group[0].starts_with(".class extern ") && !group[0].contains(" forwarder ");
    // ilasm always refers to mscorlib.
    let is_added =
        |group: &[String]| group.iter().map(String::as_str).eq([".assembly extern mscorlib", "{", ".ver 0:0:0:0", "}"]);
    groups.retain(|group| group[0].strip_prefix(".assembly extern ") != Some(own) && !is_nested(group) && !is_added(group));
    groups.into_iter().flatten().collect()
}

/// The patterns for one assembly.
struct Listed {
    patterns: Vec<(Regex, &'static str)>,
    typed: Regex,
    /// Matches generic parameters with constraints.
    constrained: Regex,
}

impl Listed {
    fn new(own: &str) -> Self {
        let pattern = |pattern: &str| Regex::new(&pattern.replace("{own}", &regex::escape(own))).expect("it is a pattern");
        let patterns = LISTED.iter().map(|(each, new, _)| (pattern(each), *new)).collect();
        Self { patterns, typed: pattern(TYPED), constrained: pattern(r"<[^>]*\(") }
    }

    /// Returns a line without the listed differences.
    fn plain(&self, line: &str) -> String {
        let mut line = line.trim().to_owned();
        for (pattern, new) in &self.patterns {
            line = pattern.replace_all(&line, *new).into_owned();
        }
        let word = self.typed.captures(&line).and_then(|found| {
            let (_, word) = WORDS.iter().find(|(name, _)| *name == &found[2])?;
            Some(format!("{} {word}", &found[1]))
        });
        line = word.unwrap_or(line);
        if line.starts_with(".class") && line.contains('(') || line.starts_with(".method") && self.constrained.is_match(&line) {
            // Constraints of a generic parameter may be in any order.
            let mut words: Vec<&str> = line.split([' ', ',', '(', ')']).collect();
            words.sort_unstable();
            line = words.join(" ");
        }
        line
    }
}

/// Returns the groups of lines up to the end of a block. A group is a line, its indented continuation, and its own blocks,
/// sorted.
fn groups(lines: &mut impl Iterator<Item = (usize, String)>, indent: usize) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    while let Some((at, line)) = lines.next() {
        match (line.as_str(), found.last_mut()) {
            // A closing brace ends the block.
            (end, _) if end.starts_with('}') => break,
            ("{", Some(group)) => {
                let inner = sorted(groups(lines, indent + 2), &group[0]);
                group.push(line);
                group.extend(inner.into_iter().flatten());
                group.push("}".into());
            }
            (_, Some(group)) if at > indent => group.push(line),
            _ => found.push(vec![line]),
        }
    }
    found
}

/// Sorts groups, except fields. In a method, and in a COM type, groups keep their order, except adjacent attributes.
fn sorted(groups: Vec<Vec<String>>, head: &str) -> Vec<Vec<String>> {
    let is_custom = |group: &Vec<String>| group[0].starts_with(".custom") || group[0].starts_with(".permissionset");
    let is_import = head.starts_with(".class") && head.contains(" import ");
    if head.starts_with(".method") || is_import {
        let mut groups = groups;
        groups.chunk_by_mut(|one, other| is_custom(one) && is_custom(other)).for_each(<[_]>::sort);
        return groups;
    }
    let mut others: Vec<Vec<String>> = Vec::new();
    let mut fields: Vec<Vec<String>> = Vec::new();
    for group in groups {
        match fields.last_mut() {
            // An attribute behind a field belongs to the field.
            Some(field) if is_custom(&group) && head.starts_with(".class") => field.extend(group),
            _ if group[0].starts_with(".field") => fields.push(group),
            _ => others.push(group),
        }
    }
    fields.iter_mut().for_each(|field| field[1..].sort());
    others.sort();
    fields.append(&mut others);
    fields
}
