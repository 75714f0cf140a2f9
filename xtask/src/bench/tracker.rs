//! `cargo xtask bench tracker`: measures the overhead of probes in instrumented programs, beside the code that other tools
//! insert. A figure is CPU time of the measured threads, so that a busy machine matters little. The overhead is an instrumented
//! program's figure minus that of the original.

use std::{collections::BTreeMap, env, fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use super::{
    goals::{self, Goal},
    machine, programs,
    results::Spread,
};
use crate::{
    common::{quiet, root, sh, show, target},
    toolchain::{DOTNET_ENVIRONMENT, Tier, Toolchain},
};

pub(super) const NAME: &str = "tracker";
const RUNTIMES: [&str; 3] = [".NET 8", ".NET 10", "Mono"];
const THREADS: [usize; 2] = [1, 2];
const DEFAULT: &str = "default";
/// `--exact`
const NOTHING_COUNTED: (&str, &str) = ("ILINST_COUNT_BELOW", "0");
/// The modes: their names and environment variables.
const MODES: [(&str, &[(&str, &str)]); 7] = [
    (DEFAULT, &[]),
    ("exact", &[NOTHING_COUNTED]),
    ("exact, stopwatch", &[NOTHING_COUNTED, ("ILINST_CLOCK", "stopwatch")]),
    ("allocations", &[("ILINST_ALLOCATIONS", "1")]),
    ("sampled", &[("ILINST_MODE", "sampled")]),
    ("count", &[("ILINST_MODE", "count")]),
    ("trace", &[("ILINST_MODE", "trace")]),
];
/// Other targets of probes: names, options, and the number of runtimes to run on, the first ones.
const WOVEN: [(&str, &[&str], usize); 6] = [
    ("lines alone", &["--lines-only"], 3),
    ("classic", &["--preset=classic=ProfileInfoTracker.dll"], 3),
    ("coverage", &["--preset=coverage"], 3),
    ("activity", &["--preset=activity"], 2),
    ("capture calls", &["--capture=calls"], 3),
    ("capture args,return", &["--capture=args,return"], 3),
];
/// The variants of `ilinst run --live` on .NET 8.
const LIVE: [Live; 6] = [
    Live { name: "live", options: &[], settings: &[], goal: Some((2, 15.0)) },
    Live { name: "live, count", options: &[], settings: &[("ILINST_MODE", "count")], goal: Some((0, 5.0)) },
    Live { name: "live, --hooks", options: &["--hooks"], settings: &[], goal: Some((2, 15.0)) },
    Live { name: "live, --hooks, filtered out", options: &["--hooks", "--exclude=*"], settings: &[], goal: None },
    Live {
        name: "live, --hooks --capture calls",
        options: &["--hooks", "--capture=calls"],
        settings: &[],
        goal: Some((0, 130.0)),
    },
    Live {
        name: "live, --hooks --capture args,return",
        options: &["--hooks", "--capture=args,return"],
        settings: &[],
        goal: Some((0, 350.0)),
    },
];
const PEERS: [&str; 4] = ["clock twice", "MethodTimer's shape", "Interlocked counter", "unlistened ActivitySource"];
const FAN_OUT: [&str; 8] = ["1", "4", "16", "64", "256", "2000", "20000", "100000"];
/// Limits of the goals: ns of CPU time, factors, percent.
const MAX_OVER_CLOCK: [(&str, f64); 2] = [("exact, stopwatch", 8.0), ("trace", 12.0)];
const MAX_NS: [(&str, f64); 3] = [("exact", 36.0), ("sampled", 9.0), ("count", 3.0)];
const MAX_FAN_OUT_TIMES: f64 = 1.3;
const MAX_ASYNC_NS: [f64; RUNTIMES.len()] = [250.0, 250.0, 500.0];
const MIN_DEPTH_PERCENT: [f64; RUNTIMES.len()] = [80.0, 80.0, 50.0];

/// A way to record an original program.
struct Live {
    name: &'static str,
    options: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
    /// The largest cost of a call: a number of clock readings, plus a time in ns.
    goal: Option<(u32, f64)>,
}

/// Runtime, variant (a mode, `unwoven`, `peers`), number of threads, and the measured call; values are ns of CPU time a call, or
/// bytes.
type Key = (usize, &'static str, usize, String);

#[derive(Default)]
struct Costs(BTreeMap<Key, Vec<f64>>);

impl Costs {
    fn spread(&self, runtime: usize, variant: &'static str, threads: usize, what: &str) -> Option<Spread> {
        let figures = self.0.get(&(runtime, variant, threads, what.to_owned()))?;
        Some(Spread::new(figures))
    }

    /// Returns the difference between the instrumented and the original program, for median, minimum and maximum.
    fn added(&self, runtime: usize, mode: &'static str, threads: usize, what: &str) -> Option<Spread> {
        let (woven, plain) = (self.spread(runtime, mode, threads, what)?, self.spread(runtime, UNWOVEN, threads, what)?);
        Some(Spread { median: woven.median - plain.median, min: woven.min - plain.median, max: woven.max - plain.median })
    }
}

const UNWOVEN: &str = "unwoven";
const PEER: &str = "peers";
const DIRECT: &str = "direct";

pub(super) fn run(arguments: &[String]) -> Result<()> {
    let (mut rounds, mut write, mut gate) = (3, None, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--rounds" => rounds = value()?.parse().context("--rounds wants a number")?,
            "--write" => write = Some(PathBuf::from(value()?)),
            "--gate" => gate = true,
            unknown => bail!("no option '{unknown}'; there is --write FILE, --rounds N, --gate"),
        }
    }
    let toolchain = Toolchain::prepare(Tier::Default);
    let mut machine = machine::describe(&toolchain)?;
    machine.retain(|(name, _)| *name != "Cecil" && *name != "Rust");
    let bench = Bench::build(&toolchain)?;
    let mut costs = Costs::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds} ...");
        bench.round(&mut costs)?;
    }
    machine.push(("load average at the end", machine::load()));
    let goals = judge(&costs);
    let text = render(&machine, &costs, rounds);
    match write {
        Some(path) => fs::write(path, text)?,
        None => print!("{text}"),
    }
    goals::settle(&goals, gate)
}

