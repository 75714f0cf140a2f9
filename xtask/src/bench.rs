//! `cargo xtask bench`: measures `ilinst instrument`. It is compared with a Cecil program that does the same, and with the floor,
//! a program that maps, copies and writes the same bytes. All tools take turns: machines differ and vary over time, so that only
//! ratios within one run are meaningful.

mod goals;
mod machine;
mod measure;
mod programs;
mod report;
mod results;
mod tools;
mod tracker;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, bail};

use self::{
    measure::measure,
    results::{Input, Kind, Measured, Results, Series},
    tools::{HOSTS, Leave, Tool, Tools},
};
pub(crate) use self::{
    measure::{TASK as MEASURE_TASK, task as measure_task},
    tools::{FLOOR_TASK, floor},
};
use crate::{
    common::{alone, sh, target},
    toolchain::{Tier, Toolchain},
};

/// The measured files, below the SDK or below Mono's libraries: kind, and the largest multiple of the floor's time allowed.
const FILES: &[(&str, &str, Kind, Option<f64>)] = &[
    ("ILINST_SDK", "Roslyn/bincore/Microsoft.CodeAnalysis.CSharp.dll", Kind::ReadyToRun, Some(3.0)),
    ("ILINST_SDK", "FSharp/FSharp.Compiler.Private.dll", Kind::EmbeddedPdb, Some(5.0)),
    ("ILINST_SDK", "FSharp/FSharp.Core.dll", Kind::ReadyToRun, None),
    ("ILINST_SDK", "Sdks/Microsoft.NET.Sdk.Razor/tools/netcoreapp3.0/Microsoft.CodeAnalysis.CSharp.dll", Kind::IlOnly, Some(5.0)),
    ("ILINST_MONO_LIB", "4.5/System.Xml.dll", Kind::IlOnly, Some(5.0)),
    (
        "ILINST_SDK",
        "DotnetTools/dotnet-user-secrets/3.1.2-servicing.20068.1/tools/netcoreapp3.1/any/Newtonsoft.Json.dll",
        Kind::IlOnly,
        Some(5.0),
    ),
    ("ILINST_SDK", "", Kind::Folder, None),
];
/// The number of methods in the large assemblies, of about 5, 50 and 500 MiB.
const LARGE: [u32; 3] = [48_000, 480_000, 4_800_000];
/// The number of rounds of `ilinst` and the floor, for a file and for a folder.
const ROUNDS: usize = 15;
const FOLDER_ROUNDS: usize = 5;
/// The number of rounds of all tools but Cecil for a large file.
const LARGE_ROUNDS: usize = 3;
/// The number of rounds of the Cecil program on each host, which takes seconds.
const CECIL_ROUNDS: usize = 3;
/// The number of rounds and the hosts of the Cecil program for a folder.
const CECIL_FOLDER: (usize, [usize; 2]) = (1, [0, 1]);
/// The number of rounds of an empty program, and of `ilinst --version`.
const START_ROUNDS: usize = 50;

pub(crate) const HELP: &str = "measure `ilinst instrument` beside Cecil and a plain copy; --write FILE, --large, --without-cecil, --rounds N, --only WORD, --gate; `bench tracker`: what probes cost";

struct Options {
    /// The largest number of rounds.
    rounds: usize,
    cecil: bool,
    /// Whether to generate and measure large assemblies, of up to 500 MiB.
    large: bool,
    /// Measures only inputs whose path contains this text.
    only: String,
    write: Option<PathBuf>,
    gate: bool,
}

