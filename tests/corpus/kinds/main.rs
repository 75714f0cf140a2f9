//! Every kind of file that calls itself an assembly, and some that only look like one: woven, left alone or refused, by the
//! command itself, as the table in `rows.rs` says. Programs run before and after, and have to do the same.

mod generate;
mod make;
mod outcome;
mod patch;
mod rows;

use std::sync::OnceLock;

use tests::{Runtime, in_parallel, scratch};

use crate::{
    outcome::{Line, try_kind},
    rows::KINDS,
};

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn every_kind_is_woven_or_refused_as_it_should() {
    let folder = scratch("kinds");
    let kinds: Vec<_> = KINDS.iter().enumerate().collect();
    let lines = in_parallel(&kinds, |_, (index, kind)| try_kind(kind, &folder.join(format!("{index:02}"))));
    let lines: Vec<Line> = lines.into_iter().flatten().collect();
    print(&lines);
    let failures: Vec<String> = lines.iter().flat_map(|line| line.failures.clone()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The runtimes found, looked for once.
fn runtimes() -> &'static [Runtime] {
    static FOUND: OnceLock<Vec<Runtime>> = OnceLock::new();
    FOUND.get_or_init(Runtime::all)
}

/// The table, with columns as wide as they need to be.
fn print(lines: &[Line]) {
    let titles = ["kind", "file", "bytes", "what happened", "woven", "left alone", "diagnostics", "ran on"];
    let rows: Vec<[&str; 8]> =
        std::iter::once(titles).chain(lines.iter().map(|line| line.cells.each_ref().map(|c| &**c))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
