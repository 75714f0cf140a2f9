//! `cargo xtask test`: runs the checks of CI, except for `msrv`. Steps that use cargo run one after the other. Meanwhile the runtimes
//! are found or fetched, and samples are checked with them. Then all tests run. Each step prints a line, and the last line is the
//! summary.

mod instructions;
pub(crate) mod suites;
mod tally;

use std::{fs, path::PathBuf, process::Command, sync::Mutex, thread, time::Instant};

use anyhow::{Context as _, Result, bail};

use self::tally::{PROFILE, Runtimes, Tally, cargo, print_line};
use crate::{
    common::{quiet, root},
    corpus, dist, lint, samples,
    toolchain::{Tier, Toolchain, linters::DENY},
    tracker,
};

/// The steps that can be selected by name.
const STEPS: [&str; 11] =
    ["fmt", "clippy", "doc", "deny", "typos", "workflows", "book", "tracker", "samples", "test", "instructions"];
/// Runs only steps that need no runtime and no download.
const QUICK: &str = "--quick";
/// Also runs tests that need real time, Wine, every runtime, or minutes.
const FULL: &str = "--full";
/// Missing runtimes are no failure.
const ALLOW_MISSING: &str = "--allow-missing";
/// Runs only the tests whose suite and name contain the text that follows, and shows their output.
const ONLY: &str = "--only";
const OPTIONS: [&str; 4] = [QUICK, FULL, ALLOW_MISSING, ONLY];
pub(crate) const HELP: &str = "run the checks of CI, or only the steps that are named; --only TEXT: only the tests whose suite and name contain TEXT; \
     --quick: no runtimes, no downloads; --full: all runtimes, Wine, real time; --allow-missing: without what is missing";
/// The time of each test, longest first.
const TIMES: &str = "target/test-times.txt";

/// The options of a run, and its results so far.
struct Run<'a> {
    quick: bool,
    full: bool,
    allow_missing: bool,
    /// The selected steps; empty for all.
    steps: Vec<&'a str>,
    /// A text in the suite and name of each test to run.
    only: Option<&'a str>,
    tally: Mutex<Tally>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let run = Run::new(arguments)?;
    let started = Instant::now();
    let (built, runtimes) = thread::scope(|scope| {
        let runtimes = scope.spawn(|| run.with_runtimes());
        (run.with_cargo(), runtimes.join().expect("a step returns its errors"))
    });
    if let Some(built) = built {
        // Instruction counts do not depend on the machine's load.
        thread::scope(|scope| {
            scope.spawn(|| run.count_instructions(&built, runtimes.as_ref()));
            if run.is_wanted("test")
                && let Err(error) = suites::run(&run.tally, &built, runtimes.as_ref(), run.wanted())
            {
                run.fail("test", &error);
            }
        });
    }
    drop(runtimes);
    if !run.finish(started) {
        // The summary must be the last line, whatever the result.
        std::process::exit(1);
    }
    Ok(())
}

