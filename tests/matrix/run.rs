//! One cell: the original and the woven program end in one way, and the profile is held against the record.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    ops::RangeInclusive,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use tests::{Mounted, Report, Runtime, with_default_signals, without_places};

use crate::{
    causes::{Cause, End, How},
    programs::{Programs, profiles},
};

/// The method that is counted.
const STEP: &str = "Steps.Work::Step";

/// Where a program is run.
pub(crate) trait Place {
    /// The command that ends a program by a cause: in a folder, with another folder for its temporary files.
    fn command(&self, program: &Path, cause: &Cause, folder: &Path, temporary: &Path) -> Command;
}

impl Place for Runtime {
    fn command(&self, program: &Path, cause: &Cause, folder: &Path, temporary: &Path) -> Command {
        let mut command = self.program(program, folder);
        command.arg(cause.way).env("TMPDIR", temporary);
        command
    }
}

/// The result of a run.
struct Ended {
    output: String,
    errors: String,
    status: ExitStatus,
}

/// Whether all is as it should be; what is wrong, or why it could not be tried.
pub(crate) fn check(place: &dyn Place, programs: &Programs, cause: &Cause, end: End) -> Result<Option<String>, String> {
    println!("{}", cause.name);
    let work = programs.folder.join("work").join(cause.name.replace(|c: char| !c.is_alphanumeric(), "-"));
    let [start, temporary, small] = ["start", "temporary", "small"].map(|name| work.join(name));
    for folder in [&start, &temporary, &small] {
        fs::create_dir_all(folder).expect("a folder can be made");
    }
    let mut disk = None;
    if cause.how == How::FullDisk {
        disk = Mounted::new(&small, 4);
        if disk.is_none() {
            return Ok(Some("no file system can be mounted here".into()));
        }
        fs::write(small.join("all"), [0; 4096]).map_err(|error| format!("{error}"))?;
    }
    let run = |programs: &Path| {
        // This folder cannot be written to by any user.
        let folder = if cause.how == How::ReadOnly { Path::new("/proc") } else { &start };
        let mut command = place.command(&programs.join("Ending.exe"), cause, folder, &temporary);
        command.env_remove("ILINST_OUTPUT");
        if cause.how == How::FullDisk {
            command.env("ILINST_OUTPUT", format!("{}/", small.display()));
        }
        if cause.how == How::LittleMemory {
            command.env("DOTNET_GCHeapHardLimit", "0x4000000").env("COMPlus_GCHeapHardLimit", "0x4000000");
            command.env("MONO_GC_PARAMS", "max-heap-size=64m");
        }
        ended(&command, cause.how)
    };
    let original = run(&programs.original);
    let woven = run(&programs.woven);
    compare(cause, &original, &woven)?;
    let record = fs::read_to_string(start.join("record")).ok().or_else(|| last_record(&woven.output));
    let record = record.and_then(|record| calls_of(&record)).ok_or("it said no record")?;
    let found = profiles(&[&work]);
    let [profile] = &found[..] else { return Err(format!("there are {} profiles", found.len())) };
    let most = if cause.goes_on { u64::MAX } else { *record.end() };
    held(profile, &(*record.start()..=most), end)?;
    drop(disk);
    Ok(None)
}

/// Holds a profile against what the program said.
pub(crate) fn held(profile: &Path, record: &RangeInclusive<u64>, end: End) -> Result<(), String> {
    let report = Report::of(profile)?;
    let calls = report.calls(STEP) + report.lost_calls;
    if !record.contains(&calls) {
        return Err(format!("{calls} calls of {record:?} in {}", profile.display()));
    }
    if report.end != end.text() {
        return Err(format!("it says that it {}, which {end:?} is not", report.end));
    }
    Ok(())
}

/// Runs a program to its end, and helps it there if it is to have a signal.
fn ended(command: &Command, how: How) -> Ended {
    let mut plain = with_default_signals(&[], command);
    let mut child = plain.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut errors = child.stderr.take().expect("it is a pipe");
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        errors.read_to_end(&mut bytes).expect("it can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut output = String::new();
    for line in BufReader::new(child.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok) {
        output += line.trim_end_matches('\r');
        output.push('\n');
        if line == "ready"
            && let How::Signal(signal) = how
        {
            let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
            assert!(sent.expect("sh starts").success());
        }
    }
    let status = child.wait().expect("it ends");
    Ended { output, errors: errors.join().expect("it read"), status }
}

/// Holds the woven program's words and exit code against the original's.
fn compare(cause: &Cause, original: &Ended, woven: &Ended) -> Result<(), String> {
    if original.status != woven.status {
        return Err(format!("{} unwoven, {} woven: {}", original.status, woven.status, head(&woven.errors)));
    }
    // A runtime's report of its own crash has addresses and depths.
    let is_crash = matches!(cause.way, "overflow" | "abort" | "failfast" | "memory");
    let (before, after) = (words(&original.output, is_crash), words(&woven.output, is_crash));
    if before != after {
        return Err(format!("it printed {after:?}, and {before:?} unwoven"));
    }
    // Wine says which thread it was.
    let errors =
        |text: &str| without_places(text).lines().filter(|line| !line.starts_with("wine: ")).collect::<Vec<_>>().join("\n");
    let (before, after) = (errors(&original.errors), errors(&woven.errors));
    if is_crash && head(&before) != head(&after) || !is_crash && before != after {
        return Err(format!("its errors were {after:?}, and {before:?} unwoven"));
    }
    Ok(())
}

fn head(text: &str) -> String {
    text.trim_start().lines().next().unwrap_or_default().to_owned()
}

/// Returns the words that a program printed, without numbers, which differ from run to run, and without Mono's report of a
/// crash.
fn words(output: &str, is_crash: bool) -> Vec<&str> {
    let lines = output.lines().take_while(|line| !is_crash || line.starts_with("steps "));
    lines.map(|line| line.split_once("steps ").map_or(line, |(head, _)| head)).collect()
}

/// A program's record: the number of calls, or the least and the most where it cannot know of one whether it began.
pub(crate) fn calls_of(record: &str) -> Option<RangeInclusive<u64>> {
    let (least, most) = record.split_once("..").unwrap_or((record, record));
    Some(least.parse().ok()?..=most.parse().ok()?)
}

/// The last number that the program gave.
fn last_record(output: &str) -> Option<String> {
    Some(output.lines().filter_map(|line| line.strip_prefix("steps ")).next_back()?.to_owned())
}
