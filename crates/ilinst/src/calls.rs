//! `ilinst report --calls`: single calls with their values.

use std::{cmp::Reverse, io::Write as _, path::Path};

use ::instrument::Input;
use ::report::calls::{CallText, Condition, line};
use clap::Args;
use profile::{
    Profile,
    calls::{self, Call, Signature},
};
use serde::Serialize;

use crate::{
    colours::colour_report,
    failure::Failure,
    method_pattern::MethodPattern,
    profiles,
    terminal::{Terminal, complain, print_json},
    text::count,
};

/// The options that choose the calls to show.
#[derive(Args, Debug, Default)]
pub(crate) struct CallArgs {
    /// Show the single calls that --capture recorded, with their values, in the order of their start
    #[arg(help_heading = "Report", long, conflicts_with_all = ["tree", "hot_path", "threads", "assemblies", "group", "columns", "filter", "sort", "csv", "html", "watch"])]
    calls: bool,

    /// Show only calls that meet a condition, as 'count > 3 && name == "x"'
    ///
    /// A condition can use parameter names, `this`, `return`, fields of these values (order.Total), and .Length.
    #[arg(help_heading = "Report", long = "where", value_name = "CONDITION", requires = "calls")]
    condition: Option<Condition>,

    /// Show the slowest calls first
    #[arg(help_heading = "Report", long, requires = "calls")]
    slow: bool,
}

/// Where calls are printed, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Calls {
    Text,
    /// Beside the program's own output.
    Aside,
    Json,
}

impl CallArgs {
    pub(crate) fn is_wanted(&self) -> bool {
        self.calls
    }

    /// Prints so many calls of those that began in what a profile is of; 0: all.
    pub(crate) fn print(
        &self,
        path: &Path,
        profile: &Profile,
        method: Option<&MethodPattern>,
        limit: usize,
        how: Calls,
    ) -> anyhow::Result<()> {
        let bytes = Input::open(path)?;
        let calls = calls::Calls::parse(&bytes).map_err(|error| profiles::bad(path, error))?;
        if calls.list.is_empty() {
            complain(format_args!(
                "note: {}: the profile has no single calls; record them with --capture args,return,this (instrument, run)",
                path.display()
            ));
        }
        let is_of_method: Vec<bool> = calls.signatures.iter().map(|signature| is_meant(method, signature)).collect();
        if let Some(pattern) = method.filter(|_| !calls.list.is_empty() && !is_of_method.contains(&true)) {
            return Err(Failure::usage(format_args!("--method {pattern}: no recorded call is of a method with this name")).into());
        }
        let is_meant = |call: &&Call| {
            profile.has_moment(call.start)
                && is_of_method.get(call.signature) == Some(&true)
                && self.condition.as_ref().is_none_or(|condition| condition.is_met(&calls, call))
        };
        let mut list: Vec<&Call> = calls.list.iter().filter(is_meant).collect();
        if self.slow {
            list.sort_by_key(|call| Reverse(call.duration));
        }
        let all = list.len();
        list.truncate(if limit == 0 { usize::MAX } else { limit });
        if matches!(how, Calls::Json) {
            let each = Each(&list, &calls, profile);
            return print_json(&Document { calls: each, count: all, lost: calls.lost });
        }
        let mut out = match how {
            Calls::Aside => Terminal::painted_aside(colour_report),
            _ => Terminal::painted(colour_report),
        };
        for call in &list {
            out.write_all(text(&calls, profile, call).as_bytes())?;
        }
        if list.len() < all {
            writeln!(out, "{} more (--limit)", count(all - list.len(), "call"))?;
        }
        if calls.lost > 0 {
            writeln!(out, "{} more were not kept; a larger ILINST_TRACE_SIZE keeps more", count(calls.lost as usize, "call"))?;
        }
        Ok(out.close()?)
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct Document<'c> {
    calls: Each<'c>,
    count: usize,
    lost: u64,
}

/// Calls as JSON, of which one is in memory at a time: there may be as many as a profile has room for.
struct Each<'c>(&'c [&'c Call], &'c calls::Calls, &'c Profile);

impl Serialize for Each<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|call| CallText(self.1).json(self.2, call)))
    }
}

/// The line of what was called, and the values below it.
fn text(calls: &calls::Calls, profile: &Profile, call: &Call) -> String {
    let line = calls.signatures.get(call.signature).map(line).unwrap_or_default();
    let time = call.duration.map_or_else(|| "-".into(), |ticks| format!("{:.3} ms", profile.milliseconds(ticks)));
    let values = CallText(calls).values(call);
    format!("{line}\n  {}\n", [time, values].join("  ").trim_end())
}

/// Whether a pattern means a method.
fn is_meant(pattern: Option<&MethodPattern>, signature: &Signature) -> bool {
    let Some(pattern) = pattern else { return true };
    // Without arguments, as metadata has it.
    let mut depth = 0;
    let mut plain = String::new();
    for character in signature.method.chars() {
        depth += i32::from(character == '<');
        if depth == 0 {
            plain.push(character);
        }
        depth -= i32::from(character == '>');
    }
    let raw = plain.rsplit_once('.').map(|(of, name)| (of.trim_end_matches('.'), name));
    let module = signature.module.rsplit(['/', '\\']).next().unwrap_or_default();
    let assembly = module.rsplit_once('.').map_or(module, |(stem, _)| stem);
    pattern.is_match(&signature.method, raw, assembly) || pattern.is_match(&plain, raw, assembly)
}
