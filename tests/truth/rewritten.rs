//! Programs that another tool changed after they were woven: no method has another's name.

use std::{collections::BTreeMap, ffi::OsStr, fs, path::Path, process::Command};

use tests::{References, Report, compile, instrument, require, said, scratch};

use crate::on_each;

/// How often `Rewritten.cs` calls its methods.
const CALLS: [(&str, u64); 17] = [
    ("Shop.Box`1/Lid::Turn", 4),
    ("Shop.Box`1::Map", 5),
    ("Shop.Program/<>c::<Main>b__0_0", 5),
    ("Shop.Program::Main", 1),
    ("Shop.Program::Other", 1),
    ("Shop.Square::Shop.IShape.Area", 6),
    ("Shop.Square::get_Side", 2),
    ("Shop.Square::set_Side", 2),
    ("Shop.Work::Items", 9),
    (OVERLOADED, 9),
    (RENAMED, 7),
    ("Shop.Work::Spin", 14),
    ("Shop.Work::Step", 9),
    ("Shop.Work::Steps", 1),
    ("System.Threading.Tasks.Task::Wait", 1),
    ("System.Threading.Thread::Join", 1),
    ("System.Threading.Thread::Sleep", 3),
];
/// Two methods of one name, called 3 and 6 times.
const OVERLOADED: &str = "Shop.Work::Over";
/// A method that the tool renames.
const RENAMED: &str = "Shop.Work::Renamed";

/// Calls by the names in metadata; what has none is `?`.
fn calls(report: &Report) -> BTreeMap<&str, u64> {
    let mut calls = BTreeMap::new();
    for row in &report.rows {
        *calls.entry(row["rawName"].as_str().unwrap_or("?")).or_default() += row["calls"].as_u64().expect("calls");
    }
    calls
}

#[test]
#[ignore = "needs .NET and Mono"]
fn no_method_has_the_name_of_another() {
    let (Some(mono), Some(mcs), Some(library)) = (require("ILINST_MONO"), require("ILINST_MCS"), require("ILINST_MONO_LIB"))
    else {
        return;
    };
    let folder = scratch("truth-rewritten");
    let programs = tests::root().join("tests/truth/programs");
    let program = folder.join("original/rewritten.exe");
    if compile(&programs.join("Rewritten.cs"), &program, References::All, &[]).is_none() {
        return;
    }
    let (cecil, rewriter) =
        (library.join("gac/Mono.Cecil/0.11.0.0__0738eb9f132ed756/Mono.Cecil.dll"), folder.join("rewriter.exe"));
    fs::copy(&cecil, folder.join("Mono.Cecil.dll")).expect("Mono has Cecil");
    let run =
        |command: &mut Command| assert_eq!(said(&command.output().expect("it starts")), (String::new(), String::new(), Some(0)));
    let mut compiler = Command::new(mcs);
    compiler.arg(format!("-r:{}", cecil.display())).arg(format!("-out:{}", rewriter.display()));
    run(compiler.arg(programs.join("Rewriter.cs")));

    for (has_names, options) in [(false, &[][..]), (true, &["--names"])] {
        let (woven, out) = (folder.join(format!("woven{has_names}")), folder.join(format!("out{has_names}")));
        let mut arguments: Vec<&dyn AsRef<OsStr>> = vec![&program, &"-o", &woven];
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        instrument(&arguments);
        fs::create_dir(&out).expect("it can be made");
        for file in fs::read_dir(&woven).expect("it is there").flatten().filter(|file| !is_manifest(&file.path())) {
            fs::copy(file.path(), out.join(file.file_name())).expect("it can be copied");
        }
        run(Command::new(&mono).arg(&rewriter).arg(woven.join("rewritten.exe")).arg(out.join("rewritten.exe")));
        let all: BTreeMap<&str, u64> = CALLS.into();
        on_each(|runtime, wrong| {
            let profile = folder.join("run.ilprof");
            let _ = fs::remove_file(&profile);
            let mut command = runtime.program(&out.join("rewritten.exe"), &folder);
            let output = said(&command.env("ILINST_OUTPUT", &profile).output().expect("it starts"));
            assert_eq!(output, ("done\n".into(), String::new(), Some(0)), "{}", runtime.name);
            let mut hold = |what: &str, report: &Report, expected: &BTreeMap<&str, u64>| {
                let found = calls(report);
                if found != *expected {
                    wrong.push(format!("{what}, {options:?}: {found:?}"));
                }
            };
            // By the file that ran; what has another name in it is not called by that.
            let of_file = Report::of(&profile).expect("it can be reported");
            let mut known = all.clone();
            if !has_names {
                known.remove(RENAMED);
                known.insert("?", 7);
            }
            hold("with the file", &of_file, &known);
            // Of two with one name, each has its own parameters.
            let over: Vec<(&str, u64)> = of_file
                .of_method(OVERLOADED)
                .map(|row| (row["parameters"].as_str().unwrap_or_default(), row["calls"].as_u64().unwrap_or_default()))
                .collect();
            assert!(over.contains(&("int", 3)) && over.contains(&("string", 6)), "{over:?}");
            // By the profile alone.
            let gone = folder.join("gone");
            fs::rename(&out, &gone).expect("it can be renamed");
            let alone = Report::of(&profile).expect("it can be reported");
            if has_names {
                hold("alone", &alone, &all);
            } else {
                for (name, count) in calls(&alone) {
                    // One of two `Over` may have a row that another `Over` has now.
                    let is_right =
                        name == "?" || name == OVERLOADED && [3, 6, 9].contains(&count) || all.get(name) == Some(&count);
                    assert!(is_right, "{} says that {name} was called {count} times", runtime.name);
                }
                let notes = alone.document["limits"].to_string();
                assert!(notes.contains("rewritten.exe was changed after it was instrumented"), "{notes}");
            }
            // By the file that was woven.
            let of_woven = Report::with(&profile, &["--symbols", &woven.to_string_lossy()]).expect("it can be reported");
            hold("with the instrumented file", &of_woven, &all);
            fs::rename(&gone, &out).expect("it can be renamed");
        });
    }
}

fn is_manifest(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".ilinst.json")
}
