//! The report on the files of a run.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use ecma335::{
    Metadata, Rid, Table, Token, is_named_as_assembly,
    schema::{MethodDef, TypeDef},
};
use serde::{Deserialize, Serialize};
use weave::{Note, Reason, Refusal, Shape};

/// The number of a [`FileReport::warnings`] diagnostic.
pub const TRACKER_NOT_FOUND: &str = "ILI0020";

/// The number of the note that lists [`FileReport::assemblies_copied`].
pub const COPIED_BESIDE: &str = "ILI0024";

/// The number of an [`Unmatched`] pattern.
pub const NAMES_NOTHING: &str = "ILI0025";

/// A pattern that matches nothing in any file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Unmatched {
    /// The option that has the pattern.
    pub option: Cow<'static, str>,
    /// The pattern as the user wrote it.
    pub pattern: String,
    /// The names of types or methods that are most similar to it.
    pub nearest: Vec<String>,
}

impl std::fmt::Display for Unmatched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} '{}' names nothing there", self.option, self.pattern)?;
        if !self.nearest.is_empty() {
            write!(f, "; nearest: {}", self.nearest.join(", "))?;
        }
        Ok(())
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    /// The result of each file, in the order of the jobs.
    pub files: Vec<FileReport>,
    /// The patterns that match nothing.
    pub unmatched: Vec<Unmatched>,
    /// Every written file, including manifests, PDBs, companions, and the tracker even if it already existed.
    pub written: Vec<PathBuf>,
}

/// The result of one file.
#[derive(Debug)]
pub struct FileReport {
    /// The path of the input.
    pub input: PathBuf,
    /// The path of the output.
    pub output: PathBuf,
    /// The outcome.
    pub outcome: Outcome,
    /// The size of the input in bytes; 0 unless it was read as an assembly.
    pub input_size: u64,
    /// The size of the output in bytes; 0 unless the input was read as an assembly.
    pub output_size: u64,
    /// The duration of the job.
    pub duration: Duration,
    /// The path of its instrumented PDB.
    pub pdb: Option<PathBuf>,
    /// The copied companions of a named input: its settings and modules, and the assemblies beside it that it refers to. The PDBs
    /// and satellites of these are included.
    pub copied: Vec<PathBuf>,
    /// Reasons why the program will not find the tracker: [`TRACKER_NOT_FOUND`].
    pub warnings: Vec<String>,
}

/// The outcome of one file.
#[derive(Debug)]
pub enum Outcome {
    /// It was instrumented, or no method was selected.
    Processed {
        /// By MethodDef row number less one: the result of each method.
        methods: Vec<Result<Shape, Reason>>,
        /// The skipped methods by name: those skipped for an unexpected reason, or all if the options ask for it.
        left_alone: Vec<LeftAlone>,
        /// Notes for the user.
        notes: Vec<Note>,
    },
    /// It was copied: it is part of the framework.
    Framework,
    /// It was copied: it is an assembly that must not be instrumented.
    Refused(Refusal),
    /// It was copied: despite its name it is no assembly, for this reason.
    NotAnAssembly(String),
    /// It was copied: it is a link with this target.
    Link(PathBuf),
    /// It was not copied: it is a pipe, a socket or a device.
    LeftOut,
    /// It was copied.
    Copied,
}

/// A skipped method.
#[derive(Debug)]
pub struct LeftAlone {
    /// Its token.
    pub token: Token,
    /// Its full name: `Namespace.Type::Method`.
    pub name: String,
    /// The reason.
    pub reason: Reason,
}

impl FileReport {
    /// Returns the copied assemblies beside a named input that it refers to, directly or not.
    pub fn assemblies_copied(&self) -> impl Iterator<Item = &Path> {
        let paths = self.copied.iter().map(PathBuf::as_path);
        paths.filter(|path| is_named_as_assembly(path)).filter(|path| path.parent() == self.input.parent())
    }

    /// Returns by MethodDef row number less one the result of each method; empty unless the file was processed.
    pub fn methods(&self) -> &[Result<Shape, Reason>] {
        match &self.outcome {
            Outcome::Processed { methods, .. } => methods,
            _ => &[],
        }
    }

    /// Returns the number of instrumented methods.
    pub fn woven(&self) -> usize {
        self.methods().iter().filter(|method| method.is_ok()).count()
    }

    /// Returns the number of skipped methods for each reason's code.
    pub fn left_alone(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for reason in self.methods().iter().filter_map(|method| method.as_ref().err()) {
            *reasons.entry(reason.code()).or_default() += 1;
        }
        reasons
    }

    /// Returns whether a method was skipped for an unexpected reason.
    pub fn has_findings(&self) -> bool {
        self.methods().iter().any(|method| method.as_ref().is_err_and(|reason| !reason.is_expected()))
    }

    /// Returns the notes for the user.
    pub fn notes(&self) -> &[Note] {
        match &self.outcome {
            Outcome::Processed { notes, .. } => notes,
            _ => &[],
        }
    }

    /// Removes the note that a module's assembly must be instrumented, too.
    pub(crate) fn belongs_to_an_assembly(&mut self) {
        if let Outcome::Processed { notes, .. } = &mut self.outcome {
            notes.retain(|note| *note != Note::ModuleHash);
        }
    }
}

/// Returns the skipped methods by name: those skipped for an unexpected reason, or all.
pub(crate) fn left_alone(metadata: &Metadata<'_>, methods: &[Result<Shape, Reason>], all: bool) -> Vec<LeftAlone> {
    let reasons = (1..).zip(methods).filter_map(|(number, method)| Some((Rid::<MethodDef>::new(number), method.as_ref().err()?)));
    let mut reasons = reasons.filter(|(_, reason)| all || !reason.is_expected()).peekable();
    if reasons.peek().is_none() {
        return Vec::new();
    }
    let full_name = name_methods(metadata);
    let with_name = |(method, reason): (Rid<MethodDef>, &Reason)| {
        let token = Token::new(Table::MethodDef, method.get());
        LeftAlone { token, name: full_name(method), reason: reason.clone() }
    };
    reasons.map(with_name).collect()
}

/// Returns a function that returns the full names of methods.
pub(crate) fn name_methods(metadata: &Metadata<'_>) -> impl Fn(Rid<MethodDef>) -> String {
    let (owners, names) = (metadata.owners::<TypeDef, MethodDef>(), metadata.full_names());
    move |method| {
        let owner = owners.owner_of(method).and_then(|owner| names.name_of(owner).ok());
        let name = metadata.row(method).and_then(|row| metadata.name(row.name));
        format!("{}::{}", owner.as_deref().unwrap_or("?"), name.unwrap_or_else(|_| "?".into()))
    }
}
