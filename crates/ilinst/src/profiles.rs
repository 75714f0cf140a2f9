//! Profiles by file, by process, or the newest: where the command line looks for them.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    env,
    fmt::Display,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ::instrument::{Input, failure::about};
use little_endian::NumbersAt;
use profile::{End, Profile, ProfileFile};
use profile_format::header::{MAGIC, MAGIC_AT, PID_AT};

use crate::{failure::Failure, inputs::Bytes, symbols, terminal::complain};

const EXTENSION: &str = "ilprof";
/// Trackers that may not write where they are asked to write into a folder of this name below the temporary one.
const FALLBACK: &str = "ilinst-";

/// The profile that an argument means: a file, the newest of a folder, or a process's by its id; without one, the newest of the
/// current folder, or where it has none, of those that trackers write to instead.
pub(crate) fn find(argument: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(argument) = argument else { return newest() };
    if argument.is_dir() {
        return newest_of(profiles_in(argument)).ok_or_else(|| none_in(argument));
    }
    match argument.to_str().and_then(|text| text.parse().ok()) {
        Some(pid) if !argument.exists() => of_process(pid),
        _ => Ok(argument.to_owned()),
    }
}

/// The same; which it is, is said where the argument does not name it.
pub(crate) fn find_and_say(argument: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = find(argument)?;
    if argument != Some(&*path) {
        complain(format_args!("note: this is {}", path.display()));
    }
    Ok(path)
}

/// The bytes of a profile, unpacked.
pub(crate) fn open(path: &Path) -> Result<Bytes, Failure> {
    let file = Input::open(path)?;
    let unpacked = match profile::unpacked(&file).map_err(|error| bad(path, &error))? {
        Cow::Borrowed(_) => None,
        Cow::Owned(bytes) => Some(bytes),
    };
    Ok(unpacked.map_or(Bytes::File(file), Bytes::Unpacked))
}

/// The failure of a file that is no profile, or a damaged one.
pub(crate) fn bad(path: &Path, error: impl Display) -> Failure {
    Failure::bad_profile(format_args!("{}: {error}", path.display()))
}

/// Warns of a damaged profile.
pub(crate) fn warn_of_damage(path: &Path, profile: &Profile) {
    if let Some(damage) = &profile.damage {
        complain(format_args!("warning ILI0007: {}: {damage}", path.display()));
    }
}

/// Reads a profile. Of one that has not ended, `end` shows whether its process still runs.
pub(crate) fn read(path: &Path, phase: Option<&str>) -> Result<Profile, Failure> {
    let bytes = open(path)?;
    let file = records(path, &bytes)?;
    let mut profile = match phase {
        None => file.profile(),
        Some(name) => file.phase(name).ok_or_else(|| {
            let phases = file.profile().phases.join(", ");
            let known = if phases.is_empty() { "it has none".to_owned() } else { format!("there are {phases}") };
            Failure::usage(format_args!("{}: no phase {name}; {known}", path.display()))
        })?,
    };
    if profile.end == End::Unknown && is_open(path, &profile) {
        profile.end = End::Running;
    }
    Ok(profile)
}

fn records<'b>(path: &Path, bytes: &'b [u8]) -> Result<ProfileFile<'b>, Failure> {
    ProfileFile::read(bytes).map_err(|error| bad(path, &error))
}

/// How functions of a profile are named, and whether its times keep the measuring overhead.
#[derive(Clone, Copy)]
pub(crate) struct Naming<'n> {
    /// Further folders with instrumented assemblies.
    pub(crate) symbols: &'n [PathBuf],
    pub(crate) raw: bool,
}

impl Naming<'_> {
    /// Reads a profile, or one of its phases, with names from assemblies.
    pub(crate) fn read(self, path: &Path, phase: Option<&str>) -> Result<Profile, Failure> {
        let mut profile = read(path, phase)?;
        symbols::name(&mut profile, path, self.symbols);
        Ok(self.finish(profile))
    }

    /// Reads a profile and all its phases from the bytes of its file.
    pub(crate) fn read_all(self, path: &Path, bytes: &Bytes) -> Result<(Profile, Vec<(String, Profile)>), Failure> {
        let file = records(path, bytes)?;
        let mut profile = file.profile();
        if profile.end == End::Unknown && is_open(path, &profile) {
            profile.end = End::Running;
        }
        symbols::name(&mut profile, path, self.symbols);
        let phase = |name: &String| {
            let mut phase = file.phase(name)?;
            phase.end = profile.end;
            phase.take_names(&profile);
            Some((name.clone(), self.finish(phase)))
        };
        let phases = profile.phases.iter().filter_map(phase).collect();
        Ok((self.finish(profile), phases))
    }

    fn finish(self, mut profile: Profile) -> Profile {
        if self.raw {
            profile.keep_probes();
        } else {
            profile.fold_generated();
        }
        profile
    }
}

