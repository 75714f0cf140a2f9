//! The commands that write files, with the folder's allowed contents before and after each.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use tests::{ilinst, root, sample};

/// The contents of a folder: files with their bytes, links with their target, folders with `None`.
pub(crate) type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// A command that writes files.
pub(crate) struct Writer {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [&'static str],
    /// Prepares the command's folder.
    prepare: fn(&Path),
    /// The exit codes of success and failure.
    pub(crate) done: i32,
    pub(crate) failed: i32,
    /// The commands that complete it after it was killed.
    completed_by: &'static [&'static [&'static str]],
    /// Whether it changes one file at a time, and continues after an interruption.
    pub(crate) is_stepwise: bool,
}

const IN_PLACE: &[&str] = &["instrument", "app", "--in-place", "-q", "--threads", "1"];
const RESTORE: &[&str] = &["restore", "app", "-q"];

const ALL: &[Writer] = &[
    Writer {
        arguments: &["instrument", "app/orders.exe", "-o", "new/deep/", "-q", "--threads", "1"],
        ..Writer::new("`instrument` to a new folder", app)
    },
    Writer {
        arguments: &["instrument", "app/orders.exe", "-o", "out/", "-q", "--threads", "1"],
        ..Writer::new("`instrument` over older outputs", app_and_outputs)
    },
    Writer {
        arguments: &["instrument", "app", "-o", "out", "-q", "--threads", "1"],
        ..Writer::new("`instrument` of a folder", app_and_outputs)
    },
    Writer { arguments: IN_PLACE, completed_by: &[RESTORE, IN_PLACE], ..Writer::new("`instrument --in-place`", app) },
    Writer { arguments: RESTORE, is_stepwise: true, ..Writer::new("`restore`", woven_in_place) },
    Writer { arguments: &["dis", "app/orders.exe", "-o", "out/orders.exe"], ..Writer::new("`dis -o`", app_and_outputs) },
    Writer {
        arguments: &["diff", "app/orders.exe", "app/hello.exe", "--html", "out/orders.exe"],
        done: 1,
        failed: 2,
        ..Writer::new("`diff --html`", app_and_outputs)
    },
    Writer {
        arguments: &[
            "instrument",
            "app/orders.exe",
            "-o",
            "out/",
            "-q",
            "--threads",
            "1",
            "--depfile",
            "out/d",
            "--output-list",
            "out/l",
        ],
        ..Writer::new("`instrument` with lists", app_and_outputs)
    },
    Writer {
        arguments: &["merge", "app", "-o", "out/orders.exe", "-q", "--threads", "1"],
        ..Writer::new("`merge`", profile_and_outputs)
    },
    Writer {
        arguments: &["report", "app/golden.ilprof", "--html", "out/orders.exe"],
        ..Writer::new("`report --html`", profile_and_outputs)
    },
    Writer { arguments: &["tracker", "-o", "out/", "-q"], ..Writer::new("`tracker`", app) },
    Writer {
        arguments: &["export", "app/golden.ilprof", "--to", "folded", "-o", "out/orders.exe", "-q"],
        ..Writer::new("`export`", profile_and_outputs)
    },
];

/// A command, and the contents of its folder before and after.
pub(crate) struct Prepared {
    pub(crate) writer: &'static Writer,
    pub(crate) before: Tree,
    pub(crate) after: Tree,
}

/// Returns all commands; each is run once in a folder.
pub(crate) fn prepared(folder: &Path) -> Vec<Prepared> {
    let prepare = |writer: &'static Writer| {
        lay(folder, &Tree::new());
        (writer.prepare)(folder);
        let before = tree(folder);
        assert_eq!(call(writer.arguments, folder).code(), Some(writer.done), "{}", writer.name);
        let after = tree(folder);
        assert_ne!(before, after, "{}", writer.name);
        Prepared { writer, before, after }
    };
    ALL.iter().map(prepare).collect()
}

impl Writer {
    const fn new(name: &'static str, prepare: fn(&Path)) -> Self {
        Self { name, prepare, arguments: &[], done: 0, failed: 3, completed_by: &[], is_stepwise: false }
    }
}

impl Prepared {
    /// Creates the folder's contents before the command.
    pub(crate) fn lay(&self, folder: &Path) {
        lay(folder, &self.before);
    }

    /// Asserts that a run did all or nothing, and left no temporary files. The run ended by itself or was asked to.
    pub(crate) fn check(&self, folder: &Path, status: ExitStatus, fault: &str) {
        let (now, name) = (tree(folder), self.writer.name);
        let is_done = status.code() == Some(self.writer.done);
        if self.writer.is_stepwise && !is_done {
            self.check_whole(&now, fault);
            assert!(!now.keys().any(|path| is_leftover(path)), "{name}, {fault}, {status}: {:?}", now.keys());
            return self.complete(folder, fault);
        }
        let expected = if is_done { &self.after } else { &self.before };
        // A run that is asked to end after its commit still ends by the signal.
        let is_as_expected = now == *expected || status.code().is_none() && now == self.after;
        assert!(is_as_expected, "{name}, {fault}, {status}: {}", differences(expected, &now));
    }

