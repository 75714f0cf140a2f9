//! Each example of the commands' help, and each command in the documents but for those that guides run, is run as it stands
//! there: in a folder that has the files that examples name, by their names. What an example is not run for stands in `NOT_RUN`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{References, compile_with, copy, ilinst, in_parallel, require, root, said, scratch};

use crate::{agree, link};

/// Examples that end by another exit code than 0.
const CODES: [(&str, i32); 7] = [
    ("ilinst diff ", 1),
    ("ilinst doctor woven/ app-4711.ilprof", 1),
    ("ilinst doctor app-4711.ilprof", 1),
    ("ilinst verify ", 0),
    ("ilinst instrument app.exe --preset classic=", 3),
    ("ilinst compare a/ b/", 1),
    ("ilinst compare base new ", 1),
];
/// Those of these that may also end by 0.
const MAY_SUCCEED: [&str; 4] =
    ["ilinst diff ", "ilinst doctor ", "ilinst compare ", "ilinst instrument app.exe --preset classic="];
/// Why some are not run.
const NOT_RUN: [(&str, &str); 7] = [
    ("ilinst report app-1234.ilprof --lines Order.cs", "its program has another source: tests/run/coverage.rs shows one"),
    ("ilinst report 1234 --watch", "it ends with its program: tests/run/live.rs watches one"),
    (
        "ilinst run --limit 3 -- mono orders.exe",
        "its program, samples/orders, is run by tests/run, and its time is the machine's",
    ),
    ("ilinst run -- dotnet run", BY_SDK),
    ("ilinst run -- dotnet test", BY_SDK),
    ("ILINST_OUTPUT=$PWD/tests.ilprof dotnet test", BY_SDK),
    ("ilinst tests tests.ilprof", "it needs the profile of a test run: tests/msbuild/which_tests.rs makes one by an SDK"),
];
const BY_SDK: &str = "it needs an SDK: tests/launch/sdk.rs runs such commands by that of .NET 10";
/// Replacements for waits in examples that take longer than a test has.
const SHORTER: [(&str, &str); 2] = [("--for 30s", "--for 100ms"), ("--for 2m", "--for 100ms")];
/// The process that examples name.
const PROCESS: &str = "4711";

/// Makes what examples name, in the order in which it can be made.
const PREPARE: &str = r#"
set -e
mkdir -p base new Game_Data/Managed tests publish bin/Release/net10.0 net48 net8.0 build1 build2 runs/main runs/branch before after a b src home/.zfunc home/.local/share/bash-completion/completions
cp app.exe app.dll
printf '#!/bin/sh\nexec dotnet "$(dirname "$0")/app.dll" "$@"\n' > bin/Release/net10.0/app; chmod +x bin/Release/net10.0/app
for folder in publish bin bin/Release/net10.0 build1 build2; do cp app.dll app.pdb app.runtimeconfig.json $folder/; done
cp app.dll Game_Data/Managed/Assembly-CSharp.dll; cp app.dll app.pdb tests/
for library in lib-1.0.dll lib-1.1.dll net48/lib.dll net8.0/lib.dll a.dll b.dll; do cp lib.dll $library; done
for version in 1.0 1.1; do
  mkdir -p lib/netstandard2.0; cp lib.dll lib/netstandard2.0/
  echo "<package><metadata><id>lib</id><version>$version</version><authors>a</authors><description>d</description></metadata></package>" > lib.nuspec
  python3 -m zipfile -c lib.$version.nupkg lib.nuspec lib; rm -r lib lib.nuspec
