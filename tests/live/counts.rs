//! The recorded calls are the calls of the program.

use super::*;
use profile::SampleType;
use tests::{live::calls_of_report, sample};

/// A program, and what of it cannot be the same: what one of the two does not see.
const SAMPLES: [(&str, &[&str]); 4] = [
    ("orders", &[]),
    ("endings", &[]),
    ("odd", &[]),
    // To the JIT, a method that calls itself by `tail.` is a loop.
    ("shapes", &["Shapes.TailSum"]),
];

/// The calls of each method as `ilinst run` has them, by its name and its parameters.
pub(super) fn by_run(
    work: &Work,
    runtime: &Runtime,
    options: &[&str],
    app: &Path,
) -> (BTreeMap<String, i64>, (String, Option<i32>)) {
    let file = work.folder.join("calls.json");
    let mut command = ilinst();
    command.args(["run", "--no-report", "--limit=0", "--quiet", "--json"]).arg(&file).args(options).arg("--");
    let program = runtime.program(app, &work.folder);
    command.arg(program.get_program()).args(program.get_args()).env("ILINST_CACHE", work.folder.join("cache"));
    command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1").env_remove("DOTNET_ROOT").env_remove("DOTNET_ROLL_FORWARD");
    let (text, errors, code) = said(&output(&mut command));
    let calls = calls_of_report(&fs::read(&file).expect(&errors));
    fs::remove_file(file).expect("it was written");
    (calls, (text, code))
}

