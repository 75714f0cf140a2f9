//! Assemblies that are named one by one: what goes with a program, and what with a library.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use profile::Profile;
use tests::{References, Runtime, compile_with, ilinst, live::calls, profile_in, said, scratch, take_environment, tool};

const LIBRARY: &str = "public static class Library { public static int Twice(int n) { int sum = 0; for (int i = 0; i < 2; i++) sum += n; return sum; } }";
const PROGRAM: &str =
    "public static class Program { public static int Main() { System.Console.WriteLine(Library.Twice(21)); return 7; } }";

/// A program and a library that it refers to, with their PDBs; beside them the library's satellite, and a list of another
/// program that loads the library.
fn files(name: &str) -> Option<PathBuf> {
    let folder = scratch(&format!("named-{name}"));
    let (library, program) = (folder.join("in/lib.dll"), folder.join("in/app.exe"));
    for (source, output, references) in [(LIBRARY, &library, &[][..]), (PROGRAM, &program, &[library.as_path()])] {
        let path = output.with_extension("cs");
        fs::create_dir_all(folder.join("in/de")).expect("a folder can be made");
        fs::write(&path, source).expect("it can be written");
        compile_with(&path, output, References::All, references, &["-debug:portable"])?;
        fs::remove_file(path).expect("it can be removed");
    }
    fs::copy(&library, folder.join("in/de/lib.resources.dll")).expect("it can be copied");
    let list =
        r#"{"runtimeTarget":"t","targets":{"t":{"l/1":{"runtime":{"lib.dll":{}}}}},"libraries":{"l/1":{"type":"project"}}}"#;
    fs::write(folder.join("in/other.deps.json"), list).expect("it can be written");
    Some(folder)
}

/// Instruments files of the folder `in`, from there; gives what is printed, and the files that are written.
fn instrument(folder: &Path, arguments: &[&str]) -> (String, BTreeSet<String>) {
    let output = folder.join("out");
    let _ = fs::remove_dir_all(&output);
    let mut command = ilinst();
    command.arg("instrument").args(arguments).args(["--min-il=0", "-o", "../out/"]).current_dir(folder.join("in"));
    let (text, errors, code) = said(&command.output().expect("ilinst starts"));
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{text}");
    (text, files_below(&output))
}

fn files_below(folder: &Path) -> BTreeSet<String> {
    let paths = ::instrument::files_below(folder).expect("it can be read").into_iter();
    paths.map(|path| path.strip_prefix(folder).expect("it is below").to_string_lossy().into_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const OF_THE_LIBRARY: [&str; 4] = ["Ilinst.Tracker.dll", "lib.dll", "lib.dll.ilinst.json", "lib.pdb"];
const OF_THE_PROGRAM: [&str; 5] = ["Ilinst.Tracker.dll", "app.exe", "app.exe.ilinst.json", "app.pdb", "app.runtimeconfig.json"];

#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_takes_what_it_starts_with_and_a_library_goes_alone() {
    let Some(folder) = files("alone") else { return };
    let (text, written) = instrument(&folder, &["lib.dll"]);
    assert_eq!(written, set(&OF_THE_LIBRARY));
    assert!(text.contains("ILI0020") && text.contains("other.deps.json lists lib.dll"), "{text}");

    let (text, written) = instrument(&folder, &["app.exe"]);
    let copied = ["lib.dll", "lib.pdb", "de/lib.resources.dll"];
    assert_eq!(written, set(&[&OF_THE_PROGRAM[..], &copied].concat()));
    assert!(text.contains("copied with it: app.runtimeconfig.json, lib.dll, lib.pdb, lib.resources.dll\n"), "{text}");
    assert!(text.contains("ILI0024: not instrumented: lib.dll;"), "{text}");
    for runtime in Runtime::all() {
        run(&folder, &runtime);
    }

    let (_, written) = instrument(&folder, &["app.exe", "--copy-dependencies=false"]);
    assert_eq!(written, set(&["Ilinst.Tracker.dll", "app.exe", "app.exe.ilinst.json", "app.pdb"]));
    let (_, written) = instrument(&folder, &["lib.dll", "--copy-dependencies"]);
    assert_eq!(written, set(&[&OF_THE_LIBRARY[..], &["de/lib.resources.dll"]].concat()));
}

/// The library's PDB is an output, and would go with the program, too.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_and_its_library_are_instrumented_together() {
    let Some(folder) = files("together") else { return };
    let original = |name: &str| fs::read(folder.join("in").join(name)).expect("it is there");
    let (_, written) = instrument(&folder, &["app.exe", "lib.dll"]);
    assert_eq!(written, set(&[&OF_THE_PROGRAM[..], &OF_THE_LIBRARY, &["de/lib.resources.dll"]].concat()));
    for name in ["lib.dll", "lib.pdb"] {
        assert_ne!(fs::read(folder.join("out").join(name)).expect("it is there"), original(name), "{name}");
    }
    for runtime in Runtime::all() {
        let calls = calls(&run(&folder, &runtime));
        assert_eq!(calls, [("Library::Twice".to_owned(), 1), ("Program::Main".to_owned(), 1)].into(), "{}", runtime.name);
    }
}

/// Runs the program; gives its profile.
fn run(folder: &Path, runtime: &Runtime) -> Profile {
    let work = folder.join(runtime.name);
    let _ = fs::remove_dir_all(&work);
    fs::create_dir(&work).expect("a folder can be made");
    let output = runtime.program(&folder.join("out/app.exe"), &work).output().expect("the runtime starts");
    assert_eq!(said(&output), ("42\n".into(), String::new(), Some(7)), "{}", runtime.name);
    profile_in(&work)
}

#[test]
#[ignore = "needs .NET"]
fn a_run_reports_that_precompiled_code_is_not_used() {
    let (Some(sdk), Some(runtime)) = (tool("ILINST_SDK10"), Runtime::find(".NET 10")) else { return };
    let Some(folder) = files("precompiled") else { return };
    let sdks = fs::read_dir(sdk.with_file_name("sdk")).expect("it can be listed").flatten();
    let library = sdks.map(|sdk| sdk.path().join("Newtonsoft.Json.dll")).find(|path| path.is_file()).expect("the SDK has it");
    let run = || {
        let program = runtime.program(Path::new("app.exe"), &folder.join("in"));
        let mut command = ilinst();
        command.args(["run", "--no-report", "--"]).arg(program.get_program()).args(program.get_args());
        command.current_dir(folder.join("in"));
        take_environment(&mut command, &program);
        said(&command.output().expect("ilinst starts"))
    };
    assert!(!run().1.contains("ILI0002"), "its own libraries have no such code");
    fs::copy(library, folder.join("in/Newtonsoft.Json.dll")).expect("it can be copied");
    // The second run takes the instrumented copy, and starts as slowly.
    for _ in 0..2 {
        let (_, errors, code) = run();
        assert_eq!(code, Some(7), "{errors}");
        assert!(errors.contains("note ILI0002: ") && errors.contains("start-up is slower"), "{errors}");
    }
}
