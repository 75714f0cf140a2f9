//! Builds the tests once, and runs each as a process of its own, one more at a time than there are processors. Output is kept, and shown if the
//! test fails. A test reports skipped parts by lines. `skipped: ` means that it tested nothing, `skipped in part: ` names an
//! omitted part, `without: ` a missing runtime.

use std::{
    collections::BTreeSet,
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::tally::{PROFILE, Runtimes, Tally, cargo, print_line};
use crate::common::{quiet, show, target};

/// The module of tests that measure times, in the full tier. They run alone on the machine.
const MEASURES: &str = "real_time::";
/// The time after which a test hangs: several times the longest test of the tier, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(15 * 60);
const LIMIT_OF_FULL: Duration = Duration::from_secs(60 * 60);

/// The built tool and its tests.
pub(super) struct Built {
    /// `ilinst` itself.
    pub(super) tool: PathBuf,
    suites: Vec<Suite>,
    /// The time after which a test is killed.
    limit: Duration,
}

/// The tests to run.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// A text in the suite and name of each; their output is shown.
    pub(super) only: Option<&'a str>,
    /// Whether tools, runtimes and downloads may be missing.
    pub(super) allow_missing: bool,
}

/// A test program.
struct Suite {
    /// The crate's folder, and the target's name if it differs.
    name: String,
    program: PathBuf,
    /// The working directory that cargo would use.
    folder: PathBuf,
}

struct Test {
    /// The index of its suite.
    suite: usize,
    name: String,
    /// Whether it needs a tool that some machines lack.
    is_ignored: bool,
}

/// The results of a suite so far.
#[derive(Clone, Default)]
struct Progress {
    left: usize,
    passed: usize,
    failed: usize,
    skipped: usize,
    time: Duration,
}

/// Builds the tool and all tests of a tier.
pub(super) fn build(full: bool) -> Result<Built> {
    let mut what = vec!["--workspace", "--lib", "--bin", "ilinst", "--tests"];
    if full {
        what.extend(["--features", "tests/full"]);
    }
    if cfg!(not(unix)) {
        what.extend(["--exclude", "tests"]);
    }
    let (tool, suites) = build_with(&what)?;
    Ok(Built { tool: tool.context("ilinst was not built")?, suites, limit: if full { LIMIT_OF_FULL } else { LIMIT } })
}

fn build_with(what: &[&str]) -> Result<(Option<PathBuf>, Vec<Suite>)> {
    let mut command = cargo();
    command.arg("build").args(what).args(["--profile", PROFILE]);
    let output = command.arg("--message-format=json-render-diagnostics").output()?;
    if !output.status.success() {
        bail!("{} failed\n{}", show(&command), String::from_utf8_lossy(&output.stderr));
    }
    let (mut tool, mut suites) = (None, Vec::new());
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line)?;
        let (Some(program), Some(target)) = (message["executable"].as_str(), message["target"]["name"].as_str()) else {
            continue;
        };
        if message["profile"]["test"] == true {
            let manifest = PathBuf::from(message["manifest_path"].as_str().context("a target has a manifest")?);
            let folder = manifest.parent().context("a manifest is in a folder")?.to_owned();
            let package = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = if package == target { package } else { format!("{package}/{target}") };
            suites.push(Suite { name, program: program.into(), folder });
        } else if target == "ilinst" {
            tool = Some(program.into());
        }
    }
    suites.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((tool, suites))
}

/// Builds one of the suites of `tests`; returns its program.
pub(crate) fn build_one(name: &str) -> Result<PathBuf> {
    let suites = build_with(&["--package", "tests", "--test", name])?.1;
    suites.into_iter().next().map(|suite| suite.program).context("a suite is a program")
}

/// Packs the tool once for all tests that use its NuGet packages. Returns their folder.
fn pack(tool: &Path) -> Result<PathBuf> {
    let folder = target().join("tests/packed");
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["dist", "--nupkg", "--tool"]).arg(format!("linux-x64={}", tool.display())).arg("--output").arg(&folder);
    quiet(&mut command)?;
    Ok(folder)
}

/// Runs the wanted tests; without runtimes, only those that need none. Prints a line for each completed suite.
pub(super) fn run(tally: &Mutex<Tally>, built: &Built, runtimes: Option<&Runtimes>, wanted: Wanted<'_>) -> Result<()> {
    let mut tests = Vec::new();
    let mut progress = vec![Progress::default(); built.suites.len()];
    for (index, suite) in built.suites.iter().enumerate() {
        let ignored = suite.list(&["--ignored"])?;
        let mut all = suite.list(&[])?;
        all.retain(|name| wanted.only.is_none_or(|only| format!("{} {name}", suite.name).contains(only)));
        progress[index].left = all.len();
        tests.extend(all.into_iter().map(|name| Test { suite: index, is_ignored: ignored.contains(&name), name }));
    }
    if let Some(only) = wanted.only.filter(|_| tests.is_empty()) {
        bail!("no test has '{only}' in 'SUITE NAME'; target/test-times.txt lists those of the last run");
    }
    let packages = runtimes.map(|_| pack(&built.tool)).transpose()?;
    // Tests that need runtimes take longest, and so start first.
    tests.sort_by_key(|test| !test.is_ignored);
    let (alone, beside): (Vec<Test>, Vec<Test>) = tests.into_iter().partition(|test| test.name.starts_with(MEASURES));
    let progress = Mutex::new(progress);
    let run_with = |workers: usize, tests: &[Test]| {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let started = Instant::now();
                let outcome = test.run(built, runtimes, packages.as_deref(), wanted);
                let mut progress = progress.lock().expect("no thread panics");
                settle(tally, built, test, outcome, started.elapsed(), &mut progress[test.suite]);
            }
        };
        thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    };
    // Tests often wait for programs: with one more than there are processors, none of these is idle meanwhile.
    run_with(thread::available_parallelism().map_or(1, std::num::NonZero::get) + 1, &beside);
    run_with(1, &alone);
    Ok(())
}

