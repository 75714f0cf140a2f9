//! `ilinst report`: shows a profile.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use ::report::{
    Column, TextOptions, document, head,
    html::{Filter, Page},
    views::{GroupBy, View, ViewOptions, Wanted, view},
};
use clap::{
    ArgAction, Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use names::Visible;
use profile::{
    End, Profile,
    rows::{Metric, SortBy},
};

use crate::{
    calls::{CallArgs, Calls},
    colours::colour_report,
    failure::Failure,
    lines::{LineArgs, current_source_folder, for_page},
    method_pattern::MethodPattern,
    output,
    profiles::{self, Naming},
    sources::Places,
    terminal::{Terminal, complain, print_json},
    text::percent,
};

/// How often a profile is read that is being watched.
const INTERVAL: Duration = Duration::from_secs(1);

/// Show a profile as a table of methods, a call tree, threads, or an HTML page
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// A profile (.ilprof), or a process id; default: the newest profile in this folder or the temporary folder
    #[arg(value_name = "FILE|PID")]
    profile: Option<PathBuf>,

    #[command(flatten)]
    shown: ShownArgs,

    #[command(flatten)]
    calls: CallArgs,

    #[command(flatten)]
    lines: LineArgs,

    /// Refresh the report each second until the program ends
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    watch: bool,

    /// Print JSON
    #[arg(long, conflicts_with_all = ["csv", "columns"])]
    json: bool,

    /// Print CSV
    #[arg(long, conflicts_with = "columns")]
    csv: bool,

    /// Write one HTML file that works offline, with flame graph, table, tree, callers and phases
    #[arg(long, value_name = "FILE", conflicts_with_all = ["view", "threads", "columns", "json", "csv", "watch"])]
    html: Option<PathBuf>,
}

/// The options that choose the view of a profile.
#[derive(Args, Debug)]
pub(crate) struct ShownArgs {
    #[command(flatten)]
    view: ViewArgs,

    /// Hide tree branches below this percentage of the total time [default: 0.1; 0 in JSON and CSV]
    #[arg(help_heading = "Report", long, value_name = "PERCENT", value_parser = percent, requires = "tree")]
    min_percent: Option<f64>,

    /// Show recursive calls as one level of the tree (the default)
    #[arg(help_heading = "Report", long, requires = "tree", overrides_with = "no_fold_recursion")]
    fold_recursion: bool,

    /// Show each level of a recursion in the tree
    #[arg(help_heading = "Report", long, requires = "tree", action = ArgAction::SetTrue)]
    no_fold_recursion: bool,

    /// Show one phase: from the mark with this name (see `ilinst mark`) to the next mark
    #[arg(help_heading = "Report", long, value_name = "NAME")]
    phase: Option<String>,

    /// Show times that include the measuring overhead, and compiler-generated methods separately
    #[arg(help_heading = "Report", long)]
    raw: bool,

    /// Show only methods that match (repeatable); see `ilinst help patterns`
    ///
    /// A part of the name is enough. In trees, this keeps paths through a matching method.
    #[arg(help_heading = "Report", long, value_name = "PATTERN")]
    filter: Vec<MethodPattern>,

    /// Sort rows by this column; in trees, the callees of each method
    #[arg(help_heading = "Report", long, value_name = "COLUMN", default_value = SortBy::SelfTime.name(), value_parser = sort())]
    sort: SortBy,

    /// Show these columns, separated by commas
    ///
    /// Columns: calls, self, self%, uncertainty, total, total%, waiting, average, min, p50, p95, p99, max, first, latency, latency-p95,
    /// running, suspended, failures, exceptions, bytes, total-bytes, cpu, samples.
    #[arg(help_heading = "Report", long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["view", "threads"])]
    columns: Vec<Column>,

    /// Show at most N rows; 0 shows all [default: 40; all in trees, for lines, in JSON and CSV]
    #[arg(help_heading = "Report", long, value_name = "N")]
    limit: Option<usize>,

    /// Read names from the instrumented assemblies in this folder (repeatable)
    ///
    /// By default, ilinst looks for these assemblies where the program loaded them, and in the folder of the profile.
    #[arg(help_heading = "Report", long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,
}

/// The kinds of views; without one, a table of methods.
#[derive(Args, Debug)]
struct ViewArgs {
    /// Show the call tree
    #[arg(help_heading = "Report", long, group = "view")]
    tree: bool,

