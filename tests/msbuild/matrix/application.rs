//! Programs that are published, and then run.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{ilinst, packages::VERSION, root, said};

use super::{
    check::{Ended, exact, healthy, tool, valid},
    table::{Program, Published, Way},
};
use crate::dotnet::Dotnet;

/// The package for all projects of a solution. A commit in the repository around it makes nothing out of date.
const PROPS: &str = r#"<Project>
  <PropertyGroup>
    <EnableSourceControlManagerQueries>false</EnableSourceControlManagerQueries>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Ilinst.MSBuild" Version="{version}" PrivateAssets="all" />
  </ItemGroup>
</Project>
"#;
/// Everything that the build has to say of the tracker is an error. The console program has no warnings of its own.
const STRICT: [&str; 5] = [
    "-p:Ilinst=true",
    "-warnaserror",
    "-p:TrimmerSingleWarn=false",
    "-p:SuppressTrimAnalysisWarnings=false",
    "-p:EnableSingleFileAnalyzer=true",
];
/// The library that one program takes from a package.
const LIBRARY: &str = "Shapes";

/// Copies a folder of `programs`, with the package for what is in it.
pub(super) fn copy_project(dotnet: &Dotnet, from: &str, to: &str) {
    let sources = root().join("tests/msbuild/matrix/programs").join(from);
    for file in fs::read_dir(&sources).unwrap_or_else(|error| panic!("{}: {error}", sources.display())).flatten() {
        let text = fs::read_to_string(file.path()).expect("a project is text");
        dotnet.write(&format!("{to}/{}", file.file_name().to_string_lossy()), &text);
    }
    dotnet.write(&format!("{to}/Directory.Build.props"), &PROPS.replace("{version}", VERSION));
}

/// A program, published in one way.
pub(super) struct Cell<'c> {
    dotnet: &'c Dotnet,
    program: &'c Program,
    published: Published,
    /// Its folder, in that of the SDK's tests.
    name: String,
    /// Where it is.
    folder: PathBuf,
    /// Output, errors and exit code of the original program.
    original: Ended,
}

impl<'c> Cell<'c> {
    /// Publishes the program as it is, and runs it.
    pub(super) fn new(dotnet: &'c Dotnet, program: &'c Program, published: Published) -> Self {
        println!("{}, {}", program.name, published.name());
        let name = format!("{published:?}").to_lowercase();
        copy_project(dotnet, program.folder, &format!("{name}/app"));
        let (folder, original) = (dotnet.folder.join(&name), Ended::default());
        let mut cell = Self { dotnet, program, published, name, folder, original };
        cell.publish("plain", false);
        cell.original = cell.run("plain");
        assert!(!cell.original.1.contains("Unhandled exception"), "without ilinst: {:?}", cell.original);
        cell
    }

    pub(super) fn check(&self, way: Way) {
        println!("  {way:?}");
        match way {
            Way::Run => self.check_run(),
            Way::Instrument => self.check_instrument(),
            Way::InPlace => self.check_in_place(),
            Way::Package => self.check_package(),
        }
    }

    /// Programs that only their build can instrument are refused with the reason, and stay as they are.
    #[cfg(feature = "full")]
    pub(super) fn check_refused(&self) {
        let (plain, woven) = (self.folder.join("plain"), self.folder.join("none"));
        let before = contents(&plain);
        let (text, errors, code) = said(&self.run_by_ilinst().output().expect("ilinst runs"));
        assert!(text.is_empty() && errors.contains("error ILI00") && code != Some(0), "{text}{errors}{code:?}");
        for place in [&["-o".as_ref(), woven.as_os_str()][..], &["--in-place".as_ref()]] {
            let ended = tool(&[&["instrument".as_ref(), plain.as_os_str()], place].concat());
            let said = format!("{}{}", ended.0, ended.1);
            // A folder without assemblies is copied, and that is no error.
            assert!(said.contains("error ILI0012") || said.contains("ILI0006") && ended.2 == Some(0), "{ended:?}");
        }
        assert!(contents(&plain) == before, "{} is what it was", plain.display());
    }

    fn check_run(&self) {
        let before = contents(&self.folder.join("plain"));
        let ended = said(&self.run_by_ilinst().output().expect("ilinst runs"));
        assert_eq!(ended, self.original);
        let profile = exact(self.program, &self.folder.join("run-profiles"));
        healthy(&[&profile]);
        assert!(contents(&self.folder.join("plain")) == before, "the program's folder is what it was");
    }

    fn run_by_ilinst(&self) -> Command {
        let mut command = self.dotnet.command_of(Path::new(ilinst().get_program()));
        let keep = format!("--keep={}", self.folder.join("run-profiles").display());
        command.args(["run", "--no-report", "--quiet", &keep, "--"]).arg(self.host("plain"));
        command.env("ILINST_CACHE", self.folder.join("cache"));
        command
    }

    fn check_instrument(&self) {
        let before = contents(&self.folder.join("plain"));
        let (plain, woven) = (self.folder.join("plain"), self.folder.join("woven"));
        let ended = tool(&["instrument".as_ref(), plain.as_ref(), "-q".as_ref(), "-o".as_ref(), woven.as_ref()]);
        assert_eq!(ended, (String::new(), String::new(), Some(0)));
        self.check_woven("woven");
        assert!(contents(&plain) == before, "the input is what it was");
    }

