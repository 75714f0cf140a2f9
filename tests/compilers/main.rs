//! Instrumented compilers produce the same output as the original ones.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use profile::rows::SortBy;
use tests::{Runtime, first_in_tier, ilinst, instrument, profile_in, require, root, sample, scratch};

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn roslyn_woven_compiles_to_the_same_bytes() {
    let needed = (Runtime::find(".NET 8"), require("ILINST_SDK"), require("ILINST_MONO_LIB"));
    let (Some(runtime), Some(sdk), Some(mono)) = needed else { return };
    let folder = scratch("roslyn");
    let compiler = sdk.join("Roslyn/bincore");
    let ways = [("finally", "--embed=false"), ("return", "--embed=false"), ("finally", "--embed")];
    for (mode, embed) in first_in_tier(&ways, 1) {
        let woven = folder.join(format!("{mode}{embed}"));
        // The whole folder is instrumented: two large ReadyToRun images, the programs around them, and a deps.json for each.
        instrument(&[&compiler, &"-o", &woven, &"--leave", &mode, &embed, &"--all-assemblies", &"-q"]);
        let compile = |compiler: &Path| {
            let output = folder.join("orders.exe");
            let mut command = runtime.program(&compiler.join("csc.dll"), &folder);
            command.env("DOTNET_ROLL_FORWARD", "Major");
            command.args(["-nologo", "-noconfig", "-nostdlib", "-deterministic", "-optimize+", "-unsafe", "-langversion:latest"]);
            for library in ["mscorlib.dll", "System.dll", "System.Core.dll"] {
                command.arg(format!("-r:{}", mono.join("4.7.2-api").join(library).display()));
            }
            for source in ["common/Count.cs", "orders/Model.cs", "orders/Program.cs"] {
                command.arg(root().join("samples").join(source));
            }
            assert!(command.arg(format!("-out:{}", output.display())).status().expect("it starts").success());
            fs::read(output).expect("it was compiled")
        };
        assert!(compile(&compiler) == compile(&woven), "the woven compiler makes other bytes");
        let profile = profile_in(&folder);
        let rows = profile.rows(SortBy::Name);
        let named = |name: &str| rows.iter().any(|row| row.raw_name.as_deref() == Some(name));
        assert!(
            named("Microsoft.CodeAnalysis.CSharp.MethodCompiler::CompileMethodBodies"),
            "the profile names the compiler's methods"
        );
        assert!(named("Microsoft.CodeAnalysis.CommonCompiler::Run"), "of both assemblies");
        assert!(rows.len() > 3000 && rows.iter().all(|row| row.raw_name.is_some()), "{} methods", rows.len());
        if *mode == "finally" {
            // Threads of the pool may be anywhere when the program ends; the main thread's methods have all returned.
            let unbalanced: Vec<_> = rows.iter().filter(|row| row.calls != row.leaves + row.open).map(|row| &row.name).collect();
            assert!(unbalanced.is_empty(), "entered and not left: {unbalanced:?}");
        }
        let calls: u64 = rows.iter().map(|row| row.calls).sum();
        println!("roslyn by {mode} {embed}: {} methods, {calls} calls", rows.len());
        remove_profiles(&folder);
    }
}

fn remove_profiles(folder: &Path) {
    let files = fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path());
    let profiles = files.filter(|path| path.extension().is_some_and(|extension| extension == "ilprof"));
    profiles.for_each(|path| fs::remove_file(path).expect("it can be removed"));
}

#[test]
#[ignore = "needs Mono"]
fn mcs_woven_compiles_the_same_program() {
    let needed = (Runtime::find("Mono"), require("ILINST_MONO_LIB"), require("ILINST_MONODIS"));
    let (Some(runtime), Some(library), Some(monodis)) = needed else { return };
    let folder = scratch("mcs");
    let mcs = library.join("4.5/mcs.exe");
    instrument(&[&mcs, &"-o", &folder.join("woven/"), &"-q"]);
    instrument(&[&mcs, &"-o", &folder.join("embedded/"), &"--embed", &"-q"]);
    let compile = |compiler: &Path| {
        let output = folder.join("hello.exe");
        let mut command = runtime.program(compiler, &folder);
        command.arg(root().join("samples/hello/Program.cs")).arg(root().join("samples/common/Count.cs"));
        assert!(command.arg(format!("-out:{}", output.display())).status().expect("it starts").success());
        let listing = Command::new(&monodis).arg(&output).output().expect("monodis starts");
        assert!(listing.status.success());
        let run = runtime.program(&output, &folder).output().expect("it starts");
        // mcs gives each file a new MVID, and derives names from it.
        let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
        (
            listing
                .lines()
                .filter(|line| !line.contains("GUID =") && !line.contains("<PrivateImpl"))
                .map(str::to_owned)
                .collect::<Vec<_>>(),
            run.stdout,
        )
    };
    let original = compile(&mcs);
    assert!(original.0.len() > 100);
    assert_eq!(compile(&folder.join("embedded/mcs.exe")), original);
    let embedded = profile_in(&folder).rows(SortBy::Name).len();
    remove_profiles(&folder);
    assert_eq!(compile(&folder.join("woven/mcs.exe")), original);
    let expected = runtime.program(&sample("hello").join("hello.exe"), &folder).output().expect("it starts");
    assert_eq!(original.1, expected.stdout);
    let profile = profile_in(&folder);
    let rows = profile.rows(SortBy::Calls);
    assert!(rows.iter().any(|row| row.raw_name.as_deref() == Some("Mono.CSharp.Driver::Compile")));
    assert_eq!(rows.len(), embedded);
    println!("mcs: {} methods", rows.len());
}