/// Counts the result of a test, and shows its output if that is wanted. Prints the line of its suite if that is complete.
fn settle(tally: &Mutex<Tally>, built: &Built, test: &Test, outcome: Result<Outcome>, time: Duration, suite: &mut Progress) {
    let suite_name = &built.suites[test.suite].name;
    let name = format!("{suite_name} {}", test.name);
    let mut tally = tally.lock().expect("no step panics");
    let outcome =
        outcome.unwrap_or_else(|error| Outcome { is_failed: true, shown: Some(format!("{error:#}")), ..Outcome::default() });
    if let Some(output) = outcome.shown {
        println!("{}: {name}\n{output}", if outcome.is_failed { "FAILED" } else { "passed" });
    }
    if outcome.is_failed {
        tally.failed.push(name.clone());
        suite.failed += 1;
    } else if !outcome.is_skipped {
        tally.passed += 1;
        suite.passed += 1;
    }
    suite.skipped += outcome.skipped.len();
    tally.skipped.extend(outcome.skipped.iter().map(|reason| format!("{name}: {reason}")));
    for runtime in outcome.without {
        *tally.without.entry(runtime).or_default() += 1;
    }
    tally.times.push((time, name));
    suite.time += time;
    suite.left -= 1;
    if suite.left == 0 {
        let Progress { passed, failed, skipped, .. } = suite;
        print_line(suite_name, &format!("{passed} passed, {failed} failed, {skipped} skipped"), suite.time);
    }
}

impl Suite {
    /// Returns the names of the suite's tests.
    fn list(&self, options: &[&str]) -> Result<BTreeSet<String>> {
        let output = Command::new(&self.program).args(["--list", "--format", "terse"]).args(options).output()?;
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

/// The result of a test.
#[derive(Default)]
struct Outcome {
    is_failed: bool,
    /// The complete output, if it failed or was selected.
    shown: Option<String>,
    /// Whether it tested nothing.
    is_skipped: bool,
    /// The skipped parts, with reasons.
    skipped: BTreeSet<String>,
    /// Missing runtimes that it would have run on.
    without: BTreeSet<String>,
}

impl Test {
    fn run(&self, built: &Built, runtimes: Option<&Runtimes>, packages: Option<&Path>, wanted: Wanted<'_>) -> Result<Outcome> {
        let suite = &built.suites[self.suite];
        let mut command = Command::new(&suite.program);
        // With more than one thread, the test's output begins on a line of its own.
        command.args([&self.name, "--exact", "--nocapture", "--test-threads=2"]).current_dir(&suite.folder);
        command.env("ILINST_BIN", &built.tool).env("ILINST_XTASK", std::env::current_exe()?);
        command.env("ILINST_TEST", format!("{} {} {}", std::process::id(), suite.name, self.name));
        if let Some(Runtimes { toolchain, corpus, exe, library }) = runtimes {
            toolchain.export(&mut command).env("ILINST_CORPUS", corpus).arg("--include-ignored");
            command.envs(packages.iter().map(|packages| ("ILINST_PACKED", packages)));
            command.envs(exe.iter().map(|exe| ("ILINST_EXE", exe)));
            command.envs(library.iter().map(|library| ("ILINST_ARM64_PROFILER", library)));
            // A missing runtime is allowed, or has failed its step already.
            if wanted.allow_missing || !toolchain.missing().is_empty() {
                command.env("ILINST_ALLOW_MISSING", "1");
            }
        }
        let (output, is_passed) = run_in_time(command, built.limit)?;
        let mut outcome = Outcome { is_failed: !is_passed, ..Outcome::default() };
        for line in output.lines() {
            let ignored = line.strip_prefix("test ").and_then(|line| line.split_once(" ... ignored, "));
            if let Some(reason) = line.strip_prefix("skipped: ").or(ignored.map(|(_, reason)| reason)) {
                outcome.is_skipped = true;
                outcome.skipped.insert(reason.to_owned());
            } else if let Some(reason) = line.strip_prefix("skipped in part: ") {
                outcome.skipped.insert(reason.to_owned());
            } else if let Some(runtime) = line.strip_prefix("without: ") {
                outcome.without.insert(runtime.to_owned());
            }
        }
        outcome.shown = (!is_passed || wanted.only.is_some()).then_some(output);
        Ok(outcome)
    }
}

/// Runs a program. If it hangs, or leaves children that hold its output open, it is killed with all its children. Returns the
/// output, and whether it succeeded.
fn run_in_time(mut command: Command, limit: Duration) -> Result<(String, bool)> {
    let (mut reader, writer) = std::io::pipe()?;
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command holds the pipe's writing end.
    drop(command);
    let group = format!("-{}", child.id());
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let is_late = is_done.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            }
            is_late
        });
        let mut output = Vec::new();
        let read = reader.read_to_end(&mut output);
        drop(done);
        let is_late = watch.join().expect("it only waits");
        read?;
        let mut output = String::from_utf8_lossy(&output).into_owned();
        if is_late {
            output += &format!(
                "\nThe test did not end within {} s, and was killed with all programs that it had started.",
                limit.as_secs()
            );
        }
        Ok((output, child.wait()?.success() && !is_late))
    })
}
