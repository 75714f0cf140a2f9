//! `ilinst merge`: the profiles of many processes in one.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use ::instrument::failure::about;
use clap::Args;
use indicatif::ProgressBar;
use profile::{Profile, merge::Merge};
use serde_json::json;

use crate::{
    arguments::limit_threads,
    failure::{Failure, printed},
    not_loaded, output, profiles,
    terminal::{complain, print_json, print_line, progress_bar},
    text::{count, size},
};

/// Merge the profiles of many processes into one profile
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Profiles (.ilprof), or folders, which are searched with their subfolders
    #[arg(required = true)]
    inputs: Vec<PathBuf>,

    /// The profile to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Add the instrumented assemblies of this folder that no process loaded: their lines get the count 0
    ///
    /// Subfolders are searched too.
    #[arg(long, value_name = "DIR")]
    assemblies: Vec<PathBuf>,

    /// Leave out unreadable files, and report them
    #[arg(long)]
    keep_going: bool,

    /// Use N threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Print only errors
    #[arg(short, long)]
    quiet: bool,

    /// Print the result as JSON
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst merge runs/ -o all.ilprof
  ilinst merge web-1.ilprof web-2.ilprof worker-*.ilprof -o service.ilprof
  ilinst report all.ilprof --tree
  ilinst merge runs/ --assemblies bin/ -o coverage.ilprof
                                  with lines of assemblies that were not loaded

Equal call paths become one: times, calls, histograms and phases are added up. Threads with the same name become one. The \
order of the inputs does not matter. Profiles of different modes are not merged. The merged profile has no events of \
ILINST_MODE=trace. If the profiles have different clocks, p50 to p99 are accurate to within 25 %.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        limit_threads(self.threads)?;
        let paths = self.inputs()?;
        let bar = progress_bar(paths.len(), self.quiet);
        let (mut merge, left_out) = self.merge(&paths, &bar)?;
        for folder in &self.assemblies {
            merge.add_lines(&not_loaded::lines_below(folder)?);
        }
        bar.finish_and_clear();
        if let Some(without) = merge.profiles_without_bytes().filter(|_| !self.quiet) {
            let profiles = count(without, "profile");
            complain(format_args!("note: allocated bytes are left out: {profiles} without them (--allocations)"));
        }
        let written = {
            let inputs: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
            output::write(&self.output, &inputs, |out| Ok(merge.write(out)?))?;
            fs::metadata(&self.output).map_or(0, |metadata| metadata.len())
        };
        if self.json {
            let profiles = paths.len() - left_out;
            let output = self.output.to_string_lossy();
            let file = json!({ "output": output, "profiles": profiles, "leftOut": left_out, "bytes": written });
            return printed(print_json(&file), 0);
        }
        if self.quiet {
            return Ok(0);
        }
        let files = count(paths.len() - left_out, "profile");
        let rest = if left_out > 0 { format!(", {left_out} left out") } else { String::new() };
        let line = format_args!("{files} -> {}: {}{rest}", self.output.display(), size(written));
        printed(print_line(line), 0)
    }

    /// The files, each once.
    fn inputs(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut paths = BTreeSet::new();
        for input in &self.inputs {
            if !fs::metadata(input).map_err(|error| Failure::unreadable(about(input, &error)))?.is_dir() {
                paths.insert(input.clone());
                continue;
            }
            paths.extend(profiles::below(input)?);
        }
        Ok(paths.into_iter().collect())
    }

    /// Each thread merges what it reads, one file after the other; then they merge what they have.
    fn merge(&self, paths: &[PathBuf], bar: &ProgressBar) -> Result<(Merge, usize), Failure> {
        let (next, left_out, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let all = Mutex::new(Ok(Merge::default()));
        rayon::broadcast(|_| {
            let mut own = Merge::default();
            let result = loop {
                let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) else { break Ok(()) };
                if failed.load(Ordering::Relaxed) {
                    break Ok(());
                }
                match add(&mut own, path) {
                    Err(failure) if self.keep_going => {
                        left_out.fetch_add(1, Ordering::Relaxed);
                        complain(format_args!("left out: {failure}"));
                    }
                    Err(failure) => break Err(failure),
                    Ok(()) => {}
                }
                bar.inc(1);
            };
            let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let result = result.and_then(|()| match &mut *all {
                // A thread's data has a single mode, so the fault is not in this file alone.
                Ok(all) => all.absorb(own).map_err(|error| Failure::bad_profile(format_args!("some of the inputs: {error}"))),
                Err(_) => Ok(()),
            });
            if let Err(failure) = result {
                failed.store(true, Ordering::Relaxed);
                // Of several the first in the order of names would take reading all: any will do.
                *all = Err(failure);
            }
        });
        let all = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)?;
        let left_out = left_out.into_inner();
        if left_out == paths.len() {
            return Err(Failure::unreadable("none of the inputs could be read"));
        }
        Ok((all, left_out))
    }
}

fn add(merge: &mut Merge, path: &Path) -> Result<(), Failure> {
    let bytes = profiles::open(path)?;
    let profile = Profile::parse(&bytes).map_err(|error| profiles::bad(path, error))?;
    profiles::warn_of_damage(path, &profile);
    merge.add(&bytes, &profile).map_err(|error| profiles::bad(path, error))
}
