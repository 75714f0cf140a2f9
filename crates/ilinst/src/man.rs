//! `ilinst man`: the manual's pages, for who packs the tool.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ::instrument::failure::about;
use clap::{Args, Command};
use clap_mangen::Man;

use crate::{failure::Failure, help};

/// Write the manual pages, one for each command
#[derive(Args, Debug)]
pub(crate) struct Opts {
    /// The folder to write to
    folder: PathBuf,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let mut command = help::command().disable_help_subcommand(true);
        command.build();
        let made = fs::create_dir_all(&self.folder).and_then(|()| write_pages(&command, &self.folder));
        made.map_err(|error| Failure::unwritable(about(&self.folder, &error)))?;
        Ok(0)
    }
}

/// The page of a command, and of each in it.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, folder)?;
    }
    let page = Man::new(command.clone()).source(concat!("ilinst ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text)?;
    fs::write(folder.join(page.get_filename()), with_examples_kept(&String::from_utf8_lossy(&text)))
}

/// Has examples, which are what is indented, stand as they are written: else readers fill their lines as those of a paragraph.
fn with_examples_kept(page: &str) -> String {
    let (mut kept, mut is_example) = (String::new(), false);
    for line in page.lines() {
        if line.starts_with(' ') != is_example {
            is_example = !is_example;
            kept += if is_example { ".nf\n" } else { ".fi\n" };
        }
        kept += line;
        kept.push('\n');
    }
    kept
}
