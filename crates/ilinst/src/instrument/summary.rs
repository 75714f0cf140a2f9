//! What `ilinst instrument` says when it is done.

use std::{io::Write, path::Path};

use ::instrument::{FileReport, LeftAlone, Outcome, TOOL, TRACKER_NOT_FOUND};
use identity::Visible;
use serde_json::{Value, json};

use crate::{
    terminal::Terminal,
    text::{count, size},
};

/// The number of a method that was left alone and should have been woven.
pub(super) const LEFT_ALONE: &str = "ILI0001";
/// The number of an input in which nothing was woven.
pub(super) const NOTHING_TO_WEAVE: &str = "ILI0006";

/// Why nothing was woven.
pub(super) fn why_nothing(file: &FileReport) -> &'static str {
    let reasons = file.left_alone();
    if reasons.contains_key("reference-assembly") {
        "a reference assembly is there to compile against, and never runs"
    } else if file.has_findings() {
        "no method that should be woven can be"
    } else if reasons.contains_key("excluded") {
        "the patterns leave no method with a body"
    } else if reasons.contains_key("not-included") {
        "no pattern names a method with a body"
    } else if ["short", "accessor", "generated"].iter().any(|code| reasons.contains_key(code)) {
        "no method is worth a probe; --all weaves them all"
    } else {
        "no method has an IL body"
    }
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
        "milliseconds": (file.duration.as_secs_f64() * 1e6).round() / 1e3,
    });
    let (status, detail) = match &file.outcome {
        Outcome::Processed { notes, left_alone, .. } => {
            let warnings = file.warnings.iter().map(|text| json!({ "code": TRACKER_NOT_FOUND, "text": text }));
            let notes = notes.iter().map(|note| json!({ "code": note.code(), "text": note.to_string() }));
            value["notes"] = notes.chain(warnings).collect::<Vec<_>>().into();
            let finding = |LeftAlone { token, name, reason }: &LeftAlone| {
                let (reason, text) = (reason.code(), reason.to_string());
                json!({ "code": LEFT_ALONE, "token": token.to_string(), "method": name, "reason": reason, "text": text })
            };
            value["findings"] = left_alone.iter().map(finding).collect::<Vec<_>>().into();
            (if file.woven() > 0 { "woven" } else { "nothing-to-weave" }, None)
        }
        Outcome::Refused(refusal) => (refusal.code(), Some(refusal.to_string())),
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

/// Findings shown unless `-v` asks for all.
const SHOWN_FINDINGS: usize = 10;

/// What to say of a run.
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
    pub(super) fn print(&self, files: &[FileReport], seconds: f64) -> anyhow::Result<()> {
        if self.json {
            let mut out = Terminal::json();
            let files = files.iter().map(to_json).collect::<Vec<_>>();
            let value = json!({ "tool": TOOL, "dryRun": self.dry_run, "files": files });
            serde_json::to_writer_pretty(&mut out, &value)?;
            writeln!(out)?;
            return Ok(out.close()?);
        }
        if self.quiet {
            return Ok(());
        }
        let mut out = Terminal::text();
        for file in files.iter().filter(|file| self.verbose || !matches!(file.outcome, Outcome::Copied)) {
            self.print_file(file, &mut out)?;
        }
        if files.len() > 1 || self.folder.is_some() {
            let woven = files.iter().filter(|file| file.woven() > 0).count();
            let methods: usize = files.iter().map(FileReport::woven).sum();
            let sum = |get: fn(&FileReport) -> u64| files.iter().map(get).sum::<u64>();
            writeln!(
                out,
                "{}: {woven} woven ({}), {} {}; {} -> {} in {:.1} s",
                count(files.len(), "file"),
                count(methods, "method"),
                files.len() - woven,
                if self.in_place { "left as they are" } else { "copied" },
                size(sum(|file| file.input_size)),
                size(sum(|file| file.output_size)),
                seconds
            )?;
        }
        let is_none = |file: &FileReport| !matches!(file.outcome, Outcome::Processed { .. } | Outcome::Refused(_));
        if let Some(folder) = self.folder.filter(|_| files.iter().all(is_none)) {
            writeln!(out, "warning {NOTHING_TO_WEAVE}: nothing to weave: {} holds no assembly", Visible(folder.display()))?;
        }
        Ok(out.close()?)
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
                    "{input}{arrow}: {}, {} woven, {left_alone} left alone{reasons}; {} -> {} in {:.0} ms",
                    count(methods.len(), "method"),
                    file.woven(),
                    size(file.input_size),
                    size(file.output_size),
                    file.duration.as_secs_f64() * 1e3
                )?;
                for note in notes {
                    writeln!(out, "  note {}: {}", note.code(), Visible(note))?;
                }
                for warning in &file.warnings {
                    writeln!(out, "  warning {TRACKER_NOT_FOUND}: {}", Visible(warning))?;
                }
                let shown = if self.verbose { usize::MAX } else { SHOWN_FINDINGS };
                for LeftAlone { token, name, reason } in named.iter().take(shown) {
                    let kind = if reason.is_expected() { "left alone".into() } else { format!("warning {LEFT_ALONE}") };
                    writeln!(out, "  {kind}: {} ({token}): {} [{}]", Visible(name), Visible(reason), reason.code())?;
                }
                if named.len() > shown {
                    writeln!(out, "  and {} more; -v shows all", named.len() - shown)?;
                }
                if file.woven() == 0 {
                    writeln!(
                        out,
                        "  warning {NOTHING_TO_WEAVE}: nothing to weave, so the output is the input: {}",
                        why_nothing(file)
                    )?;
                }
            }
            Outcome::Refused(refusal) => writeln!(out, "{input}: {copied}: {}", Visible(refusal))?,
            Outcome::NotAnAssembly(why) => writeln!(out, "{input}: {copied}: {}", Visible(why))?,
            Outcome::Link(target) => writeln!(out, "{input}: {copied}: it is a link to {}", Visible(target.display()))?,
            Outcome::LeftOut => writeln!(out, "{input}: left out: it is no regular file")?,
            Outcome::Copied => writeln!(out, "{input}: {copied}")?,
        }
        Ok(())
    }
}
