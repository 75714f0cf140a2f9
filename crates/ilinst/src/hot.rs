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
    let rows = profile.rows(SortBy::default());
    let took = |row: &Row<'_>| row.total_ms + row.waiting_ms;
    let least = SHARE * rows.iter().map(took).fold(0.0, f64::max);
    let matters = |row: &Row<'_>| took(row) >= least;
    let is_noise = |row: &Row<'_>| row.mostly_probe || 2 * row.counted > row.calls;
    let chosen = rows.iter().filter(|row| if are_noise { is_noise(row) && !matters(row) } else { matters(row) });
    let names = chosen.filter_map(|row| profile.functions.get(row.function)?.name.as_ref());
    let mut names: Vec<String> = names.map(|name| format!("{}::{}", name.type_name, name.method)).collect();
    names.sort();
    names.dedup();
    Ok(names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?)
}
