//! The columns of tables, each stated once.

use std::{fmt::Write, str::FromStr};

use super::short_time;
use crate::{
    model::{Mode, Profile, SampleType},
    report::{Row, SortBy},
};

/// What stands in a cell.
enum Cell {
    Count(u64),
    /// In milliseconds, as such.
    Time(f64),
    /// In milliseconds, in a unit that suits it.
    Short(f64),
    Percent(f64),
    None,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $head:literal, $width:literal, $cell:expr;)*) => {
        /// A column of the table of methods.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Column { $($(#[$doc])* $variant,)* }

        impl Column {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// What `--columns` calls it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn head(self) -> (&'static str, usize) {
                match self { $(Self::$variant => ($head, $width),)* }
            }

            fn cell(self, row: &Row<'_>) -> Cell {
                let cell: fn(&Row<'_>) -> Cell = match self { $(Self::$variant => $cell,)* };
                cell(row)
            }
        }
    };
}
columns! {
    /// How often it was called.
    Calls = "calls", "calls", 10, |row| Cell::Count(row.calls);
    /// Running in it alone.
    SelfTime = "self", "self ms", 10, |row| Cell::Time(row.self_ms);
    /// The same in percent of all that ran.
    SelfPercent = "self%", "self %", 6, |row| Cell::Percent(row.self_percent);
    /// Running, with callees.
    Total = "total", "total ms", 10, |row| Cell::Time(row.total_ms);
    /// The same in percent of all that ran.
    TotalPercent = "total%", "total%", 6, |row| Cell::Percent(row.total_percent);
    /// Waiting, with callees.
    Waiting = "waiting", "waiting ms", 10, |row| Cell::Time(row.waiting_ms);
    /// Running and waiting by calls.
    Average = "average", "average", 8, |row| Cell::Short(row.average_ms);
    /// The shortest but for the first.
    Min = "min", "min", 8, |row| short(row.min_ms);
    /// The median.
    P50 = "p50", "p50", 8, |row| short(row.p50_ms);
    /// What 95 % did not exceed.
    P95 = "p95", "p95", 8, |row| short(row.p95_ms);
    /// What 99 % did not exceed.
    P99 = "p99", "p99", 8, |row| short(row.p99_ms);
    /// The longest but for the first.
    Max = "max", "max", 8, |row| short(row.max_ms);
    /// The first.
    First = "first", "first", 8, |row| short(row.first_ms);
    /// Of an async method: from start to completion.
    Latency = "latency", "latency", 8, |row| short(row.latency_ms);
    /// Its 95 %.
    LatencyP95 = "latency-p95", "p95", 8, |row| short(row.latency_p95_ms);
    /// Of an async method: how long its steps took.
    Steps = "running", "running ms", 10, |row| row.steps_ms.map_or(Cell::None, Cell::Time);
    /// Of an async method: the rest.
    Awaiting = "awaiting", "awaiting ms", 11, |row| row.awaiting_ms.map_or(Cell::None, Cell::Time);
    /// Of an async method: how many of its calls an exception or a cancellation ended.
    Failures = "failures", "failures", 8, |row| row.faulted.map_or(Cell::None, Cell::Count);
    /// How many exceptions left it.
    Exceptions = "exceptions", "exceptions", 10, |row| Cell::Count(row.exceptions);
    /// CPU time in it alone.
    Cpu = "cpu", "CPU ms", 10, |row| row.cpu_ms.map_or(Cell::None, Cell::Time);
    /// How often a sampler saw it.
    Samples = "samples", "samples", 8, |row| row.samples.map_or(Cell::None, Cell::Count);
}

fn short(milliseconds: Option<f64>) -> Cell {
    milliseconds.map_or(Cell::None, Cell::Short)
}

impl Column {
    /// The columns of the table of async methods.
    pub(super) const OF_ASYNC: &[Self] =
        &[Self::Calls, Self::Latency, Self::LatencyP95, Self::Steps, Self::Awaiting, Self::Failures];

    /// Those that have something to say of these rows, in a width that terminals have, and what they are sorted by.
    pub(super) fn suitable(profile: &Profile, rows: &[Row<'_>], sort: SortBy) -> Vec<Self> {
        let mut columns = vec![Self::Calls];
        if profile.mode == Mode::Count {
            return columns;
        }
        columns.extend([Self::SelfTime, Self::SelfPercent, Self::Total, Self::TotalPercent]);
        columns.extend((profile.sum(SampleType::WAITING) > 0).then_some(Self::Waiting));
        columns.push(Self::Average);
        columns.extend(rows.iter().any(|row| row.p95_ms.is_some() && !row.is_async).then_some(Self::P95));
        columns.extend(rows.iter().any(|row| row.first_ms.is_some() && !row.is_async).then_some(Self::First));
        columns.extend((profile.mode == Mode::Sampled).then_some(Self::Samples));
        let sorted = Self::ALL.iter().find(|column| column.name() == sort.name());
        let has = |column: Self| rows.iter().any(|row| !matches!(column.cell(row), Cell::None));
        if let Some(sorted) = sorted.filter(|column| !columns.contains(column) && has(**column)) {
            columns.push(*sorted);
        }
        columns
    }

    pub(super) fn write_head(self, text: &mut String) {
        let (head, width) = self.head();
        let _ = write!(text, "{}{head:>width$}", gap(text));
    }

    pub(super) fn write(self, row: &Row<'_>, text: &mut String) {
        let (_, width) = self.head();
        text.push_str(gap(text));
        let _ = match self.cell(row) {
            Cell::Count(count) => write!(text, "{count:>width$}"),
            Cell::Time(time) => write!(text, "{time:>width$.3}"),
            Cell::Short(time) => write!(text, "{:>width$}", short_time(time)),
            Cell::Percent(percent) => write!(text, "{percent:>width$.2}"),
            Cell::None => write!(text, "{:>width$}", ""),
        };
    }
}

/// What stands before a cell.
fn gap(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with('\n') { "" } else { " " }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|column| column.name() == name).copied();
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|column| column.name()).collect();
            format!("no column; there are {}", names.join(", "))
        })
    }
}
