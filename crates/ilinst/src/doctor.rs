//! `ilinst doctor`: why is there no profile, or not all of one?

use std::{
    ffi::OsString,
    io::Write as _,
    path::{Path, PathBuf},
};

use ::doctor::{Finding, Folder};
use ::instrument::failure::about;
use clap::Args;
use launch::{Program, Signals};
use names::Visible;
use serde_json::json;

use crate::{
    failure::{EXIT_FINDINGS, Failure, printed},
    profiles,
    terminal::{self, Terminal},
    text::count,
};

/// Find out why a profile is missing or incomplete, and what to do
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Program folders, instrumented assemblies, profiles (.ilprof) or process ids; default: the current folder
    #[arg(value_name = "FOLDER|FILE|PID")]
    paths: Vec<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Run this command, and examine what it loads and the profile it writes
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst doctor woven/                            is the folder complete?
  ilinst doctor app-4711.ilprof                   what is missing, and why?
  ilinst doctor woven/ app-4711.ilprof            which assemblies did not run?
  ilinst doctor -- dotnet woven/app.dll --once    run it, and examine it

Exit codes: 0 nothing is wrong; 1 findings.";

/// The examined folders and files.
#[derive(Default)]
struct Looked {
    folders: Vec<Folder>,
    profiles: Vec<PathBuf>,
    /// How the program ended, if one was run.
    status: Option<String>,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let mut looked = Looked::default();
        for path in &self.paths {
            let is_profile = path.extension().is_some_and(|extension| extension == "ilprof") || !path.exists();
            if is_profile {
                looked.profiles.push(profiles::find(Some(path))?);
            } else {
                looked.folders.push(Folder::read(path, true)?);
            }
        }
        let is_command = !self.command.is_empty();
        if is_command && looked.folders.is_empty() {
            if let Ok(program) = Program::find(&self.command) {
                looked.folders.push(Folder::read(&program.folder(), false)?);
            } else if let Some((host, _)) = Program::native(&self.command) {
                looked.folders.push(Folder::read(&host, false)?);
            }
        } else if !is_command && self.paths.is_empty() {
            looked.folders.push(Folder::read(Path::new("."), true)?);
        }
        let mut findings: Vec<Finding> = looked.folders.iter().flat_map(Folder::findings).cloned().collect();
        if is_command {
            let run = ::doctor::run(&self.command, &looked.folders, &Signals::take_over()?);
            let run = run.map_err(|error| Failure::unreadable(about(Path::new(&self.command[0]), &error)))?;
            findings.extend(looked.folders.iter().flat_map(|folder| ::doctor::of_run(&run, folder)));
            if looked.folders.is_empty() {
                findings.extend(::doctor::of_command(&run, Path::new(&self.command[0])));
            }
            looked.status = Some(run.status.to_string());
            looked.profiles.extend(run.profiles.into_iter().filter(|path| path.is_file()));
        }
        for path in &looked.profiles {
            let profile = profiles::read(path, None)?;
            findings.extend(::doctor::of_profile(path, &profile, looked.folders.first()));
        }
        let mut seen = Vec::new();
        findings.retain(|finding| {
            !seen.contains(finding) && {
                seen.push(finding.clone());
                true
            }
        });
        let code = if findings.iter().all(|finding| finding.code.is_note()) { 0 } else { EXIT_FINDINGS };
        printed(if self.json { print_in_json(&findings, &looked) } else { print(&findings, &looked) }, code)
    }
}

fn print(findings: &[Finding], looked: &Looked) -> anyhow::Result<()> {
    let mut out = Terminal::text();
    if let Some(status) = &looked.status {
        writeln!(out, "the program ended: {status}")?;
    }
    for Finding { place, what, advice, .. } in findings {
        writeln!(out, "{}: {}", Visible(place.display()), Visible(what))?;
        writeln!(out, "  -> {}", Visible(advice))?;
    }
    for profile in &looked.profiles {
        writeln!(out, "profile: {}", Visible(profile.display()))?;
    }
    let woven: usize = looked.folders.iter().map(|folder| folder.woven.len()).sum();
    let found = if findings.is_empty() { "nothing is wrong".to_owned() } else { count(findings.len(), "finding") };
    let native: usize = looked.folders.iter().map(|folder| folder.native.len()).sum();
    let native = if native == 0 { String::new() } else { format!("{} with a tracker, ", count(native, "native program")) };
    writeln!(out, "{}, {native}{}; {found}", count(woven, "instrumented assembly"), count(looked.profiles.len(), "profile"))?;
    Ok(out.close()?)
}

fn print_in_json(findings: &[Finding], looked: &Looked) -> anyhow::Result<()> {
    let woven: Vec<String> =
        looked.folders.iter().flat_map(|folder| &folder.woven).map(|file| file.path.display().to_string()).collect();
    let profiles: Vec<String> = looked.profiles.iter().map(|path| path.display().to_string()).collect();
    let native: Vec<String> =
        looked.folders.iter().flat_map(|folder| &folder.native).map(|path| path.display().to_string()).collect();
    let document =
        json!({ "status": looked.status, "woven": woven, "native": native, "profiles": profiles, "findings": findings });
    terminal::print_json(&document)
}
