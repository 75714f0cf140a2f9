//! Measures a process. A small process of its own starts it and asks the system for its resource usage. Peak memory includes the
//! parent's at the start, so the parent must be small.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, bail};

use crate::common::{show, target};

/// The hidden task that runs a program and prints its resource usage.
pub(crate) const TASK: &str = "measure";

/// The resource usage of a process and of all children it waited for.
#[derive(Clone, Copy)]
pub(super) struct Usage {
    pub(super) wall_ms: f64,
    /// User and system time of all threads.
    pub(super) cpu_ms: f64,
    pub(super) peak_mib: f64,
}

/// Runs a command, which must succeed. Returns its resource usage and its output.
pub(super) fn measure(command: &Command) -> Result<(Usage, String)> {
    let mut runner = Command::new(target().join("shipped/xtask"));
    runner.arg(TASK).arg(command.get_program()).args(command.get_args());
    runner.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = runner.output().with_context(|| format!("{} cannot be run", runner.get_program().display()))?;
    if !output.status.success() {
        bail!("{} failed\n{}", show(command), String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let (printed, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    let numbers: Vec<f64> = last.split(' ').map_while(|number| number.parse().ok()).collect();
    let [wall_ms, cpu_ms, peak_mib] = numbers[..] else { bail!("no measurement: {last}") };
    Ok((Usage { wall_ms, cpu_ms, peak_mib }, printed.to_owned()))
}

/// Runs the task. Its last line of output is wall time in ms, CPU time in ms, and peak memory in MiB.
#[cfg(unix)]
pub(crate) fn task(arguments: &[String]) -> Result<()> {
    use nix::sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike as _,
    };
    let (program, arguments) = arguments.split_first().context("a program is wanted")?;
    let started = Instant::now();
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).status()?;
    let wall_ms = started.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        bail!("{status}");
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu_ms = (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e3;
    // Linux counts in KiB.
    println!("\n{wall_ms:.3} {cpu_ms:.3} {:.3}", usage.max_rss() as f64 / 1024.0);
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn task(_: &[String]) -> Result<()> {
    bail!("what a process takes is asked of Unix")
}
