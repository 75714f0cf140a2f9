//! Threads, groups, callers and callees as text.

use std::fmt::{Display, Write};

use names::Visible;
use profile::Profile;

use super::{
    bar::{Bar, rough_time, size},
    options::TextOptions,
};
use crate::views::{EdgeRow, GroupRow, Relation, ThreadRow};

/// A column of numbers of calls. It is not there if none were counted.
struct Calls {
    is_shown: bool,
    width: usize,
}

impl Calls {
    fn new(mut calls: impl Iterator<Item = i64>, width: usize) -> Self {
        Self { is_shown: calls.any(|calls| calls > 0), width }
    }

    fn cell(&self, value: impl Display) -> String {
        if self.is_shown { format!(" {value:>width$}", width = self.width) } else { String::new() }
    }
}

/// Columns of bytes. They are not there if none were counted.
struct Bytes {
    are_counted: bool,
}

impl Bytes {
    fn head(&self, name: &str) -> String {
        if self.are_counted { format!(" {name:>10}") } else { String::new() }
    }

    fn cell(&self, bytes: Option<u64>) -> String {
        self.head(&bytes.map(size).unwrap_or_default())
    }
}

/// Writes the running, waiting and CPU time of threads.
pub(super) fn threads(profile: &Profile, rows: &[ThreadRow], options: &TextOptions, text: &mut String) {
    let (head, all) = (Bar::head(options.bars), profile.milliseconds(profile.running()));
    let calls = Calls::new(rows.iter().map(|row| row.calls), 12);
    let _ = write!(text, "{:>12} {:>7} {:>12} {:>12}", "running ms", "%", "waiting ms", "CPU ms");
    let bytes = Bytes { are_counted: rows.iter().any(|row| row.bytes.is_some()) };
    let _ = writeln!(text, "{}{}{head}  thread", calls.cell("calls"), bytes.head("bytes"));
    for row in rows {
        let cpu = row.cpu_ms.map(|cpu| format!("{cpu:.3}")).unwrap_or_default();
        let [running, percent] = rough_time(row.running_ms, row.running_uncertainty_ms, false, row.running_percent, all);
        let _ = write!(text, "{running:>12} {percent:>7} {:>12.3} {cpu:>12}{}", row.waiting_ms, calls.cell(row.calls));
        let bar = Bar(options.bars, row.running_percent);
        let _ = writeln!(text, "{}{bar}  {}", bytes.cell(row.bytes), Visible(&row.name));
    }
}

/// Writes the times of groups of methods.
pub(super) fn groups(profile: &Profile, rows: &[GroupRow], are_assemblies: bool, options: &TextOptions, text: &mut String) {
    let (head, noun) = (Bar::head(options.bars), if are_assemblies { "assembly" } else { "group" });
    let running = profile.milliseconds(profile.running());
    let calls = Calls::new(rows.iter().map(|row| row.calls), 10);
    let _ = write!(text, "{:>8}{} {:>10} {:>6} ", "methods", calls.cell("calls"), "self ms", "self %");
    let _ = write!(text, "{:>10} {:>6} ", "total ms", "total%");
    let bytes = Bytes { are_counted: rows.iter().any(|row| row.self_bytes.is_some()) };
    let (own, all) = (bytes.head("self bytes"), bytes.head("all bytes"));
    let _ = writeln!(text, "{:>10}{own}{all}{head}  {noun}", "waiting ms");
    for row in rows {
        let _ = write!(text, "{:>8}{}", row.methods, calls.cell(row.calls));
        for (time, uncertainty, percent) in [
            (row.self_ms, row.self_uncertainty_ms, row.self_percent),
            (row.total_ms, row.total_uncertainty_ms, row.total_percent),
        ] {
            let [time, percent] = rough_time(time, uncertainty, row.is_counted(), percent, running);
            let _ = write!(text, " {time:>10} {percent:>6}");
        }
        let _ = write!(text, " {:>10.3}", row.waiting_ms);
        let (own, all) = (bytes.cell(row.self_bytes), bytes.cell(row.total_bytes));
        let _ = writeln!(text, "{own}{all}{}  {}", Bar(options.bars, row.self_percent), Visible(&row.name));
    }
}

/// Writes the callers or the callees of a method with this running time.
pub(super) fn edges(rows: &[EdgeRow<'_>], method_ms: f64, relation: Relation, text: &mut String) {
    let noun = match relation {
        Relation::Caller => "called by",
        Relation::Callee => "calls",
    };
    let calls = Calls::new(rows.iter().map(|row| row.calls), 12);
    let _ = write!(text, "{:>7} {:>12} {:>12}", "total %", "total ms", "waiting ms");
    let bytes = Bytes { are_counted: rows.iter().any(|row| row.total_bytes.is_some()) };
    let _ = writeln!(text, "{}{}  {noun}", calls.cell("calls"), bytes.head("all bytes"));
    for row in rows {
        let [total, percent] = rough_time(row.total_ms, row.total_uncertainty_ms, row.is_counted(), row.total_percent, method_ms);
        let _ = write!(text, "{percent:>7} {total:>12} {:>12.3}{}", row.waiting_ms, calls.cell(row.calls));
        let _ = writeln!(text, "{}  {}", bytes.cell(row.total_bytes), Visible(row.name));
    }
}
