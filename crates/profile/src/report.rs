//! The table of functions, whoever prints it.

use std::cmp::Ordering;

use serde::Serialize;

use crate::model::{Profile, SampleType};

/// What a table can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SortBy {
    /// Time in the method alone.
    #[default]
    SelfTime,
    /// Time with callees.
    Total,
    /// Number of calls.
    Calls,
    /// Name.
    Name,
}

/// A function in the table. Times are in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'p> {
    /// Its name as a person would say it.
    pub name: String,
    /// Its name in metadata: `Namespace.Type::Method`; none if the program could not tell it.
    pub raw_name: Option<String>,
    /// Its token in its module.
    pub token: String,
    /// The full name of its assembly.
    pub assembly: Option<&'p str>,
    /// Its module's version identifier, in hex.
    pub mvid: Option<String>,
    /// How often it was entered.
    pub calls: u64,
    /// How often it was left.
    pub leaves: u64,
    /// How many calls were open when the profile was written.
    pub open: u64,
    /// Time in it alone.
    pub self_ms: f64,
    /// Time in it and its callees.
    pub total_ms: f64,
    /// Total time by calls.
    pub average_ms: f64,
    /// Its own time, in percent of the run.
    pub self_percent: f64,
    /// Its total time, in percent of the run.
    pub total_percent: f64,
}

impl Profile {
    /// A row for each function.
    pub fn rows(&self, sort: SortBy) -> Vec<Row<'_>> {
        let [calls, leaves, open, own] =
            [SampleType::CALLS, SampleType::LEAVES, SampleType::OPEN, SampleType::WALL].map(|what| self.flat_by_function(what));
        let total = self.cumulative_by_function(SampleType::WALL);
        let at = |values: &[i64], index: usize| values.get(index).copied().unwrap_or_default().max(0);
        let rows = self.functions.iter().zip(self.display_names()).enumerate().map(|(index, (function, name))| {
            let module = function.module.and_then(|module| self.modules.get(module));
            let (calls, own, total) = (at(&calls, index) as u64, at(&own, index), at(&total, index));
            Row {
                name,
                raw_name: function.raw_name(),
                token: function.token(),
                assembly: module.map(|module| module.assembly.as_str()),
                mvid: module.map(|module| hex::encode(module.mvid)),
                calls,
                leaves: at(&leaves, index) as u64,
                open: at(&open, index) as u64,
                self_ms: self.milliseconds(own),
                total_ms: self.milliseconds(total),
                average_ms: self.milliseconds(total) / calls.max(1) as f64,
                self_percent: self.percent(own),
                total_percent: self.percent(total),
            }
        });
        let mut rows: Vec<Row<'_>> = rows.collect();
        rows.sort_by(|one, other| {
            let order = match sort {
                SortBy::SelfTime => other.self_ms.total_cmp(&one.self_ms),
                SortBy::Total => other.total_ms.total_cmp(&one.total_ms),
                SortBy::Calls => other.calls.cmp(&one.calls),
                SortBy::Name => Ordering::Equal,
            };
            order.then_with(|| one.name.cmp(&other.name))
        });
        rows
    }

    /// Ticks in percent of the run.
    pub(crate) fn percent(&self, ticks: i64) -> f64 {
        ticks as f64 * 100.0 / self.duration.max(1) as f64
    }
}
