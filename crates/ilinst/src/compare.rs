//! `ilinst compare`: what became slower, faster, new or gone between two sides of runs.

mod gate;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use ::report::{
    compare::{markdown, text},
    html::Page,
};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use names::Visible;
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
    output,
    profiles::{self, Naming},
    report::say_unknown,
    terminal::{Terminal, complain, print_json},
    text::percent,
};

/// Compare profiles, and fail a build if a method became slower
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The base: a profile, or a folder with the profiles of several runs
    #[arg(required_unless_present = "base", requires = "b", conflicts_with_all = ["base", "new"])]
    a: Option<PathBuf>,

    /// The new profile or folder, which is compared with the base
    #[arg(conflicts_with_all = ["base", "new"])]
    b: Option<PathBuf>,

    /// The runs of the base: profiles, or folders of them
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "new")]
    base: Vec<PathBuf>,

    /// The new runs: profiles, or folders of them
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "base")]
    new: Vec<PathBuf>,

    /// The column that decides whether a method is slower
    #[arg(long, value_name = "COLUMN", default_value = Metric::SelfTime.name(), value_parser = by())]
    by: Metric,

    /// Ignore changes below this percentage [default: 5; 10 if a side has one run]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,

    /// Compare only methods that match (repeatable); see `ilinst help patterns`
    #[arg(long, value_name = "PATTERN")]
    filter: Vec<MethodPattern>,

    /// Exit with 1 if this is true of a method or of the program (repeatable)
    #[arg(long, value_name = "EXPRESSION")]
    fail_if: Vec<Gate>,

    /// Compare one phase
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,

    /// Show at most N methods of each kind; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Read names from the instrumented assemblies in this folder (repeatable)
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,

    /// Print all methods as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print Markdown for a pull request
    #[arg(long)]
    markdown: bool,

    /// Write one HTML file that works offline, with the changes as flame graph, table and tree
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

Expressions for --fail-if are checked for each method:
  self > +10%                                self time grew by more than 10 %
  total > +5ms and calls = +0                5 ms more, for as many calls
  method ~ 'Shop.*' and p95 > 20ms           a matching p95 is above 20 ms
  new and self > 1ms                         the base has no such method
or for the program:
  program.running > +5% or program.cpu > 2s
Columns of methods: self, total, waiting, calls, average, p95, max, exceptions, cpu, bytes, total-bytes.
Columns of the program: running, waiting, elapsed, cpu, bytes.
Units: %, ns, us, ms, s, B, KiB, MiB, or none. A value with a sign is compared with the change; a change within noise \
counts as 0. A value without a sign is compared with the new value.
A condition on a number that no method has is false, and a note says so.
Words: slower, faster, new, gone, and, or, not, ( ). `~` compares a name with a pattern.

A method counts as slower or faster if its median changed by at least the threshold, by at least 0.1 % of the \
program's running time, and significantly. With four \
or more runs on each side, the Mann-Whitney U test decides. With two or three runs, a change is significant if the runs of the \
two sides do not overlap. With one run, each change is significant. Everything else is reported as the same. Methods are \
paired by assembly, name and signature.

Exit codes: 0 done; 1 a --fail-if expression is true; 2 wrong usage; 3 bad input.";

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
        say_unknown(asked, |metric| comparison.methods_of_paths().any(|method| method.metric(metric).is_some()));
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
            return print_json(&Document { base, new, comparison, failed });
        }
        if self.markdown {
            let mut out = Terminal::text();
            out.write_all(markdown(comparison, limit).as_bytes())?;
            return Ok(out.close()?);
        }
        let mut out = Terminal::painted(colour_report);
        for (title, side) in ["base", "new"].iter().zip(sides) {
            let names: Vec<String> = side.iter().map(|path| Visible(path.display()).to_string()).collect();
            writeln!(out, "{title}: {}", names.join(", "))?;
        }
        out.write_all(text(comparison, limit).as_bytes())?;
        Ok(out.close()?)
    }

    fn read(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<Profile>> {
        paths.par_iter().map(|path| self.read_one(path)).collect()
    }

    fn read_one(&self, path: &Path) -> anyhow::Result<Profile> {
        let profile = Naming { symbols: &self.symbols, raw: false }.read(path, self.phase.as_deref())?;
        profiles::warn_of_damage(path, &profile);
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
