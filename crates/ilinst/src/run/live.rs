//! `ilinst run --live`: the program as it is, under the CLR profiler.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use ::instrument::failure::about;
use launch::{Cache, ClrProfiler, Program, Recording, Running, Signals, Temporary, exit_code, tracker_of};

use super::{Opts, Profiles, ended_with};
use crate::{failure::Failure, terminal::complain};

impl Opts {
    pub(super) fn run_live(&self) -> anyhow::Result<u8> {
        let profiler = ClrProfiler::find()?;
        let signals = Signals::take_over()?;
        let (mut command, folder) = self.command_as_it_is()?;
        let weaving = self.weave.resolve(&[&folder])?;
        if weaving.options.weave.all_hooks().any(|hooks| hooks.methods().next().is_some()) {
            let text = "--live uses the tracker's probes alone: --enter, --leave-call and the like are for run and instrument";
            return Err(Failure::usage(text).into());
        }
        let captured = weaving.options.weave.capture;
        if self.hooks && (captured.exception || captured.texts) {
            let text = "--hooks keeps that an exception ended a call, not which, and calls nothing: --capture args,return,this";
            return Err(Failure::usage(text).into());
        }
        let tracker = if self.hooks { None } else { Some(tracker_of(&Cache::of_user()?)?) };
        let recording = Recording { captured: Some(captured).filter(|captured| captured.calls), tracker };
        let profiles = Profiles::prepare(self.reporting.keep())?;
        let status = Temporary::folder()?;
        profiles.tell(&mut command);
        profiler.attach(&mut command, &weaving.options, &recording, status.path());
        if self.verbose {
            complain(format_args!("runs under {}", profiler.library().display()));
        }
        let running = Running::start(&mut command, &signals)
            .map_err(|error| Failure::unreadable(about(Path::new(command.get_program()), &error)))?;
        let process = running.id();
        let ended = running.wait();
        signals.release();
        let code = exit_code(ended?);
        match profiler.reported(status.path()) {
            Ok(reported) => {
                reported.skipped.iter().for_each(|module| complain(format_args!("skipped: {module}")));
                let by_hooks = |why| complain(format_args!("recorded by hooks, as with --hooks: {why}"));
                reported.by_hooks.iter().for_each(by_hooks);
                if !reported.by_hooks.is_empty() && (captured.exception || captured.texts) {
                    complain("hooks keep no exceptions, and no texts of ToString");
                }
            }
            Err(failure) => {
                complain(&failure);
                // The program's own word comes first.
                return ended_with(if code == 0 { failure.exit.into() } else { code });
            }
        }
        self.reporting.show(self.reporting.read(&profiles, process), &profiles, self.captures_calls());
        drop((profiles, status));
        ended_with(code)
    }

    /// The command that was given, or what starts the assembly that it is; with the folder that it is about.
    fn command_as_it_is(&self) -> anyhow::Result<(Command, PathBuf)> {
        let found = Program::find(&self.command);
        if let Ok(program) = &found {
            return Ok((program.at_home(), fs::canonicalize(program.folder()).unwrap_or_else(|_| program.folder())));
        }
        match self.command.split_first() {
            // What starts .NET somewhere among what it starts.
            Some((first, rest)) if !Path::new(first).is_dir() => {
                let mut command = Command::new(first);
                command.args(rest);
                Ok((command, env::current_dir()?))
            }
            _ => Err(found.expect_err("it was no program").into()),
        }
    }
}
