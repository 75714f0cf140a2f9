//! Every kind of file with an assembly's name, and of files that resemble one. The command instruments, skips or refuses each, as
//! the table in `rows.rs` states. Programs run before and after, with the same result.

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
    let lines = in_parallel(&kinds, |_, (index, kind)| try_kind(*index, kind, &folder.join(format!("{index:02}"))));
    let lines: Vec<Line> = lines.into_iter().flatten().collect();
    print(&lines);
    let failures: Vec<String> = lines.iter().flat_map(|line| line.failures.clone()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the runtimes, which are looked up once.
fn runtimes() -> &'static [Runtime] {
    static FOUND: OnceLock<Vec<Runtime>> = OnceLock::new();
    FOUND.get_or_init(Runtime::all)
}

/// Prints the table, with columns of the necessary width.
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
