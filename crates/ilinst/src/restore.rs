//! `ilinst restore`: undoes `ilinst instrument --in-place`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{failure::Failure, originals, text::count};

/// Put back the originals of what was woven in place.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The folder, or a file in it
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst instrument publish/ --in-place
  ilinst restore publish/                  publish/ is again what it was";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let parent = self.folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let folder = if self.folder.is_file() { parent } else { &self.folder };
        let (put_back, removed) = originals::restore(folder)?;
        if put_back + removed == 0 {
            let text = format_args!("{}: nothing was woven in place there, or it was put back already", folder.display());
            return Err(Failure::no_originals(text));
        }
        if !self.quiet {
            println!("{}: {} put back, {} removed", folder.display(), count(put_back, "file"), count(removed, "file"));
        }
        Ok(0)
    }
}
