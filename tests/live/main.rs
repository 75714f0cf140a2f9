//! `ilinst run --live`: programs that nothing was done to, under the CLR profiler, on real runtimes.

#![cfg(unix)]

mod allocations;
#[cfg(feature = "full")]
mod arm64;
mod attach;
mod commands;
mod counts;
mod ends;
mod loading;
mod processes;
mod rewriting;
mod runtime_async;
mod sample;
mod shapes;
mod values;
mod ways;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tests::{
    References, Runtime, compile, ilinst,
    live::{calls, open_calls},
    profile_in, root, said, scratch,
};

/// A folder of one test: the program, and profiles of it.
struct Work {
    folder: PathBuf,
}

impl Work {
    fn new(name: &str) -> Self {
        Self { folder: scratch(&format!("live-{name}")) }
    }

    /// The program of these tests; none without a compiler.
    fn app(&self) -> Option<PathBuf> {
        tests::live::app(&self.folder)
    }

    /// A program of these tests that takes the compiler and the library of SDK 10; none without one.
    fn by_sdk_10(&self, name: &str) -> Option<PathBuf> {
        let program = self.folder.join(name).with_extension("exe");
        compile(&root().join("tests/live").join(name).with_extension("cs"), &program, References::RuntimeAsync, &[])?;
        Some(program)
    }

    /// Where profiles of a runtime go.
    fn profiles(&self, runtime: &Runtime) -> PathBuf {
        self.folder.join(runtime.name.replace(' ', ""))
    }

    /// `ilinst run --live`, with more options, of a program; its profile is kept. Hooks record it, unless `--rewrite` is among the
    /// options.
    fn live(&self, runtime: &Runtime, options: &[&str], app: &Path, arguments: &[&str]) -> Command {
        let is_chosen = ["--rewrite", "--hooks"].iter().any(|way| options.contains(way));
        let more: &[&str] = if is_chosen { &["--live"] } else { &["--live", "--hooks"] };
        self.run(runtime, &[more, options].concat(), app, arguments)
    }

    /// `ilinst run`, with these options, of a program; its profile is kept.
    fn run(&self, runtime: &Runtime, options: &[&str], app: &Path, arguments: &[&str]) -> Command {
        let program = runtime.program(app, &self.folder);
        let mut command = ilinst();
        command.args(["run", "--no-report"]).arg(format!("--keep={}", self.profiles(runtime).display())).args(options);
        command.arg("--").arg(program.get_program()).args(program.get_args()).args(arguments);
        command.current_dir(&self.folder).stdin(Stdio::null()).env("ILINST_CACHE", self.folder.join("cache"));
        tests::take_environment(&mut command, &program);
        command
    }

    /// The same of the tests' own program, with all methods, to its end: how often each method of it was called; its output and exit code are
    /// those that it has alone.
    fn recorded(&self, runtime: &Runtime, options: &[&str], app: &Path, arguments: &[&str]) -> BTreeMap<String, i64> {
        let alone = output(runtime.program(app, &self.folder).args(arguments));
        let live = output(&mut self.live(runtime, &[&["--all"], options].concat(), app, arguments));
        let (expected, found) = (said(&alone), said(&live));
        assert_eq!(found.0, expected.0, "{} {arguments:?}: {}", runtime.name, found.1);
        let ended = alone.status.code().or_else(|| alone.status.signal().map(|signal| 128 + signal));
        assert_eq!(found.2, ended, "{} {arguments:?}: {}", runtime.name, found.1);
        calls(&profile_in(&self.profiles(runtime)))
    }
}

/// The runtimes that have the profiling API.
fn runtimes() -> impl Iterator<Item = Runtime> {
    Runtime::all().into_iter().filter(|runtime| !runtime.is_mono())
}

fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("it starts")
}
