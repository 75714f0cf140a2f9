//! `ilinst tracker`: the tracker alone, for builds that put it beside the program themselves.

use std::{io::Write as _, path::PathBuf};

use ::instrument::{TOOL, TRACKER, TRACKER_FILE, tracker_identity};
use clap::Args;
use names::Visible;
use serde_json::json;

use crate::{
    failure::printed,
    output,
    terminal::{print_json, print_line},
};

/// Write the tracker, the library that instrumented programs load
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The folder to write to; it is made if it is missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Print only errors
    #[arg(short, long)]
    quiet: bool,

    /// Print the result as JSON
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst tracker -o lib/               lib/Ilinst.Tracker.dll
  ilinst tracker -o lib/ --json        with its size and SHA-256

`ilinst instrument` writes the tracker beside its output. Use this command in builds that add the reference themselves. \
A self-contained program may need its own version of the tracker. `ilinst instrument` makes that version for the folder of the \
program.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let path = self.output.join(TRACKER_FILE);
        output::write(&path, &[], |out| Ok(out.write_all(TRACKER)?))?;
        if self.json {
            let (size, sha256) = tracker_identity();
            let file = json!({ "tool": TOOL, "output": path.to_string_lossy(), "size": size, "sha256": sha256 });
            return printed(print_json(&file), 0);
        }
        if self.quiet {
            return Ok(0);
        }
        printed(print_line(Visible(path.display())), 0)
    }
}
