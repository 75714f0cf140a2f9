//! Source files and their lines, with how often they ran.

use std::path::Path;

use profile::{
    coverage::{FileCoverage, Line, common_folder},
    lines::SourceFile,
};
use serde::Serialize;

/// A source file.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRow<'n> {
    /// Its path, relative to the folder of [`source_folder`].
    pub file: &'n str,
    /// The number of lines with code.
    pub lines: u64,
    /// The number of lines that ran.
    pub covered: u64,
    /// The lines that ran, in percent, rounded down.
    pub percent: f64,
    /// Its path, as the PDB states it.
    pub path: &'n str,
}

/// Successive lines of a method that never ran, or that ran in part.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UncoveredRow<'n> {
    /// The path of the file, relative to the folder of [`source_folder`].
    pub file: &'n str,
    /// The first line.
    pub first_line: u32,
    /// The last line.
    pub last_line: u32,
    /// Whether a part of each line ran.
    pub is_partial: bool,
    /// The method.
    pub method: String,
    /// Its assembly.
    pub assembly: &'n str,
}

/// A line of a source file.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceRow {
    /// Its number, from 1.
    pub line: u32,
    /// How often it ran; `None` for a line without code.
    pub count: Option<u64>,
    /// Whether a part of it never ran, though another part did.
    pub is_partial: bool,
    /// Its text; `None` if the source is not at hand.
    pub text: Option<String>,
}

/// Returns the folder that the paths of files are shown relative to, with its separator: `current` if it has all of them, or else
/// their common folder.
pub fn source_folder(files: &[SourceFile], current: Option<&Path>) -> String {
    let current = current.and_then(Path::to_str).map(|folder| format!("{}{}", folder, std::path::MAIN_SEPARATOR));
    let has_all = |folder: &String| files.iter().all(|file| file.path.starts_with(folder));
    current.filter(has_all).unwrap_or_else(|| common_folder(files.iter().map(|file| file.path.as_str())).to_owned())
}

/// Returns the path of a file relative to a folder that it may be in.
pub fn relative<'n>(path: &'n str, folder: &str) -> &'n str {
    path.strip_prefix(folder).unwrap_or(path)
}

/// Returns all source files.
pub fn files<'n>(files: &'n [SourceFile], folder: &str) -> Vec<FileRow<'n>> {
    let row = |file: &'n SourceFile| {
        let totals = FileCoverage::new(file).totals();
        FileRow {
            file: relative(&file.path, folder),
            lines: totals.lines,
            covered: totals.covered,
            percent: totals.percent(),
            path: &file.path,
        }
    };
    files.iter().map(row).collect()
}

/// Returns the lines that never ran, or that ran in part. A line without code ends no succession.
pub fn uncovered<'n>(files: &'n [SourceFile], folder: &str) -> Vec<UncoveredRow<'n>> {
    let mut rows = Vec::new();
    for file in files {
        let coverage = FileCoverage::new(file);
        let kind = |line: &Line| (line.is_covered(), line.is_partial, line.method);
        for run in coverage.lines.chunk_by(|one, next| kind(one) == kind(next)) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let Some(method) = coverage.methods.get(first.method).filter(|_| !first.is_covered() || first.is_partial) else {
                continue;
            };
            rows.push(UncoveredRow {
                file: relative(&file.path, folder),
                first_line: first.number,
                last_line: last.number,
                is_partial: first.is_partial,
                method: method.full_name(),
                assembly: method.assembly,
            });
        }
    }
    rows
}

/// Returns the lines of a file: those of its text, or without it those with code.
pub fn source(file: &SourceFile, text: Option<&str>) -> Vec<SourceRow> {
    let lines = FileCoverage::new(file).lines;
    let row = |line: &Line, text: Option<&str>| SourceRow {
        line: line.number,
        count: Some(line.count),
        is_partial: line.is_partial,
        text: text.map(ToOwned::to_owned),
    };
    let Some(text) = text else { return lines.iter().map(|line| row(line, None)).collect() };
    let mut counted = lines.iter().peekable();
    let mut rows: Vec<SourceRow> = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        rows.push(match counted.next_if(|line| line.number == number) {
            Some(line) => row(line, Some(text)),
            None => SourceRow { line: number, count: None, is_partial: false, text: Some(text.to_owned()) },
        });
    }
    // Of a file that has become shorter, the others are shown too.
    rows.extend(counted.map(|line| row(line, None)));
    rows
}
