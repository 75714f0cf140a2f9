//! The outcome of a kind: its files are instrumented in both modes and checked, and its program runs before and after.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use ecma335::{
    Image, Metadata,
    flags::cli_flags,
    image::{Directory, DirectoryKind},
};
use profile::rows::SortBy;
use serde_json::Value;
use tests::{Runtime, copy, ilinst, lists, of_turn, profile_in, said, sample, skip_part, without_places};

use crate::{
    make::{Stop, make},
    rows::{Expect, Kind, On},
    runtimes,
};

const MODES: [&str; 2] = ["finally", "return"];

/// A row of the printed table, with its errors.
pub(crate) struct Line {
    pub(crate) cells: [String; 8],
    pub(crate) failures: Vec<String>,
}

/// The result of the tool for one file.
#[derive(PartialEq, Debug)]
enum Seen {
    /// With exit code 0: the JSON report.
    Processed { status: String, woven: u64, left_alone: Vec<String>, findings: Vec<String>, notes: Vec<String> },
    /// With another exit code: the error message.
    Failed { exit: Option<i32>, said: String },
}

/// Creates, instruments, checks and runs the files of a kind. `index` is its place in the table.
pub(crate) fn try_kind(index: usize, kind: &Kind, folder: &Path) -> Vec<Line> {
    let input = folder.join("in");
    fs::create_dir_all(&input).expect("a folder can be made");
    let line = |file: &str, what: String, failures: Vec<String>| {
        let mut cells = [const { String::new() }; 8];
        (cells[0], cells[1], cells[3]) = (kind.name.into(), file.into(), what);
        Line { cells, failures }
    };
    match make(kind.make, &input) {
        Ok(()) => {}
        Err(Stop::Skipped(reason)) => {
            skip_part(&format!("{}: {reason}", kind.name));
            return vec![line("", format!("skipped: {reason}"), Vec::new())];
        }
        Err(Stop::Failed(reason)) => return vec![line("", "not made".into(), vec![format!("{}: {reason}", kind.name)])],
    }
    if let Some((program, _)) = kind.run {
        let name = input.join(program.split(' ').next().unwrap_or_default()).with_extension("runtimeconfig.json");
        fs::copy(sample("hello").join("hello.runtimeconfig.json"), name).expect("it can be copied");
    }
    // An instrumented file has the same files beside it as the original.
    for mode in MODES {
        copy(&input, &folder.join(mode));
    }
    let mut lines: Vec<Line> = Vec::new();
    for (file, expect) in kind.files {
        let seen = MODES.map(|mode| weave(&input.join(file), &folder.join(mode).join(file), mode));
        let failures = MODES.iter().zip(&seen).filter_map(|(mode, seen)| {
            let output = folder.join(mode).join(file);
            Some(format!("by {mode}: {}", check(expect, seen, &input.join(file), &output).err()?))
        });
        let failures = failures.map(|failure| format!("{}: {file} {failure}", kind.name)).collect();
        let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        let mut next = line(file, String::new(), failures);
        next.cells[2] = size(input.join(file)).to_string();
        describe(&seen, &mut next.cells);
        lines.push(next);
    }
    for mode in MODES {
        if let (Err(Stop::Failed(what)), Some(first)) = (make(kind.then, &folder.join(mode)), lines.first_mut()) {
            first.failures.push(format!("{}: {what}", kind.name));
        }
    }
    if let (Some((program, on)), Some(first)) = (kind.run, lines.first_mut()) {
        let fits = |runtime: &&Runtime| match on {
            On::All => true,
            On::Mono => runtime.is_mono(),
            On::Core => !runtime.is_mono(),
        };
        let (ran, failures) = run(program, &of_turn(runtimes().iter().filter(fits), index), folder);
        first.cells[7] = ran;
        first.failures.extend(failures.into_iter().map(|failure| format!("{}: {program} {failure}", kind.name)));
    }
    lines
}

