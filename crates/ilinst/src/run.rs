//! `ilinst run`: weaves a program, runs it, and shows what it did.

mod live;
mod reporting;
mod sdk;

use std::{
    env,
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ::instrument::{
    Destination, FileReport, LARGEST_KEY, NAMES_NOTHING, Outcome, Request, TOOL, TRACKER, Unmatched, failure::about, read_small,
};
use clap::Args;
use launch::{Cache, Entry, Home, Inputs, Program, Running, Said, SdkCommand, Signals, Started, exit_code};
use names::Visible;
use weave::Note;

pub(crate) use launch::Temporary;

pub(crate) use self::{
    reporting::{Profiles, Reporting},
    sdk::by_sdk,
};
use crate::{
    arguments::WeaveArgs,
    failure::{EXIT_BAD_INPUT, EXIT_LEFT_ALONE, Failure},
    instrument::{LEFT_ALONE, NOTHING_TO_WEAVE, why_nothing},
    measuring::MeasuringArgs,
    not_loaded,
    sampling::SampleArgs,
    terminal::complain,
    text::count,
    weaving::Weaving,
};

/// Instrument a program, run it, and report where its time went
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The command that starts the program, after `--`; or an assembly, or a folder with one program
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(flatten)]
    weave: WeaveArgs,

    #[command(flatten)]
    measuring: MeasuringArgs,

    #[command(flatten)]
    sample: SampleArgs,

    /// Instrument the program's own folder instead of a copy, and restore the folder when the program has ended
    #[arg(long, conflicts_with = "sample")]
    in_place: bool,

    /// Instrument methods in memory when the runtime loads them, without changing files (.NET Core 3.1 and later)
    #[arg(long, conflicts_with_all = ["in_place", "sample"])]
    live: bool,

    /// With --live, use the runtime's enter and leave hooks, for programs that load no startup hooks
    ///
    /// With this option, each step of an async method counts as a call, and waiting counts as running time.
    #[arg(long, requires = "live", conflicts_with = "rewrite")]
    hooks: bool,

    /// The default of --live
    #[arg(long, requires = "live", hide = true)]
    rewrite: bool,

    /// Show which assemblies were instrumented and where the program runs
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,

    /// With --live, also record the .NET SDK's own processes, such as those of `dotnet build`
    #[arg(long, requires = "live")]
    sdk: bool,

    #[command(flatten)]
    reporting: Reporting,

    /// The start by the SDK, if the SDK started this process.
    #[arg(skip)]
    started: Option<Started>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst run -- dotnet bin/Release/net10.0/app.dll --once
  ilinst run -- dotnet run -c Release -- --once    also: dotnet app.cs
  ilinst run -- dotnet test --filter Name~Order
  ilinst run -- mono app.exe
  ilinst run -- bin/Release/net10.0/app            the program's own host
  ilinst run --include 'Shop.*' --tree -- dotnet app.dll
  ilinst run --html profile.html --open -- dotnet app.dll
  ilinst run --no-report --keep=profiles/ -- dotnet app.dll
  ilinst run --allocations -- dotnet app.dll       also allocated bytes
  ilinst run --lines --mode none -- dotnet app.dll  counts of lines
  ilinst run --live -- dotnet app.dll              in memory
  ilinst run --live --capture args,return -- dotnet app.dll
  ilinst run --live --hooks -- dotnet app.dll
  ilinst run --sample -- dotnet app.dll            samples instead of probes
  ilinst run --sample --wall --tree -- dotnet app.dll

Your program runs as usual: same arguments, environment, working directory, stdin, signals, stdout and exit code. ilinst prints \
its report to stderr.

The program runs from an instrumented copy of its folder. Files that the program writes beside its own assembly land in that \
copy. `ilinst cache` lists the copies. Use --in-place to instrument the original folder instead.

