//! Every kind of file that calls itself an assembly, and some that only look like one: woven, left alone or refused, by the
//! command itself, as the table in `rows.rs` says. Programs run before and after, and have to do the same.

mod generate;
mod make;
mod outcome;
mod patch;
mod rows;

use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tests::{Runtime, scratch};

use crate::{
    outcome::{Line, try_kind},
    rows::KINDS,
};

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn every_kind_is_woven_or_refused_as_it_should() {
    let folder = scratch("kinds");
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Vec<Line>)>> = Mutex::default();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(kind) = KINDS.get(index) else { break };
            let lines = try_kind(kind, &folder.join(format!("{index:02}")));
            done.lock().expect("no other thread panics").push((index, lines));
        }
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(index, _)| *index);
    let lines: Vec<Line> = done.into_iter().flat_map(|(_, lines)| lines).collect();
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
