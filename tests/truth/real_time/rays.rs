//! A ray tracer, most of whose calls take a few nanoseconds.

use std::{collections::BTreeMap, fs, process::Command};

use profile::{Profile, SampleType};
use tests::{References, Runtime, ilinst, require, take_environment};

use crate::{on_each, program::Program};

const PICTURE: &[&str] = &["400"];
const RUNS: usize = 3;
/// The rows that a reader looks at first.
const FIRST: usize = 5;
/// A larger picture, and samples a second. On Mono samples come less often: some thousand have to come.
const SAMPLED_PICTURE: &str = "6000";
const FREQUENCY: &str = "1000";
/// In points of percent.
const WITHIN: f64 = 3.0;

#[test]
#[ignore = "needs .NET and Mono"]
fn each_run_has_the_same_first_rows() {
    let Some(program) = Program::make(References::All, "real_time/programs/Rays", "real-rays", &[]) else { return };
    on_each(|runtime, wrong| {
        let runs = [(); RUNS].map(|()| first_rows(&program, runtime));
        println!("{}: {:?}", runtime.name, runs[0]);
        // Of methods with about the same time, either may come first.
        let is_same = |rows: &[String]| rows[0] == runs[0][0] && rows.iter().all(|row| runs[0].contains(row));
        if !runs.iter().all(|rows| is_same(rows)) {
            wrong.push(format!("the first rows are {runs:#?}"));
        }
    });
}

fn first_rows(program: &Program, runtime: &Runtime) -> [String; FIRST] {
    let report = program.woven(runtime, PICTURE, &[]).report();
    std::array::from_fn(|place| report.rows[place]["name"].as_str().expect("a row has a name").to_owned())
}

/// Both take samples of the same run.
#[test]
#[ignore = "needs .NET, Mono and perf"]
fn samples_agree_with_perf() {
    let Some(program) = Program::make(References::All, "real_time/programs/Rays", "real-rays-perf", &[]) else { return };
    let Some(perf) = require("ILINST_PERF") else { return };
    on_each(|runtime, wrong| {
        let (data, profiles) = (program.folder().join("perf.data"), program.folder().join("profiles"));
        let _ = fs::remove_dir_all(&profiles);
        let original = program.original_command(runtime);
        let mut command = Command::new(&perf);
        command.args(["record", "--quiet", "--event=cpu-clock", &format!("--freq={FREQUENCY}"), "-o"]).arg(&data).arg("--");
        command.arg(ilinst().get_program()).args(["run", "--sample", &format!("--frequency={FREQUENCY}"), "--no-report"]);
        command.arg(format!("--keep={}", profiles.display())).arg("--");
        command.arg(original.get_program()).args(original.get_args()).arg(SAMPLED_PICTURE).current_dir(program.folder());
        take_environment(&mut command, &original);
        // The names of compiled code, for perf: Mono's, and .NET's, without the tier, of code that is mapped once.
        command.env("MONO_ENV_OPTIONS", "--jitmap").env("DOTNET_PerfMapEnabled", "1").env("COMPlus_PerfMapEnabled", "1");
        command.env("DOTNET_PerfMapShowOptimizationTiers", "0").env("COMPlus_PerfMapShowOptimizationTiers", "0");
        command.env("DOTNET_EnableWriteXorExecute", "0");
        let output = command.output().expect("perf starts");
        assert!(output.status.success(), "{}: {}", runtime.name, String::from_utf8_lossy(&output.stderr));

        let mut script = Command::new(&perf);
        script.args(["script", "--fields=pid,ip,sym", "-i"]).arg(&data);
        let script = script.output().expect("perf starts").stdout;
        let found = shares_of_profile(&tests::profile_in(&profiles));
        let script = String::from_utf8_lossy(&script);
        let (process, truth) = shares_of_perf(&script);
        // The runtime's names for perf, which looks for them there alone.
        let _ = fs::remove_file(format!("/tmp/perf-{process}.map"));
        let methods: Vec<_> = truth.iter().filter(|(name, share)| name.contains("::") && **share > 1.0).collect();
        assert!(methods.len() >= FIRST, "{}: perf has no names: {truth:?}", runtime.name);
        for (name, truth) in methods {
            let found = found.get(name).copied().unwrap_or_default();
            println!("{}: {name}: perf {truth:.1} %, ilinst {found:.1} %", runtime.name);
            if (truth - found).abs() > WITHIN {
                wrong.push(format!("{name}: {truth:.1} % by perf, {found:.1} % by ilinst"));
            }
        }
    });
}

/// The CPU time of methods without their callees, in percent.
fn shares_of_profile(profile: &Profile) -> BTreeMap<String, f64> {
    let all = profile.sum(SampleType::CPU) as f64;
    let mut shares = BTreeMap::new();
    for (function, ns) in profile.functions.iter().zip(profile.flat_by_function(SampleType::CPU)) {
        *shares.entry(function.raw_name().unwrap_or_default()).or_default() += ns as f64 * 100.0 / all;
    }
    shares
}

/// The process with most of perf's samples, and the same by them. A line is `PID ADDRESS SYMBOL`; the symbol of a method is
/// `float64 [Rays] Vector::Dot(...)` on .NET, and `Vector:Dot (...)` on Mono.
fn shares_of_perf(script: &str) -> (&str, BTreeMap<String, f64>) {
    fn parts(line: &str) -> Option<(&str, &str)> {
        let (process, rest) = line.trim().split_once(' ')?;
        Some((process, rest.trim().split_once(' ')?.1))
    }
    let samples: Vec<(&str, &str)> = script.lines().filter_map(parts).collect();
    let mut processes: BTreeMap<&str, usize> = BTreeMap::new();
    samples.iter().for_each(|(process, _)| *processes.entry(process).or_default() += 1);
    let (process, all) = processes.into_iter().max_by_key(|(_, samples)| *samples).expect("there are samples");
    let mut shares = BTreeMap::new();
    for (_, symbol) in samples.iter().filter(|(of, _)| *of == process) {
        let name = symbol.split('(').next().unwrap_or_default().trim();
        let name = name.rsplit(' ').next().unwrap_or_default();
        let name = if name.contains("::") { name.to_owned() } else { name.replacen(':', "::", 1) };
        // `List`1+Enumerator[System.__Canon]` is `List`1/Enumerator` in metadata.
        let name = match (name.find('['), name.find("]::")) {
            (Some(start), Some(end)) => format!("{}{}", &name[..start], &name[end + 1..]).replace('+', "/"),
            _ => name,
        };
        *shares.entry(name).or_default() += 100.0 / all as f64;
    }
    (process, shares)
}
