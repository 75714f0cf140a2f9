//! `ilinst export`: a profile in the format of another tool.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use ::export::{Error, Export, Format, Measure};
use ::instrument::Input;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser as _},
};

use crate::{
    failure::{Failure, printed},
    output, profiles, symbols,
    terminal::Terminal,
};

/// Write a profile in the format of another tool: flame graphs, timelines, pprof.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// What a woven program writes (.ilprof), or the id of its process; else the newest here or in the temporary folder
    #[arg(value_name = "FILE|PID")]
    profile: Option<PathBuf>,

    /// The format; else what the name of the output says
    #[arg(long, value_name = "FORMAT", value_parser = formats(), required_unless_present = "output")]
    to: Option<Format>,

    /// Where to; - for standard output. Else there for text in a pipe, or beside you, as NAME.folded
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What the numbers of folded stacks are: self time and waiting in ns, or calls
    #[arg(long, value_name = "NAME", value_parser = measures(), default_value = "self")]
    value: Measure,

    /// Begin folded stacks with their thread
    #[arg(long)]
    threads: bool,

    /// Export a phase alone: from the mark of this name to the next
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,

    /// Export what was recorded: with the probes' own time, and with what compilers made without a body of the user's
    #[arg(long)]
    raw: bool,

    /// Where woven files are, which names are taken from; else where the program loaded them, and beside the profile
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst export app-1234.ilprof --to speedscope    app-1234.speedscope.json, for https://www.speedscope.app
  ilinst export app-1234.ilprof -o app.pb.gz       go tool pprof -http : app.pb.gz
  ilinst export --to folded | inferno-flamegraph > app.svg
  ilinst export app-1234.ilprof --to trace         for https://ui.perfetto.dev; of ILINST_MODE=trace, each call as it was

Names of files tell formats: .folded, .speedscope.json, .pb.gz, .trace.json.";

fn formats() -> impl clap::builder::TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| Format::named(&name).ok_or("no format"))
}

fn measures() -> impl clap::builder::TypedValueParser<Value = Measure> {
    PossibleValuesParser::new(Measure::ALL.map(Measure::name)).try_map(|name| Measure::named(&name).ok_or("no value"))
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let path = profiles::find(self.profile.as_deref())?;
        let format = self.format()?;
        let mut profile = profiles::read(&path, self.phase.as_deref())?;
        symbols::name(&mut profile, &path, &self.symbols);
        if self.raw {
            profile.keep_probes();
        } else {
            profile.fold_made();
        }
        let bytes = Input::open(&path)?;
        let export = Export { profile: &profile, bytes: &bytes, measure: self.value, by_thread: self.threads };
        match self.target(&path, format)? {
            None => {
                let mut out = match format {
                    Format::Folded => Terminal::text(),
                    _ if format.is_text() => Terminal::json(),
                    _ => Terminal::bytes(),
                };
                export.write(format, &mut out).map_err(|error| failure(error, &path))?;
                out.close()?;
                Ok(0)
            }
            Some(target) => {
                output::write(&target, &[&path], |out| export.write(format, out).map_err(|error| failure(error, &path)))?;
                let mut out = Terminal::text();
                let line = format_args!("{}: {} of {}", target.display(), format.name(), profile.program);
                let printing = writeln!(out, "{line}").and_then(|()| out.close());
                printed(printing.map_err(Into::into), 0)
            }
        }
    }

    fn format(&self) -> Result<Format, Failure> {
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

/// What keeps a profile from being exported, as the command line says it.
fn failure(error: Error, profile: &Path) -> anyhow::Error {
    match error {
        Error::Io(error) => error.into(),
        Error::Refused(reason) => Failure::bad_profile(format_args!("{}: {reason}", profile.display())).into(),
    }
}
