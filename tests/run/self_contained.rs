//! Programs that bring a .NET of their own, and perhaps not all of it: the tracker refers to what is there.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use ecma335::{
    Image, Metadata, Rid, Table,
    schema::{AssemblyRef, MemberRef, MethodDef, TypeDef, TypeRef},
};
use profile::{Profile, rows::SortBy};
use tests::{
    Compiler, Runtime, browser_program, ilinst, instrument, profile_in, put_browser_net, require, said, sample, scratch, set_cell,
};

/// The tracker that refers to assemblies by the names of that .NET.
const TRACKER: &str = "Ilinst.Tracker.dll";
/// Facades, which trimming leaves out.
const FACADES: [&str; 4] = ["mscorlib.dll", "netstandard.dll", "System.dll", "System.Core.dll"];
const SOURCE: &str = "class Program {
    static int Work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * i; return sum; }
    static int Main() { for (int i = 1; i < 6; i++) System.Console.WriteLine(Work(i)); return 7; }
}";
/// The methods of the program, and the calls of each.
const CALLS: [&str; 2] = ["Program::Main 1", "Program::Work 5"];

#[test]
#[ignore = "needs .NET"]
fn a_program_with_its_own_net_and_no_mscorlib_runs_woven() {
    let Some(program) = SelfContained::new("self-contained") else { return };
    let before = program.run();
    assert_eq!(before, ("0\n1\n5\n14\n30\n".into(), String::new(), Some(7)));
    let restore = || {
        let restored = ilinst().arg("restore").arg(&program.folder).arg("-q").status().expect("ilinst runs");
        assert!(restored.success() && !program.folder.join(TRACKER).exists());
        assert_eq!(program.run(), before);
    };
    let assembly = program.folder.join("program.dll");
    instrument(&[&assembly, &"--in-place", &"--embed", &"-q"]);
    assert_eq!(program.run(), before);
    assert!(!program.folder.join(TRACKER).exists());
    assert_eq!(calls(&profile_in(&program.work)), CALLS);
    let embedded = references(&fs::read(&assembly).expect("it is there"));
    assert!(!embedded.iter().any(|name| FACADES.contains(&&*format!("{name}.dll"))), "{embedded:?}");
    restore();
    fs::remove_dir_all(&program.work).and_then(|()| fs::create_dir(&program.work)).expect("it is ours");

    instrument(&[&assembly, &"--in-place", &"-q"]);
    assert_eq!(program.run(), before);
    assert_eq!(calls(&profile_in(&program.work)), CALLS);

    let tracker = fs::read(program.folder.join(TRACKER)).expect("the tracker is there");
    assert_eq!(references(&tracker).first().map(String::as_str), Some("System.Private.CoreLib"));
    assert!(!references(&tracker).iter().any(|name| FACADES.contains(&&*format!("{name}.dll"))), "{:?}", references(&tracker));
    assert_eq!(sha256_in_manifest(&program.folder.join("program.dll.ilinst.json")), hash(&tracker));
    restore();
}

/// .NET 10 for the browser, in Node: no threads, no files but in memory.
#[test]
#[ignore = "needs .NET, Node and a download"]
fn a_program_runs_woven_where_there_are_no_threads_and_no_mappings() {
    let Some(program) = SelfContained::new("browser") else { return };
    for embed in ["--embed=false", "--embed"] {
        let woven = program.work.join(format!("woven{embed}"));
        instrument(&[&program.folder.join("program.dll"), &"-o", &woven.join(""), &embed, &"-q"]);
        assert_eq!(woven.join(TRACKER).exists(), embed == "--embed=false");
        if put_browser_net(&woven, "program").is_some() {
            assert_eq!(said(&browser_program(&woven).output().expect("Node starts")), program.run());
            assert_eq!(calls(&profile_in(&woven)), CALLS);
        }
    }
}

#[test]
#[ignore = "needs .NET"]
fn with_facades_the_tracker_stays_as_it_is() {
    let Some(program) = SelfContained::new("self-contained-facades") else { return };
    for facade in FACADES {
        symlink(program.library.join(facade), program.folder.join(facade)).expect("a link can be made");
    }
    instrument(&[&program.folder.join("program.dll"), &"--in-place", &"-q"]);
    assert!(fs::read(program.folder.join(TRACKER)).expect("it is there") == instrument::TRACKER);
}

