//! `ilinst export`: a profile in the format of another tool.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use ::export::{Cut, Error, Export, Format, Measure, Origin, date};
use ::instrument::failure::about;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use names::Visible;
use profile::Profile;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::{
    coverage,
    failure::{Failure, printed},
    inputs::Bytes,
    output,
    profiles::{self, Naming},
    terminal::{Terminal, complain, print_json, print_line},
};

/// Convert a profile for pprof, speedscope, Perfetto, flame graphs, tables, or readers of coverage
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Profiles (.ilprof), or process ids; default: the newest profile
    ///
    /// cobertura and lcov add up all profiles, and those in folders. With several profiles, the output of csv and parquet must be a
    /// folder; other formats take one profile.
    #[arg(value_name = "FILE|PID")]
    profiles: Vec<PathBuf>,

    /// The format; default: by the extension of the output
    #[arg(long, value_name = "FORMAT", value_parser = formats(), required_unless_present = "output")]
    to: Option<Format>,

    /// The file to write, `-` for standard output, or a folder
    ///
    /// If the output is a folder, csv and parquet write a table partitioned by date: date=2026-01-31/RUN.parquet. Without this
    /// option, text formats are written to a pipe, if standard output is one. All other output is written to NAME.FORMAT in the
    /// current folder.
    #[arg(short, long, value_name = "FILE|FOLDER")]
    output: Option<PathBuf>,

    /// The number to write for each folded stack; times are in ns
    #[arg(long, value_name = "NAME", value_parser = measures(), default_value = "self")]
    value: Measure,

    /// Begin folded stacks with the thread
    #[arg(long)]
    threads: bool,

    /// Write at most N levels of a call path; 0 for all
    ///
    /// The default keeps each path below 2 KiB. The option applies to folded, pprof, csv and parquet, which write each path
    /// from its root. An extra frame marks the place where deeper calls were combined.
    #[arg(long, value_name = "N")]
    max_depth: Option<usize>,

    /// Export one phase: from the mark with this name to the next mark
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,

    /// Export times that include the measuring overhead, and compiler-generated methods separately
    #[arg(long)]
    raw: bool,

    /// The name of the run in csv and parquet rows; default: program, host, process and time
    #[arg(long, value_name = "NAME")]
    run: Option<String>,

    /// The name of the program's machine in csv and parquet rows; default: this machine
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// The release of the program in csv and parquet rows; default: the version of the program's assembly
    #[arg(long, value_name = "NAME")]
    release: Option<String>,

    /// Read names from the instrumented assemblies in this folder (repeatable)
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,

    /// The folder of the source files, if they have moved since the build (cobertura, lcov)
    #[arg(long, value_name = "DIR")]
    source_root: Option<PathBuf>,

    /// Print only errors and exported text
    #[arg(short, long)]
    quiet: bool,

    /// Print the names of written files as JSON; for JSON output, use --to json
    #[arg(long, requires = "output", conflicts_with = "quiet")]
    json: bool,
}

/// How often lines are written again because profiles came or went meanwhile.
const MOST_ROUNDS: usize = 5;

const EXAMPLES: &str = "\
Examples:
  ilinst export app-1234.ilprof --to speedscope    for
                                                   https://www.speedscope.app
  ilinst export app-1234.ilprof -o app.pb.gz       for go tool pprof
  ilinst export --to folded | inferno-flamegraph > app.svg
  ilinst export *.ilprof --to parquet -o lake/     for DuckDB, Spark, Trino
  ilinst export app-1234.ilprof --to trace         for https://ui.perfetto.dev
  ilinst export runs/ --to cobertura -o coverage.xml
                                                   coverage, for CI and editors

Extensions: .folded, .speedscope.json, .pb.gz, .trace.json, .json, .csv, .parquet, .cobertura.xml, .xml, .info. If a profile was \
recorded with ILINST_MODE=trace, the trace contains each call.";

fn formats() -> impl clap::builder::TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| Format::named(&name).ok_or("no format"))
}

pub(crate) fn measures() -> impl clap::builder::TypedValueParser<Value = Measure> {
    PossibleValuesParser::new(Measure::ALL.map(Measure::name)).try_map(|name| Measure::named(&name).ok_or("no value"))
}

