//! A profile while its program runs: read, watched, copied, and told what to do; and after the program was killed.

use std::{
    fs,
    process::{Child, Command},
};

use serde_json::Value;
use tests::{Runtime, ilinst, instrument, require, root, said, sample, scratch, step, until, waiting};

/// How often each `Work` is called for a line.
const ROUND: i64 = 100;

#[test]
#[ignore = "needs .NET and Mono"]
fn a_running_program_is_watched_and_told_what_to_do() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("live");
    let program = folder.join("live.exe");
    let mut compiler = Command::new(mcs);
    let compiled = compiler.arg(format!("-out:{}", program.display())).arg(root().join("tests/run/live.cs")).output();
    assert!(compiled.expect("it starts").status.success());
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))
        .expect("it is there");
    let woven = folder.join("woven/live.exe");
    instrument(&[&program, &"-o", &woven, &"--all", &"--capture=args", &"-q"]);
    for runtime in Runtime::all() {
        println!("{}", runtime.name);
        let work = scratch("live-work");
        let mut running = Running(waiting(&mut runtime.program(&woven, &work)));
        let pid = running.0.id().to_string();
        let run = |arguments: &[&str]| said(&ilinst().current_dir(&work).args(arguments).output().expect("it starts"));
        let json = |arguments: &[&str]| -> Value {
            let (text, errors, code) = run(&[&["report", "--json"], arguments].concat());
            assert_eq!(code, Some(0), "{errors}");
            serde_json::from_str(&text).expect("it is JSON")
        };
        let worked = |arguments: &[&str]| calls(&json(arguments), "Live.Work(int)");
        step(&mut running.0);
        let waits = "System.Threading.Thread.Sleep  [waits]";
        until("all names are written", || {
            let tree = run(&["report", &pid, "--tree"]).0;
            ["Live.Work(int)", "Live.Work(string)", waits].iter().all(|name| tree.contains(name)).then_some(())
        });
        let report = json(&[&pid]);
        assert_eq!(report["end"], "still running");
        assert_eq!(["Live.Work(int)", "Live.Work(string)"].map(|name| calls(&report, name)), [ROUND; 2], "{report}");
        assert_eq!(json(&[])["pid"], report["pid"], "the newest is found");
        // It slept a millisecond in each turn.
        assert!(report["waitingMs"].as_f64() > Some(0.9 * ROUND as f64), "{report}");
        // Nothing is recorded while it is paused, nor kept of single calls, below.
        assert_eq!(run(&["mark", &pid, "load"]).0, format!("process {pid}: marked\n"));
        step(&mut running.0);
        assert_eq!(run(&["pause", &pid]).0, format!("process {pid}: paused\n"));
        step(&mut running.0);
        assert_eq!(worked(&[&pid]), 2 * ROUND);
        assert_eq!(run(&["resume", &pid]).0, format!("process {pid}: recording\n"));
        step(&mut running.0);
        assert_eq!(worked(&[&pid]), 3 * ROUND);
        // Phases are told apart, and what was before a reset is left out.
        assert_eq!(run(&["mark", &pid, "rest"]).2, Some(0));
        step(&mut running.0);
        assert_eq!(
            [&["--phase", "load"], &["--phase", "rest"]].map(|phase| worked(&[&[pid.as_str()], &phase[..]].concat())),
            [2 * ROUND, ROUND]
        );
        assert_eq!(run(&["report", &pid, "--phase", "none"]).2, Some(2));
        assert_eq!(run(&["reset", &pid]).0, format!("process {pid}: reset\n"));
        assert_eq!(worked(&[&pid]), 0);
        step(&mut running.0);
        assert_eq!(worked(&[&pid]), ROUND);
        // A copy stays as it is.
        assert_eq!(run(&["snapshot", &pid, "-o", "copy.ilprof"]).2, Some(0));
        step(&mut running.0);
        let copy = json(&["copy.ilprof"]);
        assert_eq!((&copy["end"], calls(&copy, "Live.Work(int)")), (&"still running".into(), ROUND));
        running.0.kill().expect("it runs");
        running.0.wait().expect("it ends");
        assert_eq!(json(&["copy.ilprof"]), copy);
        fs::remove_file(work.join("copy.ilprof")).expect("it is there");
        // A killed program leaves everything it had recorded.
        let report = json(&[]);
        assert_eq!((&report["end"], calls(&report, "Live.Work(int)")), (&"was cut off".into(), 2 * ROUND));
        // The single calls are those of the table.
        for phase in [&[][..], &["--phase=load"], &["--phase=rest"]] {
            let single = json(&[phase, &["--calls", "--method=Live.Work", "--where=times > 0"]].concat());
            assert_eq!(single["count"], worked(phase), "{phase:?}");
        }
        let (_, errors, code) = run(&["pause", &pid]);
        assert_eq!(code, Some(3));
        assert!(errors.contains("error ILI0023:") && errors.contains("is gone"), "{errors}");
    }
}

fn calls(report: &Value, name: &str) -> i64 {
    let methods = report["methods"].as_array().expect("there are methods");
    methods.iter().find(|method| method["name"] == name).map_or(0, |method| method["calls"].as_i64().expect("a number"))
}

/// A program that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
