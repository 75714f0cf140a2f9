//! A program that is killed, fills the disk, or unloads instrumented code leaves a profile.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command},
};

use profile::{End, Profile, rows::SortBy};
use tests::{Mounted, Runtime, end_of, give_away, instrument, require, root, said, scratch, skip_part, until, waiting};

#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_that_is_killed_leaves_counts_and_names() {
    let Some(program) = Program::new("killed", "program") else { return };
    for runtime in Runtime::all() {
        let (work, mut child) = program.wait(&runtime, &[]);
        let path = profiles(&work).pop().expect("the profile is there while the program runs");
        until("all names are written", || {
            let calls = calls(&read(&path));
            (calls.contains_key("Program::Leaf") && !calls.contains_key("")).then_some(())
        });
        child.kill().and_then(|()| child.wait()).expect("it can be killed");
        let profile = read(&path);
        let expected = [("Program::Leaf", 1000), ("Program::Main", 1)];
        assert_eq!((calls(&profile), profile.end), (counts(&expected), End::Unknown), "{}", runtime.name);
    }
}

/// A large profile is packed at the end, in the file that was there before.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_large_profile_is_packed_at_the_end() {
    let Some(program) = Program::new("packed", "program") else { return };
    let expected = [
        ("Program::Branch", 16383),
        ("Program::Leaf", 1000),
        ("Program::Left", 8191),
        ("Program::Main", 1),
        ("Program::Right", 8191),
    ];
    for runtime in Runtime::all() {
        // Without a file before the end, nothing would be left if the program were killed while it packs.
        for (write, is_packed) in [("", true), ("end", false)] {
            let work = scratch("lifetime-packed-work");
            let mut command = program.command(&runtime, &work);
            let output = command.arg("paths").env("ILINST_OUTPUT", "app.ilprof").env("ILINST_WRITE", write).output();
            assert_eq!(said(&output.expect("it starts")), (String::new(), String::new(), Some(9)), "{}", runtime.name);
            let files: Vec<PathBuf> = fs::read_dir(&work).expect("it is there").flatten().map(|entry| entry.path()).collect();
            assert_eq!(files, [work.join("app.ilprof")], "{}", runtime.name);
            let bytes = fs::read(&files[0]).expect("it is there");
            let unpacked = profile::unpacked(&bytes).expect("it is a profile");
            assert!(unpacked.len() > 4 << 20, "a path takes 128 bytes, and {} are unpacked", unpacked.len());
            assert_eq!(
                bytes.len() < unpacked.len() / 3,
                is_packed,
                "{} of {} bytes on {}",
                bytes.len(),
                unpacked.len(),
                runtime.name
            );
            let profile = read(&files[0]);
            assert_eq!((calls(&profile), profile.end, profile.damage), (counts(&expected), End::Clean, None), "{}", runtime.name);
            assert_eq!(fs::metadata(&files[0]).expect("it is there").mode() & 0o777, 0o644, "{}", runtime.name);
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn no_file_before_the_end_for_those_who_want_none() {
    let Some(program) = Program::new("at-end", "program") else { return };
    for runtime in Runtime::all() {
        let (work, mut child) = program.wait(&runtime, &[("ILINST_WRITE", "end")]);
        // With a file, it would be there since the first call.
        assert!(profiles(&work).is_empty(), "{}", runtime.name);
        child.kill().and_then(|()| child.wait()).expect("it can be killed");
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn the_log_says_where_the_profile_is_and_the_program_says_nothing() {
    let Some(program) = Program::new("log", "program") else { return };
    for runtime in Runtime::all() {
        let work = scratch("lifetime-log-work");
        let output = program.command(&runtime, &work).args(["none"]).env("ILINST_LOG", "log-%p").output().expect("it starts");
        assert_eq!(said(&output), (String::new(), String::new(), Some(9)), "{}", runtime.name);
        let path = profiles(&work).pop().expect("there is a profile");
        let log = read(&path).pid.to_string();
        let log = fs::read_to_string(work.join(format!("log-{log}"))).expect("there is a log");
        assert!(log.lines().any(|line| line.ends_with(&format!(": the profile is {}", path.display()))), "{log}");
        assert!(log.lines().all(|line| line.starts_with("ilinst ")) && log.ends_with(": ends\n"), "{log}");
    }
}

/// Calls that the file has no room for are kept in memory, and the rest of the file can be read, with names.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_full_disk_ends_no_program() {
    let Some(program) = Program::new("full", "program") else { return };
    let Some(disk) = Mounted::new(&scratch("lifetime-disk"), 1024) else {
        return skip_part("a full disk: no file system can be mounted here");
    };
    for runtime in Runtime::all() {
        let work = scratch("lifetime-full-work");
        let path = disk.folder().join("full.ilprof");
        let mut command = program.command(&runtime, &work);
        let output = command.arg("paths").env("ILINST_OUTPUT", &path).env("ILINST_LOG", "log").output().expect("it starts");
        assert_eq!(said(&output), (String::new(), String::new(), Some(9)), "{}", runtime.name);
        assert_eq!(
            fs::metadata(&path).expect("it is there").size(),
            1 << 20,
            "all of the disk, which has no room for a packed copy"
        );
        assert_eq!(profiles(disk.folder()), [&*path]);
        let profile = read(&path);
        assert!(calls(&profile).get("Program::Branch").is_some_and(|calls| *calls > 100), "{:?}", calls(&profile));
        let log = fs::read_to_string(work.join("log")).expect("there is a log");
        assert_eq!(log.matches("the file cannot grow").count(), 1, "{log}");

        // No room for its beginning.
        fs::remove_file(&path).expect("it can be removed");
        fs::write(disk.folder().join("filler"), vec![1; 900 << 10]).expect("it can be written");
        let mut command = program.command(&runtime, &work);
        let output = command.arg("none").env("ILINST_OUTPUT", &path).env("TMPDIR", &work).output().expect("it starts");
        assert_eq!(said(&output), (String::new(), String::new(), Some(9)), "{}", runtime.name);
        let own = work.join(format!("ilinst-{}", fs::metadata(&work).expect("it is there").uid()));
        assert_eq!((profiles(&own).len(), profiles(disk.folder()).len()), (1, 0));
        fs::remove_file(disk.folder().join("filler")).expect("it can be removed");
    }
}

/// A folder where nothing can be written, nor made.
#[test]
#[ignore = "needs .NET and Mono"]
fn where_nothing_can_be_written_it_is_written_below_the_temporary_folder() {
    let Some(program) = Program::new("read-only", "program") else { return };
    for runtime in Runtime::all() {
        let temporary = scratch("lifetime-temporary");
        let mut command = program.command(&runtime, Path::new("/proc/self"));
        let output = command.arg("none").env("TMPDIR", &temporary).output().expect("it starts");
        assert_eq!(said(&output), (String::new(), String::new(), Some(9)), "{}", runtime.name);
        let own = temporary.join(format!("ilinst-{}", fs::metadata(&temporary).expect("it is there").uid()));
        assert_eq!(fs::metadata(&own).expect("it was made").mode() & 0o777, 0o700);
        let [path] = &profiles(&own)[..] else { panic!("one profile in {}", own.display()) };
        assert_eq!(read(path).end, End::Clean);
    }
}

/// Not into a folder that another user made for it, nor into one where others may write: there is one of the process then.
#[test]
#[ignore = "needs .NET and Mono"]
fn no_profile_is_written_where_another_user_may_write() {
    let Some(program) = Program::new("planted", "program") else { return };
    for runtime in Runtime::all() {
        let temporary = scratch("lifetime-planted-temporary");
        let own = temporary.join(format!("ilinst-{}", fs::metadata(&temporary).expect("it is there").uid()));
        fs::create_dir(&own).expect("a folder can be made");
        let not_used = |mode: u32| {
            fs::set_permissions(&own, fs::Permissions::from_mode(mode)).expect("it is ours");
            let before = fs::symlink_metadata(&own).expect("it is there");
            let output = program.command(&runtime, Path::new("/proc/self")).arg("none").env("TMPDIR", &temporary).output();
            assert_eq!(said(&output.expect("it starts")), (String::new(), String::new(), Some(9)), "{}", runtime.name);
            let after = fs::symlink_metadata(&own).expect("it is there");
            assert_eq!((before.mode(), before.uid()), (after.mode(), after.uid()), "it is as it was");
            assert!(profiles(&own).is_empty());
            let mut others = fs::read_dir(&temporary).expect("it is there").flatten().map(|entry| entry.path());
            let made = others.find(|path| *path != own).expect("another folder");
            assert_eq!(fs::metadata(&made).expect("it was made").mode() & 0o777, 0o700);
            let [path] = &profiles(&made)[..] else { panic!("one profile in {}", made.display()) };
            assert!(made.to_string_lossy().ends_with(&format!("-{}", read(path).pid)), "{}", made.display());
            fs::remove_dir_all(made).expect("it can be removed");
        };
        not_used(0o777);
        if give_away(&own) {
            not_used(0o700);
        }
    }
}

/// The calls of an instrumented host.
const OF_HOST: [(&str, u64); 8] = [
    ("Contexts/<Main>c__AnonStorey0::.ctor", 1),
    ("Contexts/<Main>c__AnonStorey0::<>m__0", 1),
    ("Contexts::.cctor", 1),
    ("Contexts::Call", 4),
    ("Contexts::Load", 4),
    ("Contexts::Main", 1),
    ("Contexts::Nested", 1),
    ("Contexts::Run", 3),
];

/// Each with a tracker of its own, be it beside or within, and with one that the host has: what the program prints is the same, all is one tree,
/// and names stay.
#[test]
#[ignore = "needs .NET"]
fn collectible_contexts_are_collected_and_their_names_stay() {
    let (Some(host), Some(plugin)) = (Program::new("contexts", "contexts"), Program::new("plugin", "plugin")) else { return };
    let shared = host.folder.join("Ilinst.Tracker.dll");
    let tracker = plugin.woven.with_file_name("Ilinst.Tracker.dll");
    let [embedded, embedded_host] = [&plugin, &host].map(|program| {
        let embedded = program.folder.join("embedded").join(program.original.file_name().expect("it has a name"));
        instrument(&[&program.original, &"-o", &embedded, &"--embed", &"--all", &"--calls", &"none", &"-q"]);
        embedded
    });
    for runtime in Runtime::all().iter().filter(|runtime| !runtime.is_mono()) {
        for end in ["unload", "drop"] {
            for way in ["apart", "shared", "embedded", "each embedded", "host embedded"] {
                let start = |host: &Path, files: &[&Path]| {
                    let work = scratch("lifetime-contexts-work");
                    let mut command = runtime.program(host, &work);
                    let output = command.arg(end).args(files).output().expect("it starts");
                    (work, said(&output))
                };
                let _ = fs::remove_file(&shared);
                let (_, before) = start(&host.original, &[&plugin.original]);
                assert_eq!(before.0.matches("collected True").count(), 3, "{before:?}");
                let (work, after) = match way {
                    "shared" => {
                        fs::copy(&tracker, &shared).expect("it can be copied");
                        start(&host.original, &[&plugin.woven])
                    }
                    "apart" => start(&host.original, &[&tracker, &plugin.woven]),
                    "embedded" => start(&host.original, &[&embedded]),
                    "each embedded" => start(&embedded_host, &[&embedded]),
                    _ => start(&embedded_host, &[&tracker, &plugin.woven]),
                };
                assert_eq!(before, after, "{} {end}, {way}", runtime.name);
                let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
                let profile = read(path);
                let of_plugins = [("Plugin::Cross", 4), ("Plugin::Own", 40), ("Plugin::Run", 4)];
                let (mut expected, mut nested) = (counts(&of_plugins), 5);
                if ["each embedded", "host embedded"].contains(&way) {
                    expected.extend(counts(&OF_HOST));
                    nested = 15;
                }
                assert_eq!((calls(&profile), profile.end, profile.trees.len()), (expected, End::Clean, 1), "{way}");
                let found = profile.trees[0].nodes.iter().filter(|node| node.caller.is_some()).count();
                assert_eq!(found, nested, "{way}: a plug-in's calls are below the one that called it");
            }
        }
    }
}

#[test]
#[ignore = "needs Mono"]
fn all_domains_of_a_process_write_one_profile() {
    let Some(program) = Program::new("domains", "domains") else { return };
    let Some(runtime) = Runtime::find("Mono") else { return };
    let work = scratch("lifetime-domains-work");
    let output = program.command(&runtime, &work).output().expect("it starts");
    assert_eq!(said(&output), ("55\n55\n".into(), String::new(), Some(3)));
    let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
    let profile = read(path);
    let expected = [("Domains::.ctor", 4), ("Domains::Leaf", 30), ("Domains::Main", 1), ("Domains::Work", 4)];
    assert_eq!((calls(&profile), profile.end), (counts(&expected), End::Clean));
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_asks_for_pauses_marks_and_copies() {
    let Some(program) = Program::new("asks", "asks") else { return };
    for runtime in Runtime::all() {
        for (start, leaves) in [("", 3 + 4 + 5), ("paused", 5)] {
            let work = scratch("lifetime-asks-work");
            let variables = [("ILINST_START", start), ("ILINST_OUTPUT", "asks.ilprof")];
            let output = program.command(&runtime, &work).envs(variables).output().expect("it starts");
            assert_eq!(said(&output), ("copy.ilprof\n".into(), String::new(), Some(2)), "{}", runtime.name);
            let leaf = |file: &str| calls(&read(&work.join(file))).get("Asks::Leaf").copied();
            assert_eq!(leaf("asks.ilprof"), Some(leaves), "{start} on {}", runtime.name);
            assert_eq!(leaf("copy.ilprof"), start.is_empty().then_some(3 + 4), "{start} on {}", runtime.name);
        }
    }
}

/// On Mono a thread that waits in a monitor meanwhile would keep it from ending.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_ends_while_its_threads_are_in_the_tracker() {
    let Some(program) = Program::new("exits", "exits") else { return };
    for runtime in Runtime::all() {
        for _ in 0..5 {
            let work = scratch("lifetime-exits-work");
            let mut child = program.command(&runtime, &work).spawn().expect("it starts");
            assert_eq!(end_of(&mut child, &format!("exits on {}", runtime.name)).code(), Some(9), "{}", runtime.name);
        }
    }
}

/// Methods that are called for the first time while the process ends, by a thread that goes on until it is gone: whatever the
/// profile has of them, it has their names.
#[test]
#[ignore = "needs .NET and Mono"]
fn what_is_called_first_at_the_end_has_its_name() {
    let folder = scratch("lifetime-late");
    let source = folder.join("late.cs");
    fs::write(&source, late(4000)).expect("it can be written");
    let Some(program) = Program::of("late-program", &source) else { return };
    for runtime in Runtime::all() {
        for mode in ["exact", "count"] {
            for _ in 0..4 {
                let work = scratch("lifetime-late-work");
                let output = program.command(&runtime, &work).env("ILINST_MODE", mode).output().expect("it starts");
                assert_eq!(said(&output), (String::new(), String::new(), Some(9)), "{}", runtime.name);
                let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
                let profile = read(path);
                let without = profile.rows(SortBy::Name).into_iter().filter(|row| row.raw_name.is_none());
                let without: Vec<String> = without.map(|row| row.token).collect();
                assert!(without.is_empty() && profile.end == End::Clean, "{}, {mode}: {without:?}", runtime.name);
            }
        }
    }
}

/// Mono finalizes at the end whatever there is, in any order: what the tracker knows modules by, too.
#[test]
#[ignore = "needs Mono"]
fn what_finalizers_call_first_at_the_end_has_its_name() {
    let Some(program) = Program::new("finalizers", "finalizers") else { return };
    let Some(runtime) = Runtime::find("Mono") else { return };
    for _ in 0..12 {
        let work = scratch("lifetime-finalizers-work");
        let output = program.command(&runtime, &work).env("ILINST_START", "paused").output().expect("it starts");
        assert_eq!(said(&output), (String::new(), String::new(), Some(9)));
        let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
        let expected = [("Finalizers::Finalize", 1), ("Finalizers::First", 1), ("Finalizers::Late", 1)];
        assert_eq!(calls(&read(path)), counts(&expected));
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn threads_keep_their_ids_and_names() {
    let Some(program) = Program::new("named", "named") else { return };
    for runtime in Runtime::all() {
        let work = scratch("lifetime-named-work");
        let output = program.command(&runtime, &work).output().expect("it starts");
        assert_eq!(said(&output), (String::new(), String::new(), Some(0)), "{}", runtime.name);
        let [path] = &profiles(&work)[..] else { panic!("one profile in {}", work.display()) };
        let profile = read(path);
        let threads: u64 = profile.trees.iter().map(|tree| tree.threads).sum();
        let names: Vec<&str> = profile.trees.iter().flat_map(|tree| &tree.names).map(|thread| thread.name.as_str()).collect();
        let count = |name: &str| names.iter().filter(|other| **other == name).count();
        assert_eq!((threads, ["first", "second", "short"].map(count)), (24, [1, 1, 20]), "{}: {names:?}", runtime.name);
        assert!(profile.trees.iter().flat_map(|tree| &tree.names).all(|thread| thread.managed_id > 0));
    }
}

/// A program that returns as soon as a thread of it has begun to call so many methods, one after another.
fn late(methods: usize) -> String {
    let bodies: String = (0..methods).map(|i| format!("static void M{i}() {{ sink++; }}\n")).collect();
    let calls: String = (0..methods).map(|i| format!("M{i}(); ")).collect();
    format!(
        "using System.Threading;
static class Late {{
static int sink;
{bodies}
static void Run() {{ {calls} }}
static int Main() {{
    Thread thread = new Thread(Run);
    thread.IsBackground = true;
    thread.Start();
    while (Volatile.Read(ref sink) < 50) {{ Thread.Yield(); }}
    return 9;
}} }}"
    )
}

/// A program of `lifetime/`, as it was compiled and woven.
pub(crate) struct Program {
    pub(crate) folder: PathBuf,
    pub(crate) original: PathBuf,
    pub(crate) woven: PathBuf,
}

impl Program {
    pub(crate) fn new(name: &str, source: &str) -> Option<Self> {
        Self::of(name, &root().join("tests/run/lifetime").join(format!("{source}.cs")))
    }

    pub(crate) fn of(name: &str, source: &Path) -> Option<Self> {
        let folder = scratch(&format!("lifetime-{name}"));
        let original = folder.join(source.with_extension("exe").file_name().expect("it has a name"));
        let mut compiler = Command::new(require("ILINST_MCS")?);
        let is_library = !fs::read_to_string(source).expect("it can be read").contains(" Main(");
        compiler.arg(if is_library { "-target:library" } else { "-target:exe" });
        compiler.arg(format!("-r:{}", root().join("tracker-runtime/bin/Ilinst.Tracker.dll").display()));
        let output = compiler.arg(format!("-out:{}", original.display())).arg(source).output().expect("it starts");
        assert!(output.status.success(), "{:?}", said(&output));
        let config = root().join("samples/hello/bin/hello.runtimeconfig.json");
        fs::copy(config, original.with_extension("runtimeconfig.json")).expect("it can be copied");
        let woven = folder.join("woven").join(original.file_name().expect("it has a name"));
        instrument(&[&original, &"-o", &woven, &"--all", &"--calls", &"none", &"-q"]);
        Some(Self { folder, original, woven })
    }

    pub(crate) fn command(&self, runtime: &Runtime, work: &Path) -> Command {
        let mut command = runtime.program(&self.woven, work);
        command.env_remove("ILINST_OUTPUT").env_remove("ILINST_WRITE");
        command
    }

    /// Starts it, and waits until it waits to be killed. Gives the folder that it runs in.
    fn wait(&self, runtime: &Runtime, variables: &[(&str, &str)]) -> (PathBuf, Child) {
        let work = scratch(&format!("{}-work", self.folder.file_name().expect("it has a name").to_string_lossy()));
        let mut command = self.command(runtime, &work);
        let child = waiting(command.arg("wait").envs(variables.iter().copied()));
        (work, child)
    }
}

pub(crate) fn profiles(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "ilprof")).collect()
}

pub(crate) fn read(path: &Path) -> Profile {
    tests::parsed(&fs::read(path).expect("it can be read"))
}

/// By name: how often each method was called.
pub(crate) fn calls(profile: &Profile) -> BTreeMap<String, u64> {
    let rows = profile.rows(SortBy::Name);
    rows.into_iter().map(|row| (row.raw_name.unwrap_or_default(), row.calls)).collect()
}

pub(crate) fn counts(expected: &[(&str, u64)]) -> BTreeMap<String, u64> {
    expected.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect()
}
