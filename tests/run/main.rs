//! Woven programs on every runtime found: they print what the originals print, and their profiles count exactly.

mod allocations;
#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../crates/profile/tests/builder/mod.rs"]
mod builder;
#[cfg(all(unix, feature = "full"))]
mod bundle;
mod capture;
mod compare;
mod coverage;
mod embed;
#[cfg(unix)]
mod gate;
mod hooks;
mod in_place;
mod jit;
mod lifetime;
mod lines;
mod live;
mod named;
mod paths;
mod presets;
mod probes;
mod processes;
#[cfg(unix)]
mod runtime_async;
mod selectors;
#[cfg(unix)]
mod self_contained;
mod settings;
#[cfg(all(unix, feature = "full"))]
mod suspended;
mod tokens;
mod tree;
mod which_tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use names::{Part, source_name};
use profile::{End, Profile, rows::SortBy};
use tests::{Runtime, instrument, profile_in, said, sample, scratch, without_places};

const MODES: [&str; 2] = ["finally", "return"];

/// A program run before and after weaving.
struct Both {
    original: Output,
    woven: Output,
    /// Where it ran; what is woven is in a folder of that name there.
    folder: PathBuf,
    profile: Profile,
    /// By method and token: how often the program itself says that it was called.
    counts: BTreeMap<String, u64>,
}

/// Weaves a sample, runs both on one runtime, and compares what they print.
fn run(runtime: &Runtime, name: &str, extension: &str, mode: &str, argument: Option<&str>) -> Both {
    run_with(runtime, name, extension, mode, argument, &[])
}

/// The same by more options.
fn run_with(
    runtime: &Runtime,
    name: &str,
    extension: &str,
    mode: &str,
    argument: Option<&str>,
    options: &[&dyn AsRef<OsStr>],
) -> Both {
    let more: String = options.iter().map(|option| option.as_ref().to_string_lossy()).collect();
    let folder = scratch(&format!("run-{name}-{}-{mode}-{}{more}", runtime.name.replace(' ', "-"), argument.unwrap_or("")));
    let file = format!("{name}.{extension}");
    let program = sample(name).join(&file);
    let output = folder.join("woven/");
    let own: [&dyn AsRef<OsStr>; 9] = [&program, &"-o", &output, &"--leave", &mode, &"--all", &"--calls", &"none", &"-q"];
    instrument(&[&own, options].concat());
    let counts_file = folder.join("counts");
    let start = |program: &Path| {
        let mut command = runtime.program(program, &folder);
        command.args(argument).env("ILINST_SAMPLE_COUNTS", &counts_file).output().expect("the runtime starts")
    };
    let original = start(&program);
    let _ = fs::remove_file(&counts_file);
    let woven = start(&folder.join("woven").join(&file));
    let context = format!("{name} {} on {} by {mode}", argument.unwrap_or(""), runtime.name);
    println!("{context}");
    let (before, after) = (said(&original), said(&woven));
    assert_eq!(before.0, after.0, "{context}: output");
    assert_eq!(without_places(&before.1), without_places(&after.1), "{context}: errors");
    assert_eq!(original.status, woven.status, "{context}: exit status");
    Both { original, woven, profile: profile_in(&folder), counts: read_counts(&counts_file), folder }
}

fn read_counts(path: &PathBuf) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| line.split_once('\t').and_then(|(key, count)| Some((key.to_owned(), count.parse().ok()?)));
    text.lines().filter_map(line).collect()
}

/// Returns the counts of the profile by the keys of the program. The type that counts is not compared.
fn profile_counts(profile: &Profile) -> BTreeMap<String, (u64, u64, u64)> {
    let rows = profile.rows(SortBy::Name);
    rows.iter().map(|row| (key(row), (row.calls, row.leaves, row.open))).filter(|(key, _)| !key.starts_with("Count")).collect()
}

fn key(row: &profile::rows::Row<'_>) -> String {
    format!("{} {}", row.raw_name.as_deref().expect("every method is named"), row.token)
}

