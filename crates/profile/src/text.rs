//! A profile as text: a summary, and tables of functions and threads.

mod columns;
mod lists;
mod tree;

use std::{
    fmt::{self, Write},
    io,
};

use names::Visible;

pub use self::columns::Column;
use crate::{
    csv,
    model::{End, Mode, Profile, SampleType},
    report::{Row, SortBy},
    views::{EdgeRow, MethodRows, Relation, View},
};

impl Profile {
    /// Returns the summary of the run, its losses, and the limits of its numbers.
    pub fn head(&self) -> String {
        let (milliseconds, threads) = (self.milliseconds(self.duration), counted(self.threads(), "thread"));
        let (program, runtime, pid) = (Visible(&self.program), Visible(&self.runtime), self.pid);
        let paused = if self.is_paused { ", paused" } else { "" };
        let end = match (self.processes, self.end) {
            (..=1, end) => end.to_string(),
            (_, End::Clean) => "all ended cleanly".into(),
            (_, End::UnhandledException) => "some ended by an unhandled exception".into(),
            (_, End::Running | End::Unknown) => "some were cut off, or run still".into(),
        };
        let process = if self.processes > 1 { counted(self.processes, "process") } else { format!("process {pid}") };
        let mut text = format!("{program} ({process}) on {runtime}: {milliseconds:.1} ms, {threads}, {end}{paused}\n");
        if self.mode != Mode::Count {
            let time = |sample_type| self.milliseconds(self.sum(sample_type));
            let (running, waiting) = (self.milliseconds(self.running()), time(SampleType::WAITING));
            let _ = write!(text, "threads: {running:.1} ms running");
            if self.has(SampleType::WAITING) {
                let _ = write!(text, ", {waiting:.1} ms waiting");
            }
            if let Some(cpu) = self.cpu_ns {
                let _ = write!(text, "; {:.1} ms of CPU time", cpu as f64 / 1e6);
            }
            text.push('\n');
        }
        if self.events > 0 {
            let _ = writeln!(text, "events: {}", self.events);
        }
        if !self.phases.is_empty() {
            let _ = writeln!(text, "phases: {} (--phase)", Visible(self.phases.join(", ")));
        }
        if let Some(damage) = &self.damage {
            let _ = writeln!(text, "warning ILI0007: the file is damaged, and what follows is all that it holds: {damage}");
        }
        if self.lost_calls() > 0 {
            let (lost, limit) = (counted(self.lost_calls(), "call"), self.max_nodes);
            let set = "ILINST_MAX_NODES sets another limit";
            let _ =
                writeln!(text, "warning ILI0021: not recorded: {lost}, as the call tree is limited to {limit} call paths; {set}");
        }
        if self.bad_tokens() > 0 {
            let bad = counted(self.bad_tokens(), "token");
            let _ = writeln!(
                text,
                "warning ILI0022: passed over: {bad} of probes, as they are of no call that was open on their thread"
            );
        }
        for limit in self.limits() {
            let _ = writeln!(text, "note: {limit}");
        }
        text
    }
}

/// Options for writing a view as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextOptions {
    /// The columns of the table of methods; empty for all that have values.
    pub columns: Vec<Column>,
    /// Whether to draw bars for percentages.
    pub bars: bool,
    /// The sort order, whose metric gets a column.
    pub sort: SortBy,
}

impl View<'_> {
    /// Returns the view as text; `count` is the number of rows without a limit.
    pub fn text(&self, profile: &Profile, count: usize, options: &TextOptions) -> String {
        let mut text = String::new();
        match self {
            Self::Tree(_) | Self::HotPath(_) if profile.mode == Mode::Count => {
                return "there is no call tree: only calls were counted (ILINST_MODE=count)\n".into();
            }
            Self::Methods(rows) => {
                methods(profile, &rows.all, options, &mut text);
                self.write_rest(count, &mut text);
                async_methods(rows, &mut text);
            }
            Self::Tree(rows) => tree::write(profile, rows, options, &mut text),
            Self::HotPath(rows) => tree::write(profile, rows, options, &mut text),
            Self::Method { methods: rows, edges } => {
                let columns = Column::suitable(profile, rows, options.sort);
                // The edges are in the order of the methods, callers before callees.
                let mut rest = &edges[..];
                for row in rows {
                    table(profile, std::slice::from_ref(row), &columns, options, &mut text);
                    for relation in [Relation::Caller, Relation::Callee] {
                        let is_own = |edge: &EdgeRow<'_>| edge.method == row.name && edge.relation == relation;
                        let count = rest.iter().position(|edge| !is_own(edge)).unwrap_or(rest.len());
                        let (own, behind) = rest.split_at(count);
                        rest = behind;
                        text.push('\n');
                        lists::edges(own, relation, &mut text);
                    }
                    text.push('\n');
                }
                text.pop();
            }
            Self::Threads(rows) => lists::threads(rows, options, &mut text),
            Self::Groups(rows) | Self::Assemblies(rows) => {
                lists::groups(rows, matches!(self, Self::Assemblies(_)), options, &mut text);
            }
        }
        if !matches!(self, Self::Methods(_)) {
            self.write_rest(count, &mut text);
        }
        text
    }

    /// Writes the view as CSV; for a method, its callers and callees.
    ///
    /// # Errors
    /// If writing fails.
    pub fn csv(&self, out: impl io::Write) -> io::Result<()> {
        match self {
            Self::Methods(rows) => csv::write(&rows.all, out),
            Self::Tree(rows) | Self::HotPath(rows) => csv::write(rows, out),
            Self::Method { edges, .. } => csv::write(edges, out),
            Self::Threads(rows) => csv::write(rows, out),
            Self::Groups(rows) | Self::Assemblies(rows) => csv::write(rows, out),
        }
    }

    /// Writes the number of omitted rows.
    fn write_rest(&self, count: usize, text: &mut String) {
        write_rest(count, self.len(), self.noun(), text);
    }

    fn len(&self) -> usize {
        match self {
            Self::Methods(rows) => rows.all.len(),
            Self::Tree(rows) | Self::HotPath(rows) => rows.len(),
            Self::Method { edges, .. } => edges.len(),
            Self::Threads(rows) => rows.len(),
            Self::Groups(rows) | Self::Assemblies(rows) => rows.len(),
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Methods(_) => "method",
            Self::Tree(_) | Self::HotPath(_) => "path",
            Self::Method { .. } => "row",
            Self::Threads(_) => "thread",
            Self::Groups(_) => "group",
            Self::Assemblies(_) => "assembly",
        }
    }
}

