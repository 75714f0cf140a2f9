//! `--capture` and `report --calls`: what was called is said with its exact types, and with the values that were passed.

use std::{collections::BTreeSet, process::Command};

use profile::{Profile, SampleType, calls};

use super::*;
use tests::live::{lines_of_values, program_of_values, without_times};

/// How often the program calls while another of its threads makes collections.
const CALLS: usize = 20_000;

/// Runs the program with its calls captured; gives its profile, and what it printed.
fn captured(work: &Work, runtime: &Runtime, program: &Path, arguments: &[&str], trace_size: &str) -> (PathBuf, String) {
    let mut command = work.live(runtime, &["--all", "--capture=args,return,this"], program, arguments);
    let (text, errors, code) = said(&output(command.env("ILINST_TRACE_SIZE", trace_size)));
    assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
    (only_profile(work, runtime), text)
}

fn only_profile(work: &Work, runtime: &Runtime) -> PathBuf {
    let mut found = fs::read_dir(work.profiles(runtime)).expect("there are profiles").flatten().map(|file| file.path());
    found.next().expect("there is one")
}

/// The values that .NET Core 3.1 does not have.
const UNSAID_BY_3_1: [&str; 5] =
    ["-> {A=3, B=4}", "-> 12.345", "-> {First=1, Text=\"t\", Last=-2}", "-> 1e300", "-> {key=1, value=EnumType.X}"];

fn report(profile: &Path, options: &[&str]) -> Command {
    let mut command = ilinst();
    command.args(["report", "--calls", "--limit=0"]).args(options).arg(profile);
    command
}