/// Every count of the program's is the profile's, and what the program did not count the compiler made. The steps of a state
/// machine are the method's that was written.
fn compare_counts(both: &Both, all: bool) {
    assert!(both.counts.len() > 5, "the program counted");
    let profiled = profile_counts(&both.profile);
    let stepped = |method: &str| {
        let (type_name, rest) = method.split_once("::")?;
        let source = source_name(type_name, rest.split(' ').next()?)?;
        (source.parts.last() == Some(&Part::StateMachine)).then(|| format!("{}::{} ", source.type_name, source.method))
    };
    let rows = both.profile.rows(SortBy::Name);
    let asynchronous: BTreeSet<String> = rows.iter().filter(|row| row.is_async).map(key).collect();
    let mut steps: BTreeMap<String, u64> = BTreeMap::new();
    for (method, count) in &both.counts {
        if let Some(written) = stepped(method) {
            *steps.entry(written).or_default() += count;
        }
    }
    let written = |method: &str| steps.iter().find(|(written, _)| method.starts_with(*written)).map(|(_, steps)| *steps);
    for (method, count) in both.counts.iter().filter(|(method, _)| !method.starts_with("Count")) {
        let calls = profiled.get(method).map(|(calls, ..)| *calls);
        // An iterator is called for each item, and here what makes it has a probe too; an async method's calls are its own.
        let steps = written(method).filter(|_| !asynchronous.contains(method)).unwrap_or_default();
        let expected = stepped(method).is_none().then_some(count + steps);
        assert_eq!(calls, expected, "calls of {method}");
    }
    let is_known = |method: &String| both.counts.contains_key(method) || written(method).is_some();
    for method in profiled.keys().filter(|_| all) {
        assert!(is_known(method) || method.contains('<'), "{method} was called and not counted");
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn hello_and_orders_run_as_before_and_are_counted_exactly() {
    for runtime in Runtime::all() {
        for name in ["hello", "orders"] {
            for mode in MODES {
                let both = run(&runtime, name, "exe", mode, None);
                compare_counts(&both, true);
                assert_balanced(&both.profile);
                tree::check(&both.profile, name);
                assert_eq!(both.profile.end, End::Clean);
                assert_eq!(both.original.status.code(), Some(if name == "orders" { 3 } else { 0 }));
            }
        }
    }
}

/// Every enter has its leave, but for calls that were open when the program ended.
fn assert_balanced(profile: &Profile) {
    for (method, (calls, leaves, open)) in profile_counts(profile) {
        assert_eq!(calls, leaves + open, "{method}: entered and left");
    }
}

#[test]
#[ignore = "needs .NET 8"]
fn modern_csharp_runs_as_before() {
    let Some(runtime) = Runtime::find(".NET 8") else { return };
    for mode in MODES {
        let both = run(&runtime, "modern", "dll", mode, None);
        compare_counts(&both, false);
        assert_eq!(both.woven.status.code(), Some(7));
        assert_balanced(&both.profile);
    }
}

/// How often each method of the IL shapes is called: once, but for these.
const SHAPE_CALLS: &[(&str, u64)] = &[
    ("ManyToOneRet", 4),
    ("Nested", 3),
    // A million calls deep, and six on the way through TailShared.
    ("TailSum", 1_000_001 + 6),
    ("TailShared", 2),
    ("Target", 2),
    ("Generic", 2),
    ("Grow", 2),
];

#[test]
#[ignore = "needs .NET and Mono"]
fn shapes_that_csharp_does_not_make_run_as_before() {
    for runtime in Runtime::all() {
        // CoreCLR has variable argument lists on Windows alone.
        let argument = runtime.is_mono().then_some("varargs");
        for mode in MODES {
            let both = run(&runtime, "shapes", "exe", mode, argument);
            assert_eq!(both.woven.status.code(), Some(21));
            let calls = profile_counts(&both.profile);
            let of = |name: &str| calls.iter().find(|(method, _)| method.starts_with(&format!("Shapes::{name} ")));
            for (name, expected) in SHAPE_CALLS {
                assert_eq!(of(name).map(|(_, (calls, ..))| *calls), Some(*expected), "{name}");
            }
            let others =
                calls.iter().filter(|(method, _)| !SHAPE_CALLS.iter().any(|(name, _)| method.contains(&format!("::{name} "))));
            for (method, (calls, ..)) in others.filter(|(method, _)| !method.contains("::Print ")) {
                assert_eq!(*calls, 1, "{method}");
            }
            assert_eq!(calls.len(), if argument.is_some() { 26 } else { 24 });
            assert_balanced(&both.profile);
        }
    }
}

/// A stack trace names the same files and lines, whether the PDB lies beside the program or in it.
#[test]
#[ignore = "needs .NET and Mono"]
fn stack_traces_keep_their_lines() {
    for runtime in Runtime::all() {
        for program in ["traces.exe", "embedded.exe"] {
            // Mono 6.8 reads no embedded PDBs.
            if runtime.is_mono() && program == "embedded.exe" {
                continue;
            }
            for (mode, embed) in MODES.into_iter().zip(["--embed", "--embed=false"]).chain([(MODES[0], "--embed=false")]) {
                let folder = scratch(&format!("lines-{program}-{}-{mode}{embed}", runtime.name.replace(' ', "-")));
                let original = sample("traces").join(program);
                instrument(&[&original, &"-o", &folder.join("woven/"), &"--leave", &mode, &embed, &"-q"]);
                let start = |program: &Path| {
                    let mut command = runtime.program(program, &folder);
                    command.env("MONO_ENV_OPTIONS", "--debug").output().expect("the runtime starts")
                };
                let (before, after) = (said(&start(&original)), said(&start(&folder.join("woven").join(program))));
                println!("{program} on {} by {mode}", runtime.name);
                // Mono and .NET Core 3.1 name the line behind a call where the compiled code of the two meets, as it may
                // when the call is the last of its block; the woven body has a probe there.
                let is_exact = runtime.name == ".NET 8";
                let lines = |text: &str| -> Vec<String> {
                    let cut = |line: &str| line.rsplit_once(':').map_or(line, |(method, _)| method).to_owned();
                    text.lines().map(|line| if is_exact { line.to_owned() } else { cut(line) }).collect()
                };
                assert_eq!(lines(&before.0), lines(&after.0));
                assert_eq!((before.1, before.2), (after.1, after.2));
                assert!(before.0.lines().filter(|line| line.contains("Program.cs:")).count() > 30, "{}", before.0);
            }
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn every_way_to_end_leaves_a_profile() {
    for runtime in Runtime::all() {
        for (way, end) in [
            ("return", End::Clean),
            ("exit", End::Clean),
            ("throw", End::UnhandledException),
            ("thread", End::UnhandledException),
        ] {
            for mode in MODES {
                let both = run(&runtime, "endings", "exe", mode, Some(way));
                assert_eq!(both.profile.end, end, "{way} on {}", runtime.name);
                if way == "return" {
                    tree::check(&both.profile, "endings-return");
                }
                let deep = profile_counts(&both.profile).into_iter().find(|(method, _)| method.starts_with("Program::Deep"));
                assert_eq!(
                    deep.map(|(_, (calls, ..))| calls),
                    Some(if way == "thread" { 3 } else { 4 }),
                    "{way} on {}",
                    runtime.name
                );
            }
        }
    }
}