/// The programs, before and after instrumenting.
struct Bench {
    ilinst: PathBuf,
    folder: PathBuf,
    hosts: [PathBuf; RUNTIMES.len()],
}

impl Bench {
    fn build(toolchain: &Toolchain) -> Result<Self> {
        let ilinst = match env::var_os("ILINST_BIN") {
            Some(tool) => PathBuf::from(tool),
            None => {
                let packages = ["--package", "ilinst", "--package", "ilinst-clr-profiler"];
                sh(Command::new("cargo").args(["build", "--quiet", "--profile", "shipped"]).args(packages))?;
                target().join("shipped/ilinst")
            }
        };
        let folder = programs::folder("tracker");
        let tracker = root().join("tracker-runtime/bin/Ilinst.Tracker.dll");
        programs::build_tracker(toolchain, &folder, &tracker)?;
        for (name, options) in WOVEN.iter().map(|(name, options, _)| (*name, *options)).chain([("", &[][..])]) {
            let mut weave = Command::new(&ilinst);
            weave.current_dir(&folder).arg("instrument").arg(folder.join("unwoven")).arg("-o").arg(folder.join(woven(name)));
            // Awaited methods are not measured.
            quiet(weave.args(["--all", "--quiet", "--exclude", "Cost/Pump"]).args(options))?;
        }
        fs::copy(&tracker, folder.join("unwoven/Ilinst.Tracker.dll"))?;
        let hosts = ["ILINST_DOTNET8", "ILINST_DOTNET10", "ILINST_MONO"].map(|host| toolchain.get(host).map(PathBuf::from));
        let [dotnet_8, dotnet_10, mono] = hosts;
        Ok(Self { ilinst, folder, hosts: [dotnet_8?, dotnet_10?, mono?] })
    }

