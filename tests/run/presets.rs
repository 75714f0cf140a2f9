//! Presets of hooks: spans that the program's own listener hears, and counts of calls.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use profile::rows::SortBy;
use tests::{References, Runtime, compile, ilinst, profile_in, require, root, said, sample, scratch};

use crate::MODES;

/// The assemblies of .NET 8 that the program uses.
const REFERENCES: [&str; 5] =
    ["System.Private.CoreLib", "System.Runtime", "System.Console", "System.Collections", "System.Diagnostics.DiagnosticSource"];
/// Each span when it ends: what it is of, in which one, and how it went.
const SPANS: [&str; 7] = [
    "#Shop::Inner in Shop::Outer Unset",
    "#Shop::Inner in Shop::Outer Unset",
    "#Shop::Inner in Shop::Outer Unset",
    "#Shop::Outer in nothing Unset",
    "#Shop::Inner in Shop::Later Unset",
    "#Shop::Later in nothing Unset",
    "#Shop::Fails in nothing ErrorSystem.InvalidOperationException",
];

/// A program against .NET 8 itself.
fn program() -> Option<PathBuf> {
    let (dotnet, csc) = (require("ILINST_DOTNET8")?, require("ILINST_CSC")?);
    let frameworks = dotnet.parent()?.join("shared/Microsoft.NETCore.App");
    let is_8 = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("8."));
    let framework = fs::read_dir(frameworks).ok()?.flatten().map(|entry| entry.path()).find(is_8)?;
    let folder = scratch("presets-activity");
    let program = folder.join("app.dll");
    let mut compiler = Command::new(&dotnet);
    compiler.arg("exec").arg(csc).args(["-nologo", "-noconfig", "-nostdlib", "-optimize+", "-langversion:8", "-target:exe"]);
    compiler.args(REFERENCES.map(|name| format!("-r:{}", framework.join(format!("{name}.dll")).display())));
    compiler.arg(format!("-out:{}", program.display())).arg(root().join("tests/run/presets/app.cs"));
    let compiled = said(&compiler.output().expect("the compiler starts"));
    assert_eq!(compiled.2, Some(0), "{compiled:?}");
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    Some(program)
}

#[test]
#[ignore = "needs .NET 8"]
fn a_listener_hears_a_span_of_each_call() {
    let (Some(program), Some(runtime)) = (program(), Runtime::find(".NET 8")) else { return };
    let folder = program.parent().expect("it is in a folder");
    let before = said(&runtime.program(&program, folder).output().expect("the runtime starts"));
    assert_eq!((before.0.as_str(), before.2), ("10\n", Some(10)), "{before:?}");
    for mode in MODES {
        let woven = folder.join(mode);
        let mut command = ilinst();
        command.arg("instrument").arg(&program).args(["--preset=activity", "--include=Shop::*", "--min-il=0", "-q"]);
        let wove = said(&command.args(["--leave", mode, "-o"]).arg(woven.join("")).output().expect("it starts"));
        assert_eq!(wove.2, Some(0), "{wove:?}");
        let after = said(&runtime.program(&woven.join("app.dll"), folder).output().expect("the runtime starts"));
        let (spans, own): (Vec<&str>, Vec<&str>) = after.0.lines().partition(|line| line.starts_with('#'));
        assert_eq!((own, after.2), (vec!["10"], Some(10)), "{mode}: {after:?}");
        assert_eq!(spans, SPANS, "{mode}");
    }
}

/// As the tracker counts them, but for what compilers made; an iterator is counted when it is called, and not each step.
#[test]
#[ignore = "needs .NET and Mono"]
fn each_call_is_counted() {
    const ITERATORS: [&str; 2] = ["Orders.Order::GetEnumerator", "Orders.Program::Primes"];
    let folder = scratch("presets-coverage");
    let original = sample("orders").join("orders.exe");
    let weave = |name: &str, options: &[&str]| {
        let mut command = ilinst();
        command.arg("instrument").arg(&original).args(["--all", "-q", "-o"]).arg(folder.join(name).join("")).args(options);
        let woven = said(&command.output().expect("it starts"));
        assert_eq!(woven.2, Some(0), "{woven:?}");
        folder.join(name).join("orders.exe")
    };
    let (tracked, covered) = (weave("tracked", &[]), weave("covered", &["--preset=coverage"]));
    for runtime in Runtime::all() {
        let work = scratch("presets-coverage-work");
        let list = folder.join("orders.tsv");
        let run = |program: &Path| {
            let mut command = runtime.program(program, &work);
            said(&command.env("ILINST_COVERAGE", &list).output().expect("the runtime starts"))
        };
        let before = run(&original);
        assert_eq!((run(&tracked), run(&covered)), (before.clone(), before), "{}", runtime.name);
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for line in fs::read_to_string(&list).expect("it was written").lines() {
            let (calls, method) = line.split_once('\t').expect("two columns");
            *counted.entry(method.to_owned()).or_default() += calls.parse::<u64>().expect("a number");
        }
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        for row in profile_in(&work).rows(SortBy::Name) {
            *seen.entry(row.raw_name.unwrap_or_default()).or_default() += row.calls;
        }
        seen.retain(|method, _| counted.contains_key(method) && !ITERATORS.contains(&method.as_str()));
        assert!(seen.len() > 30 && seen["Orders.Program::Main"] == 1, "{}: {seen:?}", runtime.name);
        counted.retain(|method, _| !method.contains('<') && !ITERATORS.contains(&method.as_str()));
        assert_eq!(counted, seen.into_iter().filter(|(method, _)| !method.contains('<')).collect(), "{}", runtime.name);
    }
}

/// The hooks of samples/hooks/README.md compile, are woven in, and print on standard error.
#[test]
#[ignore = "needs .NET and Mono"]
fn the_samples_are_hooks() {
    const SAMPLES: [(&str, &[&str], &str); 2] = [
        ("ProfileInfoTracker", &["--preset=classic=ProfileInfoTracker.dll"], " deep, "),
        (
            "Stopwatches",
            &["--enter=Stopwatches.dll!Samples.Stopwatches::Enter", "--leave=Stopwatches.dll!Samples.Stopwatches::Leave"],
            "Orders.Program::Main took ",
        ),
    ];
    let (folder, original) = (scratch("presets-samples"), sample("orders").join("orders.exe"));
    for (name, options, seen) in SAMPLES {
        let library = folder.join(name).with_extension("dll");
        let source = root().join("samples/hooks").join(name).with_extension("cs");
        let Some(()) = compile(&source, &library, References::All, &[]) else { return };
        let mut command = ilinst();
        command.arg("instrument").arg(&original).args(["-q", "-o"]).arg(folder.join(name).join("")).args(options);
        let woven = said(&command.current_dir(&folder).output().expect("it starts"));
        assert_eq!(woven.2, Some(0), "{woven:?}");
        for runtime in Runtime::all() {
            let run = |program: &Path| said(&runtime.program(program, &folder).output().expect("the runtime starts"));
            let (before, after) = (run(&original), run(&folder.join(name).join("orders.exe")));
            assert_eq!((&after.0, after.2), (&before.0, before.2), "{name} on {}", runtime.name);
            assert!(after.1.contains(seen), "{name} on {}: {}", runtime.name, after.1);
        }
    }
}