    /// Asserts that a killed run left each file in its old or new state, and that the command can be repeated.
    pub(crate) fn check_killed(&self, folder: &Path, fault: &str) {
        self.check_whole(&tree(folder), fault);
        self.complete(folder, fault);
    }

    fn check_whole(&self, now: &Tree, fault: &str) {
        let name = self.writer.name;
        for path in self.before.keys().chain(now.keys()).filter(|path| !is_leftover(path)) {
            let content = now.get(path);
            // An original may be there already, or may not be removed yet.
            let is_known = content == self.before.get(path) || content == self.after.get(path);
            assert!(is_known, "{name}, {fault}: {} is neither old nor new", path.display());
            let tracker = path.with_file_name(TRACKER);
            let needs_tracker = *path != tracker && content.is_some_and(|bytes| bytes.as_deref().is_some_and(refers_to_tracker));
            let has_tracker = !needs_tracker || now.contains_key(&tracker);
            assert!(has_tracker, "{name}, {fault}: {} is woven, and its tracker is not there", path.display());
        }
    }

    fn complete(&self, folder: &Path, fault: &str) {
        let again = [self.writer.arguments];
        let commands = if self.writer.completed_by.is_empty() { &again[..] } else { self.writer.completed_by };
        for arguments in commands {
            call(arguments, folder);
        }
        let now = tree(folder);
        assert!(now == self.after, "{}, {fault}, done again: {}", self.writer.name, differences(&self.after, &now));
    }
}

const TRACKER: &str = "Ilinst.Tracker.dll";

/// Returns whether a file is an instrumented assembly: it contains the tracker's name.
fn refers_to_tracker(bytes: &[u8]) -> bool {
    let name = TRACKER.trim_end_matches(".dll").as_bytes();
    bytes.starts_with(b"MZ") && bytes.windows(name.len()).any(|window| window == name)
}

/// Returns whether a path is a temporary file, or a folder of them.
pub(crate) fn is_leftover(path: &Path) -> bool {
    path.iter().any(|name| name.to_string_lossy().starts_with(".ilinst-") && name.to_string_lossy().ends_with(".tmp"))
}

/// Runs the tool quietly.
pub(crate) fn call(arguments: &[&str], folder: &Path) -> ExitStatus {
    quiet(ilinst().args(arguments).current_dir(folder)).status().expect("ilinst starts")
}

/// Discards the output of a command.
pub(crate) fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn app(folder: &Path) {
    fs::create_dir(folder.join("app")).expect("a folder can be made");
    for name in ["orders", "hello"] {
        for extension in ["exe", "pdb", "runtimeconfig.json"] {
            let file = sample(name).join(name).with_extension(extension);
            fs::copy(&file, folder.join("app").join(name).with_extension(extension)).expect("it can be copied");
        }
    }
    let library = r#"{"runtimeTarget":{"name":"x"},"targets":{"x":{"orders/1":{"runtime":{"orders.exe":{}}}}},"libraries":{"orders/1":{}}}"#;
    fs::write(folder.join("app/orders.deps.json"), library).expect("it can be written");
}

fn app_and_outputs(folder: &Path) {
    app(folder);
    fs::create_dir(folder.join("out")).expect("a folder can be made");
    for name in ["orders.exe", "orders.pdb", "orders.exe.ilinst.json", "Ilinst.Tracker.dll", "kept.txt"] {
        fs::write(folder.join("out").join(name), "what was there before").expect("it can be written");
    }
}

fn profile_and_outputs(folder: &Path) {
    app_and_outputs(folder);
    let profile = root().join("crates/profile/tests/golden/golden.ilprof");
    fs::copy(profile, folder.join("app/golden.ilprof")).expect("it can be copied");
}

fn woven_in_place(folder: &Path) {
    app(folder);
    assert!(call(IN_PLACE, folder).success());
}

/// Replaces the contents of a folder by these.
fn lay(folder: &Path, tree: &Tree) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder can be made");
    for (path, content) in tree {
        match content {
            Some(content) => fs::write(folder.join(path), content).expect("it can be written"),
            None => fs::create_dir(folder.join(path)).expect("a folder can be made"),
        }
    }
}

pub(crate) fn tree(folder: &Path) -> Tree {
    let (mut tree, mut folders) = (Tree::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        // A run in progress may remove its folder meanwhile.
        for path in fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let content = fs::read(&path).ok();
            folders.extend(content.is_none().then(|| path.clone()));
            tree.insert(path.strip_prefix(folder).expect("it is below").to_owned(), content);
        }
    }
    tree
}

fn differences(expected: &Tree, now: &Tree) -> String {
    let paths = expected.keys().chain(now.keys()).filter(|path| expected.get(*path) != now.get(*path));
    let mut paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    paths.sort();
    paths.dedup();
    format!("not as it should be: {}", paths.join(", "))
}
