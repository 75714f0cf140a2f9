//! What `ilinst instrument` says when it is done.

use std::{
    collections::BTreeMap,
    io::{BufWriter, Write as _},
    path::PathBuf,
};

use ecma335::{Metadata, Table, Token};
use serde_json::{Value, json};
use weave::{Note, Reason, Refusal, Shape};

use super::Opts;
use crate::text::{count, size};

/// What became of one file.
pub(super) struct Done {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
    pub(super) outcome: Outcome,
    pub(super) bytes: (u64, u64),
    pub(super) seconds: f64,
    /// The PDB that was written with it.
    pub(super) pdb: Option<PathBuf>,
    /// The SHA-1 of a module, which its assembly's manifest holds.
    pub(super) module_hash: Option<[u8; 20]>,
    /// The files that go with it if it was named, and where to.
    pub(super) companions: Vec<(PathBuf, PathBuf)>,
    /// Why the program will not find or load the tracker.
    pub(super) warnings: Vec<String>,
}

/// The number of these warnings.
const NO_TRACKER: &str = "ILI0020";

pub(super) enum Outcome {
    /// It was woven, or had nothing to weave; by MethodDef row number less one, what became of each method.
    Processed { methods: Vec<Result<Shape, Reason>>, names: Vec<(usize, String)>, notes: Vec<Note> },
    /// It was copied: it is an assembly that must not be woven.
    Refused(Refusal),
    /// It was copied: it is no assembly, though its name says so.
    NotAnAssembly(String),
    /// It was copied: it is a link, which leads there.
    Link(PathBuf),
    /// It was not copied: it is a pipe, a socket or a device.
    LeftOut,
    /// It was copied.
    Copied,
}

/// The full names of the methods that will be shown.
pub(super) fn names_of_findings(metadata: &Metadata<'_>, methods: &[Result<Shape, Reason>], all: bool) -> Vec<(usize, String)> {
    let shown: Vec<usize> = methods
        .iter()
        .enumerate()
        .filter(|(_, method)| method.as_ref().is_err_and(|reason| all || !reason.is_expected()))
        .map(|(index, _)| index)
        .collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let full_name = name_methods(metadata);
    shown.into_iter().map(|index| (index, full_name(index))).collect()
}

/// The full name of one method, by its row number less one.
pub(super) fn method_name(metadata: &Metadata<'_>, index: usize) -> String {
    name_methods(metadata)(index)
}

fn name_methods(metadata: &Metadata<'_>) -> impl Fn(usize) -> String {
    let (owners, types) = (metadata.method_owners().unwrap_or_default(), metadata.type_names().unwrap_or_default());
    move |index| {
        let owner = owners.get(index).and_then(|owner| types.get((owner.get() as usize).checked_sub(1)?));
        let row = metadata.row(ecma335::Rid::<ecma335::schema::MethodDef>::new(index as u32 + 1));
        let name = row.and_then(|row| metadata.name(row.name));
        format!("{}::{}", owner.map_or("?", String::as_str), name.unwrap_or_else(|_| "?".into()))
    }
}

impl Done {
    fn methods(&self) -> &[Result<Shape, Reason>] {
        match &self.outcome {
            Outcome::Processed { methods, .. } => methods,
            _ => &[],
        }
    }

    pub(super) fn woven(&self) -> usize {
        self.methods().iter().filter(|method| method.is_ok()).count()
    }

    /// Takes back the warning to weave a module's assembly too.
    pub(super) fn belongs_to_an_assembly(&mut self) {
        if let Outcome::Processed { notes, .. } = &mut self.outcome {
            notes.retain(|note| *note != Note::ModuleHash);
        }
    }

    /// Whether its strong name was signed again.
    pub(super) fn is_signed(&self) -> bool {
        matches!(&self.outcome, Outcome::Processed { notes, .. } if notes.contains(&Note::SignedAgain))
    }

    /// Methods that should have been woven and were not.
    pub(super) fn findings(&self) -> impl Iterator<Item = (usize, &Reason)> {
        let left_alone = self.methods().iter().enumerate().filter_map(|(index, method)| Some((index, method.as_ref().err()?)));
        left_alone.filter(|(_, reason)| !reason.is_expected())
    }

    fn left_alone(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for reason in self.methods().iter().filter_map(|method| method.as_ref().err()) {
            *reasons.entry(reason.code()).or_default() += 1;
        }
        reasons
    }

