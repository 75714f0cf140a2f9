//! The project's tasks. CI runs `cargo xtask test`, as any developer would.

mod bench;
mod book;
mod common;
mod corpus;
mod dist;
mod fleet;
mod fuzz;
mod guided;
mod lint;
mod msrv;
mod release;
mod samples;
mod test;
mod toolchain;
mod tracker;

use std::process::ExitCode;

use anyhow::Result;

/// A task: its name, its function, its help.
type Task = (&'static str, fn(&[String]) -> Result<()>, &'static str);

const TASKS: &[Task] = &[
    (
        "toolchain",
        toolchain::run,
        "find or fetch the runtimes and tools of the tests, and print their paths; --full: those of the full tier too",
    ),
    ("corpus", corpus::run, "fetch the assemblies of rare kinds that the tests instrument; --all: two large ones more"),
    ("test", test::run, test::HELP),
    ("msrv", msrv::run, msrv::HELP),
    ("book", book::run, "build the book of docs/ with mdBook, and check its links"),
    ("dist", dist::run, dist::HELP),
    ("release", release::run, release::HELP),
    (
        "fuzz",
        fuzz::run,
        "try a million damaged inputs, and write docs/reliability.md; --resume, --inputs N; --guided --minutes N: by coverage",
    ),
    (
        "samples",
        samples::run,
        "build the samples, and list those that changed; --check: only compare them with the committed ones",
    ),
    (
        "tracker",
        tracker::run,
        "build the tracker and the dotnet tool's launcher; --check: only compare them with the committed ones",
    ),
    ("fleet", fleet::run, "run the queries of docs/fleet.md on DuckDB and Spark over 1,000 profiles; --profiles N, --write"),
    ("bench", bench::run, bench::HELP),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else { return usage() };
    // Hidden tasks, which the bench runs.
    match name.as_str() {
        bench::FLOOR_TASK => return report(bench::floor(rest)),
        bench::MEASURE_TASK => return report(bench::measure_task(rest)),
        _ => {}
    }
    match TASKS.iter().find(|(task, ..)| task == name) {
        Some((_, run, _)) => report(run(rest)),
        None => {
            eprintln!("xtask: no task '{name}'");
            usage()
        }
    }
}

fn report(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask <task>\n");
    for (name, _, help) in TASKS {
        eprintln!("  {name:<10} {help}");
    }
    ExitCode::from(2)
}
