//! Programs that run under the CLR profiler: what their environment says, and whether the profiler began.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instrument::{Failure, TRACKER, failure::about};
use sha2::{Digest as _, Sha256};

use crate::{cache::Cache, private};

/// How a program's calls are recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The values to capture from each call.
    pub captured: Option<weave::Captured>,
    /// The tracker by which methods record themselves that are instrumented when they are loaded. Without one, and in runtimes that
    /// load none, the profiler's hooks record calls.
    pub tracker: Option<PathBuf>,
    /// The way to sample, if samples are taken in place of all others.
    pub sampling: Option<live::Sampling>,
}

/// Writes the tracker of [`Recording`] to a folder that stays: programs may outlive the command that started them.
///
/// # Errors
/// If there is no cache, or nothing can be written there.
pub fn tracker_of(cache: &Cache) -> instrument::Result<PathBuf> {
    let hash = hex::encode(&Sha256::digest(TRACKER)[..8]);
    let path = match private::folder_of_all_users(&hash) {
        Some(folder) => folder,
        None => {
            cache.make_folder()?;
            let folder = cache.folder().join("trackers").join(hash);
            private::make(&folder).map_err(|error| Failure::unwritable(about(&folder, &error)))?;
            folder
        }
    }
    .join(instrument::TRACKER_FILE);
    if path.to_string_lossy().contains(SEPARATOR) {
        return Err(Failure::usage(format_args!(
            "{}: .NET loads no startup hook from a path with '{SEPARATOR}'; set ILINST_CACHE to another folder",
            path.display()
        )));
    }
    if fs::read(&path).is_ok_and(|there| there == TRACKER) {
        return Ok(path);
    }
    // Other processes may write it, too.
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = fs::write(&temporary, TRACKER).and_then(|()| private::show_to_all_users(&temporary));
    written.and_then(|()| fs::rename(&temporary, &path)).map_err(|error| Failure::unwritable(about(&path, &error)))?;
    Ok(path)
}

/// The start reports of the profilers.
#[derive(Clone, Debug, Default)]
pub struct Reported {
    /// The modules whose methods could not be instrumented when they were loaded, and why.
    pub skipped: BTreeSet<String>,
    /// The modules whose precompiled code is not used.
    pub precompiled: BTreeSet<String>,
    /// Why hooks recorded a program that methods were to record themselves in.
    pub by_hooks: BTreeSet<String>,
}

/// The assemblies that the host loads and calls before a program begins.
const STARTUP_HOOKS: &str = "DOTNET_STARTUP_HOOKS";
/// The character between the paths of startup hooks.
const SEPARATOR: char = if cfg!(windows) { ';' } else { ':' };
/// Whether a runtime loads the profiler.
const ENABLED: [&str; 2] = ["CORECLR_ENABLE_PROFILING", "COR_ENABLE_PROFILING"];
/// Names the profiler that a runtime loads.
const PROFILER: &str = "CORECLR_PROFILER";
/// With 0, .NET loads no profiler, nor answers at its diagnostics port; by its older name, too.
const DIAGNOSTICS: [&str; 2] = ["DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics"];

/// Options for Mono, before those of the command line.
#[cfg(target_os = "linux")]
const MONO_OPTIONS: &str = "MONO_ENV_OPTIONS";
/// The folders of libraries (ld.so(8)).
#[cfg(target_os = "linux")]
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Variables of a program's environment, by name: what each is set to, or that it is not there.
#[derive(Clone, Default, Debug)]
pub struct Environment(BTreeMap<String, Option<OsString>>);

impl Environment {
    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.0.insert(name.to_owned(), Some(value.as_ref().to_owned()));
        self
    }

    fn remove(&mut self, name: &str) -> &mut Self {
        self.0.insert(name.to_owned(), None);
        self
    }

    /// Has a command run with it.
    pub fn give(&self, command: &mut Command) {
        for (name, value) in &self.0 {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Has a command run with all but [`Environment::acting`]: nothing is recorded of its own process.
    pub fn prepare(&self, command: &mut Command) {
        let others = self.0.clone().into_iter().filter(|(name, _)| !is_acting(name));
        Self(others.collect()).give(command);
        command.envs(ENABLED.map(|name| (name, "0")));
    }

    /// The variables by which something is recorded, if the others are there.
    pub fn acting(&self) -> Vec<(&str, &OsStr)> {
        let acting = self.0.iter().filter(|(name, _)| is_acting(name) && *name != ENABLED[1]);
        acting.filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?))).collect()
    }
}

