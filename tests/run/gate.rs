//! `samples/ci/performance.yml`: what its steps run, as it stands there, of a program that became slower, and of one that
//! became faster. In place of `dotnet publish` a program that is built is copied. How long the program takes depends on the machine: its runs
//! are profiles that are made, but with the full tier.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tests::{Runtime, ilinst, is_full, require, root, said, sample, scratch, workflow_steps, write_command};

use crate::builder;

/// In place of a run, for which the program has to be woven.
const STAND_IN: &str = r#"
if [ "$1" = publish ]; then exec cp -r "$2" "$6"; fi
[ -f "$(dirname "$1")/Ilinst.Tracker.dll" ] && [ "$2" = --benchmark ] || exit 9
runs=$(dirname "$ILINST_OUTPUT")
mkdir -p "$runs" && exec cp "made/$(basename "$(dirname "$runs")")-$(basename "$ILINST_OUTPUT")" "$ILINST_OUTPUT""#;

/// The profile of a run in which `Work` took so many ms.
fn made(work: u64) -> Vec<u8> {
    let work = work * 1000;
    builder::build(&format!(
        "profile end={}
module assembly=App name=App.dll
method 1 App.Program::Main
method 2 App.Program::Work
method 3 App.Startup::Load
tree
 Main calls=1 total={}
  Load calls=1 total=51000
   Work calls=1 total=50000
  Work calls=1 total={work}
",
        work + 60_000,
        work + 55_000
    ))
}

/// A folder as the job has it: two checkouts, and the commands that it uses.
struct Job {
    folder: PathBuf,
    runtime: Runtime,
}

impl Job {
    fn new() -> Option<Self> {
        let (mcs, dotnet) = (require("ILINST_MCS")?, require("ILINST_DOTNET8")?);
        let runtime = Runtime::find(".NET 8")?;
        let folder = scratch("gate");
        for (side, options) in [("base", "-define:FAST"), ("new", "-define:SLOW")] {
            let built = folder.join(side).join("src/App");
            fs::create_dir_all(&built).expect("a folder can be made");
            let (app, source) = (built.join("App.dll"), root().join("tests/run/gate/app.cs"));
            let mut compiler = Command::new(&mcs);
            compiler.args(["-optimize+", "-target:exe", options]).arg(format!("-out:{}", app.display())).arg(source);
            assert!(compiler.output().expect("the compiler starts").status.success());
            let configuration = sample("hello").join("hello.runtimeconfig.json");
            fs::copy(configuration, built.join("App.runtimeconfig.json")).expect("it can be copied");
        }
        let commands = folder.join("commands");
        fs::create_dir(&commands).expect("a folder can be made");
        let mut dotnet =
            format!("if [ \"$1\" = publish ]; then cp -r \"$2\" \"$6\"; else exec '{}' \"$@\"; fi", dotnet.display());
        if !is_full() {
            dotnet = STAND_IN.to_owned();
            fs::create_dir(folder.join("made")).expect("a folder can be made");
            for (side, run) in ["base", "new"].iter().flat_map(|side| (1..6).map(move |run| (side, run))) {
                let work = if *side == "base" { 200 } else { 1200 } + run;
                fs::write(folder.join(format!("made/{side}-{run}.ilprof")), made(work)).expect("it can be written");
            }
        }
        let ilinst = format!("exec '{}' \"$@\"", Path::new(ilinst().get_program()).display());
        for (name, script) in [("dotnet", dotnet), ("ilinst", ilinst), ("cargo", "echo \"cargo $*\"".into())] {
            write_command(&commands.join(name), &script);
        }
        Some(Self { folder, runtime })
    }

    /// Runs a step as GitHub does.
    fn step(&self, command: &str) -> Output {
        let mut shell = self.runtime.host(Path::new("bash"), &self.folder);
        let path = env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", self.folder.join("commands").display()));
        shell.args(["-e", "-c", command]).env("GITHUB_STEP_SUMMARY", self.folder.join("summary.md"));
        shell.output().expect("bash starts")
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_pull_request_that_makes_a_method_slower_fails() {
    let workflow = fs::read_to_string(root().join("samples/ci/performance.yml")).expect("it is there");
    let steps = workflow_steps(&workflow);
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["", "Build and weave", "Run in turn", "Compare"]);
    let [(_, install), (_, build), (_, run), (_, compare)] = &steps[..] else { panic!("four steps") };
    let Some(job) = Job::new() else { return };
    let done = |command: &str| {
        let output = job.step(command);
        assert!(output.status.success(), "{command}\n{:?}", said(&output));
        said(&output).0
    };
    assert!(done(install).starts_with("cargo install "));
    done(build);
    done(run);
    let failed = said(&job.step(compare));
    assert_eq!(failed.2, Some(1), "{failed:?}");
    for expected in ["App.Program.Work: self", "--fail-if 'program.running > +5%': the program"] {
        assert!(failed.1.contains(expected), "{expected}: {}", failed.1);
    }
    let summary = job.folder.join("summary.md");
    let text = fs::read_to_string(&summary).expect("it was written");
    assert!(text.contains("5 runs against 5 runs") && text.contains("| `App.Program.Work` |"), "{text}");

    // The other way around it is faster.
    for (from, to) in [("base", "was"), ("new", "base"), ("was", "new")] {
        fs::rename(job.folder.join(from), job.folder.join(to)).expect("it can be renamed");
    }
    fs::remove_file(&summary).expect("it is there");
    done(compare);
    let text = fs::read_to_string(&summary).expect("it was written");
    assert!(text.contains("**0 methods slower, 2 faster,") || text.contains("**0 methods slower, 1 faster,"), "{text}");
}
