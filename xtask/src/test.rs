//! `cargo xtask test`: all that CI checks, on whatever runtimes there are.

use std::{process::Command, time::Instant};

use anyhow::{Result, bail};

use crate::{corpus, root, samples, sh, target, toolchain::Toolchain, tracker};

/// A step: its name, and what it does.
type Step = (&'static str, fn(&Toolchain) -> Result<()>);

const STEPS: &[Step] = &[
    ("fmt", |_| sh(cargo().args(["fmt", "--all", "--check"]))),
    ("clippy", |_| {
        sh(cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--profile", PROFILE, "--", "-D", "warnings"]))
    }),
    ("doc", |_| {
        sh(cargo()
            .args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("tracker", tracker::check),
    ("samples", samples::check),
    ("test", run_tests),
];

/// The profile that tests are built by: optimised, since the corpus is large.
const PROFILE: &str = "corpus";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.iter().find(|argument| !STEPS.iter().any(|(name, _)| name == argument)) {
        bail!("no step '{unknown}'; there are {}", STEPS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
    }
    let toolchain = Toolchain::prepare();
    toolchain.print();
    for (name, step) in STEPS {
        if arguments.is_empty() || arguments.iter().any(|argument| argument == name) {
            println!("--- {name}");
            let started = Instant::now();
            step(&toolchain)?;
            println!("--- {name}: passed in {:.0} s", started.elapsed().as_secs_f64());
        }
    }
    println!("all steps passed");
    Ok(())
}

/// Unit, command line, run and corpus tests; they say what they skip.
fn run_tests(toolchain: &Toolchain) -> Result<()> {
    sh(cargo().args(["build", "--quiet", "--profile", PROFILE, "--package", "ilinst"]))?;
    let mut command = cargo();
    toolchain.export(&mut command).env("ILINST_BIN", target().join(PROFILE).join("ilinst"));
    command.env("ILINST_CORPUS", corpus::prepare());
    sh(command.args(["test", "--profile", PROFILE, "--workspace", "--", "--show-output"]))
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}
