//! `ilinst report`: shows a profile.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::{
    ArgAction, Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use html::{Filter, Page};
use identity::Visible;
use profile::{
    Column, End, Metric, Profile, TextOptions,
    report::SortBy,
    views::{GroupBy, View, ViewOptions, Wanted},
};

use crate::{
    calls::{CallArgs, Calls},
    colours::colour_report,
    failure::Failure,
    method_pattern::MethodPattern,
    output, profiles, symbols,
    terminal::{Terminal, complain, print_json},
    text::percent,
};

/// How often a profile is read that is being watched.
const INTERVAL: Duration = Duration::from_secs(1);

/// Show a profile: a table of methods, the call tree, threads, and what else can be seen of it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// What a woven program writes (.ilprof), or the id of its process; else the newest here, or in the temporary folder
    #[arg(value_name = "FILE|PID")]
    profile: Option<PathBuf>,

    #[command(flatten)]
    shown: ShownArgs,

    #[command(flatten)]
    calls: CallArgs,

    /// Read it again each second, until the program ends
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    watch: bool,

    /// Print the view as JSON
    #[arg(long, conflicts_with_all = ["csv", "columns"])]
    json: bool,

    /// Print the view as CSV
    #[arg(long, conflicts_with = "columns")]
    csv: bool,

    /// Write one HTML file that needs no network: flame graph, table, tree, callers and callees, phases
    #[arg(long, value_name = "FILE", conflicts_with_all = ["view", "threads", "columns", "json", "csv", "watch"])]
    html: Option<PathBuf>,
}

/// What of a profile is shown, and how.
#[derive(Args, Debug)]
pub(crate) struct ShownArgs {
    #[command(flatten)]
    view: ViewArgs,

    /// Leave out paths of the tree that took less than this part of what ran, waited or was awaited [default: 0.1; in JSON and
    /// CSV 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "tree")]
    min_percent: Option<f64>,

    /// In the tree, count calls of a method by itself to the outermost one; the default
    #[arg(long, requires = "tree", overrides_with = "no_fold_recursion")]
    fold_recursion: bool,

    /// In the tree, show each level of a recursion
    #[arg(long, requires = "tree", action = ArgAction::SetTrue)]
    no_fold_recursion: bool,

    /// Show a phase alone: from the mark of this name to the next
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,

    /// Show what was recorded: with the probes' own time, and with what compilers made without a body of the user's
    #[arg(long)]
    raw: bool,

    /// Methods that the pattern names, alone (may be repeated): a part of the name, or a glob over all of it; a glob over
    /// Namespace.Type::Method as metadata has it, `re:` before a regular expression of that; `[Assembly]` may stand before.
    /// In trees, the paths that lead to them and what they call; of threads, what they did of them, without CPU times
    #[arg(long, value_name = "PATTERN")]
    filter: Vec<MethodPattern>,

    /// What rows are sorted by; in trees, those of the same caller; of --hot-path, what it is hot by
    #[arg(long, value_name = "COLUMN", default_value = SortBy::SelfTime.name(), value_parser = sort())]
    sort: SortBy,

    /// The columns of the table, by commas: calls, self, self%, total, total%, waiting, average, min, p50, p95, p99, max,
    /// first, latency, latency-p95, running, awaiting, failures, exceptions, cpu, samples
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["view", "threads"])]
    columns: Vec<Column>,

    /// How many rows to show; 0 for all [default: 40; all of trees, in JSON and in CSV]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Where woven files are, which names are taken from; else where the program loaded them, and beside the profile
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,
}

/// What of a profile is shown; else a table of methods.
#[derive(Args, Debug)]
struct ViewArgs {
    /// Show the call tree
    #[arg(long, group = "view")]
    tree: bool,

    /// Show the path that took the most time
    #[arg(long, group = "view")]
    hot_path: bool,

    /// Show a method (a pattern as for --filter) with its callers and callees
    #[arg(long, value_name = "NAME", group = "view")]
    method: Option<MethodPattern>,

    /// Show threads; with --tree, a tree for each
    #[arg(long, conflicts_with_all = ["hot_path", "method", "assemblies", "group"])]
    threads: bool,

    /// Show assemblies
    #[arg(long, group = "view")]
    assemblies: bool,

