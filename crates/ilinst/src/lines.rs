//! The options and views of `report` for lines of source.

use std::{
    env,
    path::{Path, PathBuf},
};

use ::report::{
    html::Sources,
    views::{Wanted, relative, source_folder},
};
use clap::Args;
use names::Visible;
use profile::{Profile, lines::SourceFile};

use crate::{
    failure::Failure,
    sources::{Places, Source},
    terminal::complain,
};

/// The options that choose lines in place of calls.
#[derive(Args, Debug)]
pub(crate) struct LineArgs {
    /// Show how many lines of each source file ran; with FILE, its source with the count of each line
    #[arg(help_heading = "Lines", long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = OF_CALLS)]
    lines: Option<Option<String>>,

    /// Show the lines that never ran, with their methods
    #[arg(help_heading = "Lines", long, conflicts_with = "lines", conflicts_with_all = OF_CALLS)]
    uncovered: bool,

    /// The folder of the source files, if they have moved since the build
    #[arg(help_heading = "Lines", long, value_name = "DIR")]
    source_root: Option<PathBuf>,
}

/// Options that have no meaning for lines.
const OF_CALLS: [&str; 9] = ["view", "threads", "phase", "raw", "filter", "sort", "columns", "html", "calls"];

/// How a program is recorded whose lines are wanted.
pub(crate) const HOW_TO_RECORD: &str =
    "it has no counts of lines; record them with `ilinst run --lines`, and with portable PDBs beside the assemblies";

/// How many bytes of source a page has at most.
const MAX_IN_PAGE: usize = 8 << 20;

impl LineArgs {
    /// The folder of the source files, if it was given.
    pub(crate) fn source_root(&self) -> Option<&Path> {
        self.source_root.as_deref()
    }

    /// Refuses a profile in place of a source file.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.lines.as_ref().and_then(Option::as_deref).filter(|file| file.ends_with(".ilprof")) {
            Some(profile) => Err(Failure::usage(format_args!(
                "--lines {profile}: it is no source file; write the profile first: ilinst report {profile} --lines"
            ))),
            None => Ok(()),
        }
    }

    /// The view of lines that is wanted.
    pub(crate) fn wanted(&self, places: &Places<'_>, path: &Path, is_for_scripts: bool) -> Result<Option<Wanted>, Failure> {
        if self.lines.is_none() && !self.uncovered {
            return Ok(None);
        }
        let files = &places.profile.lines;
        let file = self.lines.as_ref().and_then(Option::as_deref);
        if files.is_empty() {
            return Err(Failure::usage(format_args!("{}: {HOW_TO_RECORD}", path.display())));
        }
        let folder = current_source_folder(places.profile);
        Ok(Some(match file {
            Some(named) => source(places, &folder, named, is_for_scripts)?,
            None if self.uncovered => Wanted::Uncovered { folder },
            None => Wanted::Files { folder },
        }))
    }
}

fn source(places: &Places<'_>, folder: &str, named: &str, is_for_scripts: bool) -> Result<Wanted, Failure> {
    let files = &places.profile.lines;
    let index = index_of(files, named)?;
    let file = files.get(index);
    let source = file.and_then(|file| places.find(file));
    let path = Visible(file.map_or(named, |file| &file.path)).to_string();
    let shown = Visible(file.map_or(named, |file| relative(&file.path, folder)));
    match &source {
        Some(Source { is_same: Some(false), .. }) => {
            complain(format_args!("warning: {shown} has changed since the build; counts may be at other lines"));
        }
        Some(_) => {}
        None => match file.and_then(|file| places.link(file)) {
            Some(link) => complain(format_args!("note: {shown}: the source is at {}", Visible(&link))),
            None => {
                let missing = format!("{path}: the source is not there; name its folder: --source-root DIR");
                if !is_for_scripts {
                    return Err(Failure::unreadable(missing));
                }
                complain(format_args!("note: {missing}"));
            }
        },
    }
    Ok(Wanted::Source { file: index, text: source.map(|source| source.text) })
}

/// The sources of a page: those that are what was compiled. Other files could be anybody's.
pub(crate) fn for_page(places: &Places<'_>) -> Sources {
    let mut rest = MAX_IN_PAGE;
    let text = |file: &SourceFile| {
        let source = places.find(file).filter(|source| source.is_same == Some(true))?;
        rest = rest.checked_sub(source.text.len())?;
        Some(source.text)
    };
    let files = &places.profile.lines;
    let texts = files.iter().map(text).collect();
    let links = files.iter().map(|file| places.link(file)).collect();
    Sources { folder: current_source_folder(places.profile), texts, links }
}

/// The folder that paths of source files are shown relative to.
pub(crate) fn current_source_folder(profile: &Profile) -> String {
    source_folder(&profile.lines, env::current_dir().ok().as_deref())
}

/// The file with a path, or the only one whose path ends with it.
fn index_of(files: &[SourceFile], named: &str) -> Result<usize, Failure> {
    let here = env::current_dir().ok().map(|folder| folder.join(named)).and_then(|path| path.to_str().map(str::to_owned));
    let exact = files.iter().position(|file| file.path == named || Some(&file.path) == here.as_ref());
    if let Some(index) = exact {
        return Ok(index);
    }
    let parts = |path: &str| -> Vec<String> {
        path.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
    };
    let ending = parts(named);
    let found: Vec<usize> =
        files.iter().enumerate().filter(|(_, file)| parts(&file.path).ends_with(&ending)).map(|(index, _)| index).collect();
    match &found[..] {
        [index] => Ok(*index),
        [] => Err(Failure::usage(format_args!("--lines {named}: the profile has no such file; --lines alone lists all"))),
        [first, second, ..] => {
            let path = |index: &usize| files.get(*index).map(|file| file.path.as_str()).unwrap_or_default();
            Err(Failure::usage(format_args!(
                "--lines {named}: there are {} such files, as {} and {}; write more of the path",
                found.len(),
                Visible(path(first)),
                Visible(path(second))
            )))
        }
    }
}
