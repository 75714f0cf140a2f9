//! The differences between two versions of a program, compiled by Roslyn and by Mono's compiler. A case is a file: the two
//! sources, then calls with their output for either compiler. `BLESS=1` writes the current output.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use tests::{References, compile, ilinst, require, root, said, scratch};

/// Compiles a source with one of the compilers.
fn build(compiler: &str, source: &Path, output: &Path) -> Option<()> {
    if compiler == "csc" {
        return compile(source, output, References::All, &[]);
    }
    let mut command = Command::new(require("ILINST_MCS")?);
    command.args(["-nologo", "-optimize+", "-target:library"]).arg(format!("-out:{}", output.display())).arg(source);
    assert!(command.output().expect("the compiler starts").status.success(), "{}", source.display());
    Some(())
}

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn what_differs_between_two_sources_is_shown() {
    tests::check_cases(&root().join("tests/diff/cases"), run);
}

/// Returns the case with the current output of its calls; `None` if a compiler is missing.
fn run(case: &Path, text: &str) -> Option<String> {
    let name = case.file_stem().expect("a case has a name").to_string_lossy();
    let folder = scratch(&format!("diff-{name}"));
    let mut sections = text.split("\n=== ");
    let mut actual = sections.next().unwrap_or_default().trim_end().to_owned();
    let mut calls: BTreeMap<usize, &str> = BTreeMap::new();
    for (number, section) in sections.enumerate() {
        let (head, rest) = section.split_once('\n').unwrap_or((section, ""));
        if !head.starts_with("diff") {
            fs::write(folder.join(format!("{head}.cs")), rest).expect("it can be written");
            actual.push_str(&format!("\n=== {head}\n{}", rest.trim_end()));
        } else if !head.contains(": ") {
            calls.insert(number, head);
        }
    }
    for compiler in ["csc", "mcs"] {
        for side in ["before", "after"] {
            // The module has the same name on both sides.
            let output = folder.join(compiler).join(side).join("Work.dll");
            fs::create_dir_all(output.parent().expect("it is in a folder")).expect("a folder can be made");
            build(compiler, &folder.join(format!("{side}.cs")), &output)?;
        }
    }
    for call in calls.into_values() {
        actual.push_str(&format!("\n=== {call}"));
        for compiler in ["csc", "mcs"] {
            let mut command = ilinst();
            command.args(["diff", "before/Work.dll", "after/Work.dll"]).current_dir(folder.join(compiler));
            let output = command.args(call.split(' ').skip(1).map(|word| word.trim_matches('\''))).output();
            let (out, errors, code) = said(&output.expect("ilinst runs"));
            actual.push_str(&format!("\n=== diff: {compiler}, exit {}\n{}", code.unwrap_or(-1), mvids(&(out + &errors))));
        }
    }
    Some(actual.trim_end().to_owned() + "\n")
}

/// Returns the output without MVIDs, which each build creates anew.
fn mvids(printed: &str) -> String {
    let line = |line: &str| match line.split_once("MVID: ") {
        Some((before, _)) => format!("{before}MVID: ..."),
        None => line.to_owned(),
    };
    printed.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}
