//! Reads GitHub's workflows.

use std::{fs, path::Path};

use crate::make_executable;

/// Returns the commands of each step that runs some, by the step's name. Handles `run: text`, and blocks, literal or folded.
pub fn workflow_steps(workflow: &str) -> Vec<(String, String)> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let (mut steps, mut name) = (Vec::new(), String::new());
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        let item = line.trim_start().trim_start_matches("- ");
        if line.trim_start().starts_with("- ") {
            name.clear();
        }
        if let Some(text) = item.strip_prefix("name: ") {
            text.clone_into(&mut name);
        }
        let Some(text) = item.strip_prefix("run: ") else { continue };
        let mut block = Vec::new();
        while let Some(inner) = lines.next_if(|inner| text.len() == 1 && indentation(inner) > indentation(line)) {
            block.push(inner.trim());
        }
        let command = match text {
            "|" => block.join("\n"),
            ">" => block.join(" "),
            text => text.to_owned(),
        };
        steps.push((name.clone(), command));
    }
    steps
}

/// Writes a command for a step to find: a shell script.
pub fn write_command(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
    make_executable(path);
}