fn weave(input: &Path, output: &Path, mode: &str) -> Seen {
    let _ = fs::remove_file(output);
    let run =
        ilinst().args(["instrument", "--json", "--all", "--leave", mode, "-o"]).arg(output).arg(input).output().expect("it runs");
    let (out, errors, exit) = said(&run);
    let Some(file) = serde_json::from_str::<Value>(&out).ok().filter(|_| exit == Some(0)) else {
        return Seen::Failed { exit, said: errors.replace(&format!("{}: ", input.display()), "") };
    };
    let file = &file["files"][0];
    let codes = |key: &str, code: &str| -> Vec<String> {
        file[key].as_array().into_iter().flatten().filter_map(|each| Some(each[code].as_str()?.to_owned())).collect()
    };
    Seen::Processed {
        status: file["status"].as_str().unwrap_or_default().into(),
        woven: file["woven"].as_u64().unwrap_or_default(),
        left_alone: file["leftAlone"].as_object().into_iter().flatten().map(|(code, count)| format!("{count} {code}")).collect(),
        findings: codes("findings", "reason"),
        notes: codes("notes", "code"),
    }
}

fn check(expect: &Expect, seen: &Seen, input: &Path, output: &Path) -> Result<(), String> {
    match (expect, seen) {
        (Expect::Woven, Seen::Processed { status, findings, notes, .. }) if status == "woven" && findings.is_empty() => {
            is_sound(input, output, notes)
        }
        (Expect::WovenBut(reasons), Seen::Processed { status, findings, notes, .. })
            if status == "woven" && findings.iter().map(String::as_str).eq(reasons.iter().copied()) =>
        {
            is_sound(input, output, notes)
        }
        (Expect::Nothing, Seen::Processed { status, .. }) if status == "nothing-to-weave" => {
            if fs::read(input).ok() == fs::read(output).ok() { Ok(()) } else { Err("the output is not the input".into()) }
        }
        (Expect::Refused(refusal), Seen::Failed { exit, said }) => {
            is_refused(*exit, said, "ILI0012", &refusal.to_string(), output)
        }
        (Expect::Bad(words), Seen::Failed { exit, said }) => is_refused(*exit, said, "ILI0011", words, output),
        _ => Err(format!("expected {expect:?}, found {seen:?}")),
    }
}

fn is_refused(exit: Option<i32>, said: &str, code: &str, words: &str, output: &Path) -> Result<(), String> {
    if exit != Some(3)
        || !said.starts_with(&format!("ilinst: error {code}: "))
        || said.lines().count() != 1
        || !said.contains(words)
    {
        return Err(format!("expected exit 3, {code} and '{words}', found exit {exit:?}: {said}"));
    }
    if output.exists() { Err("it was refused, and written".into()) } else { Ok(()) }
}

/// Checks that an instrumented file can be read again by ilinst, and by monodis if that reads the original. Losses must be
/// reported.
fn is_sound(input: &Path, output: &Path, notes: &[String]) -> Result<(), String> {
    let [before, after] = [input, output].map(|file| fs::read(file).unwrap_or_default());
    let original = Image::parse(&before).map_err(|error| format!("the original cannot be read: {error}"))?;
    let woven = Image::parse(&after).and_then(|image| Metadata::parse(image.metadata()?).map(|_| image));
    let woven = woven.map_err(|error| format!("the woven file cannot be read: {error}"))?;
    // Signing with a public key alone leaves zeros in place of the signature.
    let is_signed = |image: &Image<'_>| {
        let Directory { rva, size } = image.cli_header().strong_name;
        let start = image.offset_of(rva).map_or(usize::MAX, |offset| offset.0 as usize);
        let signature = image.bytes().get(start..).and_then(|rest| rest.get(..size as usize)).unwrap_or_default();
        image.cli_header().flags & cli_flags::STRONG_NAME_SIGNED != 0 && signature.iter().any(|byte| *byte != 0)
    };
    let is_certified = |image: &Image<'_>| image.directory(DirectoryKind::Certificate).size != 0;
    let lost = [
        ("ILI0002", original.precompiled().is_some(), woven.precompiled().is_some()),
        ("ILI0003", is_signed(&original), is_signed(&woven)),
        ("ILI0004", is_certified(&original), is_certified(&woven)),
    ];
    for (note, had, has) in lost {
        if has || had != notes.iter().any(|said| said == note) {
            return Err(format!("{note}: it had that: {had}; it has: {has}; said: {notes:?}"));
        }
    }
    let listing = output.with_extension("listing");
    if lists(input, input, &listing) && !lists(output, input, &listing) {
        return Err("monodis lists the original and not the woven file".into());
    }
    Ok(())
}