    fn check_in_place(&self) {
        let place = self.folder.join("place");
        copy(&self.folder.join("plain"), &place);
        let before = contents(&place);
        let ended = tool(&["instrument".as_ref(), place.as_ref(), "-q".as_ref(), "--in-place".as_ref()]);
        assert_eq!(ended, (String::new(), String::new(), Some(0)));
        self.check_woven("place");
        let ended = tool(&["restore".as_ref(), place.as_ref()]);
        assert_eq!(ended.2, Some(0), "{ended:?}");
        assert!(contents(&place) == before, "it is what it was");
    }

    /// A folder that was instrumented.
    fn check_woven(&self, folder: &str) {
        let place = self.folder.join(folder);
        self.check_recorded(folder);
        for assembly in self.program.assemblies.iter().map(|assembly| format!("{assembly}.dll")) {
            valid(&place.join(&assembly), &self.folder.join("plain").join(&assembly));
        }
    }

    /// The build instruments it, does not do so again, and leaves nothing without the switch.
    fn check_package(&self) {
        self.publish("packaged", true);
        self.check_recorded("packaged");
        if self.takes_package() {
            return;
        }
        let obj = match self.published {
            Published::Dependent => "app/obj/Release/net10.0",
            _ => "app/obj/Release/net10.0/linux-x64",
        };
        let (obj, assembly) = (self.folder.join(obj), format!("{}.dll", self.program.assemblies[0]));
        valid(&obj.join("ilinst").join(&assembly), &obj.join(&assembly));
        let files = || ["packaged", "app/obj/Release"].map(|below| self.dotnet.files(&format!("{}/{below}", self.name)));
        let before = files();
        self.publish("packaged", true);
        // The SDK alone writes these each time, too.
        let is_of_sdk = |path: &Path| [".txt", "web.config"].iter().any(|end| path.to_string_lossy().ends_with(end));
        let after = files();
        for (before, after) in before.iter().zip(&after) {
            let changed = after.iter().filter(|(path, time)| before.get(*path) != Some(time) && !is_of_sdk(path));
            assert_eq!(changed.map(|(path, _)| path).collect::<Vec<_>>(), [] as [&PathBuf; 0], "the second build writes");
        }
        self.publish("packaged", false);
        assert_same(&contents(&self.folder.join("packaged")), &contents(&self.folder.join("plain")));
    }

    /// Runs what is instrumented in a folder.
    fn check_recorded(&self, folder: &str) {
        let ended = self.run(folder);
        assert_eq!(ended, self.original);
        let profile = exact(self.program, &self.folder.join(folder.to_owned() + "-profiles"));
        healthy(&[&self.folder.join(folder), &profile]);
    }

    /// Whether it takes a library from a package: then that is instrumented when it is packed, and the program's build knows nothing
    /// of it.
    fn takes_package(&self) -> bool {
        self.program.assemblies.contains(&LIBRARY)
    }

    fn publish(&self, into: &str, is_instrumented: bool) {
        let version = if is_instrumented { "-p:ShapesVersion=2.0.0" } else { "-p:ShapesVersion=1.0.0" };
        let switch = match (self.takes_package(), is_instrumented) {
            (true, _) => &[version][..],
            (false, true) if self.program.folder == "console" => &STRICT,
            (false, true) => &STRICT[..1],
            (false, false) => &[],
        };
        let (app, into) = (format!("{}/app", self.name), format!("{}/{into}", self.name));
        if self.takes_package() {
            // The SDK compares times alone, and keeps compiled code of the other version of the library.
            fs::remove_dir_all(self.dotnet.folder.join(&app).join("obj")).ok();
        }
        self.dotnet.run(&[&["publish", &app, "-o", &into], self.published.options(), switch].concat());
    }

    /// The program's own host in a folder.
    fn host(&self, folder: &str) -> PathBuf {
        self.folder.join(folder).join(self.program.assemblies[0])
    }

    fn run(&self, folder: &str) -> Ended {
        let profiles = self.folder.join(folder.to_owned() + "-profiles");
        fs::create_dir_all(&profiles).expect("a folder can be made");
        let mut command = self.dotnet.command_of(&self.host(folder));
        said(&command.env("ILINST_OUTPUT", &profiles).output().expect("the program starts"))
    }
}

/// Packs the library that one program takes, as it is and instrumented.
#[cfg(feature = "full")]
pub(super) fn pack_library(dotnet: &Dotnet) {
    copy_project(dotnet, "library/Shapes", "Shapes");
    dotnet.run(&["pack", "Shapes", "-o", "feed", "-p:Version=1.0.0"]);
    dotnet.run(&["pack", "Shapes", "-o", "feed", "-p:Version=2.0.0", "-p:Ilinst=true"]);
}

/// The files below a folder, and what is in them.
pub(super) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(&next).expect("it is there").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it lies there").to_owned();
                found.insert(name, fs::read(path).expect("it can be read"));
            }
        }
    }
    found
}

/// Two folders have the same files.
pub(super) fn assert_same(now: &BTreeMap<PathBuf, Vec<u8>>, before: &BTreeMap<PathBuf, Vec<u8>>) {
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(now), names(before));
    let changed: Vec<_> = now.iter().filter(|(path, bytes)| before[*path] != **bytes).map(|(path, _)| path).collect();
    assert!(changed.is_empty(), "{changed:?} differ without the switch");
}

pub(super) fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.expect("cp starts").success());
}
