//! `ilinst run`: weaves a program, runs it, and shows what it did.

mod live;

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::SystemTime,
};

use ::instrument::{Destination, FileReport, NAMES_NOTHING, Request, TOOL, TRACKER, Unmatched, failure::about};
use clap::Args;
use identity::Visible;
use launch::{Cache, Entry, Home, Inputs, Program, Running, Signals, exit_code};
use profile::Profile;
use weave::Note;

use crate::{
    arguments::{WeaveArgs, Weaving},
    calls::{CallArgs, Calls},
    colours::colour_report,
    failure::{EXIT_LEFT_ALONE, Failure},
    profiles,
    report::ShownArgs,
    terminal::{Terminal, complain},
    text::count,
};

/// Weave a program, run it, and show what it did with its time: all that `dotnet app.dll` needs before it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// How the program is started, after `--`: a command with its arguments, an assembly alone, or a folder with a program
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(flatten)]
    weave: WeaveArgs,

    /// Weave the program where it is, run it there, and put it back when it has ended; else it runs in a copy
    #[arg(long)]
    in_place: bool,

    /// Weave nothing: record the program as it is by a profiler in its runtime, whatever it loads or makes while it runs
    #[arg(long, conflicts_with = "in_place")]
    live: bool,

    /// With --live, weave each method in the memory of the program when it is loaded, in place of hooks: each call costs what it
    /// costs in a woven file
    #[arg(long, requires = "live", conflicts_with = "capture")]
    rewrite: bool,

    /// Keep the profile [default: in the current folder]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    keep: Option<PathBuf>,

    /// Show no report
    #[arg(long)]
    no_report: bool,

    /// Write the report as one HTML file, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the report as JSON, too: standard output and error are the program's
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Open the report in a browser; without --html, from the temporary folder
    #[arg(long)]
    open: bool,

    /// Say nothing but the report and errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Say what was woven, and where it runs
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    shown: ShownArgs,
}

const EXAMPLES: &str = "\
Examples:
  ilinst run -- dotnet bin/Release/net8.0/app.dll --once
  ilinst run -- mono app.exe
  ilinst run -- bin/Release/net8.0/app             its own host, or the folder
  ilinst run --include 'Shop.*' --tree -- dotnet app.dll
  ilinst run --html profile.html --open -- dotnet app.dll
  ilinst run --live -- dotnet app.dll              as it is, on .NET Core 3.1+
  ilinst run --live --capture args,return -- dotnet app.dll
  ilinst run --live --rewrite -- dotnet app.dll    woven in memory
  ilinst run --no-report --keep=profiles/ -- dotnet app.dll

The program gets the arguments, environment, current folder, input and signals that it would get alone; its output and \
exit code are its own, and the report goes to standard error. It runs in a copy of its folder, which `ilinst cache` shows: \
what it looks for beside itself (AppContext.BaseDirectory) it finds there, and what it writes there stays there; if that \
matters, --in-place.";

