//! `ilinst run`: programs run as at home, from a cache that is safe to share, and what was woven in place is put back.

#![cfg(unix)]

mod cache;
mod first_steps;
mod place;
mod samples;
mod signals;

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use tests::{References, Runtime, compile, ilinst, root, said, scratch, with_default_signals};

/// A folder of one test: programs, their cache, and what they leave.
struct Work {
    folder: PathBuf,
}

impl Work {
    fn new(name: &str) -> Self {
        Self { folder: scratch(&format!("launch-{name}")) }
    }

    /// The program of these tests, with a file beside it; none without a compiler.
    fn app(&self) -> Option<PathBuf> {
        let app = self.folder.join("app/app.exe");
        compile(&root().join("tests/launch/app.cs"), &app, References::All, &[])?;
        fs::write(app.with_file_name("data.txt"), "data").expect("it can be written");
        Some(app)
    }

    /// `ilinst run`, with its options, of a command.
    fn run(&self, options: &[&str], command: &Command) -> Command {
        let tool = ilinst();
        let options = options.iter().map(OsStr::new);
        let words: Vec<&OsStr> = [tool.get_program(), "run".as_ref()].into_iter().chain(options).chain(["--".as_ref()]).collect();
        let mut run = with_default_signals(&words, command);
        run.env("ILINST_CACHE", self.cache());
        run
    }

    fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// `ilinst cache`, as JSON.
    fn cached(&self, arguments: &[&str]) -> serde_json::Value {
        let output = ilinst().args(["cache", "--json"]).args(arguments).env("ILINST_CACHE", self.cache()).output();
        let (text, errors, code) = said(&output.expect("ilinst runs"));
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The folders of the entries.
    fn entries(&self) -> Vec<PathBuf> {
        let cached = self.cached(&[]);
        let entries = cached["entries"].as_array().expect("entries").iter();
        entries.map(|entry| entry["folder"].as_str().expect("a path").into()).collect()
    }
}

/// One runtime is enough for what is the same on all.
fn mono() -> Option<Runtime> {
    Runtime::find("Mono")
}

fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("it starts")
}

/// Whether a run said that it wove something.
fn has_woven(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains(" woven (")
}

/// Starts what says "ready" when it waits.
fn waiting(command: &mut Command) -> Child {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("it can be read");
    if line != "ready\n" {
        panic!("{line}{:?}", child.wait_with_output());
    }
    child
}

/// What came of one that waits; its input stays open until then.
fn ended(mut child: Child) -> Output {
    let _input = child.stdin.take();
    child.wait_with_output().expect("it ends")
}

fn signal(process: u32, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status();
    assert!(status.expect("sh starts").success());
}

/// Everything below a folder, by path.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(tree(&path));
        } else {
            found.push((path.clone(), fs::read(&path).expect("it can be read")));
        }
    }
    found.sort();
    found
}
