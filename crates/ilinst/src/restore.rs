//! `ilinst restore`: undoes `ilinst instrument --in-place`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use ::instrument::Restored;
use clap::Args;
use names::Visible;
use serde_json::{Value, json};

use crate::{
    failure::{EXIT_FINDINGS, Failure, printed},
    interrupt::clean_up_when_asked_to_end,
    terminal::{Terminal, print_json},
    text::count,
};

/// Restore the originals of files that were instrumented in place
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The folder, or a file in it
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// Print only errors
    #[arg(short, long)]
    quiet: bool,

    /// Print the result as JSON
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst instrument publish/ --in-place
  ilinst restore publish/

If a file was rebuilt after it was instrumented, `restore` keeps and reports it, and the exit code is 1.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let parent = self.folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let folder = if self.folder.is_file() { parent } else { &self.folder };
        clean_up_when_asked_to_end()?;
        let restored = ::instrument::restore(folder)?;
        let Restored { put_back, removed, changed } = &restored;
        if *put_back + *removed + changed.len() == 0 {
            let text = format_args!("{}: nothing there was instrumented in place, or it was restored already", folder.display());
            return Err(Failure::no_originals(text).into());
        }
        let code = if changed.is_empty() { 0 } else { EXIT_FINDINGS };
        if self.json {
            return printed(print_json(&to_json(folder, &restored)), code);
        }
        if self.quiet { Ok(code) } else { printed(print(folder, &restored), code) }
    }
}

fn to_json(folder: &Path, Restored { put_back, removed, changed }: &Restored) -> Value {
    let change = |(path, kept): &(PathBuf, Option<PathBuf>)| json!({ "path": path.to_string_lossy(), "original": kept.as_ref().map(|kept| kept.to_string_lossy()) });
    let changed: Vec<Value> = changed.iter().map(change).collect();
    json!({ "folder": folder.to_string_lossy(), "putBack": put_back, "removed": removed, "changed": changed })
}

/// Says what was done, a line for each file that was left as it is.
fn print(folder: &Path, Restored { put_back, removed, changed }: &Restored) -> anyhow::Result<()> {
    let mut out = Terminal::text();
    for (path, kept) in changed {
        let kept = kept.as_ref().map(|kept| format!("; its original is {}", kept.display()));
        let what = format!("kept, as it was changed after it was instrumented{}", kept.unwrap_or_default());
        writeln!(out, "{}", Visible(format_args!("{}: {what}", path.display())))?;
    }
    let (put_back, removed) = (count(*put_back, "file"), count(*removed, "file"));
    writeln!(out, "{}: {put_back} put back, {removed} removed", Visible(folder.display()))?;
    Ok(out.close()?)
}
