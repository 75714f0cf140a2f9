//! The lines of source on a page.

use names::Visible;
use profile::{coverage::FileCoverage, lines::SourceFile};
use serde::Serialize;

use crate::views::relative;

/// The sources of a profile's files, as the caller found them.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The folder that paths are shown relative to.
    pub folder: String,
    /// By file of the profile: its text; `None` to show its counts alone.
    pub texts: Vec<Option<String>>,
    /// By file of the profile: its address; `None` if it is not known.
    pub links: Vec<Option<String>>,
}

/// A source file, as columns of its lines with code.
#[derive(Debug, Serialize)]
pub(super) struct File {
    path: String,
    number: Vec<u32>,
    count: Vec<u64>,
    /// The numbers of the lines of which a part never ran.
    partial: Vec<u32>,
    text: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

/// Returns the source files of a profile.
pub(super) fn files(files: &[SourceFile], sources: &Sources) -> Vec<File> {
    let file = |(index, file): (usize, &SourceFile)| {
        let lines = FileCoverage::new(file).lines;
        let text = sources.texts.get(index).and_then(Option::as_ref);
        File {
            path: Visible(relative(&file.path, &sources.folder)).to_string(),
            number: lines.iter().map(|line| line.number).collect(),
            count: lines.iter().map(|line| line.count).collect(),
            partial: lines.iter().filter(|line| line.is_partial).map(|line| line.number).collect(),
            text: text.map(|text| text.lines().map(|line| Visible(line.replace('\t', "    ")).to_string()).collect()),
            link: sources.links.get(index).cloned().flatten(),
        }
    };
    files.iter().enumerate().map(file).collect()
}
