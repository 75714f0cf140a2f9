//! The final output of `ilinst instrument`.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use ::instrument::{COPIED_BESIDE, FileReport, LeftAlone, NAMES_NOTHING, Outcome, Report, TOOL, TRACKER_NOT_FOUND, Unmatched};
use names::Visible;
use serde_json::{Value, json};

use crate::{
    terminal::{Terminal, print_json},
    text::{count, size},
};

/// The number of a method that was left alone and should have been woven.
pub(crate) const LEFT_ALONE: &str = "ILI0001";
/// The number of an input in which nothing was woven.
pub(crate) const NOTHING_TO_WEAVE: &str = "ILI0006";

/// The reason for skipping an abstract method, or one in native code.
const NO_BODY: &str = "no-body";

/// Why nothing was woven.
pub(crate) fn why_nothing(file: &FileReport) -> &'static str {
    let reasons = file.left_alone();
    if reasons.contains_key("reference-assembly") {
        "a reference assembly is there to compile against, and never runs"
    } else if file.has_findings() {
        "none of the chosen methods could be instrumented"
    } else if reasons.contains_key("no-lines") {
        "it has no lines to count: it needs a portable PDB, embedded or beside it, and code that is not excluded from coverage"
    } else if reasons.contains_key("excluded") {
        "the patterns leave no method with a body"
    } else if reasons.contains_key("not-included") {
        "no pattern names a method with a body"
    } else if ["short", "accessor", "generated"].iter().any(|code| reasons.contains_key(code)) {
        "all methods are trivial, and are skipped by default; --all instruments them"
    } else {
        "no method has an IL body"
    }
}

/// Whether no method has an IL body, as in an assembly of interfaces: there is nothing to warn of.
pub(super) fn has_no_body(file: &FileReport) -> bool {
    file.left_alone().keys().all(|reason| *reason == NO_BODY)
}

/// Whether patterns chose other assemblies than this one.
pub(super) fn is_left_out_by_patterns(file: &FileReport) -> bool {
    let reasons = file.left_alone();
    !file.has_findings() && ["excluded", "not-included"].iter().any(|code| reasons.contains_key(code))
}

fn to_json(file: &FileReport) -> Value {
    let mut value = json!({
        "input": file.input.to_string_lossy(),
        "output": file.output.to_string_lossy(),
        "methods": file.methods().len(),
        "woven": file.woven(),
        "leftAlone": file.left_alone(),
        "bytesIn": file.input_size,
        "bytesOut": file.output_size,
        "copied": file.copied.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "milliseconds": (file.duration.as_secs_f64() * 1e6).round() / 1e3,
    });
    let (status, detail) = match &file.outcome {
        Outcome::Processed { notes, left_alone, .. } => {
            let warnings = file.warnings.iter().map(|text| json!({ "code": TRACKER_NOT_FOUND, "text": text }));
            let notes = notes.iter().map(|note| json!({ "code": note.code(), "text": note.to_string() }));
            let names = file.assemblies_copied().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(", ");
            let beside = (!names.is_empty()).then(|| json!({ "code": COPIED_BESIDE, "text": names }));
            value["notes"] = notes.chain(beside).chain(warnings).collect::<Vec<_>>().into();
            let finding = |LeftAlone { token, name, reason }: &LeftAlone| {
                let (reason, text) = (reason.code(), reason.to_string());
                json!({ "code": LEFT_ALONE, "token": token.to_string(), "method": name, "reason": reason, "text": text })
            };
            value["findings"] = left_alone.iter().map(finding).collect::<Vec<_>>().into();
            (if file.woven() > 0 { "woven" } else { "nothing-to-weave" }, None)
        }
        Outcome::Refused(refusal) => (refusal.code(), Some(refusal.to_string())),
        Outcome::Framework => ("framework", None),
        Outcome::NotAnAssembly(why) => ("not-an-assembly", Some(why.clone())),
        Outcome::Link(target) => ("link", Some(target.to_string_lossy().into_owned())),
        Outcome::LeftOut => ("left-out", None),
        Outcome::Copied => ("copied", None),
    };
    value["status"] = status.into();
    if let Some(detail) = detail {
        value["detail"] = detail.into();
    }
    value
}

/// The names of files, in a list.
fn names<'p>(paths: impl Iterator<Item = &'p Path>) -> String {
    let names = paths.filter_map(Path::file_name).map(|name| Visible(name.display()).to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// Findings shown unless `-v` asks for all.
const SHOWN_FINDINGS: usize = 10;
/// Woven files of a folder shown, likewise.
const SHOWN_FILES: usize = 20;

/// The summary of a run.
pub(super) struct Summary<'a> {
    /// The request's one folder.
    pub(super) folder: Option<&'a Path>,
    pub(super) dry_run: bool,
    pub(super) in_place: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) verbose: bool,
}

