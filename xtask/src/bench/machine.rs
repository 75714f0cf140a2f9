//! The machine and the programs of a measurement.

use std::{fs, process::Command, thread};

use anyhow::Result;

use super::programs::CECIL_PACKAGE;
use crate::{
    common::root,
    toolchain::{DOTNET_ENVIRONMENT, Toolchain},
};

/// Names and descriptions of the machine's parts.
pub(super) type Machine = Vec<(&'static str, String)>;

pub(super) fn describe(toolchain: &Toolchain) -> Result<Machine> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory: f64 = field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse().unwrap_or(f64::NAN);
    let mut runtimes = Command::new(toolchain.get("ILINST_DOTNET8")?);
    runtimes.arg("--list-runtimes").envs(DOTNET_ENVIRONMENT.iter().copied());
    let runtimes = said(&mut runtimes);
    let dotnet = runtimes.lines().filter_map(|line| line.strip_prefix("Microsoft.NETCore.App 8.")).next_back();
    let dotnet = dotnet.and_then(|line| line.split(' ').next()).unwrap_or("?");
    let mono = said(Command::new(toolchain.get("ILINST_MONO")?).arg("--version"));
    let mono = mono.split("version ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("?").to_owned();
    let cecil = said(Command::new("dpkg-query").args(["-W", "-f=${Version}", CECIL_PACKAGE]));
    let commit = said(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root()));
    Ok(vec![
        ("date", said(Command::new("date").args(["--utc", "+%Y-%m-%d %H:%M UTC"]))),
        ("processor", format!("{}, {cores} cores", field("/proc/cpuinfo", "model name"))),
        ("memory", format!("{:.0} GiB", memory / 1_048_576.0)),
        ("system", said(Command::new("uname").args(["-sr"]))),
        ("ilinst", format!("{}, commit {commit}", env!("CARGO_PKG_VERSION"))),
        ("Rust", said(Command::new("rustc").arg("--version"))),
        (".NET", format!("8.{dotnet}")),
        ("Mono", mono),
        ("Cecil", format!("0.11.0.0, Debian's {CECIL_PACKAGE} {cecil}")),
        ("load average at the start", load()),
    ])
}

/// Returns the load of the last 1, 5 and 15 minutes.
pub(super) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Returns the output of a command; empty if it cannot be run.
fn said(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

/// Returns the first value with a name in a file of `name: value` lines.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = text.lines().filter_map(|line| line.split_once(':')).find(|(found, _)| found.trim() == name);
    value.map_or("?", |(_, value)| value.trim()).to_owned()
}
