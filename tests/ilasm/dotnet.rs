//! `ilinst dis` and back by .NET's ilasm: `diff` finds nothing but headers that ilasm writes anew, and programs run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{
    References, Runtime, compile_with, dotnets_ilasm, ilinst, in_parallel, in_tier, require, root, said, sample, scratch,
    skip_part, tool,
};

/// Options of the compiler for `words.cs`.
const OPTIONS: [&str; 2] = ["-unsafe", "-nullable:enable"];
fn ilasm() -> Option<PathBuf> {
    let found = dotnets_ilasm();
    if found.is_none() {
        skip_part(".NET's ilasm");
    }
    found
}

/// Disassembles a file and assembles it again.
fn again(ilasm: &Path, file: &Path, folder: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).expect("a folder can be made");
    let text = folder.join("text.il");
    let (_, errors, code) = said(&ilinst().arg("dis").arg(file).arg("-o").arg(&text).output().expect("ilinst runs"));
    if code != Some(0) {
        return Err(format!("dis: {errors}"));
    }
    let output = folder.join(file.file_name().expect("a file has a name"));
    let kind = if file.extension().is_some_and(|extension| extension == "dll") { "-dll" } else { "-exe" };
    let mut command = Command::new(ilasm);
    command.current_dir(folder).args([kind, "-nologo", "-quiet"]).arg(format!("-output={}", output.display())).arg(&text);
    let (out, errors, code) = said(&command.output().expect("ilasm starts"));
    if code == Some(0) { Ok(output) } else { Err(format!("ilasm: {out}{errors}")) }
}

/// Returns the changes that `diff` shows beside the headers. ilasm names parameters without a name: `A_0`.
fn differences(before: &Path, after: &Path) -> Vec<String> {
    let mut command = ilinst();
    command.args(["diff", "--json", "--ignore", "mvid,references"]).arg(before).arg(after);
    let (text, errors, _) = said(&command.output().expect("ilinst runs"));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"));
    let changes = value["changes"].as_array().expect("there is a list");
    let changes = changes.iter().filter(|change| change["kind"] != "header" && !is_of_parameter_names(change));
    changes.map(ToString::to_string).collect()
}

/// Whether a method's only change is a parameter that ilasm has named.
fn is_of_parameter_names(change: &serde_json::Value) -> bool {
    let Some([hunk]) = change["hunks"].as_array().map(Vec::as_slice) else { return false };
    let lines = |sign: char| {
        let lines = hunk["lines"].as_array().into_iter().flatten().filter_map(|line| line.as_str()?.strip_prefix(sign));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (removed, added) = (lines('-'), lines('+'));
    let without = |line: &String| (0..9).fold(line.clone(), |line, number| line.replace(&format!(" A_{number}"), ""));
    removed.len() == 1 && added.len() == 1 && added.iter().map(without).eq(removed)
}

#[test]
#[ignore = "needs .NET's ilasm and SDK 10"]
fn assemblies_are_assembled_again_by_dotnet() {
    let Some(ilasm) = ilasm() else { return };
    let Some(sdk) = tool("ILINST_SDK10") else { return skip_part("assemblies of SDK 10") };
    let framework = sdk.with_file_name("shared").join("Microsoft.NETCore.App/10.0.12");
    let mut files: Vec<PathBuf> = fs::read_dir(framework).expect("it is there").flatten().map(|entry| entry.path()).collect();
    let name = |file: &Path| file.file_name().expect("a file has a name").to_string_lossy().into_owned();
    files.retain(|file| name(file).starts_with("System.") && name(file).ends_with(".dll"));
    files.sort();
    files.truncate(100);
    let mut files = in_tier(files, 8);
    files.extend(["hello", "orders", "shapes", "endings", "odd", "traces"].map(|name| sample(name).join(format!("{name}.exe"))));
    files.push(sample("modern").join("modern.dll"));
    let folder = scratch("ilasm-dotnet");
    let outcomes = in_parallel(&files, |worker, file| {
        let assembled = again(&ilasm, file, &folder.join(worker.to_string()).join(name(file)));
        let found = assembled.map_or_else(|error| vec![error], |assembled| differences(file, &assembled));
        found.into_iter().map(|found| format!("{}: {found}", file.display())).collect::<Vec<_>>()
    });
    let failures = outcomes.concat();
    println!("{} files", files.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Constructs of C# that Mono's ilasm has no words for, or takes for others.
#[test]
#[ignore = "needs .NET's ilasm and SDK 10"]
fn programs_run_the_same_after_dotnets_ilasm() {
    let Some(ilasm) = ilasm() else { return };
    let folder = scratch("ilasm-dotnet-run");
    let file = folder.join("words.exe");
    if compile_with(&root().join("tests/ilasm/words.cs"), &file, References::RuntimeAsync, &[], &OPTIONS).is_none() {
        return;
    }
    let assembled = again(&ilasm, &file, &folder.join("again")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(differences(&file, &assembled), [""; 0]);
    fs::copy(file.with_extension("runtimeconfig.json"), assembled.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    for runtime in Runtime::suspending() {
        let run = |program: &Path| {
            let mut command = runtime.program(program, &folder);
            said(&command.env("DOTNET_RuntimeAsync", "1").output().expect("it starts"))
        };
        let (before, after) = (run(&file), run(&assembled));
        assert_eq!(before.2, Some(100), "{}: {before:?}", runtime.name);
        assert_eq!(before, after, "{}", runtime.name);
    }
}

/// Mono's ilasm takes the text for it too. What it has no words for is left out.
#[test]
#[ignore = "needs Mono and SDK 10"]
fn the_text_for_monos_ilasm_leaves_out_what_it_has_no_words_for() {
    let Some(ilasm) = require("ILINST_ILASM") else { return };
    let folder = scratch("ilasm-mono-words");
    let file = folder.join("words.exe");
    if compile_with(&root().join("tests/ilasm/words.cs"), &file, References::RuntimeAsync, &[], &OPTIONS).is_none() {
        return;
    }
    crate::round_trip(&ilasm, &file, &folder).unwrap_or_else(|error| panic!("{error}"));
}
