//! Files that are truncated while they are in use.

use std::{fs, process::Command};

use tests::{end_of, ilinst, require, scratch, until};

use crate::commands::{Tree, prepared, quiet, tree};

/// The system kills a process that has a truncated file mapped (SIGBUS), so inputs are read into memory. The run is stopped at
/// its first temporary file, after it has read all inputs that it needs.
#[test]
#[ignore = "needs strace"]
fn an_input_may_be_cut_short_meanwhile() {
    let Some(strace) = require("ILINST_STRACE") else { return };
    let folder = scratch("faults-truncated");
    let commands = prepared(&folder.join("prepared"));
    let command = &commands[1];
    let work = folder.join("work");
    command.lay(&work);
    let log = folder.join("log");
    let mut run = Command::new(strace);
    run.args(["-f", "-o"]).arg(&log).args(["-e", "trace=mkdir", "-e", "inject=mkdir:signal=STOP:when=1"]);
    run.arg(ilinst().get_program()).args(command.writer.arguments).current_dir(&work);
    let mut run = quiet(&mut run).spawn().expect("strace starts");
    let stopped = until("the run stands still", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let line = text.lines().find(|line| line.contains("--- stopped by SIGSTOP"));
        assert!(line.is_some() || run.try_wait().expect("it is a child").is_none(), "it ended: {text}");
        line.and_then(|line| line.split_whitespace().next()).map(str::to_owned)
    });
    let input = fs::OpenOptions::new().write(true).open(work.join("app/orders.exe")).expect("it can be opened");
    input.set_len(0).expect("it can be cut");
    let go_on = Command::new("sh").args(["-c", &format!("kill -CONT {stopped}")]).status();
    assert!(go_on.expect("sh starts").success());
    assert_eq!(end_of(&mut run, "the run").code(), Some(0));
    let outputs = |tree: Tree| tree.into_iter().filter(|(path, _)| path.starts_with("out")).collect::<Tree>();
    assert!(outputs(tree(&work)) == outputs(command.after.clone()), "the output is that of the whole input");
}
