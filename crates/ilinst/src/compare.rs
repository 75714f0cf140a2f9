//! `ilinst compare`: what became slower, faster, new or gone between two sides of runs.

mod gate;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use html::Page;
use identity::Visible;
use profile::{
    Profile,
    compare::{CompareOptions, Comparison, Metric},
};
use rayon::prelude::*;
use serde::Serialize;

use self::gate::{Finding, Gate};
use crate::{
    colours::colour_report,
    failure::{EXIT_FINDINGS, Failure, printed},
    method_pattern::MethodPattern,
    output, profiles,
    report::say_unknown,
    symbols,
    terminal::{Terminal, complain},
    text::percent,
};

/// Compare profiles: what became slower, faster, new or gone.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The base: a profile, or a folder of profiles, which are its runs
    #[arg(required_unless_present = "base", requires = "b", conflicts_with_all = ["base", "new"])]
    a: Option<PathBuf>,

    /// What is held against it
    #[arg(conflicts_with_all = ["base", "new"])]
    b: Option<PathBuf>,

    /// The runs of the base: profiles, or folders of them
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "new")]
    base: Vec<PathBuf>,

    /// The runs that are held against it
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "base")]
    new: Vec<PathBuf>,

    /// What says whether a method is slower
    #[arg(long, value_name = "COLUMN", default_value = Metric::SelfTime.name(), value_parser = by())]
    by: Metric,

    /// A change of less than so many percent does not count [default: 5, and 10 where a side has one run]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,

    /// Methods that the pattern names, alone (may be repeated); as of `ilinst report`. In HTML, the paths that lead to them
    /// and what they call
    #[arg(long, value_name = "PATTERN")]
    filter: Vec<MethodPattern>,

    /// Exit with 1 if this is so of any method, or of the program (may be repeated)
    #[arg(long, value_name = "EXPRESSION")]
    fail_if: Vec<Gate>,

    /// Show one phase of each
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,

    /// How many methods of each kind to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Where woven files are, which names are taken from
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,

    /// Print all methods as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print Markdown, for a pull request
    #[arg(long)]
    markdown: bool,

    /// Write one HTML file that needs no network: what changed as a flame graph, a table, a tree
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "markdown"])]
    html: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst compare before.ilprof after.ilprof
  ilinst compare runs/main/ runs/branch/           folders of runs
  ilinst compare --base a1.ilprof a2.ilprof --new b1.ilprof b2.ilprof
  ilinst compare before/ after/ --html changes.html
  ilinst compare a/ b/ --markdown --fail-if 'self > +10%' > summary.md

Expressions of --fail-if are asked of each method:
  self > +10%                                      its own time grew by more
                                                   than 10 %
  total > +5ms and calls = +0                      with callees, by more than 5
                                                   ms a run, at as many calls
  method ~ 'Shop.*' and p95 > 20ms                 what 95 % of its calls do not
                                                   exceed is over 20 ms
  new and self > 1ms                               it was not called before
or of the program:
  program.running > +5% or program.cpu > 2s
Columns: self, total, waiting, calls, average, p95, max, exceptions, cpu; of the program running, waiting, elapsed, cpu.
Units: %, ns, us, ms, s, or none. With a sign it is the change, which has to be more than noise; else the new value.
Words: slower, faster, new, gone; and, or, not, ( ); ~ holds a name against a pattern.

Methods are the same if assembly, name and signature are: two builds compare. What is compared is the median of the runs. \
With four runs or more a side, noise is told by the Mann-Whitney U test; with two or three by whether runs lie among the \
others'; with one not at all.

Exit codes: 0 done; 1 what --fail-if says is so; 2 wrong usage; 3 bad input.";

/// The output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'c> {
    base: Vec<String>,
    new: Vec<String>,
    #[serde(flatten)]
    comparison: &'c Comparison,
    /// The findings of `--fail-if`.
    failed: &'c [Finding],
}

