//! Projects of tests: a test host loads them, or they are programs that run themselves.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;
use tests::{ilinst, said};

use super::{
    application::{assert_same, contents, copy_project},
    check::{exact, healthy, tool, valid},
    table::{Host, Program, Way},
};
use crate::dotnet::Dotnet;

const OUTPUT: &str = "app/bin/Debug/net10.0";
const OBJECTS: &str = "app/obj/Debug/net10.0";
const SWITCH: &str = "-p:Ilinst=true";

/// A project of tests.
pub(super) struct Tests<'t> {
    dotnet: &'t Dotnet,
    program: &'t Program,
    /// The last line and the exit code of the original tests.
    original: (String, Option<i32>),
}

impl<'t> Tests<'t> {
    /// Builds and runs them as they are.
    pub(super) fn new(dotnet: &'t Dotnet, program: &'t Program) -> Self {
        println!("{}", program.name);
        copy_project(dotnet, program.folder, "app");
        let mut tests = Self { dotnet, program, original: Default::default() };
        tests.original = tests.build_and_run(&[], "plain");
        assert!(tests.original.1 == Some(0) && tests.original.0.contains("otal: "), "{:?}", tests.original);
        tests
    }

    pub(super) fn check(&self, way: Way) {
        println!("  {way:?}");
        let output = self.dotnet.folder.join(OUTPUT);
        let assembly = format!("{}.dll", self.program.assemblies[0]);
        match way {
            Way::Run => {
                let keep = format!("--keep={}", self.profiles("run").display());
                let mut command = self.dotnet.command_of(Path::new(ilinst().get_program()));
                command.args(["run", "--no-report", "--quiet", &keep, "--"]);
                match self.program.host {
                    Host::VsTest => command.arg(self.dotnet.command().get_program()).args(["test", "app", "--no-build"]),
                    _ => command.arg(self.host(&output)),
                };
                command.env("ILINST_CACHE", self.dotnet.folder.join("cache"));
                self.check_run(&verdict(&mut command), "run", None);
            }
            Way::Instrument => {
                let woven = self.dotnet.folder.join("woven");
                let ended = tool(&["instrument".as_ref(), output.as_ref(), "-q".as_ref(), "-o".as_ref(), woven.as_ref()]);
                assert_eq!(ended, (String::new(), String::new(), Some(0)));
                let path = woven.join(&assembly);
                self.check_run(&self.run(&woven, &[path.to_str().expect("it is text")], "woven"), "woven", Some(&woven));
                valid(&path, &output.join(&assembly));
            }
            Way::InPlace => {
                let before = self.output();
                let ended = tool(&["instrument".as_ref(), output.as_ref(), "-q".as_ref(), "--in-place".as_ref()]);
                assert_eq!(ended, (String::new(), String::new(), Some(0)));
                self.check_run(&self.run(&output, &["app", "--no-build"], "place"), "place", Some(&output));
                let ended = tool(&["restore".as_ref(), output.as_ref()]);
                assert_eq!(ended.2, Some(0), "{ended:?}");
                assert_same(&self.output(), &before);
            }
            Way::Package => {
                let before = self.output();
                self.check_run(&self.build_and_run(&[SWITCH], "package"), "package", Some(&output));
                let objects = self.dotnet.folder.join(OBJECTS);
                valid(&objects.join("ilinst").join(&assembly), &objects.join(&assembly));
                let files = self.dotnet.files(OUTPUT);
                self.check_run(&self.build_and_run(&[SWITCH], "again"), "again", Some(&output));
                let again = self.dotnet.files(OUTPUT);
                let changed = again.iter().filter(|(path, time)| files.get(*path) != Some(time) && !is_result(path));
                assert_eq!(changed.map(|(path, _)| path).collect::<Vec<_>>(), [] as [&PathBuf; 0], "the second build writes");
                assert_eq!(self.build_and_run(&[], "without"), self.original);
                assert_same(&self.output(), &before);
            }
        }
    }

    /// They passed as they do as they are, and are recorded.
    fn check_run(&self, ended: &(String, Option<i32>), profiles: &str, folder: Option<&Path>) {
        assert_eq!(ended, &self.original);
        let profile = exact(self.program, &self.profiles(profiles));
        healthy(&[&profile]);
        folder.into_iter().for_each(|folder| healthy(&[folder]));
    }

    /// The built files, without what the tests wrote.
    fn output(&self) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
        let mut files = contents(&self.dotnet.folder.join(OUTPUT));
        files.retain(|path, _| !is_result(path));
        files
    }

    fn profiles(&self, name: &str) -> PathBuf {
        let folder = self.dotnet.folder.join(format!("{name}-profiles"));
        fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    }

    fn host(&self, folder: &Path) -> PathBuf {
        folder.join(self.program.assemblies[0])
    }

    /// `dotnet test`, or `dotnet build` and the program itself.
    fn build_and_run(&self, switch: &[&str], profiles: &str) -> (String, Option<i32>) {
        if self.program.host == Host::OwnTests {
            self.dotnet.run(&[&["build", "app"], switch].concat());
        }
        self.run(&self.dotnet.folder.join(OUTPUT), &[&["app"], switch].concat(), profiles)
    }

    /// `dotnet test ARGUMENTS`, or the program itself in a folder.
    fn run(&self, folder: &Path, arguments: &[&str], profiles: &str) -> (String, Option<i32>) {
        let mut command = match self.program.host {
            Host::VsTest => self.dotnet.command(),
            _ => self.dotnet.command_of(&self.host(folder)),
        };
        if self.program.host == Host::VsTest {
            command.arg("test").args(arguments);
        }
        verdict(command.env("ILINST_OUTPUT", self.profiles(profiles)))
    }
}

/// Whether a file is a result that tests write beside themselves.
fn is_result(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "TestResults")
}

/// How many tests passed, without times; and the exit code.
fn verdict(command: &mut Command) -> (String, Option<i32>) {
    let (text, errors, code) = said(&command.output().expect("it starts"));
    let time = Regex::new(r"\x1b\[[0-9;]*m|,? *(Duration|Time): .*").expect("it is one");
    let counts = Regex::new(r"(?i)(total|failed|passed|succeeded|errors): +\d").expect("it is one");
    let lines: String =
        text.lines().filter(|line| counts.is_match(line)).map(|line| format!("{}\n", time.replace_all(line, ""))).collect();
    if code == Some(0) { (lines, code) } else { (text + &errors, code) }
}