    /// Show the call path that took the most time
    #[arg(help_heading = "Report", long, group = "view")]
    hot_path: bool,

    /// Show one method with its callers and callees
    #[arg(help_heading = "Report", long, value_name = "NAME", group = "view")]
    method: Option<MethodPattern>,

    /// Show threads; with --tree, a tree for each
    #[arg(help_heading = "Report", long, conflicts_with_all = ["hot_path", "method", "assemblies", "group"])]
    threads: bool,

    /// Show assemblies
    #[arg(help_heading = "Report", long, group = "view")]
    assemblies: bool,

    /// Show types, namespaces or assemblies instead of methods
    #[arg(help_heading = "Report", long, value_enum, value_name = "BY", group = "view")]
    group: Option<Group>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst report                                    the newest profile
  ilinst report app-1234.ilprof
  ilinst report 1234 --watch                       process 1234, while it runs
  ilinst report --tree                             the call tree
  ilinst report --hot-path                         the slowest call path
  ilinst report --method Order.Load                callers and callees
  ilinst report --html profile.html                flame graph, for a browser
  ilinst report app-1234.ilprof --lines            percent by source file
  ilinst report app-1234.ilprof --lines Order.cs   source with counts
  ilinst report app-1234.ilprof --uncovered        lines that never ran
  ilinst report --sort calls --limit 0
  ilinst report --columns calls,average,p50,p99,max,first
  ilinst report --filter Shop.Orders --group type
  ilinst report --tree --csv > tree.csv
  ilinst report --calls --method Order.Load --where 'count > 3'
  ilinst report --json | jq '.methods[] | select(.calls > 1000) | .name'

self is running time in the method alone. total includes the callees. Both exclude waiting time and the measuring overhead. \
Percentages are of the running time of all threads. p50 to p99 are accurate to within 12 %. For async methods, the time of a \
call is the time from its start to its completion.";

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
        if !is_known(metric) {
            complain(format_args!("note: no method has '{}': {}", metric.name(), metric.measured_by()));
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
        self.lines.check()?;
        let path = profiles::find_and_say(self.profile.as_deref())?;
        if self.watch {
            return self.watch(&path);
        }
        if self.calls.is_wanted() {
            return self.shown.print_calls(&self.calls, &path, if self.json { Calls::Json } else { Calls::Text }).map(|()| 0);
        }
        match &self.html {
            Some(page) => {
                let (profile, phases) = self.shown.read_all(&path)?;
                self.shown.write_page(&profile, &phases, [&path, page], self.lines.source_root())?;
            }
            None => self.print(&self.shown.read(&path)?, &path)?,
        }
        Ok(0)
    }

    /// Prints the report each second, until the program has ended.
    fn watch(&self, path: &Path) -> anyhow::Result<u8> {
        loop {
            let profile = self.shown.read(path)?;
            Terminal::clear()?;
            self.print(&profile, path)?;
            if profile.end != End::Running {
                return Ok(0);
            }
            thread::sleep(INTERVAL);
        }
    }

    fn print(&self, profile: &Profile, path: &Path) -> anyhow::Result<()> {
        let names = profile.display_names();
        let is_for_scripts = self.json || self.csv;
        let places = Places::new(profile, path, &self.shown.symbols, self.lines.source_root());
        let wanted = match self.lines.wanted(&places, path, is_for_scripts)? {
            Some(lines) => lines,
            None => self.shown.wanted(profile, &names)?,
        };
        let (view, count) = self.shown.view(profile, &wanted, &names, is_for_scripts);
        if self.json {
            return print_json(&document(profile, &view));
        }
        if self.csv {
            let mut out = Terminal::text();
            view.csv(&mut out)?;
            return Ok(out.close()?);
        }
        self.shown.print_view(profile, &view, count, Terminal::painted(colour_report))
    }
}

impl ShownArgs {
    /// Reads a profile, or one of its phases.
    pub(crate) fn read(&self, path: &Path) -> anyhow::Result<Profile> {
        Ok(self.naming().read(path, self.phase.as_deref())?)
    }

    /// Reads a profile with all its phases. A phase has none itself.
    pub(crate) fn read_all(&self, path: &Path) -> anyhow::Result<(Profile, Vec<(String, Profile)>)> {
        if self.phase.is_some() {
            return Ok((self.read(path)?, Vec::new()));
        }
        Ok(self.naming().read_all(path, &profiles::open(path)?)?)
    }

