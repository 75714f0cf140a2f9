//! `cargo xtask fuzz`: tries any number of the damaged inputs of `tests/fuzz` on all processors. The results go into
//! docs/reliability.md. `--resume` continues an interrupted run of the same commit.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, ExitStatus},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{
    common::{root, target},
    corpus, guided,
    test::suites,
};

/// The default number of inputs.
const INPUTS: u64 = 1_000_000;
const OPTION: &str = "--inputs";
/// Continues an interrupted run of the same commit.
const RESUME: &str = "--resume";
/// The number of parts of a target's inputs, each tried by a process of its own.
const PARTS: usize = 8;
const DOCUMENT: &str = "docs/reliability.md";
const TITLE: &str = "# Reliability\n";
const SECTION: &str = "## Damaged input";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let [first, rest @ ..] = arguments
        && first == guided::OPTION
    {
        return guided::run(rest);
    }
    let (resumes, arguments) = match arguments {
        [first, rest @ ..] if first == RESUME => (true, rest),
        all => (false, all),
    };
    let inputs = match arguments {
        [] => INPUTS,
        [option, number] if option == OPTION => number.parse().with_context(|| format!("{OPTION} {number}"))?,
        [unknown, ..] => bail!("'{unknown}' is no option here; there are {RESUME}, {OPTION} N, and {} alone", guided::OPTION),
    };
    let program = suites::build_one("fuzz")?;
    let output = Command::new(&program).args(["--list", "--format", "terse"]).output()?;
    let tests: Vec<String> =
        String::from_utf8(output.stdout)?.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect();
    let (seeds, missing) = corpus::prepare(false)?;
    missing.iter().for_each(|missing| println!("without {missing}"));
    let reports = target().join(format!("fuzz-figures/{}-{inputs}", commit()));
    if !resumes {
        let _ = fs::remove_dir_all(&reports);
    }
    fs::create_dir_all(&reports)?;
    let report = |test: &str, part: usize| reports.join(format!("{test}-{part}.json"));
    let jobs = tests.iter().flat_map(|test| (0..PARTS).map(move |part| (test.as_str(), part)));
    let jobs: Vec<(&str, usize)> = jobs.filter(|(test, part)| !report(test, *part).exists()).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some((test, part)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = Command::new(&program);
            command.args([test, "--exact", "--nocapture"]).current_dir(root().join("tests"));
            command.env("ILINST_FUZZ_INPUTS", inputs.to_string()).env("ILINST_FUZZ_PART", format!("{part}/{PARTS}"));
            command.env("ILINST_FUZZ_SEEDS", &seeds).env("ILINST_FUZZ_REPORT", report(test, *part));
            if !command.status().as_ref().is_ok_and(ExitStatus::success) {
                println!("FAILED: {test}, part {part} of {PARTS}");
                failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    write_figures(&reports, inputs)?;
    match failed.into_inner() {
        0 => Ok(()),
        failed => bail!("{failed} of {} parts failed", jobs.len()),
    }
}

/// The results of a target's inputs.
#[derive(Default)]
struct Figures {
    inputs: u64,
    accepted: u64,
    left_alone: u64,
    refused: u64,
    findings: u64,
    slowest: f64,
    slowest_byte: f64,
    memory: u64,
}

fn write_figures(reports: &Path, inputs: u64) -> Result<()> {
    let mut targets: BTreeMap<String, Figures> = BTreeMap::new();
    let mut all = Figures::default();
    for report in fs::read_dir(reports)? {
        let line: Value = serde_json::from_str(fs::read_to_string(report?.path())?.trim())?;
        let name = line["target"].as_str().context("a line is of a target")?;
        let own = targets.entry(name.to_owned()).or_default();
        own.add(&line);
        all.add(&line);
    }
    let mut text = format!(
        "{SECTION}\n\n\
        The table is from `cargo xtask fuzz {OPTION} {inputs}` at commit {}. Seeds are the samples and small files of the\n\
        corpus, profiles, Parquet files, manifests, requests at the profiler's socket, an `ilinst.toml` and packages. Commands of\n\
        the tool read the last two, and the targets call the crates for the others. The fuzzer changes fields of headers, cells,\n\
        heaps, signatures, instructions, clauses, PDBs and records, and random bytes.\n\n\
        Assemblies are instrumented in both leave modes and both layouts, every second one with its PDB. The result must be\n\
        readable, and `verify --types --pedantic` must find nothing that its input did not have. `diff --only-probes` must show\n\
        no difference. A reference that led nowhere must still lead nowhere. The build has overflow checks and debug assertions.\n\
        Memory is the largest amount that was allocated at one time. Times are from a machine that did other work, too.\n\n\
        | | inputs | accepted | skipped | refused | findings | slowest, ms | slowest, ns a byte | most memory, KiB |\n\
        |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        commit()
    );
    for (name, figures) in targets.iter().map(|(name, figures)| (name.as_str(), figures)).chain([("all", &all)]) {
        let Figures { inputs, accepted, left_alone, refused, findings, slowest, slowest_byte, memory } = figures;
        let memory = memory.div_ceil(1024);
        writeln!(
            text,
            "| {name} | {inputs} | {accepted} | {left_alone} | {refused} | {findings} | {slowest:.1} | {slowest_byte:.0} | {memory} |"
        )?;
    }
    print!("{text}");
    let path = root().join(DOCUMENT);
    let old = fs::read_to_string(&path).unwrap_or_else(|_| TITLE.into());
    let (before, rest) = old.split_once(SECTION).unwrap_or((&old, ""));
    let behind = rest.find("\n## ").and_then(|at| rest.get(at..)).unwrap_or_default();
    fs::write(path, format!("{}\n\n{text}{behind}", before.trim_end()))?;
    Ok(())
}

fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()).output();
    output.map_or_else(|_| "unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Figures {
    fn add(&mut self, line: &Value) {
        let count = |name: &str| line[name].as_u64().unwrap_or_default();
        let most = |name: &str, now: f64| line[name].as_f64().unwrap_or_default().max(now);
        self.inputs += count("inputs");
        self.accepted += count("accepted");
        self.left_alone += count("leftAlone");
        self.refused += count("refused");
        self.findings += count("findings");
        self.slowest = most("slowestMs", self.slowest);
        self.slowest_byte = most("slowestNsPerByte", self.slowest_byte);
        self.memory = self.memory.max(count("memory"));
    }
}
