//! A program run once, to see what it loads and whether a tracker starts in it.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    thread,
    time::Duration,
};

use launch::{Running, Signals, Temporary};
use sha2::{Digest as _, Sha256};

use ecma335::is_named_as_assembly;

use crate::{
    finding::{Code, Finding},
    folder::{Folder, WovenFile},
    opened::Opened,
};

/// How often it is looked at what the program has loaded.
const PERIOD: Duration = Duration::from_millis(10);
/// Where the tracker says what it does (tracker-runtime/Platform/Log.cs).
const LOG: &str = "ILINST_LOG";
/// How much of a hash is shown, in hex digits.
const SHORT_HASH: usize = 12;

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    /// How the program ended.
    pub status: ExitStatus,
    /// The profiles that trackers in it said they write.
    pub profiles: Vec<PathBuf>,
    /// The messages of the trackers.
    log: Vec<String>,
    /// The assemblies that it, and what it started, had in memory; none where the system does not tell.
    loaded: Option<BTreeSet<PathBuf>>,
}

/// Runs a command to its end, with our own input and output, and looks at what it loads: of what is woven in some folders,
/// for certain; of other files, while it has them.
///
/// # Errors
/// If it cannot be started.
pub fn run(command: &[OsString], folders: &[Folder], signals: &Signals) -> io::Result<Run> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let temporary = Temporary::folder().map_err(io::Error::other)?;
    // A log that the user asked for is kept. `%p` in its name cannot be resolved here.
    let log = env::var_os(LOG).filter(|log| !log.is_empty() && !log.to_string_lossy().contains("%p")).map(PathBuf::from);
    let log = log.unwrap_or_else(|| temporary.path().join("log"));
    let before = fs::metadata(&log).map_or(0, |file| file.len());
    let woven: Vec<PathBuf> = folders.iter().flat_map(|folder| &folder.woven).map(WovenFile::real_path).collect();
    let opened = Opened::watch(woven.iter().chain(&namesakes(command, &woven)).map(PathBuf::as_path));
    let mut running = Running::start(Command::new(program).args(arguments).env(LOG, &log), signals)?;
    let mut loaded = Path::new("/proc/self/maps").exists().then(BTreeSet::new);
    let status = loop {
        if let Some(loaded) = &mut loaded {
            look(running.id(), loaded);
        }
        match running.try_wait()? {
            Some(status) => break status,
            None => thread::sleep(PERIOD),
        }
    };
    signals.release();
    if let Some(loaded) = &mut loaded {
        loaded.extend(opened.take());
    }
    let text = fs::read(&log).unwrap_or_default();
    let text = String::from_utf8_lossy(text.get(before as usize..).unwrap_or_default()).into_owned();
    let log: Vec<String> = text.lines().filter_map(|line| line.split_once(": ")).map(|(_, said)| said.to_owned()).collect();
    let profiles = log.iter().filter_map(|said| said.strip_prefix("the profile is ")).map(PathBuf::from).collect();
    Ok(Run { status, profiles, log, loaded })
}

/// Files of the same names in the folders that a command names: what it most likely loads in their place.
fn namesakes(command: &[OsString], woven: &[PathBuf]) -> BTreeSet<PathBuf> {
    let folders: BTreeSet<PathBuf> =
        command.iter().filter_map(|word| Some(fs::canonicalize(word).ok()?.parent()?.to_owned())).collect();
    let others = folders.iter().flat_map(|folder| woven.iter().filter_map(|file| Some(folder.join(file.file_name()?))));
    others.filter(|path| path.is_file() && !woven.contains(path)).collect()
}

/// Returns the finding of a run whose command leads to no folder.
pub fn of_command(run: &Run, program: &Path) -> Option<Finding> {
    let what = "no tracker started, and it is not seen from the command where its assemblies are";
    let advice = "name the instrumented folder: ilinst doctor woven/ -- COMMAND";
    run.log.is_empty().then(|| Finding::new(Code::NotWoven, program, what, advice))
}

/// Returns the findings of a run of an instrumented folder.
pub fn of_run(run: &Run, folder: &Folder) -> Vec<Finding> {
    let mut findings = Vec::new();
    for said in &run.log {
        if let Some(path) = said.strip_prefix("cannot be written: ") {
            let what = "the profile cannot be written there, so it is below the temporary folder, or nowhere";
            findings.push(Finding::new(
                Code::NotWritable,
                path,
                what,
                "ILINST_OUTPUT names a folder that the program may write to",
            ));
        } else if let Some(path) = said.strip_prefix("not a regular file, so left alone: ") {
            let what = "the profile is not written over what is no regular file";
            findings.push(Finding::new(Code::NotWritable, path, what, "ILINST_OUTPUT names a file, or a folder"));
        }
    }
    let Some(loaded) = &run.loaded else { return findings };
    let mut is_loaded = false;
    for woven in &folder.woven {
        let real = woven.real_path();
        let same_name: Vec<&PathBuf> = loaded.iter().filter(|path| path.file_name() == real.file_name()).collect();
        is_loaded |= same_name.contains(&&real);
        for other in same_name.into_iter().filter(|path| **path != real) {
            let what = format!("the program loaded {} ({}), not this file", other.display(), identity(other));
            findings.push(Finding::new(
                Code::OtherFileLoaded,
                &woven.path,
                what,
                "start the program from the instrumented folder, or instrument the folder it is loaded from",
            ));
        }
    }
    let has_started = run.log.iter().any(|said| said.starts_with("tracks "));
    // A fault in the folder explains enough.
    if folder.woven.is_empty() || has_started || !findings.is_empty() || !folder.findings().is_empty() {
        return findings;
    }
    let place = folder.root();
    findings.push(if is_loaded {
        let what = "instrumented assemblies were loaded, but none of their instrumented methods was called";
        Finding::new(
            Code::NotCalled,
            place,
            what,
            "`ilinst list` shows the instrumented methods; call them, or instrument more (--all, --include)",
        )
    } else {
        let what = "the program loaded no instrumented assembly of this folder";
        Finding::new(Code::NotLoaded, place, what, "start the program that lies there, not one that was installed elsewhere")
    });
    findings
}

/// Enough of a file to tell it from others.
fn identity(path: &Path) -> String {
    let Ok(bytes) = fs::read(path) else { return "it is gone by now".into() };
    let hash = hex::encode(Sha256::digest(&bytes));
    let is_woven = ecma335::open(&bytes).is_ok_and(|(_, metadata)| names::Mark::read(&metadata).is_some());
    let kind = if is_woven { "instrumented" } else { "not instrumented" };
    format!("{kind}, SHA-256 {}...", hash.get(..SHORT_HASH).unwrap_or(&hash))
}

/// Adds the assemblies that a process, and those that it started, have in memory.
fn look(pid: u32, loaded: &mut BTreeSet<PathBuf>) {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..))).map(Path::new);
    for path in paths.filter(|path| is_named_as_assembly(path)) {
        if !loaded.contains(path) {
            loaded.insert(path.to_owned());
        }
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    for child in children.flat_map(|children| children.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
    {
        look(child, loaded);
    }
}
