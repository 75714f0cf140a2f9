//! `ilinst man`: the manual's pages, for who packs the tool.

use std::{fs, path::PathBuf};

use ::instrument::failure::about;
use clap::{Args, CommandFactory as _};

use crate::{Cli, failure::Failure};

/// Write the manual's pages, one for each command.
#[derive(Args, Debug)]
pub(crate) struct Opts {
    /// Where to
    folder: PathBuf,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let made = fs::create_dir_all(&self.folder).and_then(|()| clap_mangen::generate_to(Cli::command(), &self.folder));
        made.map_err(|error| Failure::unwritable(about(&self.folder, &error)))?;
        Ok(0)
    }
}