/// Whether the process that writes a profile still has it.
pub(crate) fn is_open(path: &Path, profile: &Profile) -> bool {
    if Path::new("/proc/self/maps").exists() {
        let path = fs::canonicalize(path).ok();
        return path.is_some_and(|path| mapped_by(profile.pid).contains(&path));
    }
    // Its clock is looked at once a second.
    const SILENCE: f64 = 5.0;
    let start = profile.start_time as f64 / 1e7 - 62_135_596_800.0;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    now - (start + profile.milliseconds(profile.last_seen) / 1e3) < SILENCE
}

/// The files that a process has in memory, where the system tells.
fn mapped_by(pid: u32) -> BTreeSet<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..))).map(PathBuf::from).collect()
}

fn of_process(pid: u32) -> Result<PathBuf, Failure> {
    let mapped = mapped_by(pid).into_iter().filter(|path| path.is_file() && pid_in(path).is_some());
    let own_folder = format!("/proc/{pid}/cwd");
    let here = [&own_folder, "."].into_iter().flat_map(|folder| profiles_in(Path::new(folder)));
    let beside = here.chain(profiles_elsewhere()).filter(|path| pid_in(path) == Some(pid));
    let latest = |paths: Vec<PathBuf>| paths.into_iter().max_by_key(|path| modified(path));
    latest(mapped.collect()).or_else(|| latest(beside.collect())).ok_or_else(|| {
        Failure::unreadable(format_args!("process {pid}: it has no profile open, and there is none of it here or in {}", temp()))
    })
}

fn newest() -> Result<PathBuf, Failure> {
    let found = newest_of(profiles_in(Path::new("."))).or_else(|| newest_of(profiles_elsewhere()));
    found.ok_or_else(|| Failure::unreadable(format_args!("no profile (.{EXTENSION}) here or in {}", temp())))
}

fn newest_of(profiles: Vec<PathBuf>) -> Option<PathBuf> {
    profiles.into_iter().filter(|path| pid_in(path).is_some()).max_by_key(|path| modified(path))
}

fn temp() -> String {
    format!("{}{FALLBACK}*", env::temp_dir().join("").display())
}

/// The profiles that trackers wrote which may not write where they are asked to.
fn profiles_elsewhere() -> Vec<PathBuf> {
    let is_fallback = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FALLBACK));
    let folders = entries(&env::temp_dir()).into_iter().filter(is_fallback);
    folders.flat_map(|folder| profiles_in(&folder)).collect()
}

/// The profiles in a folder, and in those below; links to folders are not followed. There is at least one.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        paths.extend(profiles_in(&folder));
        let entries = fs::read_dir(&folder).map_err(|error| Failure::unreadable(about(&folder, &error)))?;
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        folders.extend(entries.flatten().filter(is_folder).map(|entry| entry.path()));
    }
    if paths.is_empty() {
        return Err(none_in(folder));
    }
    paths.sort();
    Ok(paths)
}

fn none_in(folder: &Path) -> Failure {
    Failure::unreadable(format_args!("{}: no profile (.{EXTENSION}) in this folder", folder.display()))
}

/// The profiles in a folder.
pub(crate) fn profiles_in(folder: &Path) -> Vec<PathBuf> {
    let is_profile = |path: &PathBuf| path.extension().is_some_and(|extension| extension == EXTENSION) && path.is_file();
    entries(folder).into_iter().filter(is_profile).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// The process that a profile says it is of; none if the file is no profile.
pub(crate) fn pid_in(path: &Path) -> Option<u32> {
    let mut head = [0; PID_AT + 4];
    fs::File::open(path).ok()?.read_exact(&mut head).ok()?;
    (head.u64_at(MAGIC_AT) == Some(MAGIC)).then(|| head.u32_at(PID_AT))?
}
