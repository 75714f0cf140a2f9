//! `--only-hot` and `--except-noise`: which methods, by what an earlier profile showed of them.

use std::path::{Path, PathBuf};

use clap::Args;
use profile::{
    Profile,
    rows::{Row, SortBy},
};
use weave::{
    Pattern, Rule,
    option_table::{EXCEPT_NOISE, ONLY_HOT},
};

use crate::{failure::Failure, profiles};

/// The options that choose methods by earlier profiles.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HotArgs {
    #[arg(long, help_heading = ONLY_HOT.heading, value_name = ONLY_HOT.value_name, help = ONLY_HOT.help)]
    pub(crate) only_hot: Option<PathBuf>,

    #[arg(long, help_heading = EXCEPT_NOISE.heading, value_name = EXCEPT_NOISE.value_name, help = EXCEPT_NOISE.help)]
    pub(crate) except_noise: Option<PathBuf>,
}

/// Methods matter that took this part of the time of the one that took most.
const SHARE: f64 = 0.01;

impl HotArgs {
    /// Rules that leave alone what the profiles say, each with the option that it is of.
    ///
    /// # Errors
    /// If one is no profile, or names no methods.
    pub(crate) fn rules(&self) -> anyhow::Result<Vec<(&'static str, Rule)>> {
        let mut rules = Vec::new();
        if let Some(path) = &self.except_noise {
            let include = patterns(&profiles::read(path, None)?, true)?;
            // A rule without patterns is about all methods.
            rules.extend((!include.is_empty()).then(|| (EXCEPT_NOISE.name, left_alone(include, Vec::new()))));
        }
        if let Some(path) = &self.only_hot {
            let exclude = patterns(&profiles::read(path, None)?, false)?;
            if exclude.is_empty() {
                return Err(Failure::usage(format_args!("--only-hot: {} names no method", path.display())).into());
            }
            rules.push((ONLY_HOT.name, left_alone(Vec::new(), exclude)));
        }
        Ok(rules)
    }

    /// Files are meant from this folder.
    pub(crate) fn in_folder(&mut self, folder: &Path) {
        self.only_hot.iter_mut().chain(&mut self.except_noise).for_each(|path| *path = folder.join(&*path));
    }
}

fn left_alone(include: Vec<Pattern>, exclude: Vec<Pattern>) -> Rule {
    Rule { include, exclude, weave: Some(false), ..Rule::default() }
}

/// The methods that are noise, or those that matter, in an order that does not depend on times.
fn patterns(profile: &Profile, are_noise: bool) -> anyhow::Result<Vec<Pattern>> {
    Ok(names(profile, are_noise).iter().map(|name| name.parse()).collect::<Result<_, _>>()?)
}

fn names(profile: &Profile, are_noise: bool) -> Vec<String> {
    let rows = profile.rows(SortBy::default());
    // A cheap method with costly callees matters.
    let took_with_callees = |row: &Row<'_>| row.total_ms + row.waiting_ms;
    let least = SHARE * rows.iter().map(took_with_callees).fold(0.0, f64::max);
    // The time of a runtime-async method may not be known.
    let matters = |row: &Row<'_>| took_with_callees(row) >= least || row.is_runtime_async;
    let begins_path = begins_path(profile);
    let is_noise = |row: &Row<'_>| row.mostly_probe || 2 * row.counted > row.calls;
    let is_chosen = |row: &&Row<'_>| {
        if are_noise { is_noise(row) && !matters(row) && !begins_path[row.function] } else { matters(row) }
    };
    let chosen = rows.iter().filter(is_chosen);
    let names = chosen.filter_map(|row| profile.functions.get(row.function)?.name.as_ref());
    let mut names: Vec<String> = names.map(|name| format!("{}::{}", name.type_name, name.method)).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns for each function whether a call path begins with it: the entry point, and the first method of a thread. Without it, the
/// path has no name for where it comes from.
fn begins_path(profile: &Profile) -> Vec<bool> {
    let mut begins_path = vec![false; profile.functions.len()];
    for tree in &profile.trees {
        for (node, notes) in tree.nodes.iter().zip(&tree.notes) {
            // Callers of calls beyond the limit of paths are not recorded.
            if node.caller.is_none() && !notes.is_overflow {
                begins_path.get_mut(node.function).into_iter().for_each(|begins| *begins = true);
            }
        }
    }
    begins_path
}

#[cfg(test)]
mod tests {
    use names::MethodId;
    use profile::{
        CallTree, SampleType,
        model::{Function, MethodName, Node, Notes},
    };

    use super::*;

    /// A method, its caller, its own time in ticks with its probes, and the time of these probes.
    type Line = (&'static str, Option<usize>, i64, i64);

    fn profile(lines: &[Line]) -> Profile {
        let function = |(index, (name, ..)): (usize, &Line)| Function {
            method_id: MethodId::new(1, index as u32 + 1),
            name: Some(MethodName { type_name: "P".into(), method: (*name).into() }),
            source: None,
            module: None,
        };
        let tree = CallTree {
            threads: 1,
            nodes: lines.iter().enumerate().map(|(function, line)| Node { function, caller: line.1 }).collect(),
            notes: vec![Notes::default(); lines.len()],
            values: vec![
                vec![1; lines.len()],
                lines.iter().map(|line| line.2).collect(),
                lines.iter().map(|line| line.3).collect(),
            ],
            ..CallTree::default()
        };
        Profile {
            sample_types: vec![SampleType::CALLS, SampleType::WALL, SampleType::PROBES],
            functions: lines.iter().enumerate().map(function).collect(),
            trees: vec![tree],
            ..Profile::default()
        }
    }

    #[test]
    fn noise_is_neither_an_entry_point_nor_a_method_with_costly_callees() {
        let lines = [
            ("Main", None, 30, 29),
            ("Cheap", Some(0), 30, 29),
            ("Costly", Some(1), 1_000_000, 10),
            ("Tiny", Some(2), 30, 29),
            ("Worker", None, 30, 29),
            ("Slow", Some(2), 30, 1),
        ];
        let profile = profile(&lines);
        assert_eq!(names(&profile, true), ["P::Tiny"]);
        assert_eq!(names(&profile, false), ["P::Cheap", "P::Costly", "P::Main"]);
    }
}
