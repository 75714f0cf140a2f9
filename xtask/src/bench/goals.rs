//! The goals of `ilinst`, checked against measurements of the same run. Default options are used, and against Cecil the options
//! with which both do the same.

use anyhow::{Result, bail};

use super::{
    results::{Kind, MIB, Measured, Results, Series, Spread},
    tools::{Leave, Tool},
};

pub(super) struct Goal {
    pub(super) what: String,
    /// The name of the input.
    pub(super) on: String,
    pub(super) measured: String,
    pub(super) is_met: bool,
}

const MIN_TIMES_CECIL: f64 = 50.0;
const MIN_TIMES_BEST_CECIL: f64 = 30.0;
const MAX_PEAK_BESIDE_MIB: f64 = 6.0;
const MAX_OUTPUT_TIMES_CECIL: f64 = 1.02;
const MAX_FOLDER_CPU_MS: f64 = 800.0;
const MAX_FOLDER_PEAK_MIB: f64 = 80.0;
const MAX_TIMES_PER_MIB: f64 = 1.2;
const MAX_START_MS: f64 = 2.0;

/// A rule: returns the goal as text, the measured figure, and whether the goal is met. Returns `None` for inputs without this
/// goal.
type Rule = fn(&Measured, &Series) -> Option<(String, String, bool)>;

const RULES: [Rule; 7] = [times_floor, times_cecil, times_best_cecil, peak, output, folder_cpu, folder_peak];

/// Prints each goal with its figure and whether it is met. The document has the figures alone.
///
/// # Errors
///
/// If a goal is missed, and goals are a gate.
pub(super) fn settle(goals: &[Goal], gate: bool) -> Result<()> {
    for Goal { what, on, measured, is_met } in goals {
        eprintln!("{}: {what}; {on}: {measured}", if *is_met { "met" } else { "missed" });
    }
    let missed = goals.iter().filter(|goal| !goal.is_met).count();
    eprintln!("{} of {} goals met", goals.len() - missed, goals.len());
    if gate && missed > 0 {
        bail!("{missed} goals are missed");
    }
    Ok(())
}

/// The goals for all that was measured.
pub(super) fn judge(results: &Results) -> Vec<Goal> {
    let mut goals = Vec::new();
    for rule in RULES {
        for measured in &results.inputs {
            let ilinst = measured.series_of(Tool::Ilinst(Leave::Finally));
            if let Some((what, figure, is_met)) = ilinst.and_then(|ilinst| rule(measured, ilinst)) {
                goals.push(Goal { what, on: measured.input.name(), measured: figure, is_met });
            }
        }
    }
    goals.extend(linear(results));
    let beyond = Spread::new(&results.start.ilinst).median - Spread::new(&results.start.nothing).median;
    goals.push(Goal {
        what: format!("start-up at most {MAX_START_MS} ms longer than that of `true`"),
        on: "`ilinst --version`".into(),
        measured: format!("{beyond:.2} ms"),
        is_met: beyond <= MAX_START_MS,
    });
    goals
}

fn times_floor(measured: &Measured, ilinst: &Series) -> Option<(String, String, bool)> {
    let limit = measured.input.max_times_floor?;
    let times = ilinst.wall_ms().median / measured.series_of(Tool::Floor)?.wall_ms().median;
    Some((format!("at most {limit} times the floor"), format!("{times:.2}"), times <= limit))
}

fn as_cecil(measured: &Measured) -> Option<&Series> {
    measured.series_of(Tool::IlinstAsCecil(Leave::Finally))
}

fn times_cecil(measured: &Measured, _: &Series) -> Option<(String, String, bool)> {
    let cecil = measured.series_of(Tool::Cecil(Leave::Finally, 0)).filter(|_| measured.is_file())?;
    let times = cecil.wall_ms().median / as_cecil(measured)?.wall_ms().median;
    Some((format!("at least {MIN_TIMES_CECIL} times as fast as Cecil"), format!("{times:.1}"), times >= MIN_TIMES_CECIL))
}

fn times_best_cecil(measured: &Measured, _: &Series) -> Option<(String, String, bool)> {
    let best = measured.best_cecil(Leave::Finally).filter(|_| measured.is_file())?;
    let times = best.wall_ms().median / as_cecil(measured)?.wall_ms().median;
    let what = format!("at least {MIN_TIMES_BEST_CECIL} times as fast as Cecil on its best host");
    Some((what, format!("{times:.1}"), times >= MIN_TIMES_BEST_CECIL))
}

/// Checks that the largest generated assembly takes no more time per MiB than the next smaller one.
fn linear(results: &Results) -> Option<Goal> {
    let made = || results.inputs.iter().filter(|measured| measured.input.kind == Kind::Made);
    let per_mib = |measured: &Measured| {
        let wall = measured.series_of(Tool::Ilinst(Leave::Finally))?.wall_ms().median;
        Some(wall / (measured.input.bytes as f64 / MIB))
    };
    let (largest, smaller) = (made().next_back()?, made().nth_back(1)?);
    let times = per_mib(largest)? / per_mib(smaller)?;
    Some(Goal {
        what: format!("linear: at most {MAX_TIMES_PER_MIB} times the time per MiB of the next smaller"),
        on: largest.input.name(),
        measured: format!("{times:.2}"),
        is_met: times <= MAX_TIMES_PER_MIB,
    })
}

fn peak(measured: &Measured, ilinst: &Series) -> Option<(String, String, bool)> {
    let of_files = measured.input.bytes as f64 + 2.0 * ilinst.output_bytes as f64;
    let (peak, limit) = (ilinst.peak_mib().max, of_files / MIB + MAX_PEAK_BESIDE_MIB);
    let what = format!("peak memory at most input + 2 x output + {MAX_PEAK_BESIDE_MIB} MiB");
    measured.is_file().then(|| (what, format!("{peak:.1} of {limit:.1} MiB"), peak <= limit))
}

fn output(measured: &Measured, _: &Series) -> Option<(String, String, bool)> {
    let cecil = measured.series_of(Tool::Cecil(Leave::Finally, 0)).filter(|_| measured.is_file())?;
    let times = as_cecil(measured)?.output_bytes as f64 / cecil.output_bytes as f64;
    let what = format!("output at most {:.0} % larger than Cecil's", (MAX_OUTPUT_TIMES_CECIL - 1.0) * 100.0);
    Some((what, format!("{:+.1} %", (times - 1.0) * 100.0), times <= MAX_OUTPUT_TIMES_CECIL))
}

fn folder_cpu(measured: &Measured, ilinst: &Series) -> Option<(String, String, bool)> {
    let cpu = ilinst.cpu_ms().median;
    let what = format!("a folder in at most {MAX_FOLDER_CPU_MS} ms of CPU");
    (!measured.is_file()).then(|| (what, format!("{cpu:.0} ms"), cpu <= MAX_FOLDER_CPU_MS))
}

fn folder_peak(measured: &Measured, ilinst: &Series) -> Option<(String, String, bool)> {
    let peak = ilinst.peak_mib().max;
    let what = format!("a folder in at most {MAX_FOLDER_PEAK_MIB} MiB");
    (!measured.is_file()).then(|| (what, format!("{peak:.0} MiB"), peak <= MAX_FOLDER_PEAK_MIB))
}
