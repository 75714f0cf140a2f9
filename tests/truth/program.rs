//! A program that keeps its own record, woven and run.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use profile::SampleType;
use tests::{References, Report, Runtime, compile_with, ilinst, root, said, scratch};

/// The source that gives a program a clock of its own.
const VIRTUAL_CLOCK: &str = "tests/truth/programs/VirtualClock.cs";
/// Methods of these programs without probes: the clock, methods that begin before it is set, and methods that the runtime calls
/// at any time, since a thread that waits for another's next call would count them.
const NOT_TIMED: [&str; 5] = ["VirtualClock*", "Records", "Waits", "Program::Run", "*::.cctor"];

/// A program, as it was compiled and as it was woven.
pub(crate) struct Program {
    name: String,
    folder: PathBuf,
    has_virtual_clock: bool,
}

/// The results of a run.
pub(crate) struct Run {
    /// The program's own record: the numbers behind a name.
    pub(crate) record: BTreeMap<String, Vec<f64>>,
    /// The profile, if it was woven.
    pub(crate) path: PathBuf,
}

impl Program {
    /// Compiles and weaves one of `programs/`, which runs by its own clock; none without a compiler.
    pub(crate) fn by_virtual_clock(of: References, name: &str, test: &str, options: &[&str]) -> Option<Self> {
        Self::compiled(of, &format!("programs/{name}"), test, true, options)
    }

    /// The same of one by the machine's clock.
    pub(crate) fn make(of: References, path: &str, test: &str, options: &[&str]) -> Option<Self> {
        Self::compiled(of, path, test, false, options)
    }

    fn compiled(of: References, path: &str, test: &str, has_virtual_clock: bool, options: &[&str]) -> Option<Self> {
        let source = root().join(format!("tests/truth/{path}.cs"));
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let folder = scratch(&format!("truth-{test}"));
        let original = folder.join("original");
        // Some call the tracker themselves.
        let tracker = root().join("tracker-runtime/bin/Ilinst.Tracker.dll");
        let clock = root().join(VIRTUAL_CLOCK).display().to_string();
        let more: &[&str] = if has_virtual_clock { &[&clock] } else { &[] };
        compile_with(&source, &original.join(format!("{name}.exe")), of, &[&tracker], more)?;
        if name == "FanOut" {
            fs::copy(&tracker, original.join("Ilinst.Tracker.dll")).expect("it can be copied");
        }
        let program = Self { name, folder, has_virtual_clock };
        program.weave(options);
        Some(program)
    }

    /// Weaves it, in place of what was woven before.
    pub(crate) fn weave(&self, options: &[&str]) {
        let mut command = ilinst();
        command.arg("instrument").arg(self.folder.join("original")).arg("-o").arg(self.folder.join("woven")).args(["-q"]);
        let excluded = NOT_TIMED.iter().filter(|_| self.has_virtual_clock).flat_map(|pattern| ["--exclude", pattern]);
        let woven = said(&command.args(excluded).args(options).output().expect("ilinst runs"));
        assert_eq!(woven.2, Some(0), "{}", woven.1);
    }

    /// Runs it as it was compiled.
    pub(crate) fn original(&self, runtime: &Runtime, arguments: &[&str]) -> Run {
        self.run("original", runtime, arguments, &[])
    }

    /// The same with settings.
    pub(crate) fn original_with(&self, runtime: &Runtime, arguments: &[&str], settings: &[(&str, &str)]) -> Run {
        self.run("original", runtime, arguments, settings)
    }

    /// The command that runs it as it was compiled.
    #[cfg(feature = "full")]
    pub(crate) fn original_command(&self, runtime: &Runtime) -> Command {
        self.command("original", runtime)
    }

    fn command(&self, which: &str, runtime: &Runtime) -> Command {
        runtime.program(&self.folder.join(which).join(format!("{}.exe", self.name)), &self.folder)
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs it woven.
    pub(crate) fn woven(&self, runtime: &Runtime, arguments: &[&str], settings: &[(&str, &str)]) -> Run {
        self.run("woven", runtime, arguments, settings)
    }

    fn run(&self, which: &str, runtime: &Runtime, arguments: &[&str], settings: &[(&str, &str)]) -> Run {
        let path = self.folder.join("run.ilprof");
        let _ = fs::remove_file(&path);
        let mut command = self.command(which, runtime);
        command.args(arguments).env("ILINST_OUTPUT", &path).envs(settings.iter().copied());
        if self.has_virtual_clock {
            command.env("ILINST_CLOCK", "program");
        }
        let (output, errors, code) = said(&command.output().expect("the runtime starts"));
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{which} {} on {}", self.name, runtime.name);
        let mut record = BTreeMap::new();
        for line in output.lines() {
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default().to_owned();
            record.insert(name, words.filter_map(|word| word.parse().ok()).collect());
        }
        Run { record, path }
    }
}

impl Run {
    /// A number of the program's record.
    pub(crate) fn says(&self, name: &str) -> f64 {
        self.record.get(name).and_then(|words| words.first()).copied().unwrap_or_else(|| panic!("{name}: {:?}", self.record))
    }

    pub(crate) fn report(&self) -> Report {
        self.report_with(&[])
    }

    pub(crate) fn report_with(&self, options: &[&str]) -> Report {
        Report::with(&self.path, options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The call paths themselves.
    pub(crate) fn profile(&self) -> profile::Profile {
        let bytes = fs::read(&self.path).expect("there is a profile");
        tests::parsed(&bytes)
    }

    /// Callers and callees by their methods' names, as a person wrote them, and how often one calls the other.
    pub(crate) fn calls(&self) -> BTreeMap<(String, String), i64> {
        let profile = self.profile();
        let name = |function: usize| {
            let raw = profile.functions[function].raw_name().unwrap_or_default();
            raw.rsplit("::").next().unwrap_or_default().to_owned()
        };
        let mut calls = BTreeMap::new();
        for tree in &profile.trees {
            for (node, count) in tree.nodes.iter().zip(profile.flat(tree, SampleType::CALLS)) {
                let Some(caller) = node.caller else { continue };
                *calls.entry((name(tree.nodes[caller].function), name(node.function))).or_default() += *count;
            }
        }
        calls
    }
}