/// The methods that Mono's compiler generates for async methods, iterators and lambdas: each with its result, and its source
/// method if it is a step.
const MADE_BY_MCS: &[(&str, &str)] = &[
    ("P::Work", "woven"),
    ("P::Lines", "generated"),
    ("P::Once", "woven"),
    ("P::<Once>m__0", "woven = P::Once [lambda]"),
    ("P/<Work>c__async0::MoveNext", "woven = P::Work [steps]"),
    ("P/<Work>c__async0::SetStateMachine", "generated"),
    ("P/<Lines>c__Iterator1::.ctor", "generated"),
    ("P/<Lines>c__Iterator1::MoveNext", "woven = P::Lines [steps]"),
    ("P/<Lines>c__Iterator1::Dispose", "woven"),
    ("P/<Lines>c__Iterator1::Reset", "generated"),
    ("P/<Lines>c__Iterator1::<>__Finally0", "woven"),
    ("P/<Lines>c__Iterator2::MoveNext", "woven = P::Lines [steps]"),
    ("P/<Lines>c__Iterator2::Dispose", "generated"),
    ("P/<Once>c__AnonStorey3::.ctor", "generated"),
    ("P/<Once>c__AnonStorey3::<>m__0", "woven = P::Once [lambda]"),
];

#[test]
#[ignore = "needs Mono"]
fn what_mcs_makes_is_known() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("mcs-made");
    let (source, program) = (folder.join("made.cs"), folder.join("made.exe"));
    let code = r#"
        using System; using System.Collections.Generic; using System.Threading.Tasks;
        class P {
            static async Task Work() { await Task.Delay(1); Console.WriteLine("work"); }
            static IEnumerable<int> Lines(int n) { try { yield return n; } finally { Console.WriteLine("done"); } }
            static IEnumerable<string> Lines(string n) { Console.WriteLine(n); yield return n; }
            static void Once(int n) {
                Action one = () => Console.WriteLine("one"), other = () => Console.WriteLine(n);
                one(); other();
            }
            static void Main() {
                Work().Wait(); Once(2);
                foreach (int n in Lines(1)) { Console.WriteLine(n); }
                foreach (string n in Lines("n")) { Console.WriteLine(n); }
            }
        }"#;
    fs::write(&source, code).expect("it can be written");
    let status = Command::new(mcs).arg(&source).arg(format!("-out:{}", program.display())).status();
    assert!(status.expect("mcs starts").success());
    let listing = ilinst().args(["list", "--methods", "--json"]).arg(&program).output().expect("ilinst runs");
    let listing: serde_json::Value = serde_json::from_slice(&listing.stdout).expect("JSON");
    let found: BTreeMap<String, String> = listing["methods"]
        .as_array()
        .expect("methods")
        .iter()
        .map(|method| {
            let text = |key: &str| method[key].as_str().unwrap_or_default().to_owned();
            let source = method["source"].as_str().map(|source| format!(" = {source}")).unwrap_or_default();
            (format!("{}::{}", text("type"), text("name")), text("decision") + &source)
        })
        .collect();
    for (method, expected) in MADE_BY_MCS {
        assert_eq!(found.get(*method).map(String::as_str), Some(*expected), "{method} of {found:#?}");
    }
    // Steps pass the ids of their source methods; two methods of one name have different ids.
    instrument(&[&program, &"-o", &folder.join("woven/"), &"-q"]);
    let Some(runtime) = Runtime::find("Mono") else { return };
    let output = runtime.program(&folder.join("woven/made.exe"), &folder).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "work\none\n2\n1\ndone\nn\nn\n");
    let profile = profile_in(&folder);
    let rows = profile.rows(SortBy::Calls);
    let tokens: Vec<_> = rows.iter().filter(|row| row.raw_name.as_deref() == Some("P::Lines")).map(|row| row.calls).collect();
    assert_eq!(tokens, [2, 2], "a step for each item, and one for the end");
    assert!(rows.iter().all(|row| !row.raw_name.as_deref().unwrap_or_default().contains("MoveNext")));
}