`dotnet run` and `dotnet test` build first, and then start the instrumented program. `dotnet vstest` and `dotnet test X.dll` start \
the tests from an instrumented copy.";

impl Opts {
    /// Whether single calls are kept.
    fn captures_calls(&self) -> bool {
        self.weave.selection.capture.is_some_and(|captured| captured.calls)
    }

    /// Whether the CLR profiler records.
    fn is_live(&self) -> bool {
        self.live || self.sample.sampling().is_some()
    }

    /// Whether this is one of the programs of `dotnet test`, which are reported together.
    fn is_for_tests(&self) -> bool {
        self.started.as_ref().is_some_and(Started::is_test)
    }

    /// Where the profile is to stay.
    fn kept(&self) -> Option<&Path> {
        self.reporting.keep().filter(|_| !self.is_for_tests())
    }

    pub(crate) fn run(self) -> anyhow::Result<u8> {
        if self.started.is_none()
            && !self.sdk
            && let Some(kind) = SdkCommand::parse(&self.command)?
        {
            return self.run_sdk(kind);
        }
        if self.is_live() {
            return self.run_live();
        }
        let signals = Signals::take_over()?;
        let program = Program::find(&self.command)?;
        let folder = dunce::canonicalize(program.folder()).unwrap_or_else(|_| program.folder());
        let mut weaving = self.weave.resolve(&[&folder])?;
        weaving.options.projects_alone = self.is_for_tests();
        self.measuring.choose(&mut weaving)?;
        let profiles = Profiles::prepare(self.kept())?;
        let place = if self.in_place {
            Place::Home(self.weave_in_place(&weaving, &program, &folder)?)
        } else if let Some(started) = self.started.as_ref().filter(|started| started.is_test()) {
            let (folder, name) = (folder.as_path(), program.name());
            Place::Beside(self.weave_tests(&weaving, || started.copy(folder), (folder, &name))?)
        } else {
            Place::Copy(self.weave(&weaving, &program, &folder)?)
        };
        let mut command = match &place {
            Place::Home(_) | Place::Beside(None) => program.at_home(),
            Place::Copy(entry) => program.from(&entry.folder),
            Place::Beside(Some(folder)) => program.from(folder),
        };
        profiles.tell(&mut command);
        self.measuring.tell(&mut command);
        if let Some(started) = &self.started {
            started.tell(&mut command);
            started.forget_command(&program.assembly);
        }
        let running = match Running::start(&mut command, &signals) {
            Ok(running) => running,
            Err(error) => {
                place.leave()?;
                return Err(Failure::unreadable(about(Path::new(command.get_program()), &error)).into());
            }
        };
        let process = running.id();
        let status = running.wait();
        if weaving.options.weave.counts_lines()
            && !self.is_for_tests()
            && let Some(profile) = profiles.of_process(process)
            && let Err(failure) = not_loaded::add_to(&profile, place.folder().unwrap_or(&folder))
        {
            complain(&failure);
        }
        // Whatever comes of the rest, it is put back.
        let is_reported = !self.is_for_tests();
        let seen = if is_reported { self.reporting.read(&profiles, process) } else { Ok(None) };
        let written = place.leave()?;
        signals.release();
        let code = exit_code(status?);
        if !is_reported {
            return ended_with(code);
        }
        self.reporting.show(seen, &profiles, self.captures_calls());
        if let (Some(first), false) = (written.first(), self.reporting.quiet) {
            let (files, first) = (count(written.len(), "file"), Visible(first.display()));
            complain(format_args!(
                "note: the program wrote {files} into the instrumented copy of its folder ({first}); --in-place instruments the \
                 original folder instead"
            ));
        }
        drop(profiles);
        ended_with(code)
    }

