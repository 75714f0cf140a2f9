//! Environment variables decide where the profile goes and how large it gets. The program asks for no culture, and runs without the
//! variable that lets .NET Core do without ICU: so the tracker may not ask for a culture either.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use profile::{CallTree, End, Profile, rows::SortBy};
use tests::{Runtime, ilinst, in_turn, instrument, said, sample, scratch};

use crate::tree;

/// The folder of `bare`, the value of `ILINST_OUTPUT`, and the profile that is there afterwards, if one is.
/// `{base}` is the folder above the one it is started in, `{pid}` the process, `{tmp}` the folder of those that cannot be
/// written where they are wanted.
const PLACES: &[(&str, Option<&str>, Option<&str>)] = &[
    ("", None, Some("start/bare-{pid}.ilprof")),
    ("", Some(""), Some("start/bare-{pid}.ilprof")),
    ("", Some("named.ilprof"), Some("start/named.ilprof")),
    ("", Some("%n-%p-%p.ilprof"), Some("start/bare-{pid}-{pid}.ilprof")),
    ("", Some("made/deep/"), Some("start/made/deep/bare-{pid}.ilprof")),
    ("", Some("{base}/made/%n"), Some("made/bare")),
    ("", Some("../there"), Some("there/bare-{pid}.ilprof")),
    // Regular files are replaced, also such as `mktemp` makes.
    ("", Some("../old"), Some("old")),
    ("", Some("../empty"), Some("empty")),
    // A path that is no regular file is not touched.
    ("", Some("../pipe"), None),
    ("", Some("../link"), None),
    ("", Some("../device"), None),
    // Where there is nowhere to write, it is written elsewhere.
    ("", Some("../old/below/x.ilprof"), Some("{tmp}/bare-{pid}.ilprof")),
    ("", Some("../device/below/"), Some("{tmp}/bare-{pid}.ilprof")),
    ("", Some("/dev/null/nowhere/"), Some("{tmp}/bare-{pid}.ilprof")),
    ("", Some("/proc/x.ilprof"), Some("{tmp}/bare-{pid}.ilprof")),
];

/// The same where no file is wanted before the end.
const PLACES_AT_END: &[(&str, Option<&str>, Option<&str>)] = &[
    ("", None, Some("start/bare-{pid}.ilprof")),
    ("", Some("made/deep/"), Some("start/made/deep/bare-{pid}.ilprof")),
    ("", Some("../old"), Some("old")),
    ("", Some("../pipe"), None),
    ("", Some("../link"), None),
    ("", Some("../device"), None),
    ("", Some("../old/below/x.ilprof"), None),
    ("", Some("/proc/x.ilprof"), None),
    // A program that deletes the folder it was started in does not get it back.
    ("folder", None, None),
    ("folder", Some("made/"), None),
    ("folder", Some("{base}/start/x.ilprof"), None),
    ("folder", Some("{base}/made/x.ilprof"), Some("made/x.ilprof")),
];

#[test]
#[ignore = "needs .NET and Mono"]
fn the_profile_goes_where_the_environment_says_and_replaces_only_files() {
    let tmp = format!("tmp/ilinst-{}", fs::metadata("/proc/self").expect("it is there").uid());
    let at_end = PLACES_AT_END.iter().map(|place| (Some("end"), place));
    let places: Vec<_> = PLACES.iter().map(|place| (None, place)).chain(at_end).collect();
    for (runtime, (write, (argument, output, expected))) in in_turn(&Runtime::all(), &places) {
        let woven = Woven::new("output", runtime);
        println!("{argument} {output:?} on {}", runtime.name);
        let base = furnished(&woven.folder.join("base"));
        let start = base.join("start");
        let output = output.map(|output| output.replace("{base}", &base.to_string_lossy()));
        // Held open, so that a writer would not wait.
        let pipe = OpenOptions::new().read(true).write(true).open(base.join("pipe")).expect("a pipe can be opened");
        let mut before = entries(&base);
        let temporary = base.join("tmp");
        let variables = [("ILINST_OUTPUT", output.as_deref()), ("ILINST_WRITE", write), ("TMPDIR", temporary.to_str())];
        let pid = woven.run(&start, argument, &variables);
        drop(pipe);
        let mut after = entries(&base);
        if let Some(expected) = expected {
            let path = base.join(expected.replace("{pid}", &pid.to_string()).replace("{tmp}", &tmp));
            let profile = read(&path);
            assert_eq!((profile.program.as_str(), profile.end), ("bare", End::Clean));
            before.remove(&path);
            after.remove(&path).expect("it is a file");
        }
        assert_eq!(before, after, "all else is as it was");
        assert_eq!(start.exists(), *argument != "folder", "and so is the folder it was started in");
    }
}

/// How many calls `bare` makes when asked for many paths.
const CALLS: u64 = 1 + 2 * 4095 + 1000 + 25;
/// How many methods those are of.
const METHODS: usize = 6;

/// Values of `ILINST_MAX_NODES`, and the limit of each.
const LIMITS: &[(Option<&str>, u32)] = &[
    (None, 1_000_000),
    (Some(""), 1_000_000),
    (Some("0"), 1_000_000),
    (Some("-5"), 1_000_000),
    (Some("20x"), 1_000_000),
    (Some("1"), 1),
    (Some("1021"), 1021),
    (Some("1022"), 1022),
    (Some("2000"), 2000),
    (Some(" 5000 "), 5000),
    (Some("99999999999999999999"), i32::MAX as u32),
];

