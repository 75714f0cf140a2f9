//! `ilinst cache`: what `ilinst run` has woven and keeps.

use std::{io::Write as _, time::SystemTime};

use clap::Args;
use launch::{Cache, Kept};
use names::Visible;
use serde_json::{Value, json};

use crate::{
    failure::printed,
    terminal::{Terminal, print_json},
    text::{count, size},
};

/// List the instrumented programs that `ilinst run` keeps, or delete them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Delete the kept copies of all programs that are not running
    Clear,
}

const EXAMPLES: &str = "\
Examples:
  ilinst cache                 the programs that are kept, and their folder
  ilinst cache clear

The cache is a folder named ilinst-cache. The environment variable ILINST_CACHE names its parent folder; the default is the \
folder ilinst in the user's cache folder. Only entries of the cache are deleted. `ilinst run` keeps at most four builds of a program, and deletes \
entries that were not used for 30 days.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let cache = Cache::of_user()?;
        let printing = match self.action {
            None => self.show(&cache, &cache.entries()?),
            Some(Action::Clear) => self.clear(&cache),
        };
        printed(printing, 0)
    }

    fn show(&self, cache: &Cache, entries: &[Kept]) -> anyhow::Result<()> {
        let total: u64 = entries.iter().map(|entry| entry.size).sum();
        if self.json {
            let entries: Vec<Value> = entries.iter().map(to_json).collect();
            return print_json(&json!({ "folder": cache.folder().to_string_lossy(), "bytes": total, "entries": entries }));
        }
        let mut out = Terminal::text();
        if !entries.is_empty() {
            writeln!(out, "{:>10}  {:<12}  program", "size", "used")?;
        }
        for entry in entries {
            let (used, size) = (if entry.is_used { "now".into() } else { ago(entry.used) }, size(entry.size));
            match &entry.description {
                Some(made) => {
                    let program = made.home.join(&made.program);
                    writeln!(out, "{size:>10}  {used:<12}  {}  {}", Visible(program.display()), Visible(&made.options))?;
                }
                None => writeln!(out, "{size:>10}  {used:<12}  {} (unfinished)", Visible(entry.folder.display()))?,
            }
        }
        writeln!(out, "{}: {}, {}", Visible(cache.folder().display()), programs(entries.len()), size(total))?;
        Ok(out.close()?)
    }

    fn clear(&self, cache: &Cache) -> anyhow::Result<()> {
        let cleared = cache.clear()?;
        if self.json {
            let left = cleared.in_use;
            return print_json(&json!({ "removed": cleared.entries, "bytes": cleared.size, "inUse": left }));
        }
        let mut out = Terminal::text();
        let left = match cleared.in_use {
            0 => String::new(),
            left => format!("; {} in use, and left", programs(left)),
        };
        let folder = Visible(cache.folder().display());
        writeln!(out, "{folder}: {} removed, {}{left}", programs(cleared.entries), size(cleared.size))?;
        Ok(out.close()?)
    }
}

fn programs(number: usize) -> String {
    count(number, "instrumented program")
}

fn to_json(entry: &Kept) -> Value {
    let since = entry.used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let made = entry.description.as_ref();
    json!({
        "folder": entry.folder.to_string_lossy(),
        "bytes": entry.size,
        "usedUnixSeconds": since.as_secs(),
        "inUse": entry.is_used,
        "home": made.map(|made| made.home.to_string_lossy()),
        "program": made.map(|made| made.program.to_string_lossy()),
        "options": made.map(|made| made.options.as_str()),
    })
}

/// How long ago something was, in whole units.
fn ago(time: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(time).unwrap_or_default().as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length);
    unit.map_or_else(|| "just now".into(), |(length, name)| count((seconds / length) as usize, name) + " ago")
}
