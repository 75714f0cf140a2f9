//! .NET inside another program: neither the end of the process nor that of its domain is told to anyone.

use std::{fs, path::Path, process::Command};

use tests::{Runtime, browser_program, require, said};

use crate::{
    causes::{End, HOSTED},
    programs::{Programs, profiles, source},
    run::{calls_of, held},
};

const PYTHON: usize = 4;
const NODE: usize = 5;
const BROWSER_IN_NODE: usize = 6;

#[test]
#[ignore = "needs pythonnet"]
fn in_python() {
    let Some(pythonnet) = require("ILINST_PYTHONNET") else { return };
    hosted("Python", PYTHON, |runtime, folder, argument| {
        let mut command = Command::new("python3");
        command.arg(source("hosted.py")).arg(if runtime.is_mono() { "mono" } else { "coreclr" });
        command.arg(folder.join("Ending.runtimeconfig.json")).arg(argument);
        command.env("PYTHONPATH", &pythonnet).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    });
}

#[test]
#[ignore = "needs node-api-dotnet"]
fn in_node() {
    let Some(module) = require("ILINST_NODE_API") else { return };
    hosted("Node", NODE, |_, _, argument| {
        let mut command = Command::new("node");
        command.arg(source("hosted.js")).arg(&module).arg(argument);
        command
    });
}

/// .NET 10 for browsers: what it writes is in its own memory, from where the page, or the script, takes it.
#[test]
#[ignore = "needs .NET, Node and a download"]
fn in_node_as_in_a_browser() {
    let Some(programs) = Programs::make_for_node(BROWSER_IN_NODE) else { return };
    each_end("Node itself", |_, argument, end| {
        Some(check(&programs, end, |folder| {
            let mut command = browser_program(folder);
            // Writing may take a part of the time only, so on a busy machine the last calls would be missing.
            command.arg(argument).env("CLOCK_TICK_MS", "0.01");
            command
        }))
    });
}

fn hosted(host: &str, column: usize, command: impl Fn(&Runtime, &Path, &str) -> Command) {
    let Some(programs) = Programs::make(column) else { return };
    each_end(host, |name, argument, end| {
        let runtime = Runtime::find(name)?;
        Some(check(&programs, end, |folder| {
            let mut command = command(&runtime, folder, argument);
            command.current_dir(folder).env_remove("ILINST_OUTPUT");
            runtime.hosting(&mut command);
            command
        }))
    });
}

/// Each way in which a host ends; all that is wrong is said.
fn each_end(host: &str, check: impl Fn(&str, &str, End) -> Option<Result<(), String>>) {
    let mut wrong = Vec::new();
    for (_, name, argument, end) in HOSTED.iter().filter(|(known, ..)| *known == host) {
        println!("{host} with {name}, {argument}");
        if let Some(Err(error)) = check(name, argument, *end) {
            wrong.push(format!("{name}, {argument}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(programs: &Programs, end: End, command: impl Fn(&Path) -> Command) -> Result<(), String> {
    let run = |folder: &Path| said(&command(folder).output().expect("the host starts"));
    for old in profiles(&[&programs.woven]) {
        fs::remove_file(old).expect("it can be removed");
    }
    let (original, woven) = (run(&programs.original), run(&programs.woven));
    if original != woven {
        return Err(format!("{woven:?}, and {original:?} unwoven"));
    }
    let record = woven.0.lines().filter_map(|line| line.strip_prefix("steps ")).next_back();
    let record = record.and_then(calls_of).ok_or_else(|| format!("it said no record: {woven:?}"))?;
    match &profiles(&[&programs.woven])[..] {
        [profile] => held(profile, &record, end),
        found => Err(format!("there are {} profiles", found.len())),
    }
}
