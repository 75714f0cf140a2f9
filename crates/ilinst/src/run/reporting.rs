//! Reports and stores the profile of a program that was run, or attached to.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::SystemTime,
};

use ::instrument::failure::about;
use clap::Args;
use launch::Temporary;
use live::OUTPUT;
use profile::Profile;

use crate::{
    calls::{CallArgs, Calls},
    colours::colour_report,
    failure::Failure,
    not_loaded, profiles,
    report::ShownArgs,
    terminal::{Terminal, complain},
};

/// How a profile is shown, and where it stays.
#[derive(Args, Debug)]
pub(crate) struct Reporting {
    /// Keep the profile after the report, in this folder [default: the current folder]
    #[arg(help_heading = "Report", long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    keep: Option<PathBuf>,

    /// Show no report
    #[arg(help_heading = "Report", long)]
    no_report: bool,

    /// Write the report as one HTML file
    #[arg(help_heading = "Report", long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the report as JSON to a file
    #[arg(help_heading = "Report", long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Open the HTML report in a browser
    #[arg(help_heading = "Report", long)]
    open: bool,

    /// Print only the report and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    shown: ShownArgs,
}

impl Reporting {
    /// Where the profile is to stay.
    pub(crate) fn keep(&self) -> Option<&Path> {
        self.keep.as_deref()
    }

    /// Reads what was recorded, while the woven files are there, which names are taken from; writes the page of it.
    pub(crate) fn read(&self, profiles: &Profiles, process: u32) -> anyhow::Result<Option<Seen>> {
        let found = profiles.written();
        let Some(path) = profiles.of_process(process).or(found.first().cloned()) else { return Ok(None) };
        let unnamed = || env::temp_dir().join(format!("ilinst-{process}.html"));
        let page = self.html.clone().or_else(|| self.open.then(unnamed));
        let (profile, phases) = if page.is_some() { self.shown.read_all(&path)? } else { (self.shown.read(&path)?, Vec::new()) };
        if let Some(page) = &page {
            self.shown.write_page(&profile, &phases, [&path, page], None)?;
        }
        if let Some(file) = &self.json {
            self.shown.write_json(&profile, &path, file)?;
        }
        Ok(Some(Seen { path, profile, page, others: found.len() - 1 }))
    }

    /// Shows it, or says why not: what the program ended with is not changed by that.
    pub(crate) fn show(&self, seen: anyhow::Result<Option<Seen>>, profiles: &Profiles, calls: bool) {
        if let Err(error) = seen.and_then(|seen| self.report(seen, profiles, calls)) {
            complain(format_args!("{error:#}"));
        }
    }

    /// Shows it.
    fn report(&self, seen: Option<Seen>, profiles: &Profiles, calls: bool) -> anyhow::Result<()> {
        let Some(Seen { path, profile, page, others }) = seen else {
            complain(
                "no profile: no instrumented method was called, or the profile could not be written; find out with: ilinst doctor -- COMMAND",
            );
            return Ok(());
        };
        if !self.no_report {
            if calls {
                self.shown.print_calls(&CallArgs::default(), &path, Calls::Aside)?;
            } else {
                self.shown.print(&profile, Terminal::painted_aside(colour_report))?;
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

/// The recorded profiles.
pub(crate) struct Seen {
    path: PathBuf,
    profile: Profile,
    /// The HTML page that was written.
    page: Option<PathBuf>,
    /// How many processes more wrote profiles.
    others: usize,
}

/// Where the program's profiles go.
pub(crate) struct Profiles {
    folder: PathBuf,
    /// The value of the program's output variable.
    variable: Option<PathBuf>,
    /// A folder that goes with this.
    temporary: Option<Temporary>,
    since: SystemTime,
    before: Vec<PathBuf>,
}

impl Profiles {
    /// Where the user wants them, else in a temporary folder.
    pub(crate) fn prepare(keep: Option<&Path>) -> anyhow::Result<Self> {
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
                (folder.path().to_owned(), Some(folder.path().to_owned()), Some(folder))
            }
        };
        Ok(Self { before: profiles::profiles_in(&folder), folder, variable, temporary, since: SystemTime::now() })
    }

    pub(crate) fn tell(&self, command: &mut Command) {
        if let Some(folder) = &self.variable {
            command.env(OUTPUT, folder);
        }
    }

    /// Where they go, whatever the current folder is.
    pub(crate) fn absolute(&self) -> std::io::Result<PathBuf> {
        std::path::absolute(self.variable.as_ref().unwrap_or(&self.folder))
    }

    fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// The profile of a process.
    pub(crate) fn of_process(&self, process: u32) -> Option<PathBuf> {
        self.written().into_iter().find(|path| profiles::pid_in(path) == Some(process))
    }

    /// Adds the lines of the folders' assemblies that were not loaded: to the profile of a program in the folder, or to the latest.
    pub(crate) fn complete_lines(&self, folders: &[PathBuf]) {
        let read = |path: PathBuf| Some((profiles::read(&path, None).ok().filter(|profile| !profile.lines.is_empty())?, path));
        let all: Vec<(Profile, PathBuf)> = self.written().into_iter().filter_map(read).collect();
        for folder in folders {
            let is_from = |(profile, _): &&(Profile, PathBuf)| {
                let modules = profile.modules.iter().map(|module| &module.path);
                modules.chain([&profile.path]).any(|path| Path::new(path).starts_with(folder))
            };
            let target = all.iter().find(is_from).or(all.first());
            if let Some(Err(failure)) = target.map(|(_, path)| not_loaded::add_to(path, folder)) {
                complain(&failure);
            }
        }
    }

    /// Those that were written since, the latest first, but for those of the SDK.
    fn written(&self) -> Vec<PathBuf> {
        let time = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut found = profiles::profiles_in(&self.folder);
        found.retain(|path| !self.before.contains(path) || time(path) >= self.since);
        found.sort_by_key(|path| (is_of_sdk(path), std::cmp::Reverse(time(path))));
        found
    }
}

/// Processes of the SDK, which start the user's programs, by the names that their profiles have.
const OF_SDK: [&str; 5] = ["dotnet", "MSBuild", "VBCSCompiler", "datacollector", "vstest.console"];

/// Whether a profile is of a process of the SDK.
fn is_of_sdk(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit_once('-').is_some_and(|(program, _)| OF_SDK.contains(&program))
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