impl<'a> Run<'a> {
    fn new(arguments: &'a [String]) -> Result<Self> {
        let (mut quick, mut full, mut allow_missing) = (false, false, false);
        let (mut steps, mut only) = (Vec::new(), None);
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                QUICK => quick = true,
                FULL => full = true,
                ALLOW_MISSING => allow_missing = true,
                ONLY => only = Some(words.next().with_context(|| format!("{ONLY} needs a part of a suite's or test's name"))?),
                step if STEPS.contains(&step) => steps.push(step),
                unknown => bail!("no step '{unknown}'; there are {}, and the options {}", STEPS.join(", "), OPTIONS.join(", ")),
            }
        }
        if quick && full {
            bail!("{QUICK} and {FULL} exclude each other");
        }
        if only.is_some() {
            if !steps.is_empty() {
                bail!("{ONLY} runs only the step test, and no other can be named with it");
            }
            steps.push("test");
        }
        Ok(Self { quick, full, allow_missing, steps, only, tally: Mutex::default() })
    }

    fn wanted(&self) -> suites::Wanted<'_> {
        suites::Wanted { only: self.only, allow_missing: self.allow_missing }
    }

    /// Runs the steps that use cargo; returns the built tests.
    fn with_cargo(&self) -> Option<suites::Built> {
        self.step("fmt", || quiet(cargo().args(["fmt", "--all", "--check", "--", "--color=never"])));
        self.step("clippy", || {
            quiet(cargo().args([
                "clippy",
                "--quiet",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--profile",
                PROFILE,
                "--",
                "-D",
                "warnings",
            ]))
        });
        self.step("doc", || {
            let mut command = cargo();
            command.args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items", "--profile", PROFILE]);
            quiet(command.env("RUSTDOCFLAGS", "-D warnings"))
        });
        if cfg!(not(unix)) && self.is_wanted("test") {
            self.skip(["package tests: not built, because its tests need Unix".to_owned()]);
        }
        (self.is_wanted("test") || self.is_wanted("instructions"))
            .then(|| self.always("build", || suites::build(self.full)))
            .flatten()
    }

    fn count_instructions(&self, built: &suites::Built, runtimes: Option<&Runtimes>) {
        match runtimes.map(|runtimes| &runtimes.toolchain).filter(|toolchain| toolchain.get("ILINST_SDK").is_ok()) {
            Some(toolchain) => {
                let skipped = self.step("instructions", || instructions::check(&built.tool, toolchain));
                self.skip(skipped.flatten());
            }
            None if self.is_wanted("instructions") => {
                self.skip(["instructions: not counted, because there is no .NET SDK".into()]);
            }
            None => {}
        }
    }

    /// Runs the steps that need runtimes, and returns the runtimes. Without them the other steps run, and skipped tests are
    /// reported.
    fn with_runtimes(&self) -> Option<Runtimes> {
        if self.is_wanted("deny") {
            self.deny();
        }
        lint::STEPS.iter().for_each(|(name, work)| self.lint(name, *work));
        if self.quick {
            self.step("samples", samples::check_hashes);
            if self.is_wanted("tracker") || self.is_wanted("samples") {
                self.skip(["tracker, samples: not built, because that needs .NET and Mono".to_owned()]);
            }
            return None;
        }
        if !["tracker", "samples", "test", "instructions"].iter().any(|step| self.is_wanted(step)) {
            return None;
        }
        let mut toolchain = Toolchain::prepare(if self.full { Tier::Full } else { Tier::Default });
        self.always("runtimes", || match toolchain.missing() {
            [] => Ok(()),
            missing if self.allow_missing => {
                self.skip(missing.iter().map(|missing| format!("runtimes: {missing}")));
                Ok(())
            }
            missing => bail!("{}\nInstall these, or run without them by {ALLOW_MISSING}", missing.join("\n")),
        });
        self.always("compilers", || toolchain.start_compilers());
        if toolchain.missing().is_empty() {
            self.step("tracker", || tracker::check(&toolchain));
            self.step("samples", || samples::check(&toolchain).map(|skipped| self.skip(skipped)));
        } else if self.is_wanted("tracker") || self.is_wanted("samples") {
            self.skip(["tracker, samples: not built, because a runtime or compiler is missing".to_owned()]);
        }
        let corpus = if self.is_wanted("test") { self.corpus() } else { PathBuf::new() };
        let exe = if self.is_wanted("test") && self.full { self.build_for_wine(&toolchain) } else { None };
        let library = if self.is_wanted("test") && self.full { self.build_for_arm64(&toolchain) } else { None };
        Some(Runtimes { toolchain, corpus, exe, library })
    }

    /// Returns the folder of the corpus. Missing files are a failure, unless they are allowed.
    fn corpus(&self) -> PathBuf {
        let prepared = self.always("corpus", || {
            let (folder, missing) = corpus::prepare(self.full)?;
            if !missing.is_empty() && !self.allow_missing {
                bail!("{}\nRun without these by {ALLOW_MISSING}", missing.join("\n"));
            }
            self.skip(missing);
            Ok(folder)
        });
        prepared.unwrap_or_default()
    }

    /// Builds `ilinst.exe`, if that is possible here and Wine can run it.
    fn build_for_wine(&self, toolchain: &Toolchain) -> Option<PathBuf> {
        toolchain.get("ILINST_WINE").ok()?;
        let windows = dist::windows();
        if let Err(error) = windows.prepare() {
            self.skip([format!("ilinst.exe cannot be built: {error:#}")]);
            return None;
        }
        self.always("ilinst.exe", || windows.build_for_wine(PROFILE))
    }

    /// The CLR profiler for arm64, if it can be built here and run.
    fn build_for_arm64(&self, toolchain: &Toolchain) -> Option<PathBuf> {
        toolchain.get("ILINST_QEMU_ARM64").ok()?;
        let arm64 = dist::linux_arm64();
        if let Err(error) = arm64.prepare() {
            self.skip([format!("the CLR profiler for arm64 cannot be built: {error:#}")]);
            return None;
        }
        self.always("profiler for arm64", || arm64.build_profiler(PROFILE))
    }

    /// Checks the licences, sources and duplicates of dependencies, and advisories if their database can be fetched.
    fn deny(&self) {
        let deny = if self.quick { Ok(DENY.at_hand()) } else { DENY.get().map(Some) };
        let deny = match deny {
            Ok(Some(deny)) => deny,
            Ok(None) => {
                return self.skip([
                    "deny: cargo-deny is not installed, and --quick fetches nothing; `cargo xtask test deny` does".to_owned(),
                ]);
            }
            Err(error) if self.allow_missing => return self.skip([format!("deny: {error:#}")]),
            Err(error) => return self.fail("deny", &error),
        };
        let deny = |arguments: &[&str]| quiet(Command::new(&deny).args(arguments).current_dir(root()));
        self.always("deny", || deny(&["--locked", "check", "licenses", "bans", "sources"]));
        if self.quick {
            return self.skip(["advisories: --quick fetches nothing, and their database is always fetched".to_owned()]);
        }
        match deny(&["fetch", "db"]) {
            Ok(()) => drop(self.always("advisories", || deny(&["--locked", "check", "advisories"]))),
            Err(_) => self.skip(["advisories: their database is a git repository that cannot be reached".to_owned()]),
        }
    }

    /// Checks texts with a program, which may have to be fetched.
    fn lint(&self, name: &str, prepare: lint::Prepare) {
        if !self.is_wanted(name) {
            return;
        }
        match prepare(self.quick) {
            Ok(Some(check)) => drop(self.always(name, check)),
            Ok(None) => self.skip([format!(
                "{name}: its program is not installed, and --quick fetches nothing; `cargo xtask test {name}` does"
            )]),
            Err(error) if self.allow_missing => self.skip([format!("{name}: {error:#}")]),
            Err(error) => self.fail(name, &error),
        }
    }

    fn is_wanted(&self, step: &str) -> bool {
        self.steps.is_empty() || self.steps.contains(&step)
    }

    /// Runs a step if it is selected.
    fn step<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        self.is_wanted(name).then(|| self.always(name, work)).flatten()
    }

    /// Runs a step, prints its line, and counts it; returns `None` if it failed.
    fn always<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        let started = Instant::now();
        let result = work().map_err(|error| self.fail(name, &error)).ok();
        print_line(name, if result.is_some() { "passed" } else { "FAILED" }, started.elapsed());
        self.tally().passed += usize::from(result.is_some());
        result
    }

    fn fail(&self, name: &str, error: &anyhow::Error) {
        println!("{name}: {error:#}");
        self.tally().failed.push(name.to_owned());
    }

    fn skip(&self, reasons: impl IntoIterator<Item = String>) {
        self.tally().skipped.extend(reasons);
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().expect("no step panics")
    }

    /// Prints skipped and failed steps and the summary; returns whether nothing failed.
    fn finish(&self, started: Instant) -> bool {
        let mut tally = self.tally();
        tally.times.sort_unstable_by(|one, other| other.cmp(one));
        let times: String = tally.times.iter().map(|(time, name)| format!("{:8.1} s  {name}\n", time.as_secs_f64())).collect();
        let in_all = started.elapsed().as_secs_f64();
        match (times.is_empty(), fs::write(root().join(TIMES), &times)) {
            (true, _) => println!("{in_all:.0} s in all"),
            (_, Ok(())) => println!("{in_all:.0} s in all; {TIMES} has the time of each test"),
            (_, Err(error)) => println!("{in_all:.0} s in all; {TIMES} cannot be written: {error}"),
        }
        tally.skipped.iter().for_each(|skipped| println!("skipped: {skipped}"));
        for (runtime, tests) in &tally.without {
            println!(
                "without {runtime}, which this machine lacks: {tests} tests did not use it (CONTRIBUTING.md has where it is looked for)"
            );
        }
        tally.failed.iter().for_each(|failed| println!("FAILED: {failed}"));
        if let Some((_, failed)) = tally.times.iter().find(|(_, name)| tally.failed.contains(name)) {
            let full = if self.full { " --full" } else { "" };
            println!("To run one again: cargo xtask test{full} {ONLY} '{failed}'");
        }
        println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed.len(), tally.skipped.len());
        tally.failed.is_empty()
    }
}
