//! `ilinst run --live`: the program as it is, under the CLR profiler.

use std::{env, fs, path::Path, process::Command};

use ::instrument::{NativeProgram, failure::about};
use launch::{Cache, ClrProfiler, Program, Recording, Running, Signals, Temporary, exit_code, tracker_of};

use super::{Opts, Profiles, ended_with};
use crate::{failure::Failure, sampling::SampleArgs, terminal::complain, text::count, weaving::Weaving};

impl Opts {
    pub(super) fn run_live(&self) -> anyhow::Result<u8> {
        let profiler = ClrProfiler::find()?;
        let signals = Signals::take_over()?;
        let (mut command, program) = self.command_as_it_is()?;
        if let (Some(variable), Some(program)) = (ClrProfiler::refused_by(), &program) {
            let text = format_args!(
                "{}: {variable} in the environment has .NET load no profiler; unset it, or leave {} out",
                program.assembly.display(),
                if self.sample.sampling().is_some() { "--sample" } else { "--live" }
            );
            return Err(Failure::usage(text).into());
        }
        let folder = match &program {
            Some(program) => fs::canonicalize(program.folder()).unwrap_or_else(|_| program.folder()),
            None => env::current_dir()?,
        };
        let (weaving, recording) = self.recording(&folder, self.is_for_tests())?;
        let profiles = Profiles::prepare(self.kept())?;
        let status = Temporary::folder()?;
        profiles.tell(&mut command);
        self.measuring.tell(&mut command);
        let named = program.and_then(|program| fs::canonicalize(program.assembly).ok());
        let mut environment = profiler.environment(&weaving.options, &recording, status.path(), named.as_deref());
        #[cfg(target_os = "linux")]
        if self.sample.sampling().is_some() {
            profiler.sample_mono(&mut environment, status.path())?;
        }
        environment.give(&mut command);
        if let Some(started) = &self.started {
            started.tell(&mut command);
        }
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
                if let Some(first) = reported.precompiled.first().filter(|_| !self.reporting.quiet) {
                    let others = match reported.precompiled.len() - 1 {
                        0 => String::new(),
                        others => format!("; the same holds for {}", count(others, "more file")),
                    };
                    complain(format_args!(
                        "note ILI0002: {first}: its ReadyToRun code is not used, so that the instrumented IL runs; start-up is \
                         slower, as all methods are compiled then{others}"
                    ));
                }
                let by_hooks = |why| complain(format_args!("recorded by hooks, as with --hooks: {why}"));
                reported.by_hooks.iter().for_each(by_hooks);
                if !reported.by_hooks.is_empty() && weaving.options.weave.counts_bytes() {
                    complain("hooks count no allocated bytes");
                }
                if !reported.by_hooks.is_empty()
                    && recording.captured.is_some_and(|captured| captured.exception || captured.texts)
                {
                    complain("hooks recorded no exceptions and no ToString texts");
                }
            }
            Err(failure) => {
                complain(&failure);
                // The program's own word comes first.
                return ended_with(if code == 0 { failure.exit.into() } else { code });
            }
        }
        if !self.is_for_tests() {
            self.reporting.show(self.reporting.read(&profiles, process), &profiles, self.captures_calls());
        }
        drop((profiles, status));
        ended_with(code)
    }

    /// The methods to record, from the options for a folder. Options that the profiler does not support are refused.
    pub(super) fn recording(&self, folder: &Path, is_for_tests: bool) -> anyhow::Result<(Weaving, Recording)> {
        let mut weaving = self.weave.resolve(&[folder])?;
        weaving.options.projects_alone = is_for_tests;
        self.measuring.choose(&mut weaving)?;
        if weaving.options.weave.counts_lines() {
            let text = "--lines counts in instrumented files: leave out --live and --sample, or --lines";
            return Err(Failure::usage(text).into());
        }
        if weaving.options.weave.all_hooks().any(|hooks| hooks.methods().next().is_some()) {
            let text = "--live cannot call hooks: leave out --enter, --leave HOOK, --handle and --preset, or leave out --live";
            return Err(Failure::usage(text).into());
        }
        let sampling = self.sample.sampling();
        if sampling.is_some() {
            SampleArgs::refuse_options(&weaving)?;
        }
        if self.hooks && weaving.options.weave.counts_bytes() {
            return Err(Failure::usage("--hooks counts no allocated bytes: leave it out, or add --allocations=false").into());
        }
        if self.hooks {
            self.measuring.refuse_for_hooks()?;
        }
        let captured = weaving.options.weave.capture;
        if self.hooks && (captured.exception || captured.texts) {
            let text =
                "--hooks records no exceptions and no ToString texts: use --capture args,return,this, or leave out --hooks";
            return Err(Failure::usage(text).into());
        }
        if let Some(other) = ClrProfiler::replaced() {
            complain(format_args!(
                "note: CORECLR_PROFILER={other} of the environment is not loaded: a runtime has room for one profiler, and --live \
                 takes it"
            ));
        }
        let tracker = if self.hooks || sampling.is_some() { None } else { Some(tracker_of(&Cache::of_user()?)?) };
        let recording = Recording { captured: Some(captured).filter(|captured| captured.calls), tracker, sampling };
        Ok((weaving, recording))
    }

    /// The command that was given, or what starts the assembly that it is; with the program, if it names one.
    fn command_as_it_is(&self) -> anyhow::Result<(Command, Option<Program>)> {
        let found = Program::find(&self.command);
        if let Some((host, native)) = Program::native(&self.command).filter(|(_, native)| *native == NativeProgram::Aot) {
            return Err(Failure::not_an_assembly(format_args!("{}: it is {native}", host.display())).into());
        }
        match self.command.split_first() {
            _ if found.is_ok() => Ok((found.as_ref().map(Program::at_home).map_err(Clone::clone)?, found.ok())),
            // A command that may start .NET in a child process.
            Some((first, rest)) if !Path::new(first).is_dir() => {
                let mut command = Command::new(first);
                command.args(rest);
                Ok((command, None))
            }
            _ => Err(found.expect_err("it was no program").into()),
        }
    }
}
