//! `cargo xtask bench`: how long `ilinst instrument` takes, as a ratio to a program that maps, copies and writes the same
//! bytes. Only ratios of one run mean anything: machines differ, and so do their moods.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};

use crate::{
    common::{sh, target},
    toolchain::Toolchain,
};

/// The hidden task that is the floor.
pub(crate) const FLOOR_TASK: &str = "floor";
/// Of the SDK. The limits are those of the first.
const FILES: [&str; 2] = ["Roslyn/bincore/Microsoft.CodeAnalysis.CSharp.dll", "FSharp/FSharp.Compiler.Private.dll"];
const DEFAULT_ROUNDS: usize = 15;
const MIB: f64 = 1_048_576.0;
/// Past these, `--gate` fails.
const MAX_RATIO: f64 = 5.0;
const MAX_PEAK_MIB: f64 = 60.0;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut rounds, mut gate, mut json) = (DEFAULT_ROUNDS, false, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--rounds" => {
                let number = rest.next().and_then(|rounds| rounds.parse().ok()).filter(|rounds| *rounds > 0);
                rounds = number.context("--rounds wants a number above 0")?;
            }
            "--gate" => gate = true,
            "--json" => json = true,
            unknown => bail!("no option '{unknown}'; there is --rounds N, --gate, --json"),
        }
    }
    let toolchain = Toolchain::prepare();
    let sdk = toolchain.get("ILINST_SDK")?;
    sh(Command::new("cargo").args(["build", "--quiet", "--release", "--package", "ilinst", "--package", "xtask"]))?;
    let scratch = target().join("bench");
    fs::create_dir_all(&scratch)?;
    let results = FILES.iter().map(|file| measure(&sdk.join(file), &scratch, rounds)).collect::<Result<Vec<_>>>()?;
    let within = results.first().is_some_and(|first| first.ratio() <= MAX_RATIO && first.peak_mib <= MAX_PEAK_MIB);
    if json {
        let files: Vec<_> = results.iter().map(Measurement::json).collect();
        println!("{{\"rounds\":{rounds},\"within_limits\":{within},\"files\":[{}]}}", files.join(","));
    } else {
        let [file, mib, floor, ilinst] = ["file", "MiB", "floor ms", "ilinst ms"];
        println!("{file:<34} {mib:>10} {floor:>22} {ilinst:>22} {:>7} {:>9} {:>9}", "ratio", "peak MiB", "out MiB");
        results.iter().for_each(Measurement::print);
        let verdict = if within { "within" } else { "past" };
        println!("medians (min-max) of {rounds} rounds, taken in turn");
        println!("the first is {verdict} its limits: {MAX_RATIO}x the floor, {MAX_PEAK_MIB} MiB");
    }
    if gate && !within {
        bail!("past the limits");
    }
    Ok(())
}

struct Measurement {
    file: PathBuf,
    floor: Vec<f64>,
    ilinst: Vec<f64>,
    peak_mib: f64,
    output_mib: f64,
}

impl Measurement {
    fn ratio(&self) -> f64 {
        median(&self.ilinst) / median(&self.floor)
    }

    fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn input_mib(&self) -> f64 {
        fs::metadata(&self.file).map_or(0.0, |metadata| metadata.len() as f64) / MIB
    }

    fn print(&self) {
        let times = |times: &[f64]| {
            let (least, most) = range(times);
            format!("{:.1} ({least:.1}-{most:.1})", median(times))
        };
        println!(
            "{:<34} {:>10.1} {:>22} {:>22} {:>7.2} {:>9.1} {:>9.1}",
            self.name(),
            self.input_mib(),
            times(&self.floor),
            times(&self.ilinst),
            self.ratio(),
            self.peak_mib,
            self.output_mib
        );
    }

    fn json(&self) -> String {
        let times = |times: &[f64]| {
            let (least, most) = range(times);
            format!("{{\"median\":{:.3},\"min\":{least:.3},\"max\":{most:.3}}}", median(times))
        };
        format!(
            "{{\"file\":\"{}\",\"input_mib\":{:.3},\"floor_ms\":{},\"ilinst_ms\":{},\"ratio\":{:.3},\"peak_mib\":{:.3},\"output_mib\":{:.3}}}",
            self.name(),
            self.input_mib(),
            times(&self.floor),
            times(&self.ilinst),
            self.ratio(),
            self.peak_mib,
            self.output_mib
        )
    }
}

fn measure(file: &Path, scratch: &Path, rounds: usize) -> Result<Measurement> {
    let name = file.file_name().context("no file name")?;
    let woven = scratch.join("woven").join(name);
    let copied = scratch.join("copied").join(name);
    fs::create_dir_all(copied.parent().context("no folder")?)?;
    let instrument = || {
        let mut command = Command::new(target().join("release/ilinst"));
        command.arg("instrument").arg(file).arg("-o").arg(&woven).arg("--quiet");
        command
    };
    let floor = || {
        let mut command = Command::new(target().join("release/xtask"));
        command.arg(FLOOR_TASK).arg(file).arg(&copied);
        command
    };
    let mut result = Measurement { file: file.to_owned(), floor: Vec::new(), ilinst: Vec::new(), peak_mib: 0.0, output_mib: 0.0 };
    for round in 0..=rounds {
        // Both write new files, so that neither waits for an old one to be thrown away.
        let _ = fs::remove_dir_all(scratch.join("woven"));
        let _ = fs::remove_file(&copied);
        let (floor, ilinst) = (time(floor())?, time(instrument())?);
        // The first round warms the page cache.
        if round > 0 {
            result.floor.push(floor);
            result.ilinst.push(ilinst);
        }
    }
    result.output_mib = fs::metadata(&woven)?.len() as f64 / MIB;
    result.peak_mib = peak_mib(instrument())?;
    Ok(result)
}

/// Milliseconds from start to end of a process.
fn time(mut command: Command) -> Result<f64> {
    let started = Instant::now();
    let status = command.stdout(Stdio::null()).status()?;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        bail!("{} failed: {status}", command.get_program().display());
    }
    Ok(milliseconds)
}

/// The most memory a process had, by polling what Linux keeps of it until it ends.
fn peak_mib(mut command: Command) -> Result<f64> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0.0_f64;
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: f64 = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0);
        peak = peak.max(kib / 1024.0);
    }
    Ok(peak)
}

fn range(times: &[f64]) -> (f64, f64) {
    times.iter().fold((f64::MAX, 0.0), |(least, most): (f64, f64), time| (least.min(*time), most.max(*time)))
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Maps a file, copies it and writes the copy: what any rewriter of files has to do at the least.
pub(crate) fn floor(arguments: &[String]) -> Result<()> {
    let [from, to] = arguments else { bail!("two files are wanted") };
    let file = File::open(from)?;
    #[expect(unsafe_code, reason = "the file is not changed while it is mapped")]
    let map = unsafe { memmap2::Mmap::map(&file) }?;
    let copy = map.to_vec();
    Ok(File::create(to)?.write_all(&copy)?)
}