#[test]
#[ignore = "needs .NET and Mono"]
fn calls_beyond_the_limit_are_counted_and_said() {
    for runtime in Runtime::all() {
        let woven = Woven::new("limit", &runtime);
        let path = woven.folder.join("bare.ilprof");
        for (value, limit) in LIMITS {
            println!("{value:?} on {}", runtime.name);
            woven.run(&woven.folder, "paths", &[("ILINST_MAX_NODES", *value), ("ILINST_OUTPUT", Some("bare.ilprof"))]);
            let profile = read(&path);
            let recorded: u64 = profile.rows(SortBy::Name).iter().map(|row| row.calls).sum();
            assert_eq!((recorded, profile.lost_calls(), profile.max_nodes), (CALLS, 0, *limit));
            let is_overflow = |tree: &CallTree| tree.notes.iter().map(|notes| notes.is_overflow).collect::<Vec<_>>();
            let nodes: Vec<bool> = profile.trees.iter().flat_map(is_overflow).collect();
            let beyond = nodes.iter().filter(|is_overflow| **is_overflow).count();
            let is_reached = *limit < 8192;
            assert_eq!(beyond > 0, is_reached);
            if !is_reached {
                tree::check(&profile, "bare-paths");
            }
            assert!(!is_reached || nodes.len() - beyond == *limit as usize && beyond <= METHODS, "{} nodes", nodes.len());
            let report = said(&ilinst().arg("report").arg(&path).output().expect("it runs")).0;
            let said_so = report.contains(&format!("beyond the limit of {limit} call paths have no callers"));
            assert_eq!(said_so, is_reached, "{report}");
            assert!(!report.contains("warning"), "{report}");
            tree::check_times(&profile);
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn threads_are_counted_though_they_share_trees() {
    for runtime in Runtime::all() {
        let woven = Woven::new("threads", &runtime);
        woven.run(&woven.folder, "threads", &[("ILINST_OUTPUT", Some("bare.ilprof"))]);
        let path = woven.folder.join("bare.ilprof");
        let profile = read(&path);
        assert!(profile.trees.len() < 51, "trees of threads that have ended are used again");
        tree::check(&profile, "bare-threads");
        let report = said(&ilinst().arg("report").arg(&path).output().expect("it runs")).0;
        assert!(report.lines().next().is_some_and(|line| line.contains(" ms, 51 threads, ")), "{report}");
    }
}

/// A woven program and the runtime it is to run on.
pub(crate) struct Woven<'r> {
    pub(crate) folder: PathBuf,
    runtime: &'r Runtime,
}

impl<'r> Woven<'r> {
    pub(crate) fn new(name: &str, runtime: &'r Runtime) -> Self {
        let folder = scratch(&format!("bare-{name}-{}", runtime.name.replace(' ', "-")));
        instrument(&[&sample("bare").join("bare.exe"), &"-o", &folder.join("woven/"), &"--all", &"--calls", &"none", &"-q"]);
        Self { folder, runtime }
    }

    /// Runs the original and the woven program, which have to end alike; gives the process id of the latter.
    pub(crate) fn run(&self, start: &Path, argument: &str, variables: &[(&str, Option<&str>)]) -> u32 {
        let run = |program: PathBuf, folder: &Path| -> (u32, Output) {
            let mut command = self.runtime.program(&program, folder);
            command
                .env_remove("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT")
                .env_remove("ILINST_OUTPUT")
                .env_remove("ILINST_MAX_NODES");
            // Of ICU, .NET 8 is to take a version that isn't there.
            command.env("DOTNET_SYSTEM_GLOBALIZATION_APPLOCALICU", "99.9");
            for (name, value) in variables {
                value.map(|value| command.env(name, value));
            }
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            let child = command.args((!argument.is_empty()).then_some(argument)).spawn().expect("the runtime starts");
            (child.id(), child.wait_with_output().expect("it ends"))
        };
        let elsewhere = self.folder.join("elsewhere");
        fs::create_dir_all(&elsewhere).expect("a folder can be made");
        let (_, original) = run(sample("bare").join("bare.exe"), &elsewhere);
        let (pid, woven) = run(self.folder.join("woven/bare.exe"), start);
        assert_eq!(said(&original), (String::new(), String::new(), Some(8)));
        assert_eq!(said(&woven), said(&original));
        pid
    }
}

pub(crate) fn read(path: &Path) -> Profile {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let profile = tests::parsed(&bytes);
    assert_eq!(profile.damage, None);
    profile
}

/// A new folder with an empty one to start in, and one of each kind of file. `device` is a link to one.
fn furnished(base: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(base);
    fs::create_dir_all(base.join("start")).expect("a folder can be made");
    fs::create_dir(base.join("there")).expect("a folder can be made");
    fs::create_dir(base.join("tmp")).expect("a folder can be made");
    fs::write(base.join("old"), "something").expect("a file can be written");
    fs::write(base.join("empty"), "").expect("a file can be written");
    for command in [&["mkfifo", "pipe"][..], &["ln", "-s", "old", "link"], &["ln", "-s", "/dev/full", "device"]] {
        assert!(Command::new(command[0]).args(&command[1..]).current_dir(base).status().expect("it starts").success());
    }
    base.to_owned()
}

/// The paths below a folder, that are no folders, and what each is.
fn entries(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let data = entry.metadata().expect("a file has a type");
        if data.is_dir() {
            entries.extend(self::entries(&entry.path()));
        } else {
            entries.insert(entry.path(), format!("{:?}, {} bytes", data.file_type(), data.len()));
        }
    }
    entries
}