    /// The program's folder, woven, in the cache.
    fn weave(&self, weaving: &Weaving, program: &Program, folder: &Path) -> anyhow::Result<Entry> {
        let inputs = Inputs::read(folder)?;
        let options = &weaving.options;
        let said = options.weave.to_string();
        let mut words = vec![TOOL.as_bytes().to_vec(), TRACKER.to_vec(), this_build(), said.clone().into_bytes()];
        words.push(vec![u8::from(weaving.strict), u8::from(options.all_assemblies)]);
        for key in &options.keys {
            words.push(read_small(key, LARGEST_KEY)?);
        }
        words.extend(options.hook_assemblies.iter().map(|hooks| hooks.bytes().to_vec()));
        let name = program.name();
        words.push(name.as_os_str().as_encoded_bytes().to_vec());
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let make = |target: &Path| self.weave_into(weaving, Destination::Path(target.to_owned()), (folder, &name));
        let entry = Cache::of_user()?.entry(&inputs, (folder, &name, &said), &words, make)?;
        if !entry.is_new {
            say_unmatched(weaving, &entry.description.said.unmatched)?;
            self.say_losses(&entry.description.said.losses);
        }
        if self.verbose {
            let what = if entry.is_new { "runs in" } else { "instrumented before; runs in" };
            complain(format_args!("{what} {}", entry.folder.display()));
        }
        Ok(entry)
    }

    fn weave_in_place(&self, weaving: &Weaving, program: &Program, folder: &Path) -> anyhow::Result<Home> {
        let home = Home::take(&Cache::of_user()?, folder)?;
        if home.was_left {
            complain(format_args!(
                "{}: an earlier run was killed before it restored this folder: restored now",
                folder.display()
            ));
        }
        if let Err(failure) = self.weave_into(weaving, Destination::InPlace, (folder, &program.name())) {
            home.forget();
            return Err(failure.into());
        }
        Ok(home)
    }

    /// Weaves a folder for a program in it. Gives the messages on it, which were printed.
    fn weave_into(&self, weaving: &Weaving, to: Destination, (folder, program): (&Path, &Path)) -> ::instrument::Result<Said> {
        let program = folder.join(program);
        let request = Request { inputs: vec![folder.to_owned()], destination: to, pdb: None, copies: None, dry_run: false };
        let mut jobs = request.jobs()?;
        jobs.retain(|job| !Inputs::is_profile(&job.input));
        jobs.iter_mut().for_each(|job| job.is_program = job.input == program);
        let run = ::instrument::run(&request, &jobs, &weaving.options, &|_| {})?;
        if let Some(file) = run.files.iter().find(|file| weaving.strict && file.has_findings()) {
            let text =
                format!("{}: a chosen method could not be instrumented; `ilinst instrument -v` lists it", file.input.display());
            return Err(Failure { code: LEFT_ALONE, exit: EXIT_LEFT_ALONE, message: text });
        }
        say_unmatched(weaving, &run.unmatched)?;
        if run.files.iter().all(|file| file.woven() == 0) {
            return Err(nothing_woven(&program, &run.files));
        }
        let ::instrument::Report { files, unmatched, .. } = run.commit()?;
        if !self.reporting.quiet {
            let methods: usize = files.iter().map(FileReport::woven).sum();
            let woven = files.iter().filter(|file| file.woven() > 0).count();
            let assemblies = if woven == 1 { "1 assembly".into() } else { format!("{woven} assemblies") };
            complain(format_args!("{}: {assemblies} instrumented ({})", folder.display(), count(methods, "method")));
        }
        let losses = losses(&files);
        self.say_losses(&losses);
        Ok(Said { unmatched, losses })
    }

    fn say_losses(&self, losses: &[String]) {
        losses.iter().filter(|_| !self.reporting.quiet).for_each(complain);
    }
}

/// Warns of the patterns that name nothing, if they are on the command line: a file's may be for other programs.
fn say_unmatched(weaving: &Weaving, unmatched: &[Unmatched]) -> ::instrument::Result<()> {
    for unmatched in unmatched.iter().filter(|unmatched| weaving.is_given(&unmatched.option)) {
        if weaving.strict {
            return Err(Failure { code: NAMES_NOTHING, exit: EXIT_LEFT_ALONE, message: unmatched.to_string() });
        }
        complain(format_args!("warning {NAMES_NOTHING}: {unmatched}"));
    }
    Ok(())
}

