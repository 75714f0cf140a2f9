//! A profile for scripts.

use serde::Serialize;

use crate::{
    model::Profile,
    report::{Row, SortBy},
};

/// What `ilinst report --json` prints.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'p> {
    program: &'p str,
    runtime: &'p str,
    pid: u32,
    end: String,
    milliseconds: f64,
    threads: u64,
    lost_calls: u64,
    max_nodes: u32,
    bad_tokens: u64,
    damage: Option<String>,
    methods: Vec<Row<'p>>,
}

impl Profile {
    /// The profile as a document that serde writes.
    pub fn document(&self, sort: SortBy) -> Document<'_> {
        Document {
            program: &self.program,
            runtime: &self.runtime,
            pid: self.pid,
            end: self.end.to_string(),
            milliseconds: self.milliseconds(self.duration),
            threads: self.threads(),
            lost_calls: self.lost_calls(),
            max_nodes: self.max_nodes,
            bad_tokens: self.bad_tokens(),
            damage: self.damage.as_ref().map(ToString::to_string),
            methods: self.rows(sort),
        }
    }
}