/// `report --calls --json`.
pub(crate) fn calls_of(profile: &Path, options: &[&str]) -> serde_json::Value {
    let (text, errors, code) = said(&output(&mut report(profile, &[options, &["--json"]].concat())));
    assert_eq!(code, Some(0), "{errors}");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
#[ignore = "needs runtimes"]
fn calls_are_shown_with_exact_types_and_values() {
    let expected = lines_of_values();
    let unsaid = "<the runtime does not say where it is>";
    for runtime in runtimes() {
        // On Unix, it loses results that are not in the first register.
        let expected = match runtime.name {
            ".NET Core 3.1" => UNSAID_BY_3_1.iter().fold(expected.clone(), |text, result| {
                assert!(text.contains(result), "{result}");
                text.replace(result, &format!("-> {unsaid}"))
            }),
            _ => expected.clone(),
        };
        let work = Work::new("values");
        let Some(program) = program_of_values(&work.folder) else { return };
        let (profile, _) = captured(&work, &runtime, &program, &["calls"], "");
        let (text, errors, _) = said(&output(&mut report(&profile, &[])));
        let shown = without_times(&text);
        if std::env::var_os("BLESS").is_some() && runtime.name == ".NET 8" {
            fs::write(root().join("tests/live/values/lines.txt"), shown.join("\n") + "\n").expect("it can be written");
        }
        assert_eq!(shown, expected.lines().collect::<Vec<_>>(), "{}: {errors}", runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn values_are_right_while_collections_move_them() {
    for runtime in runtimes() {
        let work = Work::new("moving");
        let Some(program) = program_of_values(&work.folder) else { return };
        let times = CALLS.to_string();
        let (profile, printed) = captured(&work, &runtime, &program, &["collections", &times], "");
        assert_eq!(printed, format!("{}\n", 2 * CALLS));
        let all = calls_of(&profile, &["--method", "PublicClass.Keep"]);
        let calls = all["calls"].as_array().expect("calls");
        assert_eq!((calls.len(), all["lost"].as_u64()), (CALLS, Some(0)));
        for (number, call) in calls.iter().enumerate() {
            let expected = format!("array=[2][{number}, {}] text=\"text {number}\" -> 2", number + 1);
            assert_eq!(call["text"], expected, "{}", runtime.name);
        }
        let some = calls_of(&profile, &["--where", "text == \"text 7\" && array.Length > 1 && return < 3"]);
        assert_eq!((some["count"].as_u64(), some["calls"][0]["arguments"]["text"].as_str()), (Some(1), Some("text 7")));
        let slow = calls_of(&profile, &["--slow"]);
        let times: Vec<f64> =
            slow["calls"].as_array().expect("calls").iter().filter_map(|call| call["milliseconds"].as_f64()).collect();
        assert!(times.is_sorted_by(|a, b| a >= b) && times.len() > CALLS);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn the_latest_calls_are_kept() {
    for runtime in runtimes() {
        let work = Work::new("bounded");
        let Some(program) = program_of_values(&work.folder) else { return };
        let times = CALLS.to_string();
        let (profile, _) = captured(&work, &runtime, &program, &["collections", &times], "300000");
        let all = calls_of(&profile, &["--method", "PublicClass.Keep"]);
        let calls = all["calls"].as_array().expect("calls");
        let last = format!("text {}", CALLS - 1);
        assert_eq!(calls.last().expect("some")["arguments"]["text"], last.as_str());
        assert!((100..CALLS / 2).contains(&calls.len()), "{}", calls.len());
        assert!(all["lost"].as_u64() >= Some((CALLS - calls.len()) as u64), "{}", all["lost"]);
        // Those within very deep calls are counted, and those around them are there.
        fs::remove_dir_all(work.profiles(&runtime)).expect("there was a profile");
        let (profile, printed) = captured(&work, &runtime, &program, &["deep", "5000"], "");
        let all = calls_of(&profile, &["--method", "Recursive", "--where", "return >= 0"]);
        let outermost = &all["calls"][0];
        assert_eq!((printed.as_str(), outermost["return"].as_i64()), ("5000\n", Some(5000)));
        let kept = all["count"].as_u64().expect("a number");
        assert_eq!(Some(5001 - kept), all["lost"].as_u64());
    }
}

/// They have the clock's readings of the call tree: what a method's took is together what its nodes have, to the tick.
#[test]
#[ignore = "needs runtimes"]
fn calls_took_what_the_call_tree_says() {
    for runtime in runtimes() {
        let work = Work::new("timed");
        let (Some(program), Some(app)) = (program_of_values(&work.folder), work.app()) else { return };
        let runs = [(&program, &["calls"][..]), (&program, &["collections", "2000"]), (&app, &["exceptions"])];
        for (program, arguments) in runs {
            let mut command = work.live(&runtime, &["--all", "--capture=args,return"], program, arguments);
            let ran = said(&output(&mut command));
            let profile = profile_in(&work.profiles(&runtime));
            let path = only_profile(&work, &runtime);
            let calls = calls::Calls::parse(&fs::read(path).expect("it is there")).expect("it has calls");
            assert_eq!(calls.lost, 0, "{} {arguments:?}: {ran:?}", runtime.name);
            let mut expected: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
            for call in &calls.list {
                let (count, ticks) = expected.entry(calls.signatures[call.signature].method_id).or_default();
                *count += 1;
                *ticks += call.duration.unwrap_or_default();
            }
            let (found, are_open) = calls_and_ticks(&profile);
            expected.retain(|id, _| !are_open.contains(id));
            assert!(expected.values().any(|(_, ticks)| *ticks > 0));
            assert_eq!(found, expected, "{} {arguments:?}", runtime.name);
            fs::remove_dir_all(work.profiles(&runtime)).expect("there was a profile");
        }
    }
}

/// How often each method was called and how long that took with what it called, by its id; and the methods that are open.
fn calls_and_ticks(profile: &Profile) -> (BTreeMap<u64, (i64, i64)>, BTreeSet<u64>) {
    let place = |kind| profile.sample_types.iter().position(|each| *each == kind).expect("it has it");
    let [number, wall, open] = [SampleType::CALLS, SampleType::WALL, SampleType::OPEN].map(place);
    let (mut found, mut are_open): (BTreeMap<u64, (i64, i64)>, _) = (BTreeMap::new(), BTreeSet::new());
    for tree in &profile.trees {
        let mut totals = tree.values[wall].clone();
        for (at, node) in tree.nodes.iter().enumerate().rev() {
            if let Some(caller) = node.caller {
                totals[caller] += totals[at];
            }
            let id = profile.functions[node.function].method_id.0;
            let (count, ticks) = found.entry(id).or_default();
            *count += tree.values[number][at];
            *ticks += totals[at];
            if tree.values[open][at] > 0 {
                are_open.insert(id);
            }
        }
    }
    found.retain(|id, _| !are_open.contains(id));
    (found, are_open)
}

/// Calls of the tests of call trees are recorded with values, too.
#[test]
#[ignore = "needs runtimes"]
fn capturing_changes_nothing() {
    let runtimes: Vec<_> = runtimes().collect();
    let programs = [&["threads", "200", "50"][..], &["exceptions"], &["registers"], &["dynamic"], &["collectible"]];
    for (runtime, arguments) in tests::in_turn(&runtimes, &programs) {
        let work = Work::new("captured");
        let Some(app) = work.app() else { return };
        let path = app.to_str().expect("a path");
        let arguments = if *arguments == ["collectible"] { &[arguments, &[path]].concat() } else { arguments };
        let alone = said(&output(runtime.program(&app, &work.folder).args(arguments)));
        let counts = |options: &[&str]| {
            let live = said(&output(&mut work.live(runtime, &[&["--all"], options].concat(), &app, arguments)));
            assert_eq!((&live.0, live.2), (&alone.0, alone.2), "{} {arguments:?}: {}", runtime.name, live.1);
            let counts = calls(&profile_in(&work.profiles(runtime)));
            fs::remove_dir_all(work.profiles(runtime)).expect("there was a profile");
            counts
        };
        assert_eq!(counts(&["--capture=args,return,this"]), counts(&[]), "{} {arguments:?}", runtime.name);
    }
}

/// Values of the library are shown as people write them, by hooks and by methods that are woven.
#[test]
#[ignore = "needs .NET 10"]
fn values_of_the_library_are_shown_as_people_write_them() {
    let numbers = "half=1.5 large=170141183460469231731687303715884105727 unsigned=340282366920938463463374607431768211455 \
                   big=1000000000000000000000000000000 small=-42 -> 1";
    let times = "day=2026-11-25 time=13:05:07 type=typeof(System.Collections.Generic.Dictionary<string, int>) -> 2";
    let lists = "list=System.Collections.Generic.List<int> [5][1, 2, 3, 4] (4 shown of 5) \
                 map=System.Collections.Generic.Dictionary<string, int> [2][\"a\": 1, \"b\": 2] \
                 none=System.Collections.Generic.List<string> [0][] -> 3";
    for runtime in Runtime::suspending() {
        for way in ["--hooks", "--rewrite"] {
            let work = Work::new("library");
            let Some(program) = work.by_sdk_10("library") else { return };
            let (_, errors, code) =
                said(&output(&mut work.live(&runtime, &["--all", "--capture=args,return", way], &program, &[])));
            assert_eq!(code, Some(8), "{}: {errors}", runtime.name);
            let all = calls_of(&only_profile(&work, &runtime), &[]);
            let calls = all["calls"].as_array().expect("calls");
            for expected in [numbers, times, lists, "span=System.Span<int> [2][7, 8] -> 2"] {
                assert!(calls.iter().any(|call| call["text"] == expected), "{way} on {}: {expected}\n{calls:?}", runtime.name);
            }
            let some = calls_of(&only_profile(&work, &runtime), &["--where", "list.Count > 4 && map.Count == 2"]);
            assert_eq!(some["count"].as_u64(), Some(1), "{way} on {}", runtime.name);
        }
    }
}

/// Values of spans have the same texts by hooks and by methods that are woven.
#[test]
#[ignore = "needs runtimes"]
fn spans_are_shown_with_their_first_elements() {
    for runtime in runtimes() {
        let work = Work::new("spans");
        let Some(program) = program_of_spans(&work.folder) else { return };
        let of = |way: &str, arguments: &[&str]| {
            let options = ["--all", "--include=Calls::*", "--include=Pair*::First", "--capture=args,return,this", way];
            let (printed, errors, code) = said(&output(&mut work.live(&runtime, &options, &program, arguments)));
            assert_eq!(code, Some(0), "{way} on {}: {errors}", runtime.name);
            let calls = calls_of(&only_profile(&work, &runtime), &[]);
            fs::remove_dir_all(work.profiles(&runtime)).expect("there was a profile");
            let texts =
                calls["calls"].as_array().expect("calls").iter().map(|call| call["text"].as_str().expect("a text").to_owned());
            (printed, texts.collect::<Vec<_>>())
        };
        let (printed, woven) = of("--rewrite", &[]);
        let said: Vec<&str> = printed.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        assert_eq!(woven, said, "{}", runtime.name);
        // Hooks read ref structs, too. On Unix, .NET Core 3.1 loses results that are not in the first register.
        let (_, hooked) = of("--hooks", &[]);
        let unsaid = "<the runtime does not say where it is>";
        for (hooked, woven) in hooked.iter().zip(&woven) {
            let (arguments, result) = woven.split_once(" -> ").expect("each returns");
            let is_unsaid = runtime.name == ".NET Core 3.1" && hooked.ends_with(unsaid);
            let woven = if is_unsaid { format!("{arguments} -> {unsaid}") } else { format!("{arguments} -> {result}") };
            assert_eq!(
                *hooked,
                woven.replace("<its type may be a ref struct>", "{Span=System.Span<int> {…}}"),
                "{}",
                runtime.name
            );
        }
        assert_eq!(hooked.len(), woven.len());
        let (printed, moved) = of("--hooks", &[&CALLS.to_string()]);
        assert_eq!((printed, moved.len()), (format!("{}\n", 2 * CALLS), CALLS));
        for (number, text) in moved.iter().enumerate() {
            let span = format!("System.Span<string> [2][\"one {number}\", \"two\"]");
            let returned = if text.ends_with(unsaid) && runtime.name == ".NET Core 3.1" { unsaid } else { &span };
            assert_eq!(*text, format!("span={span} text=\"ext {number}\" -> {returned}"), "{}", runtime.name);
        }
    }
}

/// The program that `tests/run/capture.rs` weaves.
fn program_of_spans(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("spans.exe");
    let source = root().join("tests/run/capture/spans.cs");
    tests::compile_with(&source, &program, tests::References::Core, &[], &["-unsafe", "-nowarn:649"])?;
    Some(program)
}