#[test]
#[ignore = "needs .NET"]
fn what_is_trimmed_and_essential_is_refused_by_name() {
    let Some(program) = SelfContained::new("self-contained-refused") else { return };
    let library = program.folder.join("System.Private.CoreLib.dll");
    let trimmed = without(&fs::read(&library).expect("it is there"), "System.Threading.Monitor", "Exit");
    fs::remove_file(&library).expect("it is a link");
    fs::write(&library, trimmed).expect("it can be written");
    let (out, errors, code) =
        said(&ilinst().arg("instrument").arg(program.folder.join("program.dll")).arg("--in-place").output().expect("it runs"));
    let expected =
        "the tracker needs System.Threading.Monitor::Exit void (object), and the .NET that this self-contained program";
    assert!(out.is_empty() && errors.contains("error ILI0012: ") && errors.contains(expected), "{errors}");
    assert_eq!((code, program.folder.join(TRACKER).exists()), (Some(3), false));
}

/// A program calls no method that its own .NET lacks, to record the values of spans.
#[test]
#[ignore = "needs .NET"]
fn spans_are_recorded_if_the_trimmed_net_has_their_methods() {
    let source = "class Program {
        static int First(System.Span<int> span, System.ReadOnlySpan<char> text) { return span[0]; }
        static int Main() { return First(new int[] { 7, 8 }, \"text\"); }
    }";
    let Some(program) = SelfContained::of_source("self-contained-spans", source) else { return };
    let (assembly, library) = (program.folder.join("program.dll"), program.folder.join("System.Private.CoreLib.dll"));
    // The runtime takes the library from its own folder, behind links.
    let runtime = program.folder.join("libcoreclr.so");
    let target = runtime.canonicalize().expect("it is a link");
    fs::remove_file(&runtime).expect("it is ours");
    fs::copy(target, &runtime).expect("it can be copied");
    let original = program.work.join("original.dll");
    fs::copy(&assembly, &original).expect("it can be copied");
    let shown = || {
        instrument(&[&assembly, &"--in-place", &"--all", &"--capture=args", &"-q"]);
        assert_eq!(program.run(), (String::new(), String::new(), Some(7)));
        let only_probes = ilinst().args(["diff", "--only-probes"]).arg(&original).arg(&assembly).output().expect("it starts");
        assert!(only_probes.status.success(), "{:?}", said(&only_probes));
        let profiles = fs::read_dir(&program.work).expect("it is there").flatten().map(|file| file.path());
        let profile = profiles.filter(|path| path.extension().is_some_and(|extension| extension == "ilprof")).last();
        let profile = profile.expect("there is a profile");
        let report = said(&ilinst().args(["report", "--calls", "--method=First"]).arg(&profile).output().expect("it starts")).0;
        fs::remove_file(profile).expect("it is ours");
        assert!(ilinst().arg("restore").arg(&program.folder).arg("-q").status().expect("ilinst runs").success());
        report
    };
    let report = shown();
    assert!(report.contains("span=System.Span<int> [2][7, 8] text=\"text\"\n"), "{report}");
    let whole = fs::read(&library).expect("it is there");
    for (class, method) in [("System.Span`1", "op_Equality"), ("System.ReadOnlySpan`1", "get_Empty")] {
        fs::remove_file(&library).expect("it is ours");
        fs::write(&library, without(&whole, class, method)).expect("it can be written");
        let report = shown();
        let unread = "<its type may be a ref struct>";
        assert!(report.contains(&format!("span={unread} text={unread}")), "{class}::{method}: {report}");
    }
}

/// Each alone, and all together: the program does what it does, and there is a profile.
#[test]
#[ignore = "needs .NET and Mono"]
fn the_tracker_has_a_way_around_what_it_is_said_to_have_one_around() {
    let each = instrument::WITH_FALLBACK.iter().map(std::slice::from_ref).chain([instrument::WITH_FALLBACK]);
    let each: Vec<_> = each.enumerate().collect();
    for (runtime, (number, without)) in tests::in_turn(&Runtime::all(), &each) {
        let folder = scratch(&format!("fallback-{number}"));
        let woven = folder.join("woven");
        instrument(&[&sample("hello").join("hello.exe"), &"-o", &woven.join(""), &"-q"]);
        let mut tracker = fs::read(woven.join(TRACKER)).expect("the tracker is there");
        for (class, members) in without {
            tracker = refer_to_nothing(&tracker, class, members);
        }
        fs::write(woven.join(TRACKER), tracker).expect("it can be written");
        println!("without {without:?} on {}", runtime.name);
        let work = scratch(&format!("fallback-{number}-work"));
        let start = |program: &Path| said(&runtime.program(program, &work).output().expect("the runtime starts"));
        assert_eq!(start(&woven.join("hello.exe")), start(&sample("hello").join("hello.exe")));
        assert!(!profile_in(&work).rows(SortBy::Name).is_empty());
    }
}

/// Returns the methods and their calls.
fn calls(profile: &Profile) -> Vec<String> {
    profile.rows(SortBy::Name).into_iter().map(|row| format!("{} {}", row.raw_name.unwrap_or_default(), row.calls)).collect()
}

/// A program with .NET 8 beside it, but for facades: files are links.
pub(crate) struct SelfContained {
    pub(crate) folder: PathBuf,
    library: PathBuf,
    /// Where it is started, and leaves its profile.
    pub(crate) work: PathBuf,
}

impl SelfContained {
    pub(crate) fn new(name: &str) -> Option<Self> {
        Self::of_source(name, SOURCE)
    }

    fn of_source(name: &str, source_text: &str) -> Option<Self> {
        let (dotnet, csc, sdk) = (require("ILINST_DOTNET8")?, require("ILINST_CSC")?, require("ILINST_SDK")?);
        let folder = scratch(name);
        let (program, work) = (folder.join("program"), folder.join("work"));
        [&program, &work].iter().for_each(|folder| fs::create_dir(folder).expect("a folder can be made"));
        let root = dotnet.canonicalize().expect("it is there").parent().expect("it is in a folder").to_owned();
        let only = |folder: PathBuf| fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path());
        let newest =
            |folder: PathBuf| only(folder).filter(|path| path.to_string_lossy().contains("/8.")).max().expect("it is there");
        let library = newest(root.join("shared/Microsoft.NETCore.App"));
        let host = newest(root.join("host/fxr")).join("libhostfxr.so");
        for file in only(library.clone()).chain([host]) {
            let name = file.file_name().expect("a file has a name");
            if !FACADES.iter().any(|facade| name == *facade) && !name.to_string_lossy().ends_with(".json") {
                symlink(&file, program.join(name)).expect("a link can be made");
            }
        }
        let source = folder.join("Program.cs");
        fs::write(&source, source_text).expect("it can be written");
        let mut compiler = Command::new(&dotnet);
        compiler.arg("exec").arg(csc).args(["-nologo", "-noconfig", "-nostdlib", "-deterministic", "-debug-"]).arg(&source);
        compiler.args(Compiler::Sdk.option());
        for reference in ["System.Private.CoreLib", "System.Runtime", "System.Console"] {
            compiler.arg(format!("-r:{}", library.join(format!("{reference}.dll")).display()));
        }
        let output = compiler.env("DOTNET_ROLL_FORWARD", "Major").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        let output = output.arg(format!("-out:{}", program.join("program.dll").display())).output().expect("it starts");
        assert!(output.status.success(), "{:?}", said(&output));
        let version = library.file_name().expect("it is there").to_string_lossy();
        let config = format!(
            "{{\"runtimeOptions\":{{\"tfm\":\"net8.0\",\"includedFrameworks\":[{{\"name\":\"Microsoft.NETCore.App\",\"version\":\
             \"{version}\"}}],\"configProperties\":{{\"System.Globalization.Invariant\":true}}}}}}"
        );
        fs::write(program.join("program.runtimeconfig.json"), config).expect("it can be written");
        make_host(&sdk.join("AppHostTemplate/apphost"), &program.join("program"));
        Some(Self { folder: program, library, work })
    }

    pub(crate) fn run(&self) -> (String, String, Option<i32>) {
        let mut command = Command::new(self.folder.join("program"));
        said(&command.current_dir(&self.work).env_remove("DOTNET_ROOT").output().expect("it starts"))
    }
}

