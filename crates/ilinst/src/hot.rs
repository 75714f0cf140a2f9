//! `--only-hot` and `--except-noise`: which methods, by what an earlier profile showed of them.

use std::path::{Path, PathBuf};

use clap::Args;
use profile::{
    Profile,
    rows::{Row, SortBy},
};
use weave::{Pattern, Rule};

use crate::{failure::Failure, profiles};

/// The options that choose methods by earlier profiles.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HotArgs {
    /// Instrument only methods that took at least 1 % of the time of the slowest one in an earlier profile
    #[arg(help_heading = "Methods", long, value_name = "PROFILE")]
    pub(crate) only_hot: Option<PathBuf>,

    /// Skip methods whose time in an earlier profile was mostly measuring overhead
    #[arg(help_heading = "Methods", long, value_name = "PROFILE")]
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
            rules.extend((!include.is_empty()).then(|| ("except-noise", left_alone(include, Vec::new()))));
        }
        if let Some(path) = &self.only_hot {
            let exclude = patterns(&profiles::read(path, None)?, false)?;
            if exclude.is_empty() {
                return Err(Failure::usage(format_args!("--only-hot: {} names no method", path.display())).into());
            }
            rules.push(("only-hot", left_alone(Vec::new(), exclude)));
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
    let chosen = rows.iter().filter(|row| if are_noise { row.mostly_probe || row.muted } else { took(row) >= least });
    let names = chosen.filter_map(|row| profile.functions.get(row.function)?.name.as_ref());
    let mut names: Vec<String> = names.map(|name| format!("{}::{}", name.type_name, name.method)).collect();
    names.sort();
    names.dedup();
    Ok(names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?)
}