/// Writes the table of methods.
fn methods(profile: &Profile, rows: &[Row<'_>], options: &TextOptions, text: &mut String) {
    let suitable;
    let columns = if options.columns.is_empty() {
        suitable = Column::suitable(profile, rows, options.sort);
        &suitable
    } else {
        &options.columns
    };
    table(profile, rows, columns, options, text);
}

/// The table of those that are async.
fn async_methods(MethodRows { of_async, async_count, .. }: &MethodRows<'_>, text: &mut String) {
    if of_async.is_empty() {
        return;
    }
    text.push('\n');
    Column::OF_ASYNC.iter().for_each(|column| column.write_head(text));
    let _ = writeln!(text, "  async method");
    for row in of_async {
        Column::OF_ASYNC.iter().for_each(|column| column.write(row, text));
        let _ = writeln!(text, "  {}{}", Visible(&row.name), remarks(row));
    }
    write_rest(*async_count, of_async.len(), "async method", text);
}

/// How many rows were left out.
fn write_rest(count: usize, shown: usize, noun: &str, text: &mut String) {
    let left_out = count.saturating_sub(shown) as u64;
    if left_out > 0 {
        let _ = writeln!(text, "{:>10} and {} more; --limit 0 shows all", "", counted(left_out, noun));
    }
}

fn table(profile: &Profile, rows: &[Row<'_>], columns: &[Column], options: &TextOptions, text: &mut String) {
    let bars = options.bars && profile.mode != Mode::Count;
    columns.iter().for_each(|column| column.write_head(text));
    let _ = writeln!(text, "{}  method", Bar::head(bars));
    for row in rows {
        columns.iter().for_each(|column| column.write(row, text));
        let (bar, mark) = (Bar(bars, row.self_percent), if row.mostly_probe { '~' } else { ' ' });
        let _ = writeln!(text, "{bar} {mark}{}{}", Visible(&row.name), remarks(row));
    }
}

/// A bar for a percentage, behind a blank; nothing if bars are off.
struct Bar(bool, f64);

impl Bar {
    const WIDTH: usize = 10;

    fn head(is_drawn: bool) -> &'static str {
        if is_drawn { "           " } else { "" }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0 {
            return Ok(());
        }
        // Blocks in steps of an eighth of a cell.
        const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let eighths = (self.1.clamp(0.0, 100.0) / 100.0 * (8 * Self::WIDTH) as f64).round() as usize;
        let bar = "█".repeat(eighths / 8) + PARTS.get(eighths % 8).copied().unwrap_or_default();
        write!(f, " {bar:<width$}", width = Self::WIDTH)
    }
}

/// Returns the remarks behind a row's name.
fn remarks(row: &Row<'_>) -> String {
    let mut text = String::new();
    if row.waits {
        text.push_str("  [waits]");
    }
    if row.open > 0 {
        text.push_str("  (still running)");
    }
    if let Some(pending) = row.pending.filter(|pending| *pending > 0) {
        let _ = write!(text, "  ({pending} not complete)");
    }
    if row.is_counted() {
        text.push_str("  (counted; its time is in its callers)");
    } else if row.counted > 0 {
        let _ = write!(text, "  ({} of {} counted only)", row.counted, counted(row.calls, "call"));
    }
    if row.exceptions > 0 {
        let kind = row.exception_type.map(|kind| format!(": {}", Visible(kind))).unwrap_or_default();
        let _ = write!(text, "  ({}{kind})", counted(row.exceptions, "exception"));
    }
    // A lambda's name already states the place.
    if let (Some(file), Some(line)) = (row.file, row.line)
        && !row.name.contains("[lambda at ")
    {
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        let _ = write!(text, "  {}:{line}", Visible(file));
    }
    text
}

/// Returns a number with its noun: `1 thread`, `2 threads`, `2 assemblies`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None if noun.ends_with('s') => format!("{number} {noun}es"),
        None => format!("{number} {noun}s"),
    }
}

/// Returns a time in a suitable unit: `28 ns`, `1.25 us`, `13.8 ms`, `2.10 s`.
pub(crate) fn short_time(milliseconds: f64) -> String {
    let units = [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let fits = units.iter().rev().find(|(_, unit)| milliseconds >= *unit);
    let (name, unit) = fits.unwrap_or(&units[0]);
    let value = milliseconds / unit;
    match value {
        _ if *name == "ns" => format!("{value:.0} {name}"),
        0.0..10.0 => format!("{value:.2} {name}"),
        10.0..100.0 => format!("{value:.1} {name}"),
        _ => format!("{value:.0} {name}"),
    }
}
