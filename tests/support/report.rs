//! The output of `ilinst report --json`.

use std::path::Path;

use serde_json::Value;

use crate::{JIT, ilinst, said};

/// A profile in the form that scripts get.
#[derive(Debug)]
pub struct Report {
    /// The end of the program, in the report's words.
    pub end: String,
    /// The number of calls that could not be recorded.
    pub lost_calls: u64,
    /// A row for each function, without the JIT compiler's.
    pub rows: Vec<Value>,
    /// The whole document.
    pub document: Value,
}

impl Report {
    /// Returns the report on a profile, or the tool's error text.
    pub fn of(profile: &Path) -> Result<Self, String> {
        Self::with(profile, &[])
    }

    /// Returns the report with further options.
    pub fn with(profile: &Path, options: &[&str]) -> Result<Self, String> {
        let output = ilinst().args(["report", "--json"]).args(options).arg(profile).output().expect("ilinst runs");
        let (text, errors, code) = said(&output);
        let Ok(document) = serde_json::from_str::<Value>(&text) else {
            return Err(format!("{}: no report, exit code {code:?}: {errors}", profile.display()));
        };
        let mut rows = document["methods"].as_array().cloned().unwrap_or_default();
        rows.retain(|row| row["name"] != JIT);
        let end = document["end"].as_str().unwrap_or_default().to_owned();
        Ok(Self { end, lost_calls: document["lostCalls"].as_u64().unwrap_or_default(), rows, document })
    }

    /// Returns the rows of a method, by its name in metadata (`Type::Method`) or by its display name.
    pub fn of_method<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r Value> {
        self.rows.iter().filter(move |row| row["rawName"] == name || row["name"] == name)
    }

    /// Returns the number of calls of a method.
    pub fn calls(&self, name: &str) -> u64 {
        self.of_method(name).filter_map(|row| row["calls"].as_u64()).sum()
    }

    /// Returns the sum of a column over a method's rows.
    pub fn sum(&self, name: &str, column: &str) -> f64 {
        self.of_method(name).filter_map(|row| row[column].as_f64()).sum()
    }
}
