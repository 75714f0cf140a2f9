//! `--rewrite`: what is woven in memory is what would be in a file.

use std::ffi::OsStr;

use super::{counts::by_run, *};
use tests::{
    instrument,
    live::{program_of_values, without_times},
    sample,
};

const SAMPLES: [&str; 4] = ["orders", "endings", "odd", "shapes"];
const REWRITE: [&str; 1] = ["--live"];

#[test]
fn measurements_that_need_probes_are_refused_with_hooks() {
    for option in ["--mode=count", "--mode=sampled", "--mode=trace", "--clock=program"] {
        let refused = said(&output(ilinst().args(["run", "--live", "--hooks", option, "--", "dotnet", "app.dll"])));
        assert!(refused.2 == Some(2) && refused.1.contains("leave out --hooks"), "{option}: {refused:?}");
    }
}

/// The bodies of a program as a runtime has them, in text, and what was said aside.
fn bodies(work: &Work, command: &mut Command, of: &Path) -> (String, String) {
    let (text, errors, code) = said(&output(command.arg(of).current_dir(&work.folder)));
    assert_eq!(code, Some(0), "{}: {errors}", of.display());
    (text, errors)
}

#[test]
#[ignore = "needs runtimes"]
fn bodies_are_as_in_a_woven_file() {
    for runtime in runtimes() {
        let (work, own) = (Work::new("bodies"), Work::new("bodies-own"));
        let printer = own.folder.join("bodies.exe");
        let Some(()) = compile(&root().join("tests/live/bodies.cs"), &printer, References::All, &[]) else { return };
        // Some of another sample's are none that can be printed.
        for name in SAMPLES.into_iter().filter(|name| *name != "odd") {
            let app = sample(name).join(name).with_extension("exe");
            for options in [&["--calls=none"][..], &["--all"], &["--leave=return"]] {
                let woven = work.folder.join(options.concat()).join(name).with_extension("exe");
                let mut arguments: Vec<&dyn AsRef<OsStr>> = vec![&app, &"-o", &woven];
                arguments.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
                instrument(&arguments);
                let (expected, _) = bodies(&work, &mut runtime.program(&printer, &work.folder), &woven);
                let options = [&["--rewrite"], options].concat();
                let (found, errors) = bodies(&work, &mut own.live(&runtime, &options, &printer, &[]), &app);
                assert!(expected.contains("WhenEntering"), "{name} {options:?}");
                assert!(expected == found, "{name} {options:?} on {}: {errors}\n{expected}\n---\n{found}", runtime.name);
            }
        }
    }
}

#[test]
#[ignore = "needs runtimes"]
fn the_profile_is_a_woven_files() {
    for runtime in runtimes() {
        for program in SAMPLES {
            let (work, app) = (Work::new("rewritten"), sample(program).join(program).with_extension("exe"));
            for options in [&[][..], &["--all"], &["--leave=return"]] {
                let (mut woven, ended) = by_run(&work, &runtime, options, &app);
                let (mut live, ended_live) = by_run(&work, &runtime, &[options, &REWRITE].concat(), &app);
                assert_eq!(ended, ended_live, "{program} on {}", runtime.name);
                for calls in [&mut woven, &mut live] {
                    // How often a call waits is the threads' to say.
                    calls.retain(|name, _| !name.contains(" [steps]"));
                }
                assert!(!woven.is_empty());
                assert_eq!(woven, live, "{program} {options:?} on {}", runtime.name);
            }
        }
    }
}

