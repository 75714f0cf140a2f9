//! Selectors choose methods by their kind: a selector, and the methods of `selectors/app.cs` that it names.

use std::{fs, path::Path, process::Command};

use tests::{Runtime, ilinst, instrument, profile_in, require, root, said, sample, scratch};

/// The options, and what is woven then, by simple names; what the compiler made goes by the method that it was made of.
const CHOSEN: &[(&[&str], &str)] = &[
    (&["--include", "App::Quick(int, *)"], "Quick"),
    (&["--include", "App::Quick(int)"], "Quick"),
    (&["--include", "App::Quick(*, string)", "--include", "App::Quick(int)"], "Quick, Quick"),
    (&["--include", "App::Quick(string)"], ""),
    (&["--include", "attribute:ToMeasure"], "Long"),
    (&["--include", "attribute:ToMeas*"], "Long"),
    (&["--include", "attribute:App.ToMeasure"], ""),
    // Marked::Left has the attribute NoInstrument, whatever is asked for.
    (&["--include", "Marked"], ""),
    (&["--include", "Partly"], "Kept"),
    (&["--include", "kind:accessor", "--exclude", "App/*"], "get_Value, set_Value"),
    (&["--include", "kind:constructor", "--exclude", "*Attribute", "--exclude", "kind:generated"], ".ctor"),
    (&["--include", "kind:async", "--exclude", "*SetStateMachine"], "Async, Async [steps]"),
    (
        &["--include", "App::Items", "--include", "kind:iterator", "--exclude", "App/*::*.*", "--exclude", "App/*::Dispose"],
        "Items, Items [steps]",
    ),
    (&["--include", "kind:lambda"], "Main [lambda]"),
    (&["--include", "visibility:protected"], "Long"),
    (
        &[
            "--include",
            "visibility:internal",
            "--include",
            "visibility:private",
            "--exclude",
            "kind:generated",
            "--exclude",
            "App/*",
        ],
        "Quick, Quick",
    ),
    (
        &[
            "--include",
            "App::*",
            "--exclude",
            "il:..20",
            "--exclude",
            "App/*",
            "--exclude",
            "kind:lambda",
            "--exclude",
            "kind:async",
            "--exclude",
            "kind:iterator",
        ],
        "Main, Long",
    ),
    (&["--only-hot", "{profile}", "--include", "App::Long", "--include", "App::Never"], "Long"),
    (&["--except-noise", "{profile}", "--include", "App::Long"], "Long"),
];

