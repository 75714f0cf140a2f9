//! A profile for people: what ran, tables of functions and of threads.

mod columns;
mod threads;
mod tree;

use std::fmt::Write;

use identity::Visible;

pub use self::{columns::Column, tree::TreeOptions};
use crate::{
    model::{Mode, Profile, SampleType},
    report::{Row, SortBy},
};

impl Profile {
    /// What ran, what is missing of it, and what the numbers cannot tell.
    pub fn head(&self) -> String {
        let (milliseconds, threads) = (self.milliseconds(self.duration), counted(self.threads(), "thread"));
        let (program, runtime, pid) = (Visible(&self.program), Visible(&self.runtime), self.pid);
        let paused = if self.is_paused { ", paused" } else { "" };
        let mut text = format!("{program} (process {pid}) on {runtime}: {milliseconds:.1} ms, {threads}, {}{paused}\n", self.end);
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
        let limits = self.limits();
        if !limits.is_empty() {
            let _ = writeln!(text, "note: {}", limits.join("; "));
        }
        text
    }

    /// The table as text: `limit` rows at most; below it, one of async methods.
    pub fn table(&self, sort: SortBy, limit: usize) -> String {
        let rows = self.rows(sort);
        self.table_of(&rows, &Column::suitable(self, &rows), limit)
    }

    /// The table as text, with these columns.
    pub fn table_with(&self, columns: &[Column], sort: SortBy, limit: usize) -> String {
        self.table_of(&self.rows(sort), columns, limit)
    }

    fn table_of(&self, rows: &[Row<'_>], columns: &[Column], limit: usize) -> String {
        let mut text = String::new();
        columns.iter().for_each(|column| column.write_head(&mut text));
        let _ = writeln!(text, "  method");
        for row in rows.iter().take(limit) {
            columns.iter().for_each(|column| column.write(row, &mut text));
            let _ = writeln!(text, " {}{}{}", if row.mostly_probe { '~' } else { ' ' }, Visible(&row.name), remarks(row));
        }
        if rows.len() > limit {
            let _ = writeln!(text, "{:>10} and {} methods more; --limit 0 shows all", "", rows.len() - limit);
        }
        let mut asyncs: Vec<&Row<'_>> = rows.iter().filter(|row| row.latency_ms.is_some()).collect();
        if !asyncs.is_empty() {
            let all = |row: &Row<'_>| row.awaiting_ms.unwrap_or_default() + row.steps_ms.unwrap_or_default();
            asyncs.sort_by(|one, other| all(other).total_cmp(&all(one)));
            text.push('\n');
            Column::OF_ASYNC.iter().for_each(|column| column.write_head(&mut text));
            let _ = writeln!(text, "  async method");
            for row in asyncs.iter().take(limit) {
                Column::OF_ASYNC.iter().for_each(|column| column.write(row, &mut text));
                let _ = writeln!(text, "  {}{}", Visible(&row.name), remarks(row));
            }
        }
        text
    }
}

/// What is said behind a row's name.
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
    if row.muted {
        text.push_str("  (counted only)");
    }
    if row.exceptions > 0 {
        let kind = row.exception_type.map(|kind| format!(": {}", Visible(kind))).unwrap_or_default();
        let _ = write!(text, "  ({}{kind})", counted(row.exceptions, "exception"));
    }
    text
}

/// `1 thread`, `2 threads`
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A time as people say it: `28 ns`, `1.25 us`, `13.8 ms`, `2.10 s`.
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