/// Fills the cells of a row; where the modes differ, with both results.
fn describe(seen: &[Seen; 2], cells: &mut [String; 8]) {
    let both = |get: &dyn Fn(&Seen) -> String| {
        let [first, second] = [get(&seen[0]), get(&seen[1])];
        if first == second { first } else { format!("{first} / {second}") }
    };
    cells[3] = both(&|seen| match seen {
        Seen::Processed { status, .. } => status.clone(),
        Seen::Failed { exit, .. } => exit.map_or("ended by a signal".into(), |exit| format!("refused (exit {exit})")),
    });
    cells[4] = both(&|seen| match seen {
        Seen::Processed { woven, .. } => woven.to_string(),
        Seen::Failed { .. } => String::new(),
    });
    cells[5] = both(&|seen| match seen {
        Seen::Processed { left_alone, .. } => left_alone.join(", "),
        Seen::Failed { .. } => String::new(),
    });
    cells[6] = both(&|seen| match seen {
        Seen::Processed { notes, .. } => notes.join(", "),
        Seen::Failed { said, .. } => said.trim_start_matches("ilinst: error ").trim_end().into(),
    });
}

/// Runs a program before and after on runtimes. Returns their names, and the differences.
fn run(program: &str, runtimes: &[&Runtime], folder: &Path) -> (String, Vec<String>) {
    let (mut ran, mut failures) = (Vec::new(), Vec::new());
    for runtime in runtimes {
        let original = start(runtime, program, &folder.join("in"));
        if original.status.code().is_none() {
            failures.push(format!("on {}: the original crashes: {}", runtime.name, said(&original).1));
            continue;
        }
        for mode in MODES {
            let folder = folder.join(mode);
            if let Err(failure) = compare(&original, &start(runtime, program, &folder)).and_then(|()| names_all(&folder)) {
                failures.push(format!("on {} by {mode}: {failure}", runtime.name));
            }
        }
        ran.push(runtime.name);
    }
    if ran.is_empty() {
        skip_part(&format!("{program} is not run: no runtime for it was found"));
    }
    (ran.join(", "), failures)
}

fn start(runtime: &Runtime, program: &str, folder: &Path) -> Output {
    let mut words = program.split(' ');
    let file = folder.join(words.next().unwrap_or_default());
    runtime.program(&file, folder).args(words).stdin(Stdio::null()).output().expect("the runtime starts")
}

fn compare(original: &Output, woven: &Output) -> Result<(), String> {
    let [before, after] = [original, woven].map(|output| {
        let (out, errors, code) = said(output);
        // Some programs print their folder, and Gendarme prints the time.
        let out = MODES.iter().fold(out, |out, mode| out.replace(&format!("/{mode}/"), "/in/"));
        let out = out.lines().filter(|line| !line.starts_with("Produced on ")).collect::<Vec<_>>().join("\n");
        BTreeMap::from([("output", out), ("errors", without_places(&errors)), ("exit", format!("{code:?}"))])
    });
    let differences = before.iter().filter(|(what, text)| after.get(*what) != Some(text));
    let differences: Vec<String> = differences.map(|(what, text)| format!("{what}: {text} became {}", after[what])).collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) }
}

/// Checks that there is a profile that names all its methods, and removes it.
fn names_all(folder: &Path) -> Result<(), String> {
    let profile = profile_in(folder);
    let rows = profile.rows(SortBy::Calls);
    for entry in fs::read_dir(folder).expect("it is there").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "ilprof") {
            fs::remove_file(entry.path()).map_err(|error| error.to_string())?;
        }
    }
    match rows.iter().find(|row| row.raw_name.is_none()) {
        _ if rows.is_empty() => Err("nothing was measured".into()),
        Some(row) => Err(format!("the profile does not name {}", row.token)),
        None => Ok(()),
    }
}