#[test]
#[ignore = "needs Mono"]
fn methods_are_chosen_by_what_they_are() {
    let (Some(mcs), Some(runtime)) = (require("ILINST_MCS"), Runtime::find("Mono")) else { return };
    let folder = scratch("selectors");
    let program = folder.join("app.exe");
    let mut compiler = Command::new(mcs);
    compiler.current_dir(&folder).arg("-out:app.exe").arg(root().join("tests/run/selectors/app.cs"));
    assert_eq!(said(&compiler.output().expect("it starts")).2, Some(0));
    let woven = folder.join("woven/app.exe");
    instrument(&[&program, &"-o", &woven, &"--all", &"-q"]);
    assert_eq!(said(&runtime.program(&woven, &folder).output().expect("the runtime starts")).2, Some(0));
    profile_in(&folder);
    let profile = fs::read_dir(&folder).expect("it is there").flatten().map(|entry| entry.path());
    let profile = profile.filter(|path| path.extension().is_some_and(|extension| extension == "ilprof")).collect::<Vec<_>>();

    let mut failures = Vec::new();
    for (options, expected) in CHOSEN {
        let options = options.iter().map(|option| option.replace("{profile}", &profile[0].to_string_lossy()));
        let options: Vec<String> = options.collect();
        let found = chosen(&program, &options);
        if found != *expected {
            failures.push(format!("{options:?}: {found}, and not {expected}"));
        }
        // The same from a file.
        if let [option, value] = &options[..] {
            let key = option.trim_start_matches("--");
            let value = if key == "include" { format!("[{value:?}]") } else { format!("{value:?}") };
            fs::write(folder.join("ilinst.toml"), format!("{key} = {value}\n")).expect("it can be written");
            let found = chosen(&program, &[]);
            fs::remove_file(folder.join("ilinst.toml")).expect("it can be removed");
            if found != *expected {
                failures.push(format!("{key} = {value}: {found}, and not {expected}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));

    let mut explain = ilinst();
    explain.arg("explain").arg(&program).args(["App::Never", "--only-hot"]).arg(&profile[0]);
    let (says, ..) = said(&explain.output().expect("it starts"));
    assert!(
        says.contains(
            "skipped, excluded: in the profile it took less than 1 % of the slowest method's time, or was not called\n"
        ),
        "{says}"
    );
}

/// A probe would take longer than a short method and all that it calls.
#[test]
#[ignore = "needs Mono"]
fn methods_that_only_call_what_is_skipped_are_skipped() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("selectors-forwarders");
    let mut compiler = Command::new(mcs);
    compiler.current_dir(&folder).args(["-optimize", "-out:app.exe"]).arg(root().join("tests/run/selectors/forwarders.cs"));
    assert_eq!(said(&compiler.output().expect("it starts")).2, Some(0));
    let program = folder.join("app.exe");
    let listed = list(&program, &[]);
    let text = |method: &serde_json::Value, key: &str| method[key].as_str().expect("it is text").to_owned();
    let decisions: Vec<(String, String)> = listed
        .iter()
        .map(|method| (format!("{}::{}", text(method, "type"), text(method, "name")), text(method, "decision")))
        .collect();
    for (name, decision) in &decisions {
        let simple = name.rsplit("::").next().unwrap_or_default();
        let simple = simple.strip_prefix("get_").unwrap_or(simple);
        let expected = match simple {
            _ if simple.starts_with("Skipped") || simple.starts_with("op_") || name == "Derived::.ctor" => "short",
            _ if simple.starts_with("Kept") => "woven",
            _ => continue,
        };
        assert_eq!(*decision, expected, "{name}: {decisions:?}");
    }
    let of = |name: &str| {
        decisions.iter().filter(|(found, _)| *found == name).map(|(_, decision)| decision.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        (of("Base::.ctor"), of("Node::.ctor"), of("Derived::.ctor")),
        (vec!["short"], vec!["short"], vec!["short", "short"])
    );
    let all = list(&program, &["--min-il".into(), "0".into()]);
    assert!(all.iter().all(|method| method["decision"] != "short"), "{all:?}");
    let explain = said(&ilinst().arg("explain").arg(&program).arg("Node::SkippedTwice").output().expect("it starts"));
    assert!(
        explain.0.contains("7 bytes of IL without a loop, which only calls methods that are skipped, limit 48"),
        "{explain:?}"
    );
}

/// Of an assembly that has the attribute, nothing is woven.
#[test]
#[ignore = "needs Mono"]
fn a_marked_assembly_is_left_alone() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("selectors-marked");
    let mut compiler = Command::new(mcs);
    compiler.current_dir(&folder).args(["-define:MARKED", "-out:app.exe"]).arg(root().join("tests/run/selectors/app.cs"));
    assert_eq!(said(&compiler.output().expect("it starts")).2, Some(0));
    let program = folder.join("app.exe");
    assert_eq!(chosen(&program, &[]), "");
    let explain = said(&ilinst().arg("explain").arg(&program).arg("App::Long").output().expect("it starts"));
    assert!(explain.0.contains("it has the attribute NoInstrument, or its type or assembly has"), "{explain:?}");
}

/// Source files are those of a PDB.
#[test]
fn methods_are_chosen_by_their_source_file() {
    let orders = sample("orders").join("orders.exe");
    let of = |file: &str| chosen(&orders, &["--include".into(), format!("file:{file}")]);
    let (program, model, both) = (of("Program.cs"), of("orders/Model.cs"), of("*.cs"));
    assert!(program.split(", ").any(|name| name == "Ship") && !model.split(", ").any(|name| name == "Ship"), "{program}");
    assert!(model.split(", ").any(|name| name == "get_Total") && !program.split(", ").any(|name| name == "get_Total"), "{model}");
    assert!(both.len() > program.len() + model.len() && of("None.cs").is_empty(), "{both}");
}

/// A program's methods, with what would become of them.
fn list(program: &Path, options: &[String]) -> Vec<serde_json::Value> {
    let mut command = ilinst();
    command.arg("list").arg("--json").arg("--methods").arg(program).args(options);
    let (out, errors, code) = said(&command.output().expect("it starts"));
    assert_eq!(code, Some(0), "{errors}");
    let listed: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    listed["methods"].as_array().expect("it has methods").clone()
}

/// The simple names of what would be woven, in the order of the rows.
fn chosen(program: &Path, options: &[String]) -> String {
    let methods = list(program, &[options, &["--all".to_owned()]].concat());
    let woven = methods.iter().filter(|method| method["decision"] == "woven");
    let name = |method: &serde_json::Value| {
        let name = method["source"].as_str().or(method["name"].as_str()).unwrap_or_default();
        name.rsplit("::").next().unwrap_or_default().to_owned()
    };
    woven.map(name).collect::<Vec<_>>().join(", ")
}

/// Nothing is wrong with an assembly of interfaces, nor with one that the patterns leave out for another.
#[test]
#[ignore = "needs Mono"]
fn assemblies_without_work_are_warned_of_where_that_is_news() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("selectors-nothing");
    for (name, text) in [
        ("Shapes", "public interface IShape { int Area(); }"),
        (
            "Work",
            "public static class Work { public static int Sum(int[] all) { int sum = 0; foreach (int one in all) sum += one; return sum; } }",
        ),
        (
            "Other",
            "public static class Other { public static int Max(int[] all) { int max = 0; foreach (int one in all) max = one; return max; } }",
        ),
    ] {
        let source = folder.join(format!("{name}.cs"));
        fs::write(&source, text).expect("it can be written");
        let out = format!("-out:{}", folder.join("app").join(format!("{name}.dll")).display());
        fs::create_dir_all(folder.join("app")).expect("it can be made");
        let compiled = said(&Command::new(&mcs).args(["-target:library", &out]).arg(&source).output().expect("it starts"));
        assert_eq!(compiled.2, Some(0), "{compiled:?}");
    }
    let warnings = |input: &Path, options: &[&str]| {
        let mut command = ilinst();
        command.arg("instrument").arg(input).args(["--dry-run", "--no-config"]).args(options);
        let (out, errors, code) = said(&command.output().expect("it runs"));
        assert_eq!(code, Some(0), "{errors}");
        out.matches("ILI0006").count()
    };
    let app = folder.join("app");
    assert_eq!(warnings(&app, &[]), 0);
    assert_eq!(warnings(&app, &["--include", "Work"]), 0);
    assert_eq!(warnings(&app, &["--include", "Nobody"]), 1);
    assert_eq!(warnings(&app.join("Shapes.dll"), &["--message-format", "msbuild"]), 0);
    assert_eq!(warnings(&app.join("Shapes.dll"), &[]), 1);
}
