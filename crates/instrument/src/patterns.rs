//! Patterns that match nothing in any file, and suggestions for them.

use ecma335::Metadata;
use rayon::prelude::*;
use weave::{
    Options, Refusal,
    method_names::{MethodNames, for_each_method},
};

use crate::{
    file::Instrumented,
    input::Input,
    job::Job,
    report::{Outcome, Unmatched},
};

/// The most suggestions for a pattern.
const NEAREST: usize = 3;
/// The most patterns that get suggestions: each is compared with all names.
const LOOKED_FOR: usize = 20;
/// The least similarity of a suggestion, 0 to 1.
const ALIKE: f64 = 0.65;
/// The longest name suggested; longer ones are compiler-generated.
const LONGEST: usize = 200;

/// Returns the patterns that match nothing. Omits files instrumented before, whose earlier matches are not known.
pub(crate) fn unmatched(files: &[Instrumented], jobs: &[Job], options: &Options) -> Vec<Unmatched> {
    let is_woven = |file: &Instrumented| matches!(file.report.outcome, Outcome::Refused(Refusal::AlreadyWoven));
    if files.iter().any(is_woven) {
        return Vec::new();
    }
    let is_used = |index: usize| files.iter().any(|file| file.used.get(index) == Some(&true));
    let unused = options.patterns().enumerate().filter(|(index, _)| !is_used(*index)).map(|(_, pattern)| pattern);
    let processed: Vec<&Job> = jobs.iter().filter(|job| is_processed(job, files)).collect();
    unused
        .enumerate()
        .map(|(place, (option, pattern))| {
            let pattern = pattern.as_str().to_owned();
            let is_looked_for = place < LOOKED_FOR && option != "--calls";
            let nearest = if is_looked_for { nearest(&pattern, &processed) } else { Vec::new() };
            Unmatched { option: option.into(), pattern, nearest }
        })
        .collect()
}

fn is_processed(job: &Job, files: &[Instrumented]) -> bool {
    let is_its = |file: &&Instrumented| file.report.output == job.output;
    job.may_be_an_assembly()
        && files.iter().find(is_its).is_some_and(|file| matches!(file.report.outcome, Outcome::Processed { .. }))
}

/// Returns the names in some files that are most similar to a pattern.
fn nearest(pattern: &str, jobs: &[&Job]) -> Vec<String> {
    let near = |job: &&Job| {
        let Ok(bytes) = Input::open(&job.input) else { return Vec::new() };
        ecma335::open(&bytes).map_or_else(|_| Vec::new(), |(_, metadata)| alike(pattern, &metadata))
    };
    let mut near: Vec<(f64, String)> = jobs.par_iter().flat_map_iter(near).collect();
    keep_nearest(&mut near);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns the names of types and methods that are most similar to a pattern, best first. Skips names that cannot be read.
pub fn nearest_names(pattern: &str, metadata: &Metadata<'_>) -> Vec<String> {
    let mut near = alike(pattern, metadata);
    keep_nearest(&mut near);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns names with their similarity to a pattern, the most similar among them. As in reports, a dot may precede a method.
fn alike(pattern: &str, metadata: &Metadata<'_>) -> Vec<(f64, String)> {
    let written = pattern.strip_prefix("re:").unwrap_or(pattern);
    let written = as_people_write(written.rsplit(']').next().unwrap_or(written).trim_matches('*'));
    let (names_methods, written) = (written.contains("::"), written.replace("::", "."));
    let written = written.trim_start_matches('.');
    let mut near: Vec<(f64, String)> = Vec::new();
    let mut add = |name: &str, others: &[&str]| {
        let alike = others.iter().map(|other| strsim::normalized_damerau_levenshtein(written, other)).fold(0.0, f64::max);
        if alike >= ALIKE {
            near.push((alike, name.to_owned()));
            if near.len() > 64 {
                keep_nearest(&mut near);
            }
        }
    };
    let mut last = String::new();
    // Unreadable names are not suggested.
    let _ = for_each_method(metadata, |_, names| {
        let MethodNames { type_name, name: method, .. } = names()?;
        if type_name.contains('<') || method.contains('<') || type_name.len() + method.len() > LONGEST {
            return Ok(());
        }
        // The name may lack its namespace.
        let whole_type = as_people_write(type_name);
        let short_type = whole_type.rsplit('.').next().unwrap_or_default();
        if !names_methods && last != type_name {
            add(type_name, &[&whole_type, short_type]);
            type_name.clone_into(&mut last);
        }
        let alone = method.to_lowercase();
        let (whole, short) = (format!("{whole_type}.{alone}"), format!("{short_type}.{alone}"));
        let alone = if written.contains('.') { &short } else { &alone };
        add(&format!("{type_name}::{method}"), &[&whole, &short, alone]);
        Ok(())
    });
    near
}

/// Returns a name without the parts that users omit or write in another way.
fn as_people_write(name: &str) -> String {
    let arity = |character: char| character == '`' || character.is_ascii_digit();
    let parts = name.split(['/', '+', '.']).map(|part| match part.split_once('`') {
        Some((before, behind)) => before.to_owned() + behind.trim_start_matches(arity),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(".").to_lowercase()
}

fn keep_nearest(near: &mut Vec<(f64, String)>) {
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    near.dedup_by(|one, other| one.1 == other.1);
    near.truncate(NEAREST);
}