/// A program's own host: the SDK's, told what to start.
fn make_host(template: &Path, host: &Path) {
    const PLACE: &[u8] = b"c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2";
    let mut bytes = fs::read(template).expect("the SDK has a host");
    let at = bytes.windows(PLACE.len()).position(|window| window == PLACE).expect("it has a place for a name");
    let mut name = [0; PLACE.len()];
    name[..b"program.dll".len()].copy_from_slice(b"program.dll");
    bytes[at..at + PLACE.len()].copy_from_slice(&name);
    fs::copy(template, host).expect("it can be copied");
    fs::write(host, bytes).expect("it can be written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(host, mode).expect("it can be made to run");
}

/// An assembly in which the methods of a type that have one name have another.
fn without(bytes: &[u8], class: &str, method: &str) -> Vec<u8> {
    let metadata = metadata(bytes);
    let names = metadata.full_names();
    let class = names.types().find(|rid| names.name_of(*rid).is_ok_and(|name| name == class)).expect("there is such a type");
    let other = metadata.row(Rid::<TypeDef>::new(1)).expect("there is a type").name;
    let methods = metadata.children::<TypeDef, MethodDef>(class);
    let methods =
        methods.filter(|rid| metadata.row(*rid).and_then(|row| metadata.name(row.name)).is_ok_and(|name| name == method));
    let renamed = methods.fold(None, |done: Option<Vec<u8>>, rid| {
        Some(set_cell(done.as_deref().unwrap_or(bytes), Table::MethodDef, rid.get(), "name", other.0))
    });
    renamed.expect("it has such a method")
}

/// A tracker that looks for members of a type, or for the type itself, by names that there are not.
fn refer_to_nothing(bytes: &[u8], class: &str, members: &[&str]) -> Vec<u8> {
    let metadata = metadata(bytes);
    let nothing = metadata.row(Rid::<TypeDef>::new(1)).expect("there is a type").name;
    let is_class = |rid: Rid<TypeRef>| metadata.type_ref_name(rid).is_ok_and(|name| name == class);
    let found = metadata.tables.rows::<TypeRef>().map(|(rid, _)| rid).find(|rid| is_class(*rid));
    let class = found.unwrap_or_else(|| panic!("the tracker does not refer to {class} any more"));
    if members.is_empty() {
        return set_cell(bytes, Table::TypeRef, class.get(), "name", nothing.0);
    }
    members.iter().fold(bytes.to_vec(), |bytes, member| {
        let is_member = |row: &MemberRef| {
            row.class.token().and_then(ecma335::Token::rid_in) == Some(class)
                && metadata.name(row.name).is_ok_and(|name| name == *member)
        };
        let rows: Vec<u32> =
            metadata.tables.rows::<MemberRef>().filter(|(_, row)| is_member(row)).map(|(rid, _)| rid.get()).collect();
        assert!(!rows.is_empty(), "the tracker does not refer to {member} any more");
        rows.iter().fold(bytes, |bytes, rid| set_cell(&bytes, Table::MemberRef, *rid, "name", nothing.0))
    })
}

fn metadata(bytes: &[u8]) -> Metadata<'_> {
    let image = Image::parse(bytes).expect("it is an assembly");
    Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read")
}

fn references(bytes: &[u8]) -> Vec<String> {
    let metadata = metadata(bytes);
    metadata.tables.rows::<AssemblyRef>().map(|(_, row)| metadata.name(row.name).expect("it has a name")).collect()
}

fn sha256_in_manifest(path: &Path) -> String {
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(path).expect("it is there")).expect("it is JSON");
    manifest["tracker"]["sha256"].as_str().expect("it says so").to_owned()
}

fn hash(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