/// The arguments of the program, and the calls of its methods.
type Way<'w> = (&'w [&'w str], &'w [(&'w str, i64)]);

#[test]
#[ignore = "needs runtimes"]
fn programs_run_as_they_would() {
    for runtime in runtimes() {
        let work = Work::new("rewriting");
        let Some(app) = work.app() else { return };
        // An assembly without a path is found by its bytes alone.
        let copy = work.folder.join("app.bin");
        fs::copy(&app, &copy).expect("it can be copied");
        let (own, copy) = (app.to_str().expect("a path"), copy.to_str().expect("a path"));
        let ways: [Way<'_>; 7] = [
            (&["threads", "200", "100"], &[("App::Work", 20_000), ("App::Repeat", 200)]),
            (&["exceptions"], &[("App::First", 10), ("App::Fourth", 6)]),
            (&["registers"], &[("App::Many", 80_000), ("App::MakePair", 80_000)]),
            (&["dynamic"], &[("App::Work", 100)]),
            (&["collectible", own], &[("App::Work", 200), ("App::Load", 20)]),
            (&["unhandled"], &[("App::Work", 1)]),
            (&["memory", copy], &[("App::Work", 10), ("App::Memory", 1)]),
        ];
        for (arguments, expected) in ways {
            let _ = fs::remove_dir_all(work.profiles(&runtime));
            let calls = work.recorded(&runtime, &["--rewrite"], &app, arguments);
            for (method, times) in expected {
                assert_eq!(calls.get(*method), Some(times), "{method} of {arguments:?} on {}", runtime.name);
            }
        }
    }
}

/// Where a runtime loads no tracker, hooks record the program.
#[test]
#[ignore = "needs runtimes"]
fn hooks_record_a_program_that_loads_no_tracker() {
    // Older ones have no way to refuse.
    for runtime in Runtime::modern() {
        let work = Work::new("no-tracker");
        let Some(app) = work.app() else { return };
        let check = |command: &mut Command, why: &str| {
            let (text, errors, code) = said(&output(command));
            assert_eq!((text.as_str(), code), ("work 0\n", Some(42)), "{}: {errors}", runtime.name);
            assert!(errors.contains("recorded by hooks") && errors.contains(why), "{}: {errors}", runtime.name);
            assert_eq!(calls(&profile_in(&work.profiles(&runtime))).get("App::Main"), Some(&1), "{}", runtime.name);
            fs::remove_dir_all(work.profiles(&runtime)).expect("it is there");
        };
        let program = runtime.program(&app, &work.folder);
        let mut words = vec!["-u", "DOTNET_STARTUP_HOOKS", program.get_program().to_str().expect("text")];
        words.extend(program.get_args().map(|word| word.to_str().expect("text")));
        words.push("once");
        let mut command = work.live(&runtime, &["--rewrite", "--all"], Path::new("env"), &[]);
        let mut without_hooks = ilinst();
        let options = command.get_args().take_while(|word| *word != "--");
        without_hooks.args(options).args(["--", "env"]).args(words).current_dir(&work.folder);
        tests::take_environment(&mut without_hooks, &command);
        check(&mut without_hooks, "taken out of its environment");

        let configuration = app.with_extension("runtimeconfig.json");
        let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&configuration).expect("it is there")).expect("JSON");
        json["runtimeOptions"]["configProperties"] = serde_json::json!({ "System.StartupHookProvider.IsSupported": false });
        fs::write(&configuration, json.to_string()).expect("it can be written");
        command = work.live(&runtime, &["--rewrite", "--all"], &app, &["once"]);
        check(&mut command, "System.StartupHookProvider.IsSupported is false");
    }
}

/// Values are those that a program keeps whose files are woven.
#[test]
#[ignore = "needs runtimes"]
fn values_are_a_woven_files() {
    for runtime in Runtime::modern() {
        let work = Work::new("rewritten-values");
        let Some(program) = program_of_values(&work.folder) else { return };
        let options = ["--all", "--calls=none", "--capture=args,return,this,exception"];
        let mut live = work.live(&runtime, &[&options[..], &["--rewrite"]].concat(), &program, &["calls"]);
        let mut woven = ilinst();
        woven.args(live.get_args().filter(|word| *word != "--live" && *word != "--rewrite")).current_dir(&work.folder);
        tests::take_environment(&mut woven, &live);
        let [live, woven] = [&mut live, &mut woven].map(|command| {
            let (_, errors, code) = said(&output(command));
            assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
            let profile = fs::read_dir(work.profiles(&runtime)).expect("it is there").flatten().next().expect("a profile").path();
            let (text, errors, code) = said(&output(ilinst().args(["report", "--calls", "--limit=0"]).arg(profile)));
            assert_eq!(code, Some(0), "{}: {errors}", runtime.name);
            fs::remove_dir_all(work.profiles(&runtime)).expect("it is there");
            without_times(&text)
        });
        assert!(live.len() > 20, "{live:?}");
        assert_eq!(live, woven, "{}", runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn what_cannot_be_woven_is_said() {
    for runtime in runtimes() {
        let work = Work::new("not-woven");
        let Some(app) = work.app() else { return };
        let woven = work.folder.join("woven/app.exe");
        instrument(&[&app as &dyn AsRef<OsStr>, &"-o", &woven]);
        let (text, errors, code) = said(&output(&mut work.live(&runtime, &["--rewrite"], &woven, &["once"])));
        assert_eq!((text.as_str(), code), ("work 0\n", Some(42)), "{errors}");
        let line = format!("ilinst: skipped: {}: it is instrumented already", woven.display());
        assert!(errors.contains(&line), "{line}\n{errors}");
    }
}