impl Options {
    fn new(arguments: &[String]) -> Result<Self> {
        let mut options = Self { rounds: usize::MAX, cecil: true, large: false, only: String::new(), write: None, gate: false };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().with_context(|| format!("{argument} wants a value"));
            match argument.as_str() {
                "--rounds" => {
                    let number = value()?.parse().ok().filter(|rounds| *rounds > 0);
                    options.rounds = number.context("--rounds wants a number above 0")?;
                }
                "--only" => options.only.clone_from(value()?),
                "--write" => options.write = Some(value()?.into()),
                "--without-cecil" => options.cecil = false,
                "--large" => options.large = true,
                "--gate" => options.gate = true,
                unknown => {
                    bail!(
                        "no option '{unknown}'; there is --write FILE, --large, --without-cecil, --rounds N, --only WORD, --gate"
                    )
                }
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some((tracker::NAME, rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return tracker::run(rest);
    }
    let options = Options::new(arguments)?;
    let started = Instant::now();
    let toolchain = Toolchain::prepare(Tier::Default);
    let mut machine = machine::describe(&toolchain)?;
    sh(Command::new("cargo").args(["build", "--quiet", "--profile", "shipped", "--package", "ilinst", "--package", "xtask"]))?;
    let scratch = target().join("bench");
    fs::create_dir_all(&scratch)?;
    let tools = Tools::new(&toolchain)?;
    if options.cecil {
        programs::build_cecil(&toolchain)?;
    }
    let mut inputs = Vec::new();
    for (root, path, kind, max_times_floor) in FILES {
        inputs.push(Input::new(toolchain.get(root)?.join(path), *kind, *max_times_floor)?);
    }
    if options.large {
        for methods in LARGE {
            inputs.push(Input::new(programs::large(&toolchain, methods)?, Kind::Made, None)?);
        }
    }
    inputs.retain(|input| input.path.to_string_lossy().contains(&options.only));
    let mut measured = Vec::new();
    for input in inputs {
        eprintln!("{:>4.0} s  {} ...", started.elapsed().as_secs_f64(), input.path.display());
        measured.push(measure_input(&tools, input, &scratch, &options)?);
    }
    let start = measure_start()?;
    machine.push(("load average at the end", machine::load()));
    let results = Results { inputs: measured, start };
    let goals = goals::judge(&results);
    let text = report::render(&machine, &results);
    match options.write {
        Some(path) => fs::write(path, text)?,
        None => print!("{text}"),
    }
    goals::settle(&goals, options.gate)
}

/// Measures an input. Each tool has a turn in each round, and each round begins with another tool. The first round warms the page
/// cache and is not counted.
fn measure_input(tools: &Tools<'_>, input: Input, scratch: &Path, options: &Options) -> Result<Measured> {
    let (rounds, cecil_rounds, cecil_hosts) = match input.kind {
        Kind::Folder => (FOLDER_ROUNDS, CECIL_FOLDER.0, CECIL_FOLDER.1.to_vec()),
        Kind::Made => (LARGE_ROUNDS, 0, Vec::new()),
        _ => (ROUNDS, CECIL_ROUNDS, (0..HOSTS.len()).collect()),
    };
    let rounds = options.rounds.min(rounds);
    let cecil_rounds = if options.cecil { cecil_rounds.min(rounds) } else { 0 };
    let leaves = if matches!(input.kind, Kind::Folder | Kind::Made) { &Leave::ALL[..1] } else { &Leave::ALL };
    let mut series = vec![Series::new(Tool::Floor, rounds)];
    series.extend(leaves.iter().map(|leave| Series::new(Tool::Ilinst(*leave), rounds)));
    for leave in leaves {
        let as_cecil = (leaves.len() > 1).then(|| Series::new(Tool::IlinstAsCecil(*leave), rounds));
        series.extend(as_cecil);
        series.extend(cecil_hosts.iter().map(|host| Series::new(Tool::Cecil(*leave, *host), cecil_rounds)));
    }
    series.retain(|series| series.rounds > 0);
    let alone = alone(&input.path, scratch)?;
    let input_of = |tool: Tool| if tool.is_ilinst() { &alone } else { &input.path };
    let output_folder = scratch.join("output");
    let output = output_folder.join(input.path.file_name().context("no file name")?);
    for round in 0..=rounds {
        let count = series.len();
        for turn in 0..count {
            let series = &mut series[(turn + round) % count];
            // Tools with fewer rounds have them evenly spread.
            let has_turn = round == 0 || (round * series.rounds / rounds) > ((round - 1) * series.rounds / rounds);
            if !has_turn || (round == 0 && series.rounds < rounds) {
                continue;
            }
            // All tools write new files, so that none waits for the removal of an old one.
            let _ = fs::remove_dir_all(&output_folder);
            fs::create_dir_all(&output_folder)?;
            let (usage, printed) = measure(&tools.command(series.tool, input_of(series.tool), &output)?)?;
            if round > 0 {
                series.usages.push(usage);
                series.output_bytes = input.output_bytes(&output)?;
                series.woven = woven(&printed);
            }
        }
    }
    for series in &mut series {
        if series.tool.is_ilinst() {
            series.woven = woven_by_ilinst(tools.command(series.tool, &alone, &output)?)?;
        }
    }
    let _ = fs::remove_dir_all(&output_folder);
    Ok(Measured { input, series })
}

/// Returns the number of methods that the Cecil program reports.
fn woven(printed: &str) -> Option<u64> {
    printed.split_once("woven=")?.1.split_whitespace().next()?.parse().ok()
}

/// Returns the number of methods that `ilinst` reports as instrumented.
fn woven_by_ilinst(mut command: Command) -> Result<Option<u64>> {
    let report: serde_json::Value = serde_json::from_slice(&command.args(["--dry-run", "--json"]).output()?.stdout)?;
    let files = report["files"].as_array().context("no files")?;
    Ok(Some(files.iter().filter_map(|file| file["woven"].as_u64()).sum()))
}

/// Measures starting `ilinst`, and starting a program that does nothing.
fn measure_start() -> Result<results::Start> {
    let mut ilinst = Command::new(target().join("shipped/ilinst"));
    ilinst.arg("--version");
    let nothing = Command::new("true");
    let mut start = results::Start::default();
    for _ in 0..START_ROUNDS {
        start.ilinst.push(measure(&ilinst)?.0.wall_ms);
        start.nothing.push(measure(&nothing)?.0.wall_ms);
    }
    Ok(start)
}