    /// Why nothing was woven.
    fn why_nothing(&self) -> &'static str {
        let reasons = self.left_alone();
        if reasons.contains_key("reference-assembly") {
            "a reference assembly is there to compile against, and never runs"
        } else if self.findings().next().is_some() {
            "no method that should be woven can be"
        } else if reasons.contains_key("excluded") {
            "the patterns leave no method with a body"
        } else if reasons.contains_key("not-included") {
            "no pattern names a method with a body"
        } else {
            "no method has an IL body"
        }
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "input": self.input.to_string_lossy(),
            "output": self.output.to_string_lossy(),
            "methods": self.methods().len(),
            "woven": self.woven(),
            "leftAlone": self.left_alone(),
            "bytesIn": self.bytes.0,
            "bytesOut": self.bytes.1,
            "milliseconds": (self.seconds * 1e6).round() / 1e3,
        });
        let (status, detail) = match &self.outcome {
            Outcome::Processed { notes, names, methods } => {
                let warnings = self.warnings.iter().map(|text| json!({ "code": NO_TRACKER, "text": text }));
                let notes = notes.iter().map(|note| json!({ "code": note.code(), "text": note.to_string() }));
                let notes = notes.chain(warnings).collect::<Vec<_>>();
                let finding = |(index, name): &(usize, String)| {
                    let reason = methods.get(*index)?.as_ref().err()?;
                    let token = Token::new(Table::MethodDef, *index as u32 + 1).to_string();
                    Some(
                        json!({ "code": "ILI0001", "token": token, "method": name, "reason": reason.code(), "text": reason.to_string() }),
                    )
                };
                value["notes"] = notes.into();
                value["findings"] = names.iter().filter_map(finding).collect::<Vec<_>>().into();
                (if self.woven() > 0 { "woven" } else { "nothing-to-weave" }, None)
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
}

/// Findings shown unless `-v` asks for all.
const SHOWN_FINDINGS: usize = 10;

impl Opts {
    pub(super) fn print(&self, done: &[Done], seconds: f64) -> anyhow::Result<()> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        if self.json {
            let files = done.iter().map(Done::to_json).collect::<Vec<_>>();
            let value = json!({ "tool": concat!("ilinst ", env!("CARGO_PKG_VERSION")), "dryRun": self.dry_run, "files": files });
            serde_json::to_writer_pretty(&mut out, &value)?;
            writeln!(out)?;
            return Ok(out.flush()?);
        }
        if self.quiet {
            return Ok(());
        }
        for each in done.iter().filter(|done| done.output_is_worth_a_line(self.verbose)) {
            self.print_file(each, &mut out)?;
        }
        let folder = self.inputs.first().filter(|input| input.is_dir());
        if done.len() > 1 || folder.is_some() {
            let woven = done.iter().filter(|done| done.woven() > 0).count();
            let methods: usize = done.iter().map(Done::woven).sum();
            let sum = |get: fn(&Done) -> u64| done.iter().map(get).sum::<u64>();
            writeln!(
                out,
                "{}: {woven} woven ({}), {} {}; {} -> {} in {:.1} s",
                count(done.len(), "file"),
                count(methods, "method"),
                done.len() - woven,
                if self.in_place { "left as they are" } else { "copied" },
                size(sum(|done| done.bytes.0)),
                size(sum(|done| done.bytes.1)),
                seconds
            )?;
        }
        let is_none = |done: &Done| !matches!(done.outcome, Outcome::Processed { .. } | Outcome::Refused(_));
        if let Some(folder) = folder.filter(|_| done.iter().all(is_none)) {
            writeln!(out, "warning ILI0006: nothing to weave: {} holds no assembly", folder.display())?;
        }
        Ok(out.flush()?)
    }

    fn print_file(&self, done: &Done, out: &mut impl std::io::Write) -> anyhow::Result<()> {
        let input = done.input.display();
        let copied = if self.in_place { "left as it is" } else { "copied" };
        match &done.outcome {
            Outcome::Processed { methods, names, notes } => {
                let arrow = if self.dry_run || self.in_place { String::new() } else { format!(" -> {}", done.output.display()) };
                let left_alone: usize = done.left_alone().values().sum();
                let reasons =
                    done.left_alone().iter().map(|(code, count)| format!("{count} {code}")).collect::<Vec<_>>().join(", ");
                let reasons = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
                writeln!(
                    out,
                    "{input}{arrow}: {}, {} woven, {left_alone} left alone{reasons}; {} -> {} in {:.0} ms",
                    count(methods.len(), "method"),
                    done.woven(),
                    size(done.bytes.0),
                    size(done.bytes.1),
                    done.seconds * 1e3
                )?;
                for note in notes {
                    writeln!(out, "  note {}: {note}", note.code())?;
                }
                for warning in &done.warnings {
                    writeln!(out, "  warning {NO_TRACKER}: {warning}")?;
                }
                let shown = if self.verbose { usize::MAX } else { SHOWN_FINDINGS };
                for (index, name) in names.iter().take(shown) {
                    let Some(Err(reason)) = methods.get(*index) else { continue };
                    let token = Token::new(Table::MethodDef, *index as u32 + 1);
                    let kind = if reason.is_expected() { "left alone" } else { "warning ILI0001" };
                    writeln!(out, "  {kind}: {name} ({token}): {reason} [{}]", reason.code())?;
                }
                if names.len() > shown {
                    writeln!(out, "  and {} more; -v shows all", names.len() - shown)?;
                }
                if done.woven() == 0 {
                    writeln!(out, "  warning ILI0006: nothing to weave, so the output is the input: {}", done.why_nothing())?;
                }
            }
            Outcome::Refused(refusal) => writeln!(out, "{input}: {copied}: {refusal}")?,
            Outcome::NotAnAssembly(why) => writeln!(out, "{input}: {copied}: {why}")?,
            Outcome::Link(target) => writeln!(out, "{input}: {copied}: it is a link to {}", target.display())?,
            Outcome::LeftOut => writeln!(out, "{input}: left out: it is no regular file")?,
            Outcome::Copied => writeln!(out, "{input}: {copied}")?,
        }
        Ok(())
    }
}

impl Done {
    fn output_is_worth_a_line(&self, verbose: bool) -> bool {
        verbose || self.woven() > 0 || !matches!(self.outcome, Outcome::Copied)
    }
}
