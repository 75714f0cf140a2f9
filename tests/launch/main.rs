//! `ilinst run`: programs run as at home, from a cache that is safe to share, and what was woven in place is put back.

#![cfg(unix)]

mod cache;
mod first_steps;
mod place;
mod samples;
mod sdk;
mod signals;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use tests::{References, Runtime, compile, ilinst, root, said, scratch, waiting, with_default_signals};

/// A folder of one test: programs, their cache, and what they leave.
struct Work {
    folder: PathBuf,
}

impl Work {
    fn new(name: &str) -> Self {
        Self { folder: scratch(&format!("launch-{name}")) }
    }

    /// Of a test on each runtime.
    fn on(name: &str, runtime: &Runtime) -> Self {
        Self::new(&format!("{name}-{}", runtime.name.replace(' ', "-")))
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

/// The program of these tests, with a file beside it, on a runtime.
struct App {
    work: Work,
    runtime: Runtime,
    path: PathBuf,
}

impl App {
    /// None without a compiler.
    fn new(name: &str, runtime: Runtime) -> Option<Self> {
        let work = Work::on(name, &runtime);
        let path = work.folder.join("app/app.exe");
        compile(&root().join("tests/launch/app.cs"), &path, References::All, &[])?;
        fs::write(path.with_file_name("data.txt"), "data").expect("it can be written");
        Some(Self { work, runtime, path })
    }

    fn on_mono(name: &str) -> Option<Self> {
        Self::new(name, mono()?)
    }

    /// On each runtime, one after another.
    fn on_all(name: &str) -> impl Iterator<Item = Self> {
        Runtime::all().into_iter().filter_map(move |runtime| Self::new(name, runtime))
    }

    /// Its folder.
    fn home(&self) -> &Path {
        self.path.parent().expect("it is in a folder")
    }

    /// How it is started without us.
    fn at_home(&self, arguments: &[&str]) -> Command {
        let mut command = self.runtime.program(&self.path, &self.work.folder);
        command.args(arguments);
        command
    }

    /// Returns the output of the program, run by ilinst.
    fn run(&self, options: &[&str], arguments: &[&str]) -> Output {
        output(&mut self.work.run(options, &self.at_home(arguments)))
    }

    /// The same, where it waits.
    fn start(&self, options: &[&str]) -> Child {
        waiting(&mut self.work.run(options, &self.at_home(&["wait"])))
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
    String::from_utf8_lossy(&output.stderr).contains(" instrumented (")
}

/// Returns the output of a program that waits; its input stays open until then.
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
