//! The request of a run, and its jobs.

use std::path::{Path, PathBuf};

use crate::{
    failure::{Failure, Result},
    folder::{copied_target, files_below, is_link_out, lies_below},
    job::{Job, is_named_as_module},
    paths::{is_same_file, without_links},
    pdb_names::name_pdbs,
};

/// A request: inputs and destination.
#[derive(Clone, Debug)]
pub struct Request {
    /// Assemblies, or one folder.
    pub inputs: Vec<PathBuf>,
    /// The destination of outputs.
    pub destination: Destination,
    /// The path of the only input's PDB, if it is not beside the input.
    pub pdb: Option<PathBuf>,
    /// Whether a named input's companions are copied: its settings, and the assemblies beside it that it refers to. `None` copies
    /// those of programs, but not those of libraries.
    pub copies: Option<bool>,
    /// Whether to write no files.
    pub dry_run: bool,
}

/// The destination of outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A folder, or for one input a file. It is a file if it exists as one. A path with an assembly's extension, and without a
    /// separator at its end, is also a file.
    Path(PathBuf),
    /// In place. Originals are kept, and [`restore`](crate::restore()) puts them back.
    InPlace,
    /// None, for a dry run: outputs are named as if they went to the current folder.
    Nowhere,
}

impl Request {
    /// Returns whether the inputs themselves are replaced.
    pub fn is_in_place(&self) -> bool {
        self.destination == Destination::InPlace
    }

    /// Returns the files to write, in the order of the inputs, or of their names in a folder. Opens assemblies for the names of
    /// their PDBs; writes nothing.
    ///
    /// # Errors
    /// If the request is contradictory, or a folder cannot be read.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        if self.pdb.is_some() && (self.inputs.len() > 1 || self.inputs.iter().any(|input| input.is_dir())) {
            return Err(Failure::usage("--pdb: it is of one input, and there are several"));
        }
        if let Destination::Path(path) = &self.destination {
            self.check_output(path)?;
        }
        let mut jobs = match &self.inputs[..] {
            [folder] if folder.is_dir() => self.folder_jobs(folder)?,
            files => self.file_jobs(files)?,
        };
        name_pdbs(&mut jobs, self.pdb.as_deref(), self.is_in_place())?;
        Ok(jobs)
    }

    /// Returns whether the input is a folder.
    pub(crate) fn is_of_folder(&self) -> bool {
        matches!(&self.inputs[..], [folder] if folder.is_dir())
    }

    /// Returns the folder that contains all outputs, at any depth.
    pub(crate) fn root(&self) -> Option<&Path> {
        match &self.inputs[..] {
            [folder] if folder.is_dir() => Some(self.output().unwrap_or(folder)),
            _ => None,
        }
    }

    /// Returns the folder that contains all inputs, and the one that contains all outputs.
    pub(crate) fn roots(&self) -> Option<(&Path, &Path)> {
        self.inputs.first().map(PathBuf::as_path).zip(self.root())
    }

    /// Returns the path of outputs that have names of their own; `None` if inputs are replaced.
    fn output(&self) -> Option<&Path> {
        match &self.destination {
            Destination::Path(path) => Some(path),
            Destination::InPlace => None,
            Destination::Nowhere => Some(Path::new(".")),
        }
    }

    /// Checks whether outputs can be written to a path, as far as its name tells.
    fn check_output(&self, path: &Path) -> Result<()> {
        if path.as_os_str() == "-" {
            let text = "-: an assembly goes with a manifest and the tracker, so it cannot go to standard output; name a folder";
            return Err(Failure::usage(text));
        }
        let what = match self.inputs.len() {
            _ if self.is_of_folder() => "a folder goes",
            2.. => "several inputs go",
            _ => return Ok(()),
        };
        if !path.is_dir() && !ends_with_separator(path) && is_named_as_module(path) {
            let path = path.display();
            let text = format_args!("{path}: it is the name of an assembly, and {what} to a folder; {path}/ would be one");
            return Err(Failure::usage(text));
        }
        Ok(())
    }

    fn file_jobs(&self, files: &[PathBuf]) -> Result<Vec<Job>> {
        if let Some(folder) = files.iter().find(|input| input.is_dir()) {
            return Err(Failure::usage(format_args!("{}: a folder has to be the only input", folder.display())));
        }
        let mut jobs: Vec<Job> = Vec::new();
        for input in files {
            let output = match self.output() {
                Some(output) => output_of(input, output, files.len() > 1),
                None => no_link(input)?,
            };
            if !self.dry_run && !self.is_in_place() && is_same_file(input, &output) {
                let text = format_args!("{}: the output would overwrite the input; choose another -o", output.display());
                return Err(Failure::output_is_input(text));
            }
            if let Some(other) = jobs.iter().find(|job| job.output == output) {
                let (one, two, output) = (other.input.display(), input.display(), output.display());
                return Err(Failure::usage(format_args!("{one} and {two} would both be written to {output}")));
            }
            jobs.push(Job::new(input.clone(), output, true));
        }
        Ok(jobs)
    }

    fn folder_jobs(&self, folder: &Path) -> Result<Vec<Job>> {
        let output = self.output().unwrap_or(folder);
        if !self.dry_run && !self.is_in_place() {
            if lies_below(&without_links(folder), &without_links(output)) {
                let text = format_args!("{}: the output folder would be the input folder or lie in it", output.display());
                return Err(Failure::output_is_input(text));
            }
            if output.is_file() {
                return Err(Failure::unwritable(format_args!("{}: it is a file, and a folder was asked for", output.display())));
            }
        }
        let files = files_below(folder)?;
        let job = |input: PathBuf| {
            let output = output.join(input.strip_prefix(folder).unwrap_or(&input));
            let is_followed = !self.is_in_place() && is_link_out(folder, &input);
            let target = if is_followed { None } else { input.read_link().ok() };
            let link = if self.is_in_place() { target } else { target.map(|target| copied_target(folder, &input, target)) };
            Job { link, ..Job::new(input, output, false) }
        };
        Ok(files.into_iter().map(job).collect())
    }
}

fn output_of(input: &Path, output: &Path, are_many: bool) -> PathBuf {
    let is_like_input = output.extension().is_some() && output.extension() == input.extension();
    let is_file = output.symlink_metadata().is_ok() || is_named_as_module(output) || is_like_input;
    if are_many || output.is_dir() || ends_with_separator(output) || !is_file {
        output.join(input.file_name().unwrap_or_default())
    } else {
        output.to_owned()
    }
}

/// Returns whether a path ends with a separator. Scripts for Windows use backslashes.
fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(['/', '\\'])
}

fn no_link(input: &Path) -> Result<PathBuf> {
    match input.read_link() {
        Ok(target) => {
            let (input, target) = (input.display(), target.display());
            Err(Failure::usage(format_args!("{input}: it is a link to {target}: name that file")))
        }
        Err(_) => Ok(input.to_owned()),
    }
}