fn is_acting(name: &str) -> bool {
    ENABLED.contains(&name) || name == STARTUP_HOOKS
}

/// The CLR profiler, beside this program.
#[derive(Clone, Debug)]
pub struct ClrProfiler {
    library: PathBuf,
}

impl ClrProfiler {
    /// Finds the library.
    ///
    /// # Errors
    /// If it is not there.
    pub fn find() -> instrument::Result<Self> {
        let name = format!("{}{}{}", env::consts::DLL_PREFIX, live::LIBRARY, env::consts::DLL_SUFFIX);
        let own = env::current_exe().and_then(|own| own.canonicalize()).map_err(Failure::unreadable)?;
        let library = dunce::simplified(&own.with_file_name(&name)).to_owned();
        if library.is_file() {
            return Ok(Self { library });
        }
        let text = format_args!(
            "{}: this file is missing beside ilinst, and --live, --sample and attach need it; install ilinst from an archive, or build it \
             (cargo build --profile shipped --package ilinst-clr-profiler)",
            library.display()
        );
        Err(Failure::unreadable(text))
    }

    /// Another profiler, which the environment has programs run under: its class. A runtime has room for one, so ours takes its place.
    pub fn replaced() -> Option<String> {
        let is_on = env::var_os(ENABLED[0]).is_some_and(|value| value == "1");
        env::var(PROFILER).ok().filter(|other| is_on && !other.is_empty() && *other != class())
    }

    /// The variable of the environment, with its value, that has .NET load no profiler.
    pub fn refused_by() -> Option<String> {
        let is_off = |value: &OsString| value.to_str().is_some_and(|digits| u32::from_str_radix(digits.trim(), 16) == Ok(0));
        // Only the first counts, if it is there.
        let (name, value) = DIAGNOSTICS.iter().find_map(|name| Some((name, env::var_os(name)?)))?;
        is_off(&value).then(|| format!("{name}={}", value.display()))
    }

    /// Where it is.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// The environment for a program under the profiler: which methods are recorded, and how, and the folder for the
    /// profiler's start report. `program` is the assembly that the user named, if known: it is recorded even if a
    /// framework key signed it.
    pub fn environment(
        &self,
        options: &instrument::Options,
        recording: &Recording,
        status: &Path,
        program: Option<&Path>,
    ) -> Environment {
        let mut command = Environment::default();
        for runtime in ["CORECLR", "COR"] {
            command
                .set(&format!("{runtime}_ENABLE_PROFILING"), "1")
                .set(&format!("{runtime}_PROFILER"), class())
                .set(&format!("{runtime}_PROFILER_PATH"), &self.library);
            // They win over the one without a size.
            for size in ["32", "64"] {
                command.remove(&format!("{runtime}_PROFILER_PATH_{size}"));
            }
        }
        let Recording { captured, tracker, sampling } = recording;
        command
            .set(live::OPTIONS, options.weave.to_string())
            .set(live::ALL_ASSEMBLIES, if options.all_assemblies { "1" } else { "0" })
            .set(live::PROJECTS_ALONE, if options.projects_alone { "1" } else { "0" })
            .set(live::CAPTURE, captured.map(|captured| captured.to_string()).unwrap_or_default())
            .set(live::VERSION, env!("CARGO_PKG_VERSION"))
            .set(live::STATUS, status)
            .set(live::PROGRAM, program.unwrap_or(Path::new("")))
            .set(live::SAMPLE, sampling.map(|sampling| sampling.to_string()).unwrap_or_default())
            .remove(live::TRACKER);
        if let Some(tracker) = tracker {
            let mut hooks = tracker.clone().into_os_string();
            if let Some(others) = env::var_os(STARTUP_HOOKS).filter(|others| !others.is_empty()) {
                hooks.push(SEPARATOR.to_string());
                hooks.push(others);
            }
            command.set(live::TRACKER, tracker).set(STARTUP_HOOKS, hooks);
        }
        command
    }