impl Summary<'_> {
    pub(super) fn print(&self, report: &Report, seconds: f64) -> anyhow::Result<()> {
        let files = &*report.files;
        if self.json {
            let files = files.iter().map(to_json).collect::<Vec<_>>();
            let unmatched = report.unmatched.iter().map(|unmatched| {
                let Unmatched { option, pattern, nearest } = unmatched;
                json!({ "code": NAMES_NOTHING, "option": option, "pattern": pattern, "nearest": nearest })
            });
            let unmatched: Vec<Value> = unmatched.collect();
            let value = json!({ "tool": TOOL, "dryRun": self.dry_run, "files": files, "unmatched": unmatched });
            return print_json(&value);
        }
        if self.quiet {
            return Ok(());
        }
        let mut out = Terminal::text();
        if self.folder.is_some() && !self.verbose {
            self.print_table(files, &mut out)?;
            self.print_rest(files, &mut out)?;
        } else {
            for file in files.iter().filter(|file| self.verbose || !matches!(file.outcome, Outcome::Copied)) {
                self.print_file(file, &mut out)?;
            }
        }
        for unmatched in &report.unmatched {
            writeln!(out, "warning {NAMES_NOTHING}: {}", Visible(unmatched))?;
        }
        if files.len() > 1 || self.folder.is_some() {
            let woven = files.iter().filter(|file| file.woven() > 0).count();
            let methods: usize = files.iter().map(FileReport::woven).sum();
            let sum = |get: fn(&FileReport) -> u64| files.iter().map(get).sum::<u64>();
            writeln!(
                out,
                "{}: {woven} instrumented ({}), {} {}; {} -> {} in {:.1} s",
                count(files.len(), "file"),
                count(methods, "method"),
                files.len() - woven,
                if self.in_place { "left as they are" } else { "copied" },
                size(sum(|file| file.input_size)),
                size(sum(|file| file.output_size)),
                seconds
            )?;
        }
        let of_framework = files.iter().filter(|file| matches!(file.outcome, Outcome::Framework)).count();
        if of_framework > 0 {
            let what = if of_framework == 1 { "1 assembly".into() } else { format!("{of_framework} assemblies") };
            writeln!(out, "{what} of the framework skipped; --all-assemblies instruments them too")?;
        }
        let is_none = |file: &FileReport| !matches!(file.outcome, Outcome::Processed { .. } | Outcome::Refused(_));
        if let Some(folder) = self.folder.filter(|_| files.iter().all(is_none)) {
            writeln!(out, "warning {NOTHING_TO_WEAVE}: nothing to instrument: {} has no assembly", Visible(folder.display()))?;
        }
        Ok(out.close()?)
    }

    /// The woven files of a folder, those with the most woven methods first.
    fn print_table(&self, files: &[FileReport], out: &mut impl Write) -> anyhow::Result<()> {
        let mut woven: Vec<&FileReport> = files.iter().filter(|file| file.woven() > 0).collect();
        woven.sort_by_key(|file| std::cmp::Reverse(file.woven()));
        if !woven.is_empty() {
            writeln!(out, "instrumented   methods        size        file")?;
        }
        for file in woven.iter().take(SHOWN_FILES) {
            let (before, after) = (size(file.input_size), size(file.output_size));
            let (count, path) = (file.methods().len(), Visible(self.in_folder(&file.input)));
            writeln!(out, "{:>12}  {count:>8}  {before:>9} -> {after:<9}  {path}", file.woven())?;
        }
        if woven.len() > SHOWN_FILES {
            writeln!(out, "{:>23} and {} files more; -v shows all", "", woven.len() - SHOWN_FILES)?;
        }
        Ok(())
    }

    /// Prints the other notes on a folder's files. A note common to many files is printed once.
    fn print_rest(&self, files: &[FileReport], out: &mut impl Write) -> anyhow::Result<()> {
        let mut shown = 0;
        let mut same: Vec<(String, Vec<&FileReport>)> = Vec::new();
        let mut add = |text: String, file| match same.iter_mut().find(|(other, _)| *other == text) {
            Some((_, files)) => files.push(file),
            None => same.push((text, vec![file])),
        };
        let copied = if self.in_place { "left as it is" } else { "copied" };
        let has_woven = files.iter().any(|file| file.woven() > 0);
        for file in files {
            let path = Visible(self.in_folder(&file.input)).to_string();
            for warning in &file.warnings {
                writeln!(out, "warning {TRACKER_NOT_FOUND}: {path}: {}", Visible(warning))?;
            }
            match &file.outcome {
                Outcome::Processed { left_alone, notes, .. } => {
                    for LeftAlone { token, name, reason } in left_alone.iter().filter(|method| !method.reason.is_expected()) {
                        shown += 1;
                        if shown <= SHOWN_FINDINGS {
                            let (name, text) = (Visible(name), Visible(reason));
                            writeln!(out, "warning {LEFT_ALONE}: {path}: {name} ({token}): {text} [{}]", reason.code())?;
                        }
                    }
                    notes.iter().for_each(|note| add(format!("note {}: {}", note.code(), Visible(note)), file));
                    let is_expected = has_no_body(file) || has_woven && is_left_out_by_patterns(file);
                    if file.woven() == 0 && !is_expected {
                        add(format!("warning ILI0006: nothing to instrument: {}", why_nothing(file)), file);
                    }
                }
                Outcome::Refused(refusal) => add(format!("{copied}: {}", Visible(refusal)), file),
                Outcome::NotAnAssembly(_) => add(format!("{copied}: no assembly, though named like one"), file),
                Outcome::Link(_) => add(format!("{copied}: a link"), file),
                Outcome::LeftOut => add("left out: it is no regular file".into(), file),
                Outcome::Framework | Outcome::Copied => {}
            }
        }
        if shown > SHOWN_FINDINGS {
            writeln!(out, "and {} more such methods; -v shows all", shown - SHOWN_FINDINGS)?;
        }
        for (text, files) in same {
            match &files[..] {
                [FileReport { input, outcome: Outcome::Link(target), .. }] => {
                    writeln!(out, "{}: {text} to {}", Visible(self.in_folder(input)), Visible(target.display()))?;
                }
                [file] => writeln!(out, "{}: {text}", Visible(self.in_folder(&file.input)))?,
                files => writeln!(out, "{}: {text}", count(files.len(), "file"))?,
            }
        }
        Ok(())
    }

    /// A path in the request's folder.
    fn in_folder<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        self.folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path).display()
    }

    fn print_file(&self, file: &FileReport, out: &mut impl Write) -> anyhow::Result<()> {
        let input = Visible(file.input.display());
        let copied = if self.in_place { "left as it is" } else { "copied" };
        match &file.outcome {
            Outcome::Processed { methods, left_alone: named, notes } => {
                let arrow =
                    if self.dry_run || self.in_place { String::new() } else { format!(" -> {}", Visible(file.output.display())) };
                let left_alone: usize = file.left_alone().values().sum();
                let reasons =
                    file.left_alone().iter().map(|(code, count)| format!("{count} {code}")).collect::<Vec<_>>().join(", ");
                let reasons = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
                writeln!(
                    out,
                    "{input}{arrow}: {}, {} instrumented, {left_alone} skipped{reasons}; {} -> {} in {:.0} ms",
                    count(methods.len(), "method"),
                    file.woven(),
                    size(file.input_size),
                    size(file.output_size),
                    file.duration.as_secs_f64() * 1e3
                )?;
                for note in notes {
                    writeln!(out, "  note {}: {}", note.code(), Visible(note))?;
                }
                if !file.copied.is_empty() {
                    writeln!(out, "  copied with it: {}", names(file.copied.iter().map(PathBuf::as_path)))?;
                }
                let assemblies = names(file.assemblies_copied());
                if !assemblies.is_empty() {
                    let advice = "to instrument these too, name them, or the folder";
                    writeln!(out, "  note {COPIED_BESIDE}: not instrumented: {assemblies}; {advice}")?;
                }
                for warning in &file.warnings {
                    writeln!(out, "  warning {TRACKER_NOT_FOUND}: {}", Visible(warning))?;
                }
                let shown = if self.verbose { usize::MAX } else { SHOWN_FINDINGS };
                for LeftAlone { token, name, reason } in named.iter().take(shown) {
                    let kind = if reason.is_expected() { "skipped".into() } else { format!("warning {LEFT_ALONE}") };
                    writeln!(out, "  {kind}: {} ({token}): {} [{}]", Visible(name), Visible(reason), reason.code())?;
                }
                if named.len() > shown {
                    writeln!(out, "  and {} more; -v shows all", named.len() - shown)?;
                }
                if file.woven() == 0 {
                    writeln!(
                        out,
                        "  warning {NOTHING_TO_WEAVE}: nothing to instrument, so the output is a copy of the input: {}",
                        why_nothing(file)
                    )?;
                }
            }
            Outcome::Refused(refusal) => writeln!(out, "{input}: {copied}: {}", Visible(refusal))?,
            Outcome::Framework => writeln!(out, "{input}: {copied}: it is of the framework")?,
            Outcome::NotAnAssembly(why) => writeln!(out, "{input}: {copied}: {}", Visible(why))?,
            Outcome::Link(target) => writeln!(out, "{input}: {copied}: it is a link to {}", Visible(target.display()))?,
            Outcome::LeftOut => writeln!(out, "{input}: left out: it is no regular file")?,
            Outcome::Copied => writeln!(out, "{input}: {copied}")?,
        }
        Ok(())
    }
}
