//! The time in the JIT compiler is what the runtime tells the program.

use std::{fs, path::Path, process::Command};

use profile::{Profile, SampleType};
use tests::{JIT, Runtime, instrument, require, root, said, scratch};

/// The time in the JIT compiler below a method, in ms.
fn below(profile: &Profile, method: &str) -> f64 {
    let wall = profile.sample_types.iter().position(|of| *of == SampleType::WALL).expect("times were measured");
    let names = profile.display_names();
    let mut sum = 0;
    for tree in &profile.trees {
        for (index, node) in tree.nodes.iter().enumerate().filter(|(_, node)| names[node.function] == JIT) {
            let callers = std::iter::successors(node.caller, |caller| tree.nodes[*caller].caller);
            let is_below = callers.into_iter().any(|caller| names[tree.nodes[caller].function] == method);
            sum += if is_below { tree.values[wall][index] } else { 0 };
        }
    }
    profile.milliseconds(sum)
}

/// Runs the program. Returns the time that it reports, in ms, and its profile.
fn run(runtime: &Runtime, program: &Path, settings: &[(&str, &str)]) -> (f64, Profile) {
    let work = scratch("jit-work");
    let mut command = runtime.program(program, &work);
    command.env("ILINST_OUTPUT", "jit.ilprof").envs(settings.iter().copied());
    let (text, errors, code) = said(&command.output().expect("it starts"));
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{}: {text}", runtime.name);
    let profile = Profile::parse(&fs::read(work.join("jit.ilprof")).expect("it is there")).expect("it is a profile");
    // 10,000 ticks are a millisecond.
    (text.trim().parse::<f64>().expect("a number") / 1e4, profile)
}

#[test]
#[ignore = "needs .NET and Mono"]
fn compile_time_is_what_the_runtime_tells() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("jit");
    let (program, woven) = (folder.join("program.exe"), folder.join("woven/program.exe"));
    let source = root().join("tests/run/jit/program.cs");
    let output = Command::new(mcs).arg(format!("-out:{}", program.display())).arg(source).output().expect("it starts");
    assert!(output.status.success(), "{:?}", said(&output));
    fs::copy(root().join("samples/hello/bin/hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    instrument(&[&program, &"-o", &woven, &"--min-il", &"0", &"-q"]);
    for runtime in Runtime::all() {
        let (told, profile) = run(&runtime, &woven, &[]);
        let found = below(&profile, "Program.Measured");
        if runtime.is_mono() || runtime.name.contains("3.1") {
            assert!(told == 0.0 && !profile.display_names().iter().any(|name| name == JIT), "{}: {found} ms", runtime.name);
            continue;
        }
        // The compiler also compiles the tracker's methods, some of them behind the program's last look.
        assert!((0.8..1.2).contains(&(found / told)), "{}: {found} ms, and {told} ms by the runtime", runtime.name);
        assert!(told > 1.0, "{}: {told} ms", runtime.name);
        let rows = profile.rows(profile::rows::SortBy::default());
        let row = rows.iter().find(|row| row.name == JIT).expect("it has a row");
        assert!(
            (row.calls, row.waiting_ms) == (0, 0.0) && row.self_ms >= found && row.raw_name.as_deref() == Some(JIT),
            "{row:?}"
        );
        let (_, sampled) = run(&runtime, &woven, &[("ILINST_MODE", "sampled")]);
        assert!(!sampled.display_names().iter().any(|name| name == JIT), "{}", runtime.name);
    }
}