/// Why nothing of a program is woven, and what to do.
fn nothing_woven(program: &Path, files: &[FileReport]) -> Failure {
    let shown = program.display();
    let list = || format!("; ilinst list {shown} shows the methods");
    let why = match files.iter().find(|file| file.input == program) {
        Some(FileReport { outcome: Outcome::Link(target), .. }) => format!("it is a link: name {}", target.display()),
        Some(FileReport { outcome: Outcome::Refused(refusal), .. }) => refusal.to_string(),
        Some(file) => why_nothing(file).to_owned() + &list(),
        None => "it is not in its folder any more".into(),
    };
    let message = format!("{shown}: nothing to instrument, so the program was not started: {why}");
    Failure { code: NOTHING_TO_WEAVE, exit: EXIT_BAD_INPUT, message }
}

/// The notes on what a program lacks while it runs: its line numbers with Mono's own debug information, precompiled code, and counts
/// of lines.
const LOSSES: [fn(&Note) -> bool; 3] = [
    |note| matches!(note, Note::MdbLeftOut | Note::MdbStale),
    |note| matches!(note, Note::ReadyToRunRemoved),
    |note| matches!(note, Note::NoLines(_)),
];

/// Each of these notes once, with the first file that it concerns.
fn losses(files: &[FileReport]) -> Vec<String> {
    let said = |is_loss: fn(&Note) -> bool| {
        let mut lost = files.iter().filter_map(|file| Some((file, file.notes().iter().find(|note| is_loss(note))?)));
        let (first, note) = lost.next()?;
        let others = lost.count();
        let others = if others == 0 { String::new() } else { format!("; the same holds for {} more", count(others, "file")) };
        Some(format!("note {}: {}: {note}{others}", note.code(), first.input.display()))
    };
    LOSSES.into_iter().filter_map(said).collect()
}

/// Where the program runs.
enum Place {
    /// Where it is, which was woven.
    Home(Home),
    /// A copy.
    Copy(Entry),
    /// A copy beside it, which goes with its session; none if nothing is to be woven.
    Beside(Option<PathBuf>),
}

impl Place {
    /// The folder, if it is a copy that stays.
    fn folder(&self) -> Option<&Path> {
        if let Self::Copy(entry) = self { Some(&entry.folder) } else { None }
    }

    /// Puts back what was woven in place; gives what the program has written into the copy.
    fn leave(self) -> anyhow::Result<Vec<PathBuf>> {
        match self {
            Self::Home(home) => {
                for (path, kept) in home.put_back()?.changed {
                    let kept = kept.map(|kept| format!("; its original is {}", kept.display())).unwrap_or_default();
                    complain(format_args!("{}: kept, as it was changed while it was instrumented{kept}", path.display()));
                }
                Ok(Vec::new())
            }
            Self::Copy(entry) => Ok(entry.written()),
            Self::Beside(_) => Ok(Vec::new()),
        }
    }
}

/// Distinguishes this build of the tool from others of the same version.
fn this_build() -> Vec<u8> {
    let read = || -> std::io::Result<Vec<u8>> {
        let file = File::open(env::current_exe()?)?.metadata()?;
        let changed = file.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok([file.len().to_le_bytes().to_vec(), changed.as_nanos().to_le_bytes().to_vec()].concat())
    };
    read().unwrap_or_default()
}

/// Ends with a program's exit code, which Windows has more of than a byte.
pub(crate) fn ended_with(code: i32) -> anyhow::Result<u8> {
    if let Ok(code) = u8::try_from(code) {
        return Ok(code);
    }
    std::process::exit(code);
}