    /// Show methods in groups
    #[arg(long, value_enum, value_name = "BY", group = "view")]
    group: Option<Group>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst report app-1234.ilprof                    the methods that took the
                                                   most time themselves
  ilinst report                                    the newest profile
  ilinst report 1234 --watch                       process 1234, while it runs
  ilinst report --sort calls --limit 0
  ilinst report --columns calls,average,p50,p99,max,first
  ilinst report --filter Shop.Orders --group type   the types of a namespace
  ilinst report --tree                             who called whom
  ilinst report --hot-path                         where the time went
  ilinst report --method Order.Load                its callers and callees
  ilinst report --tree --csv > tree.csv
  ilinst report --calls --method Order.Load --where 'count > 3'
                                                   calls with their values
  ilinst report --html profile.html                flame graph and more, for a
                                                   browser
  ilinst report --json | jq '.methods[] | select(.calls > 1000) | .name'

self and total are what ran: without waiting, without what the probes took (--raw), in percent of all threads. \
p50 to p99 are within 12 %. Of async methods, all that is by call is from start to completion.";

/// `--group`.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum Group {
    /// By type
    Type,
    /// By namespace
    Namespace,
    /// By assembly
    Assembly,
}

/// Says of metrics that are asked for that nothing has them.
pub(crate) fn say_unknown(asked: impl IntoIterator<Item = Metric>, is_known: impl Fn(Metric) -> bool) {
    for metric in asked {
        if let Some(of) = metric.known_of().filter(|_| !is_known(metric)) {
            complain(format_args!("note: no method has '{}': {of}", metric.name()));
        }
    }
}

/// The parser for the values of `--sort`.
fn sort() -> impl TypedValueParser<Value = SortBy> {
    let names = SortBy::ALL.iter().map(|sort| PossibleValue::new(sort.name()).help(sort.help()));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// So many rows of a table are shown.
const DEFAULT_LIMIT: usize = 40;

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let path = profiles::find_and_say(self.profile.as_deref())?;
        if self.watch {
            return self.watch(&path);
        }
        if self.calls.is_wanted() {
            return self.shown.print_calls(&self.calls, &path, if self.json { Calls::Json } else { Calls::Text }).map(|()| 0);
        }
        let profile = self.shown.read(&path)?;
        match &self.html {
            Some(page) => self.shown.write_page(&profile, &path, page)?,
            None => self.print(&profile)?,
        }
        Ok(0)
    }

    /// Prints the report each second, until the program has ended.
    fn watch(&self, path: &Path) -> anyhow::Result<u8> {
        loop {
            let profile = self.shown.read(path)?;
            Terminal::clear()?;
            self.print(&profile)?;
            if profile.end != End::Running {
                return Ok(0);
            }
            thread::sleep(INTERVAL);
        }
    }

    fn print(&self, profile: &Profile) -> anyhow::Result<()> {
        let names = profile.display_names();
        if self.json {
            let (view, _) = self.shown.view(profile, &names, true)?;
            return print_json(&profile.document(&view));
        }
        if self.csv {
            let (view, _) = self.shown.view(profile, &names, true)?;
            let mut out = Terminal::text();
            view.csv(&mut out)?;
            return Ok(out.close()?);
        }
        self.shown.print(profile, Terminal::painted(colour_report))
    }
}

impl ShownArgs {
    /// Reads a profile, or one of its phases.
    pub(crate) fn read(&self, path: &Path) -> anyhow::Result<Profile> {
        self.read_phase(path, self.phase.as_deref())
    }

    fn read_phase(&self, path: &Path, phase: Option<&str>) -> anyhow::Result<Profile> {
        let mut profile = profiles::read(path, phase)?;
        symbols::name(&mut profile, path, &self.symbols);
        if self.raw {
            profile.keep_probes();
        } else {
            profile.fold_made();
        }
        Ok(profile)
    }

    /// Prints captured calls.
    pub(crate) fn print_calls(&self, calls: &CallArgs, path: &Path, how: Calls) -> anyhow::Result<()> {
        let profile = profiles::read(path, self.phase.as_deref())?;
        let limit = self.limit.unwrap_or(if matches!(how, Calls::Json) { 0 } else { DEFAULT_LIMIT });
        calls.print(path, &profile, self.view.method.as_ref(), limit, how)
    }

