//! What `ilinst report --json` says.

use std::path::Path;

use serde_json::Value;

use crate::{ilinst, said};

/// A profile, as scripts see it.
#[derive(Debug)]
pub struct Report {
    /// How the program ended, in the report's words.
    pub end: String,
    /// Calls that could not be recorded.
    pub lost_calls: u64,
    /// A row for each function.
    pub rows: Vec<Value>,
    /// The whole document.
    pub document: Value,
}

impl Report {
    /// What the tool says of a profile; what it says of that if it cannot.
    pub fn of(profile: &Path) -> Result<Self, String> {
        Self::with(profile, &[])
    }

    /// The same with further options.
    pub fn with(profile: &Path, options: &[&str]) -> Result<Self, String> {
        let output = ilinst().args(["report", "--json"]).args(options).arg(profile).output().expect("ilinst runs");
        let (text, errors, code) = said(&output);
        let Ok(document) = serde_json::from_str::<Value>(&text) else {
            return Err(format!("{}: no report, exit code {code:?}: {errors}", profile.display()));
        };
        let rows = document["methods"].as_array().cloned().unwrap_or_default();
        let end = document["end"].as_str().unwrap_or_default().to_owned();
        Ok(Self { end, lost_calls: document["lostCalls"].as_u64().unwrap_or_default(), rows, document })
    }

    /// The rows of a method, by its name in metadata (`Type::Method`) or as a person would say it.
    pub fn of_method<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r Value> {
        self.rows.iter().filter(move |row| row["rawName"] == name || row["name"] == name)
    }

    /// How often a method was called.
    pub fn calls(&self, name: &str) -> u64 {
        self.of_method(name).filter_map(|row| row["calls"].as_u64()).sum()
    }

    /// A number of a method, added up over its rows.
    pub fn sum(&self, name: &str, column: &str) -> f64 {
        self.of_method(name).filter_map(|row| row[column].as_f64()).sum()
    }
}
