//! `cargo xtask fuzz --guided`: fuzzing guided by coverage. Each target of fuzz/ gets the same part of the time. Tried inputs
//! stay in fuzz/corpus, from which the next run continues. An input that fails goes to fuzz/artifacts.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::{
    common::{quiet, root, sh},
    corpus, msrv,
    toolchain::{entry_of, make_at},
};

pub(crate) const OPTION: &str = "--guided";
const MINUTES: &str = "--minutes";
/// The default duration.
const DEFAULT_MINUTES: u64 = 30;
const CARGO_FUZZ: &str = "0.13.2";
/// Longer inputs make libFuzzer slow, and find nothing new.
const MAX_LENGTH: &str = "-max_len=40000";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let minutes = minutes_of(arguments)?;
    msrv::install("nightly")?;
    let cargo_fuzz = cargo_fuzz()?;
    let seeds = ["run", "--quiet", "--release", "--package", "fuzz-harness", "--example", "fuzz_corpus", "--", "fuzz/corpus"];
    quiet(Command::new(env!("CARGO")).args(seeds).arg(corpus::prepare(false)?.0).current_dir(root()))?;
    let fuzz = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly"]).arg(&cargo_fuzz).arg("fuzz").args(arguments).current_dir(root().join("fuzz"));
        // Removes variables of the toolchain that built this program.
        command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    sh(&mut fuzz(&["build"]))?;
    let targets = targets()?;
    let seconds = (minutes * 60).div_ceil(targets.len() as u64);
    let mut failed = Vec::new();
    for target in &targets {
        println!("{target}: {seconds} s");
        let time = format!("-max_total_time={seconds}");
        if let Err(error) = quiet(&mut fuzz(&["run", target, "--", MAX_LENGTH, &time])) {
            println!("FAILED: {target}\n{error:#}");
            failed.push(target.as_str());
        }
    }
    if !failed.is_empty() {
        bail!("{} failed; fuzz/artifacts has the inputs", failed.join(", "));
    }
    Ok(())
}

/// Reads the duration from the options.
fn minutes_of(arguments: &[String]) -> Result<u64> {
    match arguments {
        [] => Ok(DEFAULT_MINUTES),
        // libFuzzer takes 0 for no limit.
        [option, number] if option == MINUTES => number
            .parse()
            .ok()
            .filter(|minutes| *minutes > 0)
            .with_context(|| format!("{MINUTES} wants a number from 1 on, not '{number}'")),
        [option, _, unknown, ..] if option == MINUTES => {
            bail!("'{unknown}' is no option here; with {OPTION} there is {MINUTES} N")
        }
        [unknown, ..] => bail!("'{unknown}' is no option here; with {OPTION} there is {MINUTES} N"),
    }
}

/// Returns the program, which is built into the cache of tools once.
fn cargo_fuzz() -> Result<PathBuf> {
    let folder = make_at(entry_of("cargo-fuzz", CARGO_FUZZ)?, |work| {
        let install = ["install", "--quiet", "--locked", "cargo-fuzz", "--version", CARGO_FUZZ, "--root"];
        quiet(Command::new(env!("CARGO")).args(install).arg(work))?;
        Ok(work.to_owned())
    })?;
    Ok(folder.join("bin/cargo-fuzz"))
}

fn targets() -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        targets.extend(entry?.path().file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_MINUTES, MINUTES, minutes_of};

    #[test]
    fn a_run_ends() {
        let minutes = |options: &[&str]| minutes_of(&options.iter().map(|&option| option.into()).collect::<Vec<_>>()).ok();
        assert_eq!((minutes(&[]), minutes(&[MINUTES, "5"])), (Some(DEFAULT_MINUTES), Some(5)));
        for wrong in [&[MINUTES, "0"][..], &[MINUTES, "-1"], &[MINUTES], &["--hours", "1"], &[MINUTES, "5", MINUTES]] {
            assert_eq!(minutes(wrong), None, "{wrong:?}");
        }
    }
}
