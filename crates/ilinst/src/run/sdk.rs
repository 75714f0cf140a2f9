//! `ilinst run -- dotnet run` and `dotnet test`: the SDK builds, and starts the built programs by way of ilinst. `dotnet vstest` and
//! `dotnet test X.dll` have built assemblies, which ilinst instruments.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use ::instrument::{Destination, failure::about};
use clap::Parser as _;
use launch::{ClrProfiler, Program, Running, SdkCommand, Session, Signals, Started, Temporary, exit_code};

use super::{Opts, Profiles, ended_with};
use crate::{
    Cli, failure::Failure, instrument::NOTHING_TO_WEAVE, print_instead, response_file, terminal::complain, weaving::Weaving,
};

/// Does what the SDK has started this for.
pub(crate) fn by_sdk(started: Started) -> anyhow::Result<u8> {
    match Cli::try_parse_from(started.arguments()) {
        Ok(Cli { command: crate::Command::Run(mut opts) }) => {
            opts.reporting.quiet |= started.is_test();
            if started.only_instruments() {
                return opts.instrument_for(&started);
            }
            opts.started = Some(started);
            opts.run()
        }
        Ok(_) => Err(Failure::usage("a session of ilinst run is damaged").into()),
        Err(error) => print_instead(&error, &started.arguments()),
    }
}

impl Opts {
    /// Has the SDK do what it was asked to do.
    pub(super) fn run_sdk(&self, kind: SdkCommand) -> anyhow::Result<u8> {
        if kind.is_test() && self.in_place {
            let text = "--in-place is not for tests: they run in a copy beside their folder, from which relative paths lead to the \
                        same files";
            return Err(Failure::usage(text).into());
        }
        let signals = Signals::take_over()?;
        let session = Session::begin(kind, &self.command[0], self.given()?)?;
        if kind.is_test() {
            return self.run_tests(kind, session, &signals);
        }
        let code = exit_code(start(&mut session.command(&self.command, &[])?, &signals)?.wait()?);
        signals.release();
        self.ended(session.has_started(), code)
    }

    fn run_tests(&self, kind: SdkCommand, session: Session, signals: &Signals) -> anyhow::Result<u8> {
        let (profiles, status) = (Profiles::prepare(self.reporting.keep())?, Temporary::folder()?);
        let mut words = self.command.clone();
        let mut command;
        let profiler = if self.is_live() {
            let profiler = ClrProfiler::find()?;
            let (weaving, recording) = self.recording(&env::current_dir()?, true)?;
            let environment = profiler.environment(&weaving.options, &recording, status.path(), None);
            command = session.command(&words, &environment.acting())?;
            environment.prepare(&mut command);
            Some(profiler)
        } else {
            if kind == SdkCommand::TestAssemblies {
                for word in words.iter_mut().skip(1).take_while(|word| *word != "--") {
                    self.instrument_named(&session, word)?;
                }
            }
            command = session.command(&words, &[])?;
            None
        };
        profiles.tell(&mut command);
        self.measuring.tell(&mut command);
        let running = start(&mut command, signals)?;
        let process = running.id();
        let ended = running.wait();
        profiles.complete_lines(&session.copies());
        let seen = self.reporting.read(&profiles, process);
        let is_started = session.has_started() || kind == SdkCommand::TestAssemblies;
        drop(session);
        signals.release();
        let code = exit_code(ended?);
        let is_recorded = seen.as_ref().is_ok_and(Option::is_some);
        match profiler.filter(|_| is_started && !is_recorded).map(|profiler| profiler.reported(status.path())) {
            Some(Err(failure)) => {
                complain(&failure);
                ended_with(if code == 0 { failure.exit.into() } else { code })
            }
            _ if is_started => {
                self.reporting.show(seen, &profiles, self.captures_calls());
                ended_with(code)
            }
            _ => self.ended(is_started, code),
        }
    }

    /// Says so if no program was started.
    fn ended(&self, is_started: bool, code: i32) -> anyhow::Result<u8> {
        if is_started {
            return ended_with(code);
        }
        let words: Vec<_> = self.command.iter().take(2).map(|word| word.display().to_string()).collect();
        let words = words.join(" ");
        let failure = Failure::not_recorded(format_args!(
            "{words}: the SDK started no program of a project through ilinst: the build failed, no project has tests, or a launch \
             profile (Executable) or --test-modules names another program; build first, and name the program: ilinst run -- dotnet \
             app.dll"
        ));
        complain(&failure);
        ended_with(if code == 0 { failure.exit.into() } else { code })
    }

    /// The options that the user gave.
    fn given(&self) -> anyhow::Result<Vec<OsString>> {
        let mut arguments = response_file::expand(wild::args_os())?;
        arguments.truncate(arguments.len().saturating_sub(self.command.len()));
        arguments.pop_if(|last| *last == "--");
        Ok(arguments.split_off(arguments.len().min(2)))
    }

    /// Instruments what VSTest is to run.
    fn instrument_for(&self, started: &Started) -> anyhow::Result<u8> {
        let assembly = Path::new(&self.command[0]);
        let program = if self.is_live() { None } else { self.instrument_beside(assembly, |folder| started.copy(folder))? };
        started.instrumented(program.as_deref().unwrap_or(assembly))?;
        Ok(0)
    }

    /// The same of an assembly that the command line names.
    fn instrument_named(&self, session: &Session, word: &mut OsString) -> anyhow::Result<()> {
        let path = Path::new(word);
        let is_assembly = path.is_file() && Program::is_assembly(path);
        if is_assembly && let Some(copy) = self.instrument_beside(path, |folder| session.copy(folder))? {
            *word = copy.into();
        }
        Ok(())
    }

    fn instrument_beside(
        &self,
        assembly: &Path,
        copy: impl Fn(&Path) -> ::instrument::Result<PathBuf>,
    ) -> anyhow::Result<Option<PathBuf>> {
        let folder = assembly.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = dunce::canonicalize(folder).map_err(|error| Failure::unreadable(about(folder, &error)))?;
        let name = Path::new(assembly.file_name().unwrap_or_default());
        let mut weaving = self.weave.resolve(&[&folder])?;
        weaving.options.projects_alone = true;
        self.measuring.choose(&mut weaving)?;
        Ok(self.weave_tests(&weaving, || copy(&folder), (&folder, name))?.map(|copy| copy.join(name)))
    }

    /// Weaves a folder of tests into a copy; none if nothing is to be woven, as of tests of what no pattern names.
    pub(super) fn weave_tests(
        &self,
        weaving: &Weaving,
        copy: impl Fn() -> ::instrument::Result<PathBuf>,
        place: (&Path, &Path),
    ) -> ::instrument::Result<Option<PathBuf>> {
        let copy = copy()?;
        match self.weave_into(weaving, Destination::Path(copy.clone()), place) {
            Err(failure) if failure.code == NOTHING_TO_WEAVE => Ok(None),
            woven => woven.map(|_| Some(copy)),
        }
    }
}

fn start<'s>(command: &mut Command, signals: &'s Signals) -> Result<Running<'s>, Failure> {
    Running::start(command, signals).map_err(|error| Failure::unreadable(about(Path::new(command.get_program()), &error)))
}
