//! The steps of all workflows: each is a command of `cargo xtask`, with options that the command knows.

use std::{collections::BTreeSet, fs};

use tests::{root, said, workflow_steps, xtask};

/// An option that no task has. A task names the first unknown word in its error.
const UNKNOWN: &str = "--no-such-option";
/// Commands by which a step may prepare a container.
const PREPARE: [&str; 2] = ["apt-get update", "apt-get install "];
/// Values for the matrix variables in commands.
const MATRIX: [(&str, &str); 1] = [("${{ matrix.platform }}", "osx-arm64")];

/// Returns the workflows by name.
fn workflows() -> Vec<(String, String)> {
    let mut workflows = Vec::new();
    for entry in fs::read_dir(root().join(".github/workflows")).expect("there are workflows").flatten() {
        let text = fs::read_to_string(entry.path()).expect("it can be read");
        workflows.push((entry.file_name().to_string_lossy().into_owned(), text));
    }
    workflows.sort();
    workflows
}

/// Returns the commands of xtask by workflow; any other command fails the test.
fn commands() -> BTreeSet<(String, String)> {
    let mut commands = BTreeSet::new();
    for (name, text) in workflows() {
        let steps = workflow_steps(&text);
        assert!(!steps.is_empty(), "{name} runs nothing");
        for line in steps.iter().flat_map(|(_, command)| command.lines()) {
            if PREPARE.iter().any(|allowed| line.starts_with(allowed)) {
                continue;
            }
            let command = line.strip_prefix("cargo xtask ");
            let command = command.unwrap_or_else(|| panic!("{name}: '{line}' is no command of cargo xtask"));
            assert!(!command.contains(['|', ';', '&', '>', '<', '`']), "{name}: '{line}' is more than one command");
            commands.insert((name.clone(), command.to_owned()));
        }
    }
    commands
}

/// Runs xtask with words, one of which is unknown to it; returns its error.
fn refused(words: &[&str]) -> String {
    let (text, errors, code) = said(&xtask().args(words).output().expect("xtask starts"));
    assert!(code.is_some_and(|code| code != 0), "{words:?}: {text}");
    errors
}

#[test]
fn each_step_is_a_command_that_xtask_knows() {
    for (workflow, command) in commands() {
        let command = MATRIX.iter().fold(command, |command, (name, value)| command.replace(name, value));
        assert!(!command.contains("${{"), "{workflow}: no value is known here for {command}");
        let mut words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches('"')).collect();
        words.push(UNKNOWN);
        let errors = refused(&words);
        assert!(errors.contains(&format!("'{UNKNOWN}'")), "{workflow}: cargo xtask {command}: {errors}");
    }
}

#[test]
fn a_word_that_no_task_knows_is_named() {
    for words in [
        &["tset", UNKNOWN][..],
        &["test", "--quik", UNKNOWN],
        &["test", "actionlint", UNKNOWN],
        &["fuzz", "--guided", "--hours", "1", UNKNOWN],
        &["fuzz", "--guide", UNKNOWN],
        &["release", "publish", "dist", UNKNOWN],
        &["dist", "--native", "osx", UNKNOWN],
        &["msrv", "--all", UNKNOWN],
    ] {
        let errors = refused(words);
        assert!(!errors.contains(UNKNOWN), "{words:?}: {errors}");
    }
}

#[test]
fn a_selection_of_tests_needs_a_text_and_no_step() {
    for words in [&["test", "--only"][..], &["test", "--only", "truth", "fmt"]] {
        assert!(refused(words).contains("--only"), "{words:?}");
    }
}

#[test]
fn contributing_says_what_each_workflow_runs() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("it is there");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (workflow, command) in commands() {
        assert!(text.contains(&format!("`{workflow}`")), "CONTRIBUTING.md does not name {workflow}");
        let is_release = workflow == "release.yml";
        assert!(is_release || text.contains(&format!("`cargo xtask {command}`")), "{workflow}: cargo xtask {command}");
    }
}

#[test]
fn workflows_may_do_no_more_than_they_need() {
    for (name, text) in workflows() {
        assert!(text.contains("\npermissions:\n  contents: read\n"), "{name} has no permissions for all jobs");
        assert!(text.contains("\nconcurrency:\n"), "{name} may run twice at once");
        let secrets: Vec<&str> = text.lines().filter(|line| line.contains("secrets.")).map(str::trim).collect();
        if name == "release.yml" {
            assert_eq!(secrets, ["env: { NUGET_API_KEY: \"${{ secrets.NUGET_API_KEY }}\" }"]);
        } else {
            assert!(secrets.is_empty(), "{name}: {secrets:?}");
        }
        for action in text.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: ")) {
            let version = action.split_once("@v").map(|(_, version)| version);
            let is_pinned = version.is_some_and(|version| version.parse::<u32>().is_ok());
            assert!(is_pinned, "{name}: {action} names no major version");
        }
    }
}

/// The containers of the tests have the pinned toolchain.
#[test]
fn containers_have_the_pinned_rust() {
    let pinned = fs::read_to_string(root().join("rust-toolchain.toml")).expect("it is there");
    let pinned =
        pinned.lines().find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"')).expect("a version is pinned");
    for (name, text) in workflows() {
        for container in text.lines().filter_map(|line| line.trim().strip_prefix("container: rust:")) {
            assert_eq!(container, format!("{pinned}-bookworm"), "{name}");
        }
    }
}

#[test]
#[ignore = "needs crates.io"]
fn no_dependency_needs_a_newer_rust() {
    let (text, errors, code) = said(&xtask().args(["msrv", "--dependencies"]).output().expect("xtask starts"));
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.starts_with("no dependency needs more than Rust 1."), "{text}");
}