done
printf "exclude = ['*::get_Name']\n" > ilinst.toml
ilinst instrument app.dll -o woven/ -q --no-config
ILINST_OUTPUT=$PWD/app-1234.ilprof dotnet woven/app.dll
ilinst run -q --no-report --lines --capture args,return --keep=captured -- dotnet app.dll
mv captured/*.ilprof app-1234.ilprof; rmdir captured
for profile in app-4711 before after a1 a2 b1 b2 web-1 web-2 worker-1 runs/main/1 runs/main/2 runs/branch/1 runs/branch/2 before/1 before/2 after/1 after/2 a/1 a/2 b/1 b/2 base/1 base/2 new/1 new/2 Game-4711 all
do cp app-1234.ilprof $profile.ilprof; done
ilinst export app-1234.ilprof --to parquet -o lake/ > log.txt; mv $(find lake -name '*.parquet') day.parquet; rm -r lake log.txt
ilinst export app-1234.ilprof --to folded -o stacks.folded > log.txt; rm log.txt
cp app-1234.ilprof current.ilprof
git init -q .
"#;

/// Replacements for other tools: `jq` wants JSON, the others take any input.
const STAND_INS: [(&str, &str); 5] = [
    ("jq", "#!/bin/sh\nexec python3 -c 'import json, sys; json.load(sys.stdin)'\n"),
    ("inferno-flamegraph", "#!/bin/sh\nexec grep ' [0-9]'\n"),
    ("inferno-collapse-perf", "#!/bin/sh\ncat >/dev/null; echo 'main;work 3'\n"),
    ("perf", "#!/bin/sh\nexit 0\n"),
    ("xdg-open", "#!/bin/sh\nexit 0\n"),
];

/// Examples that are run one after another, in one folder.
struct Block {
    /// The origin of the examples.
    name: String,
    examples: Vec<String>,
}

/// The examples of each command's help: lines that are indented by two, as far as what is said of them.
fn of_help() -> Vec<Block> {
    let block = |words: &String| {
        let help = agree::printed(&words.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
        let marks = ["\nExamples:\n", "\nTry:\n"];
        let (_, text) = marks.iter().find_map(|mark| help.split_once(mark))?;
        let lines = text.split("\n\n").next().unwrap_or_default().lines();
        let lines = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
        Some(Block { name: format!("ilinst {words} --help"), examples: lines.map(command_in).collect() })
    };
    agree::commands().keys().filter_map(block).collect()
}

/// A command in a line, without what is said of it, behind two spaces.
fn command_in(line: &str) -> String {
    line.split("  ").next().unwrap_or_default().to_owned()
}

/// The commands of documents that no other test runs: in blocks for a shell, those that begin with `ilinst`.
fn of_documents() -> Vec<Block> {
    let blocks = |name: String| {
        let text = fs::read_to_string(root().join(&name)).expect("it is there").replace("\\\n", " ");
        // Guides are run, but for what is for other programs than those that they come with.
        let kinds = if name.starts_with("docs/guide/") { &["sh"][..] } else { &["console", "sh"] };
        let (mut blocks, mut is_shell) = (Vec::new(), false);
        for line in text.lines() {
            if let Some(kind) = line.strip_prefix("```") {
                is_shell = kinds.contains(&kind);
                blocks.push(Block { name: name.clone(), examples: Vec::new() });
            } else if let Some(block) = blocks.last_mut().filter(|_| is_shell) {
                let command = line.strip_prefix("$ ").unwrap_or(line).split(" # ").next().unwrap_or_default().trim();
                block.examples.extend(command.starts_with("ilinst ").then(|| command.to_owned()));
            }
        }
        blocks
    };
    documents().into_iter().flat_map(blocks).filter(|block| !block.examples.is_empty()).collect()
}

/// The documents that git knows, by their paths from the root.
fn documents() -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "*.md"]).current_dir(root());
    let (names, errors, code) = said(&git.output().expect("git starts"));
    assert_eq!(code, Some(0), "{errors}");
    names.lines().map(str::to_owned).collect()
}

/// Why an example is not run.
fn reason(example: &str) -> Option<&'static str> {
    NOT_RUN.iter().find(|(begin, _)| example.starts_with(begin)).map(|(_, reason)| *reason)
}

#[test]
fn each_reason_is_of_an_example() {
    let blocks: Vec<Block> = of_help().into_iter().chain(of_documents()).collect();
    let examples: BTreeSet<&str> = blocks.iter().flat_map(|block| &block.examples).map(String::as_str).collect();
    assert!(examples.len() > 100, "{examples:?}");
    let begins = NOT_RUN.iter().map(|(begin, _)| begin).chain(SHORTER.iter().map(|(text, _)| text));
    let unused: Vec<&&str> = begins.filter(|text| !examples.iter().any(|example| example.contains(**text))).collect();
    assert!(unused.is_empty(), "no example is {unused:?}");
}

/// Makes the folder that each block begins with; and `bin` beside it, with what is on the path.
fn prepare(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let (prepared, bin) = (folder.join("prepared"), folder.join("bin"));
    for made in [&prepared, &bin] {
        fs::create_dir(made).expect("a folder can be made");
    }
    link(ilinst().get_program().as_ref(), &bin.join("ilinst"));
    for (name, variable) in [("dotnet", "ILINST_DOTNET8"), ("mono", "ILINST_MONO")] {
        link(&require(variable)?, &bin.join(name));
    }
    for (name, script) in STAND_INS {
        fs::write(bin.join(name), script).expect("it can be written");
        tests::make_executable(&bin.join(name));
    }
    let source = root().join("tests/docs/programs/Examples.cs");
    compile_with(&source, &prepared.join("app.exe"), References::All, &[], &["-debug:portable"])?;
    let key = root().join("tracker-runtime/ilinst.snk");
    fs::copy(&key, prepared.join("lib.snk")).expect("it can be copied");
    let signed = format!("-keyfile:{}", key.display());
    compile_with(&source, &prepared.join("lib.dll"), References::All, &[], &["-debug:portable", &signed])?;
    for hooks in ["Stopwatches", "ProfileInfoTracker"] {
        let source = root().join(format!("samples/hooks/{hooks}.cs"));
        if source.is_file() {
            compile_with(&source, &prepared.join(hooks).with_extension("dll"), References::All, &[], &[])?;
        }
    }
    fs::write(prepared.join("my.cs"), "namespace My { public static class Spans { public static void Enter(string fullName) { } public static void Leave() { } } }")
        .expect("it can be written");
    compile_with(&prepared.join("my.cs"), &prepared.join("My.dll"), References::All, &[], &[])?;
    let (text, code) = shell(PREPARE, &prepared, &bin);
    assert_eq!(code, Some(0), "{text}");
    Some((prepared, bin))
}

/// Runs a script in a folder; what it printed, and its exit code.
fn shell(script: &str, folder: &Path, bin: &Path) -> (String, Option<i32>) {
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(folder);
    bash.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").expect("there is a PATH")));
    bash.env("HOME", folder.join("home")).env("PROFILE", folder.join("profile.ps1")).env("TMPDIR", folder);
    bash.env("ILINST_CACHE", folder.join("cache")).env("PAGER", "cat").env_remove("ILINST_OUTPUT");
    bash.env("DOTNET_ROOT", tests::tool("ILINST_DOTNET8").and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default());
    let (text, _, code) = said(&bash.output().expect("bash starts"));
    (text, code)
}

/// The program whose process the examples of a block name.
fn program_of(name: &str) -> &'static str {
    if name.contains(" attach ") { "app.dll" } else { "woven/app.dll" }
}

/// Runs a block's examples; what of them is wrong.
fn wrong(block: &Block, folder: &Path, bin: &Path) -> Vec<String> {
    const END: &str = "-- end of an example:";
    let examples: Vec<&String> = block.examples.iter().filter(|example| reason(example).is_none()).collect();
    let runs: Vec<String> = examples
        .iter()
        .map(|example| SHORTER.iter().fold((*example).clone(), |text, (long, short)| text.replace(long, short)))
        .collect();
    let names_process = runs.iter().any(|run| run.split_whitespace().any(|word| word == PROCESS));
    let mut script = String::from("set -o pipefail\n");
    if names_process {
        // It has written its first line when it can be asked.
        script += &format!(
            "rm -f *.ilprof; mkfifo in out; ILINST_MODE=exact dotnet {} wait <in >out & process=$!; exec 8>in 9<out; read -r line <&9; [ \"$line\" = ready ]\n",
            program_of(&block.name)
        );
    }
    for run in &runs {
        let run = if names_process { run.replace(PROCESS, "$process") } else { run.clone() };
        script += &format!("(\n{run}\n)\necho \"{END} $?\"\n");
    }
    if names_process {
        script += "exec 8>&-; wait $process\n";
    }
    let (text, _) = shell(&script, folder, bin);
    let mut answers = Vec::new();
    let mut printed = String::new();
    for line in text.lines() {
        match line.split_once(END) {
            Some((before, code)) => {
                answers.push((std::mem::take(&mut printed) + before, code.trim().parse::<i32>().expect("a number")));
            }
            None => printed += &format!("{line}\n"),
        }
    }
    assert_eq!(answers.len(), examples.len(), "{}: the shell did not come to the end:\n{text}", block.name);
    let is_wrong = |(example, (_, code)): &(&&String, &(String, i32))| {
        let wanted = CODES.iter().find(|(begin, _)| example.starts_with(begin)).map_or(0, |(_, code)| *code);
        let may_succeed = MAY_SUCCEED.iter().any(|begin| example.starts_with(begin));
        *code != wanted && !(may_succeed && *code == 0)
    };
    let wrong = examples.iter().zip(&answers).filter(is_wrong);
    wrong
        .map(|(example, (printed, code))| format!("{}\n$ {example}\nexit code {code}, printed:\n{printed}", block.name))
        .collect()
}

fn run(name: &str, blocks: &[Block]) {
    let folder = scratch(&format!("docs-{name}"));
    let Some((prepared, bin)) = prepare(&folder) else { return };
    let wrong: Vec<Vec<String>> = in_parallel(&blocks.iter().enumerate().collect::<Vec<_>>(), |_, (number, block)| {
        let own = folder.join(number.to_string());
        copy(&prepared, &own);
        wrong(block, &own, &bin)
    });
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs .NET and Mono"]
fn examples_of_help_are_run() {
    run("examples", &of_help());
}

#[test]
#[ignore = "needs .NET and Mono"]
fn commands_in_documents_are_run() {
    run("commands", &of_documents());
}
