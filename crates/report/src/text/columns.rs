//! The columns of tables, each stated once.

use std::{fmt::Write, str::FromStr};

use profile::{
    Profile, SampleType,
    model::Mode,
    rows::{Row, SortBy},
};

use super::bar::{UNKNOWN, rough, short_time, size};

/// The content of a cell.
enum Cell {
    Count(u64),
    /// A time, shown in milliseconds.
    Time(f64),
    /// A time in milliseconds, and its possible error.
    Rough(f64, f64),
    /// A time in milliseconds, shown in a suitable unit.
    Short(f64),
    /// A share in percent, and its possible error.
    Percent(f64, f64),
    /// A number of bytes, shown in a suitable unit.
    Size(u64),
    /// A value that is part of another row's.
    Unknown,
    None,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $head:literal, $width:literal, $cell:expr;)*) => {
        /// A column of the table of methods.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Column { $($(#[$doc])* $variant,)* }

        impl Column {
            /// All columns.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns its name for `--columns`.
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
    /// Number of calls.
    Calls = "calls", "calls", 10, |row| Cell::Count(row.calls);
    /// Running time in the method alone.
    SelfTime = "self", "self ms", 10, |row| own(row, Cell::Rough(row.self_ms, row.self_uncertainty_ms));
    /// Possible error of that time.
    Uncertainty = "uncertainty", "+/- ms", 10, |row| own(row, Cell::Time(row.self_uncertainty_ms));
    /// Running time in the method alone, in percent of the profile's.
    SelfPercent = "self%", "self %", 6, |row| own(row, percent(row.self_percent, row.self_uncertainty_ms, row));
    /// Running time with callees.
    Total = "total", "total ms", 10, |row| with_callees(row, Cell::Rough(row.total_ms, row.total_uncertainty_ms));
    /// Running time with callees, in percent of the profile's.
    TotalPercent = "total%", "total%", 6, |row| with_callees(row, percent(row.total_percent, row.total_uncertainty_ms, row));
    /// Waiting time with callees.
    Waiting = "waiting", "waiting ms", 10, |row| Cell::Time(row.waiting_ms);
    /// Running and waiting time per call.
    Average = "average", "average", 8, |row| if row.calls == 0 { Cell::None } else { own(row, Cell::Short(row.average_ms)) };
    /// Time of the shortest call after the first.
    Min = "min", "min", 8, |row| short(row.min_ms);
    /// Median time of a call.
    P50 = "p50", "p50", 8, |row| short(row.p50_ms);
    /// The 95th percentile of a call's time.
    P95 = "p95", "p95", 8, |row| short(row.p95_ms);
    /// The 99th percentile of a call's time.
    P99 = "p99", "p99", 8, |row| short(row.p99_ms);
    /// Time of the longest call after the first.
    Max = "max", "max", 8, |row| short(row.max_ms);
    /// Time of the first call.
    First = "first", "first call", 10, |row| short(row.first_ms);
    /// Async methods: time from start to completion.
    Latency = "latency", "latency", 8, |row| short(row.latency_ms);
    /// Async methods: the 95th percentile of that time.
    LatencyP95 = "latency-p95", "p95", 8, |row| short(row.latency_p95_ms);
    /// Async methods: time of the steps.
    Steps = "running", "running ms", 10, |row| row.steps_ms.map_or(Cell::None, Cell::Time);
    /// Async methods: suspended time.
    Awaiting = "suspended", "suspended ms", 12, |row| row.awaiting_ms.map_or(Cell::None, Cell::Time);
    /// Of an async method: how many of its calls an exception or a cancellation ended.
    Failures = "failures", "failures", 8, |row| row.faulted.map_or(Cell::None, Cell::Count);
    /// How many exceptions left it.
    Exceptions = "exceptions", "exceptions", 10, |row| Cell::Count(row.exceptions);
    /// CPU time in the method alone.
    Cpu = "cpu", "CPU ms", 10, |row| row.cpu_ms.map_or(Cell::None, Cell::Time);
    /// Number of samples.
    Samples = "samples", "samples", 8, |row| row.samples.map_or(Cell::None, Cell::Count);
    /// Bytes that the method alone allocated.
    Bytes = "bytes", "self bytes", 10, |row| row.self_bytes.map_or(Cell::None, Cell::Size);
    /// Bytes that the method and its callees allocated.
    TotalBytes = "total-bytes", "all bytes", 10, |row| row.total_bytes.map_or(Cell::None, Cell::Size);
}

/// The time of a method alone is not known if its calls are only counted.
fn own(row: &Row<'_>, time: Cell) -> Cell {
    if row.is_counted() { Cell::Unknown } else { time }
}

/// The time of a method whose calls are only counted is that of its callees, if they have any.
fn with_callees(row: &Row<'_>, time: Cell) -> Cell {
    if row.is_counted() && row.total_ms == 0.0 { Cell::Unknown } else { time }
}

/// A share of the running time, whose possible error is given in milliseconds.
fn percent(percent: f64, uncertainty_ms: f64, row: &Row<'_>) -> Cell {
    let percent_of_ms = if row.total_ms > 0.0 { row.total_percent / row.total_ms } else { 0.0 };
    Cell::Percent(percent, uncertainty_ms * percent_of_ms)
}

fn short(milliseconds: Option<f64>) -> Cell {
    milliseconds.map_or(Cell::None, Cell::Short)
}

impl Column {
    /// The columns of the table of async methods.
    pub(super) const OF_ASYNC: &[Self] =
        &[Self::Calls, Self::Latency, Self::LatencyP95, Self::Steps, Self::Awaiting, Self::Failures];

    /// Returns the columns that have values in these rows and fit a terminal's width, and the sorted column.
    pub(super) fn suitable(profile: &Profile, rows: &[Row<'_>], sort: SortBy) -> Vec<Self> {
        let mut columns = Vec::new();
        columns.extend(profile.mode.has_calls().then_some(Self::Calls));
        if profile.mode == Mode::Count {
            return columns;
        }
        columns.extend([Self::SelfTime, Self::SelfPercent, Self::Total, Self::TotalPercent]);
        columns.extend((profile.sum(SampleType::WAITING) > 0).then_some(Self::Waiting));
        columns.extend(profile.mode.has_calls().then_some(Self::Average));
        columns.extend(rows.iter().any(|row| row.p95_ms.is_some() && !row.is_async).then_some(Self::P95));
        columns.extend(rows.iter().any(|row| row.first_ms.is_some() && !row.is_async).then_some(Self::First));
        columns.extend(profile.mode.has_samples().then_some(Self::Samples));
        columns.extend(profile.has(SampleType::ALLOCATED).then_some([Self::Bytes, Self::TotalBytes]).into_iter().flatten());
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
            Cell::Rough(time, uncertainty) => write!(text, "{:>width$}", rough(time, uncertainty, 3)),
            Cell::Short(time) => write!(text, "{:>width$}", short_time(time)),
            Cell::Percent(percent, uncertainty) => write!(text, "{:>width$}", rough(percent, uncertainty, 2)),
            Cell::Size(bytes) => write!(text, "{:>width$}", size(bytes)),
            Cell::Unknown => write!(text, "{UNKNOWN:>width$}"),
            Cell::None => write!(text, "{:>width$}", ""),
        };
    }
}

/// Returns the separator in front of a cell.
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