/// The parser for the values of `--by`.
fn by() -> impl TypedValueParser<Value = Metric> {
    let names = Metric::ALL.iter().map(|metric| PossibleValue::new(metric.name()).help(metric.help()));
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let (base, new) = (runs(self.a.iter().chain(&self.base))?, runs(self.b.iter().chain(&self.new))?);
        let (of_base, of_new) = (self.read(&base)?, self.read(&new)?);
        let options = CompareOptions { by: self.by, threshold_percent: self.threshold };
        let mut comparison = Comparison::new(&of_base, &of_new, &options);
        if !self.filter.is_empty() {
            comparison.retain(|method| {
                let raw = method.raw_name.as_deref().and_then(|name| name.split_once("::"));
                self.filter.iter().any(|pattern| pattern.is_match(&method.name, raw, &method.assembly))
            });
        }
        let asked: Vec<Metric> = self.fail_if.iter().flat_map(Gate::metrics).chain([self.by]).collect();
        let asked = Metric::ALL.iter().copied().filter(|metric| asked.contains(metric));
        say_unknown(asked, |metric| comparison.of_paths().any(|method| method.metric(metric).is_some()));
        let failed: Vec<Finding> = self.fail_if.iter().flat_map(|gate| gate.findings(&comparison)).collect();
        let code = if failed.is_empty() { 0 } else { EXIT_FINDINGS };
        let printing = match &self.html {
            Some(page) => write_page(page, &comparison, [&base, &new], [&of_base, &of_new]),
            None => self.print(&comparison, [&base, &new], &failed),
        };
        failed.iter().for_each(complain);
        printed(printing, code)
    }

    fn print(&self, comparison: &Comparison, sides: [&[PathBuf]; 2], failed: &[Finding]) -> anyhow::Result<()> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        if self.json {
            let [base, new] = sides.map(|side| side.iter().map(|path| path.display().to_string()).collect());
            let mut out = Terminal::json();
            serde_json::to_writer_pretty(&mut out, &Document { base, new, comparison, failed })?;
            writeln!(out)?;
            return Ok(out.close()?);
        }
        if self.markdown {
            let mut out = Terminal::text();
            out.write_all(comparison.markdown(limit).as_bytes())?;
            return Ok(out.close()?);
        }
        let mut out = Terminal::painted(colour_report);
        for (title, side) in ["base", "new"].iter().zip(sides) {
            let names: Vec<String> = side.iter().map(|path| Visible(path.display()).to_string()).collect();
            writeln!(out, "{title}: {}", names.join(", "))?;
        }
        out.write_all(comparison.text(limit).as_bytes())?;
        Ok(out.close()?)
    }

    fn read(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<Profile>> {
        paths.par_iter().map(|path| self.read_one(path)).collect()
    }

    fn read_one(&self, path: &Path) -> anyhow::Result<Profile> {
        let mut profile = profiles::read(path, self.phase.as_deref())?;
        if let Some(damage) = &profile.damage {
            complain(format_args!("warning ILI0007: {}: {damage}", path.display()));
        }
        symbols::name(&mut profile, path, &self.symbols);
        profile.fold_made();
        Ok(profile)
    }
}

fn write_page(page: &Path, comparison: &Comparison, files: [&[PathBuf]; 2], sides: [&[Profile]; 2]) -> anyhow::Result<()> {
    let inputs: Vec<&Path> = files.iter().copied().flatten().map(PathBuf::as_path).collect();
    let names = files.map(|side| match side {
        [one] => one.display().to_string(),
        [first, ..] => format!("{} runs, {} ...", side.len(), first.display()),
        [] => String::new(),
    });
    let made = Page::compare(comparison, names.each_ref().map(String::as_str), sides[0], sides[1]);
    output::write(page, &inputs, |out| Ok(made.write(out)?))
}

/// Files, and those of folders by name.
fn runs<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut runs = Vec::new();
    for path in paths {
        if !fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
            runs.push(path.clone());
            continue;
        }
        let mut found = profiles::profiles_in(path);
        found.sort();
        if found.is_empty() {
            return Err(Failure::unreadable(format_args!("{}: no profile (.ilprof) in this folder", path.display())));
        }
        runs.extend(found);
    }
    Ok(runs)
}