    /// Runs each measurement once.
    fn round(&self, costs: &mut Costs) -> Result<()> {
        for (runtime, name) in RUNTIMES.iter().enumerate() {
            for threads in THREADS {
                for what in ["calls", "async", "depth"] {
                    if what != "calls" && threads > 1 {
                        continue;
                    }
                    self.measure(costs, (runtime, UNWOVEN, threads), "unwoven/Cost.exe", what, &[])?;
                    for (mode, settings) in MODES.iter().take(if what == "calls" { MODES.len() } else { 1 }) {
                        self.measure(costs, (runtime, mode, threads), "woven/Cost.exe", what, settings)?;
                    }
                }
                for (name, _, _) in WOVEN.iter().filter(|(_, _, runtimes)| runtime < *runtimes) {
                    self.measure(costs, (runtime, name, threads), &format!("{}/Cost.exe", woven(name)), "calls", &[])?;
                }
                if runtime == 0 {
                    LIVE.iter().try_for_each(|live| self.live(costs, live, threads))?;
                }
                let peers = if *name == "Mono" { "unwoven/Cost.exe" } else { "unwoven/CostActivities.exe" };
                self.measure(costs, (runtime, PEER, threads), peers, "peers", &[])?;
            }
            self.program(costs, (runtime, DIRECT, 1), "unwoven/FanOut.exe", &FAN_OUT, &[])?;
        }
        Ok(())
    }

