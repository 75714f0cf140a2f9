//! What became of the files of a run.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use ecma335::{
    Metadata, Rid, Table, Token,
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

/// A pattern that names nothing in any file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Unmatched {
    /// The option that it is of.
    pub option: Cow<'static, str>,
    /// As it was written.
    pub pattern: String,
    /// The names of types or methods that are most like it.
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

/// What a run did.
#[derive(Debug)]
pub struct Report {
    /// What became of each file, in the order of the jobs.
    pub files: Vec<FileReport>,
    /// The patterns that name nothing.
    pub unmatched: Vec<Unmatched>,
    /// Every file that was written, the tracker (also where it was there already), manifests, PDBs and companions included.
    pub written: Vec<PathBuf>,
}

/// What became of one file.
#[derive(Debug)]
pub struct FileReport {
    /// What it was made from.
    pub input: PathBuf,
    /// Its path.
    pub output: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
    /// The input's size in bytes; 0 unless it was read as an assembly.
    pub input_size: u64,
    /// The output's size, likewise.
    pub output_size: u64,
    /// How long it took.
    pub duration: Duration,
    /// The PDB that goes with it.
    pub pdb: Option<PathBuf>,
    /// The files that a named input is run with, copied as they are: its settings and modules, and the assemblies beside it that
    /// it refers to, with their PDBs and satellites.
    pub copied: Vec<PathBuf>,
    /// Why the program will not find the tracker: [`TRACKER_NOT_FOUND`].
    pub warnings: Vec<String>,
}

/// What became of one file.
#[derive(Debug)]
pub enum Outcome {
    /// It was woven, or had nothing to weave.
    Processed {
        /// By MethodDef row number less one, what became of each method.
        methods: Vec<Result<Shape, Reason>>,
        /// The methods that were left alone, by name: those that should have been woven, or all if the options ask for it.
        left_alone: Vec<LeftAlone>,
        /// What the user should know.
        notes: Vec<Note>,
    },
    /// It was copied: it is of the framework, and none of the program's own.
    Framework,
    /// It was copied: it is an assembly that must not be woven.
    Refused(Refusal),
    /// It was copied: it is no assembly, though its name says so; why.
    NotAnAssembly(String),
    /// It was copied: it is a link, which leads there.
    Link(PathBuf),
    /// It was not copied: it is a pipe, a socket or a device.
    LeftOut,
    /// It was copied.
    Copied,
}

/// A method that was left alone.
#[derive(Debug)]
pub struct LeftAlone {
    /// Its token.
    pub token: Token,
    /// Its full name: `Namespace.Type::Method`.
    pub name: String,
    /// Why.
    pub reason: Reason,
}

impl FileReport {
    /// The assemblies beside a named input that it refers to, at whatever depth, which were copied.
    pub fn assemblies_copied(&self) -> impl Iterator<Item = &Path> {
        let is_assembly = |path: &&Path| path.extension().is_some_and(|extension| extension == "dll" || extension == "exe");
        let paths = self.copied.iter().map(PathBuf::as_path);
        paths.filter(is_assembly).filter(|path| path.parent() == self.input.parent())
    }

    /// By MethodDef row number less one, what became of each method; none unless it was processed.
    pub fn methods(&self) -> &[Result<Shape, Reason>] {
        match &self.outcome {
            Outcome::Processed { methods, .. } => methods,
            _ => &[],
        }
    }

    /// How many methods were woven.
    pub fn woven(&self) -> usize {
        self.methods().iter().filter(|method| method.is_ok()).count()
    }

    /// How many methods were left alone, by the reason's code.
    pub fn left_alone(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for reason in self.methods().iter().filter_map(|method| method.as_ref().err()) {
            *reasons.entry(reason.code()).or_default() += 1;
        }
        reasons
    }

    /// Whether a method that should have been woven was left alone.
    pub fn has_findings(&self) -> bool {
        self.methods().iter().any(|method| method.as_ref().is_err_and(|reason| !reason.is_expected()))
    }

    /// What the user should know of it.
    pub fn notes(&self) -> &[Note] {
        match &self.outcome {
            Outcome::Processed { notes, .. } => notes,
            _ => &[],
        }
    }

    /// Takes back the warning to weave a module's assembly too.
    pub(crate) fn belongs_to_an_assembly(&mut self) {
        if let Outcome::Processed { notes, .. } = &mut self.outcome {
            notes.retain(|note| *note != Note::ModuleHash);
        }
    }
}

/// The methods that were left alone, by name: those that should have been woven, or all.
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

/// The full names of methods.
pub(crate) fn name_methods(metadata: &Metadata<'_>) -> impl Fn(Rid<MethodDef>) -> String {
    let (owners, names) = (metadata.owners::<TypeDef, MethodDef>(), metadata.full_names());
    move |method| {
        let owner = owners.of(method).and_then(|owner| names.of(owner).ok());
        let name = metadata.row(method).and_then(|row| metadata.name(row.name));
        format!("{}::{}", owner.as_deref().unwrap_or("?"), name.unwrap_or_else(|_| "?".into()))
    }
}
