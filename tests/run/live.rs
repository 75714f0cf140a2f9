//! A profile while its program runs: read, watched, copied, and told what to do; and after the program was killed.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;
use tests::{Runtime, ilinst, instrument, require, root, said, sample, scratch};

/// How many calls may begin, one each millisecond, while a mark finds what each node has.
const WHILE_COUNTED: i64 = 20;

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
        let mut command = runtime.program(&woven, &work);
        let mut running = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the runtime starts"));
        let output = running.0.stdout.take().expect("it was asked for");
        assert_eq!(BufReader::new(output).lines().next().and_then(Result::ok).as_deref(), Some("ready"));
        let pid = running.0.id().to_string();
        let run = |arguments: &[&str]| said(&ilinst().current_dir(&work).args(arguments).output().expect("it starts"));
        let json = |arguments: &[&str]| -> Value {
            let (text, errors, code) = run(&[&["report", "--json"], arguments].concat());
            assert_eq!(code, Some(0), "{errors}");
            serde_json::from_str(&text).expect("it is JSON")
        };
        // Names are there within a second or so.
        thread::sleep(Duration::from_millis(2500));
        let report = json(&[&pid]);
        assert_eq!(report["end"], "still running");
        let (work_int, work_string) = (calls(&report, "Live.Work(int)"), calls(&report, "Live.Work(string)"));
        assert!(work_int > 100 && (work_int - work_string).abs() < 2, "{report}");
        assert_eq!(json(&[])["pid"], report["pid"], "the newest is found");
        let waits = run(&["report", &pid, "--tree"]).0;
        assert!(waits.contains("System.Threading.Thread.Sleep  [waits]"), "{waits}");
        assert!(report["waitingMs"].as_f64() > report["runningMs"].as_f64(), "{report}");
        // Nothing is recorded while it is paused, nor kept of single calls, below.
        assert_eq!(run(&["mark", &pid, "load"]).0, format!("process {pid}: marked\n"));
        assert_eq!(run(&["pause", &pid]).0, format!("process {pid}: paused\n"));
        thread::sleep(Duration::from_millis(300));
        let before = calls(&json(&[&pid]), "Live.Work(int)");
        thread::sleep(Duration::from_millis(300));
        assert_eq!(calls(&json(&[&pid]), "Live.Work(int)"), before);
        assert_eq!(run(&["resume", &pid]).0, format!("process {pid}: recording\n"));
        thread::sleep(Duration::from_millis(500));
        let after = calls(&json(&[&pid]), "Live.Work(int)");
        assert!(after > before, "{after}");
        // Phases are told apart, and what was before a reset is left out.
        thread::sleep(Duration::from_millis(300));
        assert_eq!(run(&["mark", &pid, "rest"]).2, Some(0));
        let load = calls(&json(&[&pid, "--phase", "load"]), "Live.Work(int)");
        assert!(0 < load && load < after, "{load}");
        assert_eq!(run(&["report", &pid, "--phase", "none"]).2, Some(2));
        assert_eq!(run(&["reset", &pid]).0, format!("process {pid}: reset\n"));
        let since = calls(&json(&[&pid]), "Live.Work(int)");
        assert!(since < after, "{since} of {after}");
        // A copy stays as it is.
        assert_eq!(run(&["snapshot", &pid, "-o", "copy.ilprof"]).2, Some(0));
        let copy = json(&["copy.ilprof"]);
        assert_eq!(copy["end"], "still running");
        running.0.kill().expect("it runs");
        running.0.wait().expect("it ends");
        assert_eq!(json(&["copy.ilprof"]), copy);
        fs::remove_file(work.join("copy.ilprof")).expect("it is there");
        // What was killed left all it had.
        let report = json(&[]);
        assert_eq!(report["end"], "was cut off");
        assert!(calls(&report, "Live.Work(int)") >= since);
        // The single calls are those of the table, but for those that begin while the nodes are counted.
        for (phase, least) in [(&[][..], since), (&["--phase=load"], load)] {
            let of_table = calls(&json(phase), "Live.Work(int)");
            let single = json(&[phase, &["--calls", "--method=Live.Work", "--where=times > 0"]].concat());
            let count = single["count"].as_i64().expect("a number");
            let is_so = of_table >= least && (count - of_table).abs() <= WHILE_COUNTED;
            assert!(is_so, "{phase:?}: {count}, {of_table} in the table");
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
