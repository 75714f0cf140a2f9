//! What a run is asked for, and the jobs that it comes to.

use std::path::{Path, PathBuf};

use crate::{
    failure::{Failure, Result},
    folder::{copied_target, files_below, is_link_out, lies_below},
    job::{Job, is_assembly_name},
    paths::{is_same_file, without_links},
    pdb_names::name_pdbs,
};

/// Which files, and where to.
#[derive(Clone, Debug)]
pub struct Request {
    /// Assemblies, or one folder.
    pub inputs: Vec<PathBuf>,
    /// Where to write.
    pub destination: Destination,
    /// The PDB of the one input, if it is not beside it.
    pub pdb: Option<PathBuf>,
    /// Whether what a named input is run with goes with it: its settings, and the assemblies beside it that it refers to.
    /// If nothing is said, a program's does, and a library's does not.
    pub copies: Option<bool>,
    /// Whether to do everything but write.
    pub dry_run: bool,
}

/// Where outputs go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A folder; for one input a file, if there is one or the name has the extension of an assembly and no separator ends it.
    Path(PathBuf),
    /// In the inputs' places; their originals are kept, and [`restore`](crate::restore()) puts them back.
    InPlace,
    /// Nowhere, in a dry run: outputs are named as if they went to the current folder.
    Nowhere,
}

impl Request {
    /// Whether the inputs themselves are replaced.
    pub fn is_in_place(&self) -> bool {
        self.destination == Destination::InPlace
    }

    /// The files to be written, in the order of the inputs or of their names in a folder. Assemblies are opened for the
    /// names of their PDBs; nothing is written.
    ///
    /// # Errors
    /// If what is asked for makes no sense, or a folder cannot be read.
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

    /// Whether it is a folder that is to be woven.
    pub(crate) fn is_of_folder(&self) -> bool {
        matches!(&self.inputs[..], [folder] if folder.is_dir())
    }

    /// The one folder that all outputs lie in, at whatever depth.
    pub(crate) fn root(&self) -> Option<&Path> {
        match &self.inputs[..] {
            [folder] if folder.is_dir() => Some(self.output().unwrap_or(folder)),
            _ => None,
        }
    }

    /// The one folder that all inputs lie in, and that of all outputs.
    pub(crate) fn roots(&self) -> Option<(&Path, &Path)> {
        self.inputs.first().map(PathBuf::as_path).zip(self.root())
    }

    /// Where outputs go by their own names; none if they stay.
    fn output(&self) -> Option<&Path> {
        match &self.destination {
            Destination::Path(path) => Some(path),
            Destination::InPlace => None,
            Destination::Nowhere => Some(Path::new(".")),
        }
    }

    /// Whether what is to be written can go there, as far as the name says.
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
        if !path.is_dir() && !ends_with_separator(path) && is_assembly_name(path) {
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
    let is_file = output.symlink_metadata().is_ok() || is_assembly_name(output) || is_like_input;
    if are_many || output.is_dir() || ends_with_separator(output) || !is_file {
        output.join(input.file_name().unwrap_or_default())
    } else {
        output.to_owned()
    }
}

/// Also a backslash, which scripts for Windows have.
fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(['/', '\\'])
}

fn no_link(input: &Path) -> Result<PathBuf> {
    match input.read_link() {
        Ok(target) => {
            let (input, target) = (input.display(), target.display());
            Err(Failure::usage(format_args!("{input}: it is a link to {target}: name what is to be woven")))
        }
        Err(_) => Ok(input.to_owned()),
    }
}
