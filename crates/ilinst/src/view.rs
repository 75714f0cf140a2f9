//! `ilinst view`: call paths that another tool added up, shown as a profile's are.

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use ::export::{Format, Measure, read_folded, read_parquet};
use ::instrument::{Input, failure::about, read_small};
use ::report::{
    TextOptions, document,
    html::Page,
    views::{ViewOptions, Wanted, view},
};
use clap::Args;
use profile::{Profile, rows::SortBy};

use crate::{
    colours::colour_report,
    export::measures,
    failure::Failure,
    output, profiles,
    terminal::{Terminal, print_json},
    text::percent,
};

/// Show folded stacks or a Parquet table as a call tree or flame graph
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Folded stacks (`-` for standard input), or a Parquet file (.parquet)
    ///
    /// A Parquet file needs a column `path` (a list of names), and any of the number columns calls, self_ns, waiting_ns,
    /// cpu_ns, exceptions, bytes and samples.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The metric that the numbers of folded stacks measure
    #[arg(long, value_name = "NAME", value_parser = measures(), default_value = "self")]
    value: Measure,

    /// Write one HTML file with flame graph, table, tree, callers and callees; it needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Hide tree branches below this percentage of the total time
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value_t = 0.1)]
    min_percent: f64,

    /// Print the call tree as JSON
    #[arg(long, conflicts_with = "html")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst view stacks.folded                        the call tree
  ilinst view day.parquet --html day.html          the result of a query
  perf script | inferno-collapse-perf | ilinst view - --value samples";

/// No text of call paths is larger, in bytes.
const LARGEST: u64 = 1 << 30;

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let mut profile = self.read()?;
        profile.program = self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(page) = &self.html {
            output::write(page, &[&self.file], |out| Ok(Page::report(&profile, &[]).write(out)?))?;
            return Ok(0);
        }
        let names = profile.display_names();
        let sort = if self.value == Measure::Calls { SortBy::Calls } else { SortBy::SelfTime };
        let options = ViewOptions { sort, min_percent: self.min_percent, fold_recursion: true, ..ViewOptions::default() };
        let (view, count) = view(&profile, &Wanted::Tree, &options, &names, &|_| true);
        if self.json {
            print_json(&document(&profile, &view))?;
            return Ok(0);
        }
        let mut out = Terminal::painted(colour_report);
        let text = TextOptions { bars: Terminal::is_seen(), ..TextOptions::default() };
        out.write_all(view.text(&profile, count, &text).as_bytes())?;
        out.close()?;
        Ok(0)
    }

    fn read(&self) -> Result<Profile, Failure> {
        let path: &Path = &self.file;
        let unreadable = |error: io::Error| Failure::unreadable(about(path, &error));
        let bad = |error: String| profiles::bad(path, error);
        if Format::of_file(&path.to_string_lossy()) == Some(Format::Parquet) {
            return read_parquet(&Input::open(path)?).map_err(bad);
        }
        let mut bytes = Vec::new();
        if path.as_os_str() == "-" {
            io::stdin().take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
            if bytes.len() as u64 > LARGEST {
                return Err(bad(format!("more than {LARGEST} bytes")));
            }
        } else {
            bytes = read_small(path, LARGEST)?;
        }
        read_folded(&String::from_utf8_lossy(&bytes), self.value).map_err(bad)
    }
}