    fn naming(&self) -> Naming<'_> {
        Naming { symbols: &self.symbols, raw: self.raw }
    }

    /// Prints captured calls.
    pub(crate) fn print_calls(&self, calls: &CallArgs, path: &Path, how: Calls) -> anyhow::Result<()> {
        let profile = profiles::read(path, self.phase.as_deref())?;
        let limit = self.limit.unwrap_or(if matches!(how, Calls::Json) { 0 } else { DEFAULT_LIMIT });
        calls.print(path, &profile, self.view.method.as_ref(), limit, how)
    }

    /// Writes the page of a profile and its phases.
    pub(crate) fn write_page(
        &self,
        profile: &Profile,
        phases: &[(String, Profile)],
        [path, page]: [&Path; 2],
        source_root: Option<&Path>,
    ) -> anyhow::Result<()> {
        let is_meant = |profile: &Profile| {
            let names = profile.display_names();
            (0..profile.functions.len()).map(|function| self.is_kept(profile, &names, function)).collect()
        };
        let patterns = self.filter.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let written = match &*self.filter {
            [] => Page::report(profile, phases),
            _ => Page::filtered(profile, phases, &Filter { text: patterns, is_meant: &is_meant }),
        };
        let places = Places::new(profile, path, &self.symbols, source_root);
        let written = written.with_lines(profile, &for_page(&places));
        output::write(page, &[path], |out| Ok(written.write(out)?))
    }

    /// Writes what is shown as JSON.
    pub(crate) fn write_json(&self, profile: &Profile, path: &Path, file: &Path) -> anyhow::Result<()> {
        let names = profile.display_names();
        let (view, _) = self.view(profile, &self.wanted(profile, &names)?, &names, true);
        output::write(file, &[path], |out| Ok(serde_json::to_writer_pretty(out, &document(profile, &view))?))
    }

    /// Prints it as text.
    pub(crate) fn print(&self, profile: &Profile, out: Terminal) -> anyhow::Result<()> {
        let names = profile.display_names();
        let (view, count) = self.view(profile, &self.wanted(profile, &names)?, &names, false);
        self.print_view(profile, &view, count, out)
    }

    fn print_view(&self, profile: &Profile, view: &View<'_>, count: usize, mut out: Terminal) -> anyhow::Result<()> {
        let phase = self.phase.as_ref().map(|name| format!("phase {}: ", Visible(name))).unwrap_or_default();
        let text = TextOptions { columns: self.columns.clone(), bars: Terminal::is_seen(), sort: self.sort };
        if profile.functions.is_empty() {
            complain("note: the profile is empty: no instrumented method was called, or no sample was taken");
        } else if matches!(view, View::Methods(_)) {
            say_unknown(self.sort.metric(), |metric| {
                metric.is_of(profile) && profile.rows(self.sort).iter().any(|row| metric.value(row).is_some())
            });
        }
        out.write_all((phase + &head(profile) + &view.text(profile, count, &text)).as_bytes())?;
        Ok(out.close()?)
    }

    /// The requested view, for people or for scripts, and its number of rows.
    fn view<'n>(&self, profile: &'n Profile, wanted: &Wanted, names: &'n [String], is_for_scripts: bool) -> (View<'n>, usize) {
        let has_limit = !matches!(wanted, Wanted::Tree | Wanted::Files { .. } | Wanted::Uncovered { .. } | Wanted::Source { .. });
        let default_limit = if has_limit && !is_for_scripts { DEFAULT_LIMIT } else { usize::MAX };
        let options = ViewOptions {
            sort: self.sort,
            limit: self.limit.map_or(default_limit, |limit| if limit == 0 { usize::MAX } else { limit }),
            min_percent: self.min_percent.unwrap_or(if is_for_scripts { 0.0 } else { 0.1 }),
            fold_recursion: self.fold_recursion || !self.no_fold_recursion,
            by_thread: self.view.threads,
        };
        view(profile, wanted, &options, names, &|function| self.is_kept(profile, names, function))
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
            _ if profile.has_lines_alone() => Wanted::Files { folder: current_source_folder(profile) },
            _ => Wanted::Methods,
        })
    }
}