    /// The environment for samples of Mono, which has a profiler interface of its own. It finds profilers by their files' names, so
    /// `folder`, which stays while the program runs, gets a link to the library.
    ///
    /// # Errors
    /// If the link cannot be made.
    #[cfg(target_os = "linux")]
    pub fn sample_mono(&self, environment: &mut Environment, folder: &Path) -> instrument::Result<()> {
        let folder = folder.join("mono");
        let link = folder.join(format!("libmono-profiler-{}.so", live::MONO_PROFILER));
        let made = private::make(&folder).and_then(|()| std::os::unix::fs::symlink(&self.library, &link));
        made.map_err(|error| Failure::unwritable(about(&link, &error)))?;
        let before = |name: &str, separator: &str, own: OsString| match env::var_os(name).filter(|others| !others.is_empty()) {
            Some(others) => [own, separator.into(), others].into_iter().collect::<OsString>(),
            None => own,
        };
        let option = format!("--profile={}", live::MONO_PROFILER).into();
        environment
            .set(MONO_OPTIONS, before(MONO_OPTIONS, " ", option))
            .set(LIBRARIES, before(LIBRARIES, ":", folder.into_os_string()));
        Ok(())
    }

    /// Whether the profiler recorded a process at least, by what lies in the folder where it said how it began: a runtime that
    /// cannot load it says nothing.
    ///
    /// # Errors
    /// If it did not, or could not begin: why.
    pub fn reported(&self, status: &Path) -> instrument::Result<Reported> {
        let files = fs::read_dir(status).into_iter().flatten().flatten();
        let said: Vec<String> = files.filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
        if said.iter().any(|said| !said.starts_with(live::FAILED)) {
            let is_recorded = |said: &&String| {
                [live::RECORDING, live::REWRITING, live::BY_HOOKS, live::SAMPLING].iter().any(|kind| said.starts_with(kind))
            };
            let recorded = said.iter().filter(is_recorded);
            let (mut skipped, mut precompiled) = (BTreeSet::new(), BTreeSet::new());
            for line in recorded.flat_map(|said| said.lines().skip(1)) {
                match line.strip_prefix(live::PRECOMPILED) {
                    Some(module) => precompiled.insert(module.to_owned()),
                    None => skipped.insert(line.to_owned()),
                };
            }
            let by_hooks =
                said.iter().filter_map(|said| said.lines().next()?.strip_prefix(live::BY_HOOKS)).map(str::to_owned).collect();
            return Ok(Reported { skipped, precompiled, by_hooks });
        }
        Err(Failure::not_recorded(match said.first() {
            Some(error) => error.trim_start_matches(live::FAILED).to_owned(),
            None if Self::refused_by().is_some() => format!(
                "no runtime loaded the profiler: {} in the environment forbids it; unset it",
                Self::refused_by().unwrap_or_default()
            ),
            None => format!(
                "no runtime loaded the profiler ({}): the command starts no .NET, or one for another processor than {}, or one \
                 without a profiling API (native AOT, or Mono without --sample), or it starts it as another user; as that user, run \
                 ilinst itself",
                self.library.display(),
                env::consts::ARCH
            ),
        }))
    }
}

/// `{7D1B7A3C-9E2F-...}`
fn class() -> String {
    let digits = format!("{:032X}", live::CLASS);
    let (first, rest) = digits.split_at(8);
    let (second, rest) = rest.split_at(4);
    let (third, rest) = rest.split_at(4);
    let (fourth, last) = rest.split_at(4);
    format!("{{{first}-{second}-{third}-{fourth}-{last}}}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_class_is_written_as_com_has_it() {
        assert_eq!(super::class(), "{7D1B7A3C-9E2F-4C1D-8B65-494C494E5354}");
    }
}