#[test]
#[ignore = "needs runtimes"]
fn live_and_woven_programs_have_the_same_calls() {
    for runtime in runtimes() {
        for (program, differs) in SAMPLES {
            let (work, app) = (Work::new("same"), sample(program).join(program).with_extension("exe"));
            for options in [&["--calls=none"][..], &["--calls=none", "--all"]] {
                let (mut woven, ended) = by_run(&work, &runtime, options, &app);
                let (mut live, ended_live) = by_run(&work, &runtime, &[options, &["--live", "--hooks"]].concat(), &app);
                assert_eq!(ended, ended_live, "{program} on {}", runtime.name);
                for calls in [&mut woven, &mut live] {
                    // To the tracker, steps of async methods are of the call that was written.
                    let is_told = |name: &str| !differs.iter().any(|known| name.starts_with(known)) && !name.contains(" [steps]");
                    calls.retain(|name, _| is_told(name));
                }
                assert_eq!(woven, live, "{program} {options:?} on {}", runtime.name);
            }
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn allocated_bytes_are_counted_in_memory() {
    for runtime in runtimes() {
        let (work, app) = (Work::new("allocations-in-memory"), sample("orders").join("orders.exe"));
        for (options, are_counted) in [(&["--rewrite"][..], false), (&["--rewrite", "--allocations"], true)] {
            let (_, errors, code) = said(&output(&mut work.live(&runtime, options, &app, &[])));
            assert_eq!(code, Some(3), "{errors}");
            let profile = profile_in(&work.profiles(&runtime));
            assert_eq!(profile.sum(profile::SampleType::ALLOCATED) > 0, are_counted, "{options:?} on {}", runtime.name);
            fs::remove_dir_all(work.profiles(&runtime)).expect("it was made");
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn each_call_of_each_thread_is_counted() {
    for runtime in runtimes() {
        let work = Work::new("threads");
        let Some(app) = work.app() else { return };
        let calls = work.recorded(&runtime, &[], &app, &["threads", "2000", "100"]);
        assert_eq!((calls["App::Work"], calls["App::Repeat"], calls["App::Threads"]), (200_000, 2000, 1));
        let profile = profile_in(&work.profiles(&runtime));
        assert_eq!(open_calls(&profile), 0);
        assert_eq!(profile.threads(), 2001);
        // Eight live at once, and how soon one gives its tree back is the system's to say.
        assert!(profile.trees.len() < 1000, "threads use the trees of those that have ended: {}", profile.trees.len());
    }
}

/// With hooks, no precompiled code is used, so the compiler has work in each program.
#[test]
#[ignore = "needs runtimes"]
fn compile_time_is_below_the_methods_that_wait_for_it() {
    for runtime in runtimes() {
        let work = Work::new("compile-time");
        let Some(app) = work.app() else { return };
        work.recorded(&runtime, &[], &app, &["exceptions"]);
        let mut files = fs::read_dir(work.profiles(&runtime)).expect("it is there").flatten();
        let bytes = fs::read(files.next().expect("a profile").path()).expect("it can be read");
        let profile = profile::Profile::parse(&bytes).expect("it is one");
        let place = profile.display_names().iter().position(|name| name == tests::JIT).expect("it has a row");
        let [calls, wall] = [SampleType::CALLS, SampleType::WALL].map(|of| profile.flat_by_function(of)[place]);
        assert!(calls == 0 && wall > 0 && wall < profile.sum(SampleType::WALL), "{}: {calls}, {wall}", runtime.name);
        let is_below = |node: &profile::model::Node| node.function != place || node.caller.is_some();
        assert!(profile.trees.iter().all(|tree| tree.nodes.iter().all(is_below)), "{}", runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn exceptions_end_the_calls_that_they_leave() {
    for runtime in runtimes() {
        let work = Work::new("exceptions");
        let Some(app) = work.app() else { return };
        let calls = work.recorded(&runtime, &[], &app, &["exceptions"]);
        let expected = [("Exceptions", 1), ("First", 10), ("Second", 10), ("Third", 10), ("Fourth", 6), ("Throws", 6)];
        for (method, times) in expected {
            assert_eq!(calls[&format!("App::{method}")], times, "{method}");
        }
        let profile = profile_in(&work.profiles(&runtime));
        assert_eq!(open_calls(&profile), 0);
        let main = profile.functions.iter().position(|function| function.name.as_ref().is_some_and(|name| name.method == "Main"));
        for tree in &profile.trees {
            // A handler calls on behalf of its own method, and not of the method that threw.
            for node in &tree.nodes {
                let name = |index: usize| profile.functions[tree.nodes[index].function].name.as_ref().expect("a name");
                let method = &profile.functions[node.function].name.as_ref().expect("a name").method;
                match (method.as_str(), node.caller) {
                    ("Exceptions", Some(caller)) => assert_eq!(Some(tree.nodes[caller].function), main),
                    ("First", Some(caller)) => assert_eq!(name(caller).method, "Exceptions"),
                    ("Second", Some(caller)) => assert_eq!(name(caller).method, "First"),
                    ("Third", Some(caller)) => assert_eq!(name(caller).method, "Second"),
                    _ => {}
                }
            }
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn deep_calls_are_recorded_to_their_depth() {
    for runtime in runtimes() {
        let work = Work::new("deep");
        let Some(app) = work.app() else { return };
        let calls = work.recorded(&runtime, &[], &app, &["deep", "3000"]);
        assert_eq!((calls["App::Deep"], calls["App::Work"]), (3001, 3001));
    }
}

#[test]
#[ignore = "needs runtimes"]
fn arguments_and_results_pass_by_the_hooks() {
    for runtime in runtimes() {
        let work = Work::new("registers");
        let Some(app) = work.app() else { return };
        // The test compares the output.
        let calls = work.recorded(&runtime, &[], &app, &["registers"]);
        for method in ["Many", "MakePair", "MakeLarge", "MakeDecimal", "MakeFloat"] {
            assert_eq!(calls[&format!("App::{method}")], 80_000, "{method}");
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn what_is_made_and_what_goes_is_no_trouble() {
    for runtime in runtimes() {
        let work = Work::new("made");
        let Some(app) = work.app() else { return };
        let calls = work.recorded(&runtime, &[], &app, &["dynamic"]);
        assert_eq!(calls["App::Work"], 100);
        fs::remove_dir_all(work.profiles(&runtime)).expect("there was a profile");
        let calls = work.recorded(&runtime, &[], &app, &["collectible", app.to_str().expect("a path")]);
        assert_eq!((calls["App::Work"], calls["App::Load"]), (200, 20));
        fs::remove_dir_all(work.profiles(&runtime)).expect("there was a profile");
        // A copy, so that what has no path is found by its bytes alone.
        let copy = work.folder.join("app.bin");
        fs::copy(&app, &copy).expect("it can be copied");
        let calls = work.recorded(&runtime, &[], &app, &["memory", copy.to_str().expect("a path")]);
        assert_eq!((calls["App::Work"], calls["App::Memory"]), (10, 1));
    }
}

/// The compiler's code was compiled ahead of time, which does not run in place of what is hooked or woven.
#[test]
#[ignore = "needs runtimes"]
fn the_compiler_is_recorded_while_it_compiles() {
    let Some(csc) = tests::require("ILINST_CSC") else { return };
    let ways = [&[][..], &["--rewrite"]];
    for (runtime, way) in Runtime::modern().into_iter().flat_map(|runtime| ways.map(|way| (runtime.clone(), way))) {
        let work = Work::new("compiler");
        let source = work.folder.join("hello.cs");
        fs::write(&source, "namespace System { public class Object { } public class Void { } }").expect("it can be written");
        let arguments = ["-nologo", "-noconfig", "-nostdlib", "-target:library", "-runtimemetadataversion:v4", "hello.cs"];
        let options = [way, &["--include=[Microsoft.CodeAnalysis*]Microsoft.CodeAnalysis.*"]].concat();
        let mut command = work.live(&runtime, &options, &csc, &arguments);
        let (text, errors, code) = said(&output(command.env("DOTNET_ROLL_FORWARD", "Major")));
        assert_eq!((text.as_str(), code), ("", Some(0)), "{errors}");
        assert!(work.folder.join("hello.dll").is_file());
        let calls = calls(&profile_in(&work.profiles(&runtime)));
        assert_eq!(calls["Microsoft.CodeAnalysis.CSharp.CSharpCompiler::CreateCompilation"], 1);
        assert!(calls.len() > 1000, "{}", calls.len());
        let is_noted = errors.contains("note ILI0002: ") && errors.contains("its ReadyToRun code is not used");
        assert_eq!(is_noted, !way.is_empty(), "{errors}");
        // Woven, what waits is counted by what is called, too.
        assert!(!way.is_empty() || calls.keys().all(|name| name.starts_with("Microsoft.CodeAnalysis.")));
    }
}