/// Where trackers look for where to write.
const OUTPUT: &str = "ILINST_OUTPUT";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        if self.live {
            return self.run_live();
        }
        let signals = Signals::take_over()?;
        let program = Program::find(&self.command)?;
        let folder = dunce::canonicalize(program.folder()).unwrap_or_else(|_| program.folder());
        let weaving = self.weave.resolve(&[&folder])?;
        let profiles = Profiles::prepare(self.keep.as_deref())?;
        let place = if self.in_place {
            Place::Home(self.weave_in_place(&weaving, &folder)?)
        } else {
            Place::Copy(self.weave(&weaving, &program, &folder)?)
        };
        let mut command = match &place {
            Place::Home(_) => program.at_home(),
            Place::Copy(entry) => program.from(&entry.folder),
        };
        profiles.tell(&mut command);
        let running = match Running::start(&mut command, &signals) {
            Ok(running) => running,
            Err(error) => {
                place.leave()?;
                return Err(Failure::unreadable(about(Path::new(command.get_program()), &error)).into());
            }
        };
        let process = running.id();
        let status = running.wait();
        // Whatever comes of the rest, it is put back.
        let seen = self.read(&profiles, process);
        let written = place.leave()?;
        signals.release();
        let code = exit_code(status?);
        self.show(seen, &profiles);
        if let (Some(first), false) = (written.first(), self.quiet) {
            let (files, first) = (count(written.len(), "file"), Visible(first.display()));
            complain(format_args!(
                "note: the program wrote {files} into its own folder ({first}), which was a copy; --in-place runs it at home"
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
            words.push(fs::read(key).map_err(|error| Failure::unreadable(about(key, &error)))?);
        }
        words.extend(options.hook_assemblies.iter().map(|hooks| hooks.bytes().to_vec()));
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let make = |target: &Path| self.weave_into(weaving, Destination::Path(target.to_owned()), folder);
        let name = program.assembly.file_name().map(PathBuf::from).unwrap_or_default();
        let entry = Cache::of_user()?.entry(&inputs, (folder, &name, &said), &words, make)?;
        if !entry.is_new {
            say_unmatched(weaving, &entry.made.unmatched)?;
        }
        if self.verbose {
            let what = if entry.is_new { "runs in" } else { "woven before; runs in" };
            complain(format_args!("{what} {}", entry.folder.display()));
        }
        Ok(entry)
    }

    fn weave_in_place(&self, weaving: &Weaving, folder: &Path) -> anyhow::Result<Home> {
        let home = Home::take(&Cache::of_user()?, folder)?;
        if home.was_left {
            complain(format_args!("{}: an earlier run was killed, and left it woven: put back first", folder.display()));
        }
        if let Err(failure) = self.weave_into(weaving, Destination::InPlace, folder) {
            home.forget();
            return Err(failure.into());
        }
        Ok(home)
    }

    /// Gives the patterns that name nothing, which were said.
    fn weave_into(&self, weaving: &Weaving, to: Destination, folder: &Path) -> ::instrument::Result<Vec<Unmatched>> {
        let request = Request { inputs: vec![folder.to_owned()], destination: to, pdb: None, dry_run: false };
        let mut jobs = request.jobs()?;
        jobs.retain(|job| !Inputs::is_profile(&job.input));
        let run = ::instrument::run(&request, &jobs, &weaving.options, &|_| {})?;
        if let Some(file) = run.files.iter().find(|file| weaving.strict && file.has_findings()) {
            let text = format!("{}: a method that should be woven cannot be; ilinst instrument says which", file.input.display());
            return Err(Failure { code: "ILI0001", exit: EXIT_LEFT_ALONE, message: text });
        }
        say_unmatched(weaving, &run.unmatched)?;
        let ::instrument::Report { files, unmatched, .. } = run.commit()?;
        if !self.quiet {
            let methods: usize = files.iter().map(FileReport::woven).sum();
            let woven = files.iter().filter(|file| file.woven() > 0).count();
            let assemblies = if woven == 1 { "1 assembly".into() } else { format!("{woven} assemblies") };
            complain(format_args!("{}: {assemblies} woven ({})", folder.display(), count(methods, "method")));
            say_without_lines(&files);
        }
        Ok(unmatched)
    }

    /// Reads what was recorded, while the woven files are there, which names are taken from; writes the page of it.
    fn read(&self, profiles: &Profiles, process: u32) -> anyhow::Result<Option<Seen>> {
        let found = profiles.written();
        let of_process = found.iter().find(|path| profiles::pid_in(path) == Some(process));
        let Some(path) = of_process.or(found.first()).cloned() else { return Ok(None) };
        let profile = self.shown.read(&path)?;
        let unnamed = || env::temp_dir().join(format!("ilinst-{process}.html"));
        let page = self.html.clone().or_else(|| self.open.then(unnamed));
        if let Some(page) = &page {
            self.shown.write_page(&profile, &path, page)?;
        }
        if let Some(file) = &self.json {
            self.shown.write_json(&profile, &path, file)?;
        }
        Ok(Some(Seen { path, profile, page, others: found.len() - 1 }))
    }

    /// Shows it, or says why not: what the program ended with is not changed by that.
    fn show(&self, seen: anyhow::Result<Option<Seen>>, profiles: &Profiles) {
        if let Err(error) = seen.and_then(|seen| self.report(seen, profiles)) {
            complain(format_args!("{error:#}"));
        }
    }

    /// Shows it.
    fn report(&self, seen: Option<Seen>, profiles: &Profiles) -> anyhow::Result<()> {
        let Some(Seen { path, profile, page, others }) = seen else {
            complain(
                "no profile: nothing that is woven was called, or it could not be written; ilinst doctor -- COMMAND says why",
            );
            return Ok(());
        };
        if !self.no_report {
            match self.weave.selection.capture {
                Some(captured) if captured.calls => self.shown.print_calls(&CallArgs::default(), &path, Calls::Aside)?,
                _ => self.shown.print(&profile, Terminal::painted_aside(colour_report))?,
            }
        }
        if let (Some(page), true) = (&page, self.open) {
            open(page)?;
        }
        if self.quiet {
            return Ok(());
        }
        if others > 0 {
            let processes = if others == 1 { "1 more process".into() } else { format!("{others} more processes") };
            let where_they_are =
                if profiles.is_temporary() { "--keep keeps their profiles" } else { "ilinst merge adds them up" };
            complain(format_args!("note: {processes} of the program wrote profiles; {where_they_are}"));
        }
        if !profiles.is_temporary() {
            complain(format_args!("the profile is {}", path.display()));
        }
        Ok(())
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

/// Says whose line numbers are lost with Mono's own debug information.
fn say_without_lines(files: &[FileReport]) {
    let is_lost = |note: &&Note| matches!(note, Note::MdbLeftOut | Note::MdbStale);
    let mut lost = files.iter().filter_map(|file| Some((file, file.notes().iter().find(is_lost)?)));
    let Some((first, note)) = lost.next() else { return };
    let others = lost.count();
    let others = if others == 0 { String::new() } else { format!("; so it is of {} more", count(others, "file")) };
    complain(format_args!("note {}: {}: {note}{others}", note.code(), first.input.display()));
}

/// What was recorded.
struct Seen {
    path: PathBuf,
    profile: Profile,
    /// What was written for a browser.
    page: Option<PathBuf>,
    /// How many processes more wrote profiles.
    others: usize,
}

/// Where the program runs.
enum Place {
    /// Where it is, which was woven.
    Home(Home),
    /// A copy.
    Copy(Entry),
}

impl Place {
    /// Puts back what was woven in place; gives what the program has written into the copy.
    fn leave(self) -> anyhow::Result<Vec<PathBuf>> {
        match self {
            Self::Home(home) => {
                for (path, kept) in home.put_back()?.changed {
                    let kept = kept.map(|kept| format!("; what it was before is {}", kept.display())).unwrap_or_default();
                    complain(format_args!("{}: changed while it was woven, so left as it is{kept}", path.display()));
                }
                Ok(Vec::new())
            }
            Self::Copy(entry) => Ok(entry.written()),
        }
    }
}

/// Where the program's profiles go.
struct Profiles {
    folder: PathBuf,
    /// What the program is told of it.
    variable: Option<PathBuf>,
    /// A folder that goes with this.
    temporary: Option<Temporary>,
    since: SystemTime,
    before: Vec<PathBuf>,
}

impl Profiles {
    /// Where the user wants them, else in a temporary folder.
    fn prepare(keep: Option<&Path>) -> anyhow::Result<Self> {
        let unwritable = |path: &Path, error: &std::io::Error| Failure::unwritable(about(path, error));
        let own = env::var_os(OUTPUT).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (folder, variable, temporary) = match (keep, own) {
            (Some(folder), _) => {
                fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
                let folder = std::path::absolute(folder)?;
                (folder.clone(), Some(folder), None)
            }
            (None, Some(own)) => {
                let parent = own.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
                (if own.is_dir() { own } else { parent }, None, None)
            }
            (None, None) => {
                let folder = Temporary::folder()?;
                (folder.0.clone(), Some(folder.0.clone()), Some(folder))
            }
        };
        Ok(Self { before: profiles::profiles_in(&folder), folder, variable, temporary, since: SystemTime::now() })
    }

    fn tell(&self, command: &mut Command) {
        if let Some(folder) = &self.variable {
            command.env(OUTPUT, folder);
        }
    }

    fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Those that were written since, the latest first.
    fn written(&self) -> Vec<PathBuf> {
        let time = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut found = profiles::profiles_in(&self.folder);
        found.retain(|path| !self.before.contains(path) || time(path) >= self.since);
        found.sort_by_key(|path| std::cmp::Reverse(time(path)));
        found
    }
}

/// A folder that goes with this.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Temporary {
    /// One that nobody had before. `ilinst report` looks at profiles in those of this name, also while the program runs.
    fn folder() -> anyhow::Result<Self> {
        for number in 0.. {
            let folder = env::temp_dir().join(format!("ilinst-run-{}-{number}", std::process::id()));
            #[cfg_attr(not(unix), expect(unused_mut, reason = "Windows has no modes"))]
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&folder) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => {
                    made.map_err(|error| Failure::unwritable(about(&folder, &error)))?;
                    return Ok(Self(folder));
                }
            }
        }
        unreachable!("there is no last number")
    }
}

/// What tells this build of the tool from another of the same version.
fn this_build() -> Vec<u8> {
    let read = || -> std::io::Result<Vec<u8>> {
        let file = File::open(env::current_exe()?)?.metadata()?;
        let changed = file.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok([file.len().to_le_bytes().to_vec(), changed.as_nanos().to_le_bytes().to_vec()].concat())
    };
    read().unwrap_or_default()
}

/// Opens a page in the user's browser.
fn open(page: &Path) -> anyhow::Result<()> {
    let (program, before): (&str, &[&str]) = if cfg!(windows) {
        ("cmd", &["/c", "start", ""])
    } else if cfg!(target_os = "macos") {
        ("open", &[])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(before).arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It may go on as long as the browser does.
    command.spawn().map_err(|error| {
        Failure::unreadable(format_args!("{}; the page is {}", about(Path::new(program), &error), page.display()))
    })?;
    Ok(())
}

/// Ends with a program's exit code, which Windows has more of than a byte.
fn ended_with(code: i32) -> anyhow::Result<u8> {
    if let Ok(code) = u8::try_from(code) {
        return Ok(code);
    }
    std::process::exit(code);
}
