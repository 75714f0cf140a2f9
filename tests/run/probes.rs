//! A program calls probes itself: modes of the tracker, its limits, callers of many methods.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use profile::{Event, Profile, SampleType, events};
use tests::{Runtime, is_full, require, root, said, sample, scratch, until};

use crate::tree;

/// How often `Fibonacci(15)` calls itself, with the first call.
const FIBONACCI: i64 = 1973;
/// For so many ms the program does nothing else, at least.
const SPUN: f64 = 20.0;
/// The number of calls of one callee among many.
const FAN_CALLS: usize = 300_000;
const EVENTS_OF_CHUNK: usize = (65536 - 64) / 8;

/// The program, compiled beside the tracker in a folder for this test alone.
fn program(test: &str) -> Option<PathBuf> {
    let mcs = require("ILINST_MCS")?;
    let folder = scratch(&format!("probes-{test}"));
    let program = folder.join("probes.exe");
    fs::copy(root().join("tracker-runtime/bin/Ilinst.Tracker.dll"), folder.join("Ilinst.Tracker.dll")).expect("it can be copied");
    let mut compiler = Command::new(mcs);
    compiler.current_dir(&folder).args(["-out:probes.exe", "-r:Ilinst.Tracker.dll"]).arg(root().join("tests/run/probes.cs"));
    let compiled = said(&compiler.output().expect("it starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    Some(program)
}

/// The program, ready to run, and where its profile will be.
fn command(runtime: &Runtime, program: &Path, what: &str, settings: &[(&str, &str)]) -> (Command, PathBuf) {
    println!("{what} {settings:?} on {}", runtime.name);
    let folder = program.parent().expect("it is in a folder");
    let path = folder.join("probes.ilprof");
    let _ = fs::remove_file(&path);
    let mut command = runtime.program(program, folder);
    command.arg(what).env("ILINST_OUTPUT", &path).envs(settings.iter().copied());
    (command, path)
}

/// The profile's bytes.
fn run(runtime: &Runtime, program: &Path, what: &str, settings: &[(&str, &str)]) -> Vec<u8> {
    let (mut command, path) = command(runtime, program, what, settings);
    assert_eq!(said(&command.output().expect("the runtime starts")), ("done\n".into(), String::new(), Some(0)));
    let bytes = fs::read(path).expect("there is a profile");
    profile::unpacked(&bytes).expect("it is a profile").into_owned()
}

fn read(bytes: &[u8]) -> Profile {
    tests::parsed(bytes)
}

/// A value of each method, by its number; added up over all paths.
fn by_method(profile: &Profile, of: SampleType) -> BTreeMap<u32, i64> {
    let mut values = BTreeMap::new();
    for tree in &profile.trees {
        for (node, value) in tree.nodes.iter().zip(profile.flat(tree, of)) {
            *values.entry(profile.functions[node.function].method_id.row()).or_default() += *value;
        }
    }
    values
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_caller_may_call_any_number_of_methods() {
    let Some(program) = program("fan") else { return };
    for runtime in Runtime::all() {
        let profile = read(&run(&runtime, &program, "fan", &[]));
        let calls = by_method(&profile, SampleType::CALLS);
        assert_eq!((calls.len(), calls[&1]), (100_001, 1));
        assert!((1000..101_000).all(|callee| calls[&callee] == 3));
        let nodes: usize = profile.trees.iter().map(|tree| tree.nodes.len()).sum();
        assert_eq!(nodes, 100_001, "each callee has one node");
        tree::check_times(&profile);
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn every_mode_counts_exactly() {
    let Some(program) = program("modes") else { return };
    let modes: [&[(&str, &str)]; 6] = [
        &[("ILINST_MODE", "exact")],
        &[("ILINST_MODE", "exact"), ("ILINST_COUNT_BELOW", "0")],
        &[("ILINST_MODE", "exact"), ("ILINST_CLOCK", "stopwatch")],
        &[("ILINST_MODE", "sampled")],
        &[("ILINST_MODE", "count")],
        &[("ILINST_MODE", "trace")],
    ];
    for runtime in Runtime::all() {
        for mode in modes {
            let bytes = run(&runtime, &program, "fibonacci", mode);
            let profile = read(&bytes);
            let calls = by_method(&profile, SampleType::CALLS);
            assert_eq!(calls, BTreeMap::from([(1, 1), (2, FIBONACCI), (3, 1)]));
            let of_trace: Vec<bool> = events(&bytes).expect("they can be read").map(|event| event.is_leave).collect();
            let leaves = of_trace.iter().filter(|is_leave| **is_leave).count();
            let expected = if mode[0].1 == "trace" { FIBONACCI as usize + 2 } else { 0 };
            assert_eq!((leaves, of_trace.len()), (expected, 2 * expected), "events");
            let spun = by_method(&profile, SampleType::WALL).get(&3).map_or(0.0, |ticks| profile.milliseconds(*ticks));
            match mode {
                // By the program's own clock.
                [(_, "exact" | "trace")] => {
                    let run = profile.milliseconds(profile.duration);
                    assert!((SPUN..=run).contains(&spun), "{spun} ms of {run} instead of {SPUN}");
                }
                // How far samples and a counter are from it depends on what else the machine does.
                _ if is_full() && mode[0].1 != "count" => {
                    assert!((SPUN / 2.0..1000.0).contains(&spun), "{spun} ms instead of {SPUN}");
                }
                _ => {}
            }
        }
    }
}

/// Of more calls than a chunk has room for; and than may be kept: then the latest are there.
#[test]
#[ignore = "needs .NET and Mono"]
fn events_are_in_order_and_the_latest_stay() {
    let Some(program) = program("events") else { return };
    let all = 2 * (FAN_CALLS + 1);
    for runtime in Runtime::all() {
        for (size, counts) in [("67108864", all..=all), ("262144", 3 * EVENTS_OF_CHUNK..=4 * EVENTS_OF_CHUNK)] {
            let bytes = run(&runtime, &program, "fan", &[("ILINST_MODE", "trace"), ("ILINST_TRACE_SIZE", size)]);
            let mut events: Vec<Event> = events(&bytes).expect("they can be read").collect();
            events.sort_by_key(|event| event.sequence);
            assert!(counts.contains(&events.len()), "{}: {} events of {counts:?}", runtime.name, events.len());
            let mut sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
            sequences.dedup();
            assert!(sequences.windows(2).all(|two| two[1] == two[0] + 1), "{}: {sequences:?}", runtime.name);
            assert!(events.is_sorted_by_key(|event| event.ticks), "{}: they are in no order of time", runtime.name);
            // The caller's end comes last; a callee calls nothing.
            let last = events.pop().expect("there are events");
            assert!(last.is_leave, "{}", runtime.name);
            events.retain(|event| event.node != last.node);
            let ends = events.iter().zip(events.iter().skip(1)).filter(|(one, _)| !one.is_leave);
            assert!(ends.clone().count() > counts.start() / 3, "{}", runtime.name);
            assert!(ends.clone().all(|(one, other)| other.is_leave && one.node == other.node), "{}", runtime.name);
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn methods_shorter_than_their_probes_are_only_counted() {
    let Some(program) = program("often") else { return };
    for runtime in Runtime::all() {
        let (mut command, path) = command(&runtime, &program, "short", &[("ILINST_COUNT_BELOW", "1000000000")]);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut running = started.expect("the runtime starts");
        let counted = |profile: &Profile| {
            let of_tree = |tree: &profile::CallTree| {
                let of = tree.nodes.iter().zip(&tree.notes).filter(|(_, notes)| notes.is_counted);
                of.map(|(node, _)| profile.functions[node.function].method_id.row()).collect::<Vec<_>>()
            };
            profile.trees.iter().flat_map(of_tree).collect::<Vec<_>>()
        };
        let is_counted = || {
            let profile = Profile::parse(&fs::read(&path).ok()?).ok()?;
            (!counted(&profile).is_empty()).then_some(())
        };
        until("a path is counted", is_counted);
        drop(running.stdin.take());
        let ended = said(&running.wait_with_output().expect("it ends"));
        assert_eq!(ended, ("done\n".into(), String::new(), Some(0)));
        let profile = read(&fs::read(path).expect("there is a profile"));
        assert_eq!(counted(&profile), [2]);
        let [calls, leaves, counted] =
            [SampleType::CALLS, SampleType::LEAVES, SampleType::COUNTED].map(|of| by_method(&profile, of)[&2]);
        assert!(
            calls == leaves && counted == calls && calls % 1000 == 0,
            "{calls} calls, {leaves} leaves, {counted} counted only"
        );
    }
}

/// Whatever else the machine does meanwhile, the profile has no more time than the program saw go by without its pause.
#[test]
#[ignore = "needs .NET and Mono"]
fn what_is_paused_is_neither_counted_nor_timed() {
    let Some(program) = program("paused") else { return };
    for runtime in Runtime::all() {
        let (mut command, path) = command(&runtime, &program, "paused", &[]);
        let (text, errors, code) = said(&command.output().expect("the runtime starts"));
        let times = text.strip_suffix("\ndone\n").unwrap_or_else(|| panic!("{text}{errors}"));
        let times: Vec<f64> = times.split(' ').map(|time| time.parse().expect("a number")).collect();
        let &[all, paused] = &times[..] else { panic!("{text}") };
        assert_eq!((errors.as_str(), code), ("", Some(0)));
        let profile = read(&fs::read(path).expect("there is a profile"));
        assert_eq!(by_method(&profile, SampleType::CALLS), BTreeMap::from([(1, 1), (3, 1), (5, 1)]));
        let timed = profile.milliseconds(by_method(&profile, SampleType::WALL).values().sum());
        assert!((SPUN..=all - paused).contains(&timed), "{timed} ms of {all}, {paused} of them paused, on {}", runtime.name);
        assert!((paused..=all).contains(&profile.milliseconds(profile.paused)), "{paused} of {all}");
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn calls_within_calls_beyond_the_limit_take_no_time_twice() {
    let Some(program) = program("limit") else { return };
    // 4 + 16 + ... + 4^7 calls.
    let of_each = (1..8).map(|depth| 4_i64.pow(depth)).sum::<i64>() / 4;
    for runtime in Runtime::all() {
        for limit in ["1", "9", "700"] {
            let profile = read(&run(&runtime, &program, "overflow", &[("ILINST_MAX_NODES", limit)]));
            let mut expected: BTreeMap<u32, i64> = (10..14).map(|method| (method, of_each)).collect();
            expected.insert(1, 1);
            assert_eq!(by_method(&profile, SampleType::CALLS), expected);
            tree::check_times(&profile);
        }
    }
}