    fn measure(
        &self,
        costs: &mut Costs,
        (runtime, variant, threads): (usize, &'static str, usize),
        program: &str,
        what: &str,
        settings: &[(&str, &str)],
    ) -> Result<()> {
        self.program(costs, (runtime, variant, threads), program, &[&threads.to_string(), what], settings)
    }

    fn program(
        &self,
        costs: &mut Costs,
        (runtime, variant, threads): (usize, &'static str, usize),
        program: &str,
        arguments: &[&str],
        settings: &[(&str, &str)],
    ) -> Result<()> {
        let mut command = Command::new(&self.hosts[runtime]);
        command.arg(self.folder.join(program)).args(arguments).env("ILINST_OUTPUT", self.folder.join("cost.ilprof"));
        self.take(costs, (runtime, variant, threads), command.envs(settings.iter().copied()))
    }

    fn live(&self, costs: &mut Costs, live: &Live, threads: usize) -> Result<()> {
        let mut command = Command::new(&self.ilinst);
        command.args(["run", "--live", "--all", "--no-config", "--quiet", "--no-report"]).args(live.options).arg("--");
        command.arg(&self.hosts[0]).arg(self.folder.join("unwoven/Cost.exe")).args([&threads.to_string(), "calls"]);
        self.take(costs, (0, live.name, threads), command.envs(live.settings.iter().copied()))
    }

    /// Runs a program, and stores the figures that it prints.
    fn take(
        &self,
        costs: &mut Costs,
        (runtime, variant, threads): (usize, &'static str, usize),
        command: &mut Command,
    ) -> Result<()> {
        let output = command.current_dir(&self.folder).envs(DOTNET_ENVIRONMENT.iter().copied()).output()?;
        if !output.status.success() {
            bail!("{} failed\n{}", show(command), String::from_utf8_lossy(&output.stderr));
        }
        for line in String::from_utf8(output.stdout)?.lines() {
            let mut words = line.split(' ');
            let what = words.next().unwrap_or_default().replace('_', " ");
            costs
                .0
                .entry((runtime, variant, threads, what))
                .or_default()
                .extend(words.filter_map(|word| word.parse::<f64>().ok()));
        }
        Ok(())
    }
}

/// Returns the folder of the program instrumented for this variant.
fn woven(name: &str) -> String {
    format!("woven {name}").trim_end().replace([' ', ','], "-")
}

fn judge(costs: &Costs) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (runtime, name) in RUNTIMES.iter().enumerate() {
        for threads in THREADS {
            let on = format!("{name}, {threads} {}", if threads == 1 { "thread" } else { "threads" });
            let clock = costs.spread(runtime, PEER, threads, "clock twice").map_or(f64::NAN, |clock| clock.median);
            for (mode, _) in MODES {
                let over = MAX_OVER_CLOCK.iter().find(|(of, _)| *of == mode);
                let (what, limit) = match (over, MAX_NS.iter().find(|(of, _)| *of == mode)) {
                    (Some((_, over)), _) => (format!("{mode}: two clock reads + {over} ns a call"), clock + over),
                    (_, Some((_, limit))) => (format!("{mode}: {limit} ns a call"), *limit),
                    _ => continue,
                };
                for body in ["empty", "fib"] {
                    let Some(added) = costs.added(runtime, mode, threads, body) else { continue };
                    let measured = format!("{:.1} of {limit:.1} ns", added.median);
                    goals.push(Goal { what: what.clone(), on: format!("{on}, {body}"), measured, is_met: added.median <= limit });
                }
            }
            for Live { name, goal, .. } in LIVE {
                let Some((reads, over)) = goal else { continue };
                let limit = clock * f64::from(reads) / 2.0 + over;
                let what = format!("{name}: {}{over} ns a call", if reads > 0 { "two clock reads + " } else { "" });
                for body in ["empty", "fib"] {
                    let Some(added) = costs.added(runtime, name, threads, body) else { continue };
                    let measured = format!("{:.1} of {limit:.1} ns", added.median);
                    goals.push(Goal { what: what.clone(), on: format!("{on}, {body}"), measured, is_met: added.median <= limit });
                }
            }
        }
        goals.extend(once(costs, runtime));
    }
    goals
}

/// Returns the goals for one thread.
fn once(costs: &Costs, runtime: usize) -> Vec<Goal> {
    let mut goals = Vec::new();
    let mut add = |what: String, measured: String, is_met: bool| {
        goals.push(Goal { what, on: RUNTIMES[runtime].to_owned(), measured, is_met });
    };
    let at = |callees: &str| Some(costs.spread(runtime, DIRECT, 1, callees)?.median);
    if let Some(one) = at("1") {
        let most = FAN_OUT
            .iter()
            .filter_map(|callees| Some((at(callees)? / one, *callees)))
            .fold((0.0, ""), |most, next| if next.0 > most.0 { next } else { most });
        let what = format!("any number of callees: {MAX_FAN_OUT_TIMES} times one callee's cost");
        add(what, format!("{:.2} times, with {}", most.0, most.1), most.0 <= MAX_FAN_OUT_TIMES);
    }
    let default = |what: &str| Some(costs.added(runtime, DEFAULT, 1, what)?.median);
    for body in ["synchronous", "suspended"] {
        let Some(added) = default(body) else { continue };
        let what = format!("an async call, {body}: {} ns", MAX_ASYNC_NS[runtime]);
        add(what, format!("{added:.0} ns"), added <= MAX_ASYNC_NS[runtime]);
    }
    if let (Some(bytes), Some(plain)) = (costs.spread(runtime, DEFAULT, 1, "bytes"), costs.spread(runtime, UNWOVEN, 1, "bytes")) {
        let percent = plain.median * 100.0 / bytes.median;
        let what = format!("depth of recursion: {} % of the original program's", MIN_DEPTH_PERCENT[runtime]);
        let measured = format!("{percent:.0} % ({:.0} bytes a call, {:.0} there)", bytes.median, plain.median);
        add(what, measured, percent >= MIN_DEPTH_PERCENT[runtime]);
    }
    goals
}

fn render(machine: &machine::Machine, costs: &Costs, rounds: usize) -> String {
    let mut text = format!("{HEAD}\n{rounds} rounds, each in processes of its own.\n\n| | |\n|---|---|\n");
    for (name, value) in machine {
        text += &format!("| {name} | {value} |\n");
    }
    text.push_str("\n## A call, in ns over the original program's\n\n");
    heading(&mut text, "", THREADS.len());
    let threads = THREADS.map(|threads| if threads == 1 { " | 1 thread".to_owned() } else { format!(" | {threads} threads") });
    text += &format!("|{} |\n", threads.concat().repeat(RUNTIMES.len()));
    for (mode, _) in MODES {
        for body in ["empty", "fib"] {
            row(&mut text, &format!("{mode}: {body}"), |runtime, threads| costs.added(runtime, mode, threads, body));
        }
    }
    for (name, _, _) in WOVEN {
        for body in ["empty", "fib"] {
            row(&mut text, &format!("{name}: {body}"), |runtime, threads| costs.added(runtime, name, threads, body));
        }
    }
    for Live { name, .. } in LIVE {
        for body in ["empty", "fib"] {
            row(&mut text, &format!("{name}: {body}"), |runtime, threads| costs.added(runtime, name, threads, body));
        }
    }
    for peer in PEERS {
        row(&mut text, &format!("*{peer}*"), |runtime, threads| costs.spread(runtime, PEER, threads, peer));
    }
    text.push_str("\n## Callees in turn, in ns a call\n\n");
    heading(&mut text, "callees", 1);
    for callees in FAN_OUT {
        line(&mut text, callees, |runtime| costs.spread(runtime, DIRECT, 1, callees));
    }
    text.push_str("\n## Async calls, in ns over the original program's\n\n");
    heading(&mut text, "", 1);
    for body in ["synchronous", "suspended", "ten awaits"] {
        line(&mut text, body, |runtime| costs.added(runtime, DEFAULT, 1, body));
    }
    text.push_str("\n## Stack, in bytes a call\n\n");
    heading(&mut text, "", 1);
    line(&mut text, "original", |runtime| costs.spread(runtime, UNWOVEN, 1, "bytes"));
    line(&mut text, "instrumented", |runtime| costs.spread(runtime, DEFAULT, 1, "bytes"));
    text
}

const HEAD: &str = "# What probes cost

Made by `cargo xtask bench tracker --write docs/bench-tracker.md`. The programs (`xtask/tracker`) are instrumented with `--all`, run
on each runtime, and measure the CPU time of their threads by the system's clock, after the JIT's tiers. The figures are medians,
with the least and the most in brackets.

- **empty** does nothing and is not inlined; **fib** is the usual recursion. The cost of a call is the figure of the instrumented program
  minus the median of the original: a pair of probes, the try block, and the missing inlining.
- *default* times a call by the processor's counter, and only counts calls that take less than twice the time of their probes. *exact* is
  `--exact`, which times each call; *stopwatch* reads the clock of Stopwatch. *allocations* also reads the thread's bytes.
- *clock twice* is two reads of Stopwatch, the least cost of an exact time with that clock. *MethodTimer's shape* is a Stopwatch object
  that a finally block stops and passes to a method that does nothing. The others are a method that increments a counter, and one
  that asks an ActivitySource without listeners for an activity. These have no tree, or no time.
- *lines alone* is `--lines-only`: a counter for each statement, also for the three of the loop that calls **empty**.
- *classic*, *coverage* and *activity* are the presets of those names: the first with `samples/hooks/ProfileInfoTracker.cs`, which
  counts with Interlocked; the activities have no listener. *capture* is the cost of `--capture` in addition to the tree: of **empty**,
  which has no arguments, each call is recorded; of **fib** also an `int` in and out.
- *live* is `ilinst run --live`: the same probes as in instrumented files. With `--hooks`, it is the hooks of the CLR profiler, which
  keep a call tree. *filtered out* is a method that is not selected.
- Callees in turn: the tracker is called as by instrumented code, and one caller calls that many methods in turn. The cost of the
  loop is not subtracted.
- *synchronous* is an async method that completes at once. *suspended* waits once for work that the same thread then does, and *ten
  awaits* ten times.
";

/// Writes the head of a table with this number of columns for each runtime.
fn heading(text: &mut String, name: &str, columns: usize) {
    let names = RUNTIMES.map(|runtime| format!(" {runtime} {}", "| ".repeat(columns).trim_end()));
    *text += &format!("| {name} |{}\n|---|{}\n", names.concat(), "--:|".repeat(columns * RUNTIMES.len()));
}

fn row(text: &mut String, name: &str, cell: impl Fn(usize, usize) -> Option<Spread>) {
    let of_runtime = |runtime: usize| THREADS.map(|threads| format!(" {} |", figure(cell(runtime, threads)))).concat();
    *text += &format!("| {name} |{}\n", (0..RUNTIMES.len()).map(of_runtime).collect::<String>());
}

fn line(text: &mut String, name: &str, cell: impl Fn(usize) -> Option<Spread>) {
    let cells: String = (0..RUNTIMES.len()).map(|runtime| format!(" {} |", figure(cell(runtime)))).collect();
    *text += &format!("| {name} |{cells}\n");
}

fn figure(spread: Option<Spread>) -> String {
    spread.map_or_else(String::new, |Spread { median, min, max }| format!("{median:.1} ({min:.1} to {max:.1})"))
}