/// A profile that was read, with all that its export needs.
struct Read {
    path: PathBuf,
    bytes: Bytes,
    profile: Profile,
    phases: Vec<(String, Profile)>,
    /// As its profile says it, whatever the options.
    name: String,
    origin: Origin,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let format = self.format()?;
        if self.max_depth.is_some() && !format.has_whole_paths() {
            let message = format_args!("--max-depth: {} has each call once, and paths of any depth", format.name());
            return Err(Failure::usage(message).into());
        }
        if let Some(folder) = self.folder() {
            return self.write_partitions(folder, format);
        }
        if format.has_lines() {
            return self.write_lines(format);
        }
        let path = match &self.profiles[..] {
            [] => self.find(None)?,
            [one] => self.find(Some(one))?,
            _ => {
                let message = "several profiles need a folder: -o FOLDER/ with --to parquet or csv";
                return Err(Failure::usage(message).into());
            }
        };
        let read = self.read(path)?;
        self.write_one(&read, format)
    }

    /// Writes one file, and says so.
    fn write_one(&self, read: &Read, format: Format) -> anyhow::Result<u8> {
        let Some(target) = self.target(&read.path, format)? else {
            let mut out = match format {
                Format::Folded | Format::Csv => Terminal::text(),
                _ if format.is_text() => Terminal::json(),
                _ => Terminal::bytes(),
            };
            self.write(read, format, &mut out)?;
            out.close()?;
            return Ok(0);
        };
        output::write(&target, &[&read.path], |out| self.write(read, format, out))?;
        if self.quiet {
            return Ok(0);
        }
        if self.json {
            let program = read.profile.program.as_str();
            return said_as(&json!({ "output": target.to_string_lossy(), "format": format.name(), "program": program }));
        }
        let line = format_args!("{}: {} of {}", target.display(), format.name(), Visible(&read.profile.program));
        printed(print_line(line), 0)
    }

    /// Writes the lines of all profiles.
    fn write_lines(&self, format: Format) -> anyhow::Result<u8> {
        if let Some(phase) = &self.phase {
            return Err(Failure::usage(format_args!("--phase {phase}: lines are counted over the whole run")).into());
        }
        let root = self.source_root.as_deref();
        let mut before = self.line_profiles()?;
        for _ in 0..MOST_ROUNDS {
            let (path, profile) = coverage::read(&before, root, self.quiet)?;
            let host = self.host.clone().unwrap_or_else(this_host);
            let origin = Origin::new(&profile, &host);
            let (bytes, phases, name) = (Bytes::Unpacked(Vec::new()), Vec::new(), String::new());
            let code = self.write_one(&Read { path, bytes, profile, phases, name, origin }, format)?;
            // Several test projects of a build do this at the same time. Whichever writes last has read all.
            let now = self.line_profiles()?;
            if now == before {
                return Ok(code);
            }
            before = now;
        }
        Ok(0)
    }

    /// The profiles whose lines are exported.
    fn line_profiles(&self) -> Result<coverage::Profiles, Failure> {
        if self.profiles.is_empty() {
            return Ok(coverage::Profiles::of_files(vec![self.find(None)?]));
        }
        let mut paths = Vec::new();
        for argument in &self.profiles {
            if argument.is_dir() {
                paths.extend(profiles::below(argument)?);
            } else {
                paths.push(self.find(Some(argument))?);
            }
        }
        Ok(coverage::Profiles::of_files(paths))
    }

    /// Puts rows of each profile into their partitions.
    fn write_partitions(&self, folder: &Path, format: Format) -> anyhow::Result<u8> {
        let targets = if self.profiles.is_empty() { vec![self.find(None)?] } else { self.profiles.clone() };
        targets.par_iter().try_for_each(|target| {
            let read = self.read(self.find(Some(target))?)?;
            let day = folder.join(format!("date={}", date(&read.profile)));
            fs::create_dir_all(&day).map_err(|error| Failure::unwritable(about(&day, &error)))?;
            let safe = |character: char| if character.is_alphanumeric() || "-._".contains(character) { character } else { '_' };
            let name: String = read.name.chars().map(safe).collect();
            let ending = format.extensions().first().copied().unwrap_or_default();
            output::write(&day.join(format!("{name}.{ending}")), &[&read.path], |out| self.write(&read, format, out))
        })?;
        if self.quiet {
            return Ok(0);
        }
        if self.json {
            let output = folder.to_string_lossy();
            return said_as(&json!({ "output": output, "format": format.name(), "profiles": targets.len() }));
        }
        let (count, s) = (targets.len(), if targets.len() == 1 { "" } else { "s" });
        printed(print_line(format_args!("{}: rows of {count} profile{s}, by date", folder.display())), 0)
    }

    fn find(&self, argument: Option<&Path>) -> Result<PathBuf, Failure> {
        if self.quiet { profiles::find(argument) } else { profiles::find_and_say(argument) }
    }

    fn read(&self, path: PathBuf) -> anyhow::Result<Read> {
        let naming = Naming { symbols: &self.symbols, raw: self.raw };
        let bytes = profiles::open(&path)?;
        let (profile, phases) = match self.phase.as_deref() {
            None => naming.read_all(&path, &bytes)?,
            phase => (naming.read(&path, phase)?, Vec::new()),
        };
        let host = self.host.clone().unwrap_or_else(this_host);
        let told = Origin::new(&profile, &host);
        let name = told.run.clone();
        let origin =
            Origin { run: self.run.clone().unwrap_or(told.run), release: self.release.clone().unwrap_or(told.release), host };
        Ok(Read { bytes, path, profile, phases, name, origin })
    }

    fn write(&self, read: &Read, format: Format, out: &mut impl io::Write) -> anyhow::Result<()> {
        let Read { path, bytes, profile, phases, origin, .. } = read;
        let (measure, by_thread, max_depth) = (self.value, self.threads, self.max_depth);
        let export = Export { profile, bytes, phases, origin, measure, by_thread, max_depth };
        let cut = export.write(format, out).map_err(|error| match error {
            Error::Io(error) => error.into(),
            Error::Refused(reason) => anyhow::Error::from(profiles::bad(path, reason)),
        })?;
        if cut != Cut::default() && !self.quiet {
            complain(format_args!("note: {}: {cut}; --max-depth N sets another limit, 0 none", path.display()));
        }
        Ok(())
    }

    /// The folder of a table, if that is what the output is.
    fn folder(&self) -> Option<&Path> {
        let output = self.output.as_deref()?;
        (output.is_dir() || output.to_string_lossy().ends_with(std::path::is_separator)).then_some(output)
    }

    fn format(&self) -> Result<Format, Failure> {
        if self.folder().is_some() {
            return self
                .to
                .filter(|to| matches!(to, Format::Csv | Format::Parquet))
                .ok_or_else(|| Failure::usage("a folder is for rows: --to parquet or csv"));
        }
        let by_name = || Format::of_file(&self.output.as_ref()?.file_name()?.to_string_lossy());
        self.to.or_else(by_name).ok_or_else(|| {
            let known: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
            let output = self.output.as_deref().unwrap_or(Path::new("-")).display();
            Failure::usage(format_args!("{output}: the name does not say the format; --to {}", known.join("|")))
        })
    }

    /// The file to write; none for standard output.
    fn target(&self, profile: &Path, format: Format) -> Result<Option<PathBuf>, Failure> {
        let is_terminal = Terminal::is_seen();
        match &self.output {
            Some(output) if output.as_os_str() != "-" => Ok(Some(output.clone())),
            Some(_) if is_terminal && !format.is_text() => {
                Err(Failure::usage(format_args!("{} is not for a terminal; -o FILE", format.name())))
            }
            Some(_) => Ok(None),
            None if is_terminal || !format.is_text() => {
                let stem = profile.file_stem().unwrap_or_default().to_string_lossy();
                let ending = format.extensions().first().copied().unwrap_or_default();
                Ok(Some(PathBuf::from(format!("{stem}.{ending}"))))
            }
            None => Ok(None),
        }
    }
}

/// Says what was done; whoever closed standard output does not want to know.
fn said_as(value: &Value) -> anyhow::Result<u8> {
    printed(print_json(value), 0)
}

/// The host name of this machine.
fn this_host() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.or_else(|| env::var("COMPUTERNAME").or_else(|_| env::var("HOSTNAME")).ok());
    told.map(|name| name.trim().to_owned()).unwrap_or_default()
}