    /// Writes the page of a profile, with its phases unless it is one.
    pub(crate) fn write_page(&self, profile: &Profile, path: &Path, page: &Path) -> anyhow::Result<()> {
        let phases = if self.phase.is_none() { &*profile.phases } else { &[] };
        let phases = phases.iter().map(|name| Ok((name.clone(), self.read_phase(path, Some(name))?)));
        let phases = phases.collect::<anyhow::Result<Vec<_>>>()?;
        let is_meant = |profile: &Profile| {
            let names = profile.display_names();
            (0..profile.functions.len()).map(|function| self.is_kept(profile, &names, function)).collect()
        };
        let patterns = self.filter.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let written = match &*self.filter {
            [] => Page::report(profile, &phases),
            _ => Page::filtered(profile, &phases, &Filter { text: patterns, is_meant: &is_meant }),
        };
        output::write(page, &[path], |out| Ok(written.write(out)?))
    }

    /// Writes what is shown as JSON.
    pub(crate) fn write_json(&self, profile: &Profile, path: &Path, file: &Path) -> anyhow::Result<()> {
        let names = profile.display_names();
        let (view, _) = self.view(profile, &names, true)?;
        output::write(file, &[path], |out| Ok(serde_json::to_writer_pretty(out, &profile.document(&view))?))
    }

    /// Prints it as text.
    pub(crate) fn print(&self, profile: &Profile, mut out: Terminal) -> anyhow::Result<()> {
        let names = profile.display_names();
        let (view, count) = self.view(profile, &names, false)?;
        let phase = self.phase.as_ref().map(|name| format!("phase {}: ", Visible(name))).unwrap_or_default();
        let text = TextOptions { columns: self.columns.clone(), bars: Terminal::is_seen(), sort: self.sort };
        if matches!(view, View::Methods(_)) {
            say_unknown(self.sort.metric(), |metric| profile.rows(self.sort).iter().any(|row| metric.of(row).is_some()));
        }
        out.write_all((phase + &profile.head() + &view.text(profile, count, &text)).as_bytes())?;
        Ok(out.close()?)
    }

    /// The requested view, for people or for scripts, and its number of rows.
    fn view<'n>(&self, profile: &'n Profile, names: &'n [String], is_for_scripts: bool) -> anyhow::Result<(View<'n>, usize)> {
        let wanted = self.wanted(profile, names)?;
        let default_limit = if is_for_scripts || wanted == Wanted::Tree { usize::MAX } else { DEFAULT_LIMIT };
        let options = ViewOptions {
            sort: self.sort,
            limit: self.limit.map_or(default_limit, |limit| if limit == 0 { usize::MAX } else { limit }),
            min_percent: self.min_percent.unwrap_or(if is_for_scripts { 0.0 } else { 0.1 }),
            fold_recursion: self.fold_recursion || !self.no_fold_recursion,
            by_thread: self.view.threads,
        };
        Ok(profile.view(&wanted, &options, names, &|function| self.is_kept(profile, names, function)))
    }

    /// Whether `--filter` leaves a function.
    fn is_kept(&self, profile: &Profile, names: &[String], function: usize) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|pattern| pattern.names(profile, names, function))
    }

    fn wanted(&self, profile: &Profile, names: &[String]) -> Result<Wanted, Failure> {
        let view = &self.view;
        if let Some(pattern) = &view.method {
            let functions = pattern.functions(profile, names);
            if functions.is_empty() {
                return Err(Failure::usage(format_args!("--method {pattern}: no method of the profile has such a name")));
            }
            return Ok(Wanted::Method(functions));
        }
        Ok(match (view.group, view.assemblies) {
            (Some(Group::Type), _) => Wanted::Groups(GroupBy::Type),
            (Some(Group::Namespace), _) => Wanted::Groups(GroupBy::Namespace),
            (Some(Group::Assembly), _) | (None, true) => Wanted::Groups(GroupBy::Assembly),
            _ if view.tree => Wanted::Tree,
            _ if view.hot_path => Wanted::HotPath,
            _ if view.threads => Wanted::Threads,
            _ => Wanted::Methods,
        })
    }
}
