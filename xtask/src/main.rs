//! The project's chores. CI runs `cargo xtask test`, as anyone would.

mod bench;
mod corpus;
mod samples;
mod test;
mod toolchain;
mod tracker;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

/// A chore: its name, what runs it, what it is for.
type Task = (&'static str, fn(&[String]) -> Result<()>, &'static str);

const TASKS: &[Task] = &[
    ("toolchain", toolchain::run, "find or fetch the runtimes and compilers that the tests use"),
    ("corpus", corpus::run, "fetch the files of rarer kinds that the tests weave; --all for a large one more"),
    ("test", test::run, "everything CI checks: format, lints, docs, tests on every runtime found; name steps to run only those"),
    ("samples", samples::run, "build the samples and say which changed; --check only compares them with what is committed"),
    ("tracker", tracker::run, "build the tracker; --check compares it with what is committed"),
    ("bench", bench::run, "time `ilinst instrument` against a plain copy; --rounds N, --json, --gate to fail past the limits"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else { return usage() };
    if name == bench::FLOOR_TASK {
        return report(bench::floor(rest));
    }
    match TASKS.iter().find(|(task, ..)| task == name) {
        Some((_, run, _)) => report(run(rest)),
        None => usage(),
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

/// A mistyped option is an error, and never the default.
fn only(arguments: &[String], known: &[&str]) -> Result<()> {
    match arguments.iter().find(|argument| !known.contains(&argument.as_str())) {
        Some(unknown) if known.is_empty() => bail!("no option is known here, '{unknown}' neither"),
        Some(unknown) => bail!("no option '{unknown}'; there is {}", known.join(", ")),
        None => Ok(()),
    }
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// Where cargo builds to.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Runs a command, which has to succeed.
fn sh(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    if !status.success() {
        bail!("{} failed: {status}", show(command));
    }
    Ok(())
}

/// Runs a command quietly; what it printed is shown only if it fails.
fn quiet(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{} failed: {}\n{}", show(command), output.status, String::from_utf8_lossy(&said));
    }
    Ok(())
}

fn show(command: &Command) -> String {
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
