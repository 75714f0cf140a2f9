//! Views as text and as CSV.

use std::{fmt::Write, io};

use names::Visible;
use profile::{Profile, counted, model::Mode, rows::Row};

use super::{bar::Bar, columns::Column, lines, lists, options::TextOptions, tree};
use crate::{
    csv,
    views::{EdgeRow, MethodRows, Relation, View},
};

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
                        lists::edges(own, row.total_ms, relation, &mut text);
                    }
                    text.push('\n');
                }
                text.pop();
            }
            Self::Threads(rows) => lists::threads(profile, rows, options, &mut text),
            Self::Groups(rows) | Self::Assemblies(rows) => {
                lists::groups(profile, rows, matches!(self, Self::Assemblies(_)), options, &mut text);
            }
            Self::Files(rows) => lines::files(rows, profile, options, &mut text),
            Self::Uncovered(rows) => lines::uncovered(rows, &mut text),
            Self::Source(rows) => lines::source(rows, &mut text),
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
            Self::Files(rows) => csv::write(rows, out),
            Self::Uncovered(rows) => csv::write(rows, out),
            Self::Source(rows) => csv::write(rows, out),
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
            Self::Files(rows) => rows.len(),
            Self::Uncovered(rows) => rows.len(),
            Self::Source(rows) => rows.len(),
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
            Self::Files(_) => "file",
            Self::Uncovered(_) => "row",
            Self::Source(_) => "line",
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

/// Returns the remark on a row whose calls were only counted.
pub(crate) fn reason_without_times(row: &Row<'_>) -> &'static str {
    if row.is_runtime_async { "runtime-async: counted, not timed" } else { "counted; its time is in its callers" }
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
        let _ = write!(text, "  ({})", reason_without_times(row));
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
