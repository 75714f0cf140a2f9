//! What a program is made of goes with it; what is the framework's is nobody's own code.

use std::fs;

use tests::{References, Runtime, compile, ilinst, instrument, profile_in, require, said};

use crate::{App, Work, output};

/// An assembly refers to a library, and that to another: all three are needed to run.
#[test]
#[ignore = "needs .NET and Mono"]
fn what_an_assembly_refers_to_goes_with_it() {
    let work = Work::new("references");
    let app = work.folder.join("app");
    let source = |name: &str, text: &str| {
        let path = work.folder.join(name);
        fs::write(&path, text).expect("it can be written");
        path
    };
    let (inner, outer, program) = (app.join("Inner.dll"), app.join("Outer.dll"), app.join("program.exe"));
    let made = [
        compile(&source("inner.cs", "public class Inner { public int Get() { return 4; } }"), &inner, References::All, &[]),
        compile(
            &source("outer.cs", "public class Outer { public int Get() { return new Inner().Get() + 1; } }"),
            &outer,
            References::All,
            &[&inner],
        ),
        compile(
            &source("program.cs", "class Program { static int Main() { return new Outer().Get(); } }"),
            &program,
            References::All,
            &[&outer],
        ),
    ];
    if made.contains(&None) {
        return;
    }
    fs::write(app.join("Other.dll"), "no assembly").expect("it can be written");
    let woven = work.folder.join("woven");
    let run = ilinst().arg("instrument").arg(&program).arg("-o").arg(&woven).args(["--all"]).output().expect("ilinst runs");
    let (text, errors, code) = said(&run);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{text}");
    assert!(text.contains("note ILI0024: copied with it, not woven: Inner.dll, Outer.dll; name them too"), "{text}");
    assert!(!woven.join("Other.dll").exists(), "nothing refers to it");
    for runtime in Runtime::all() {
        assert_eq!(output(&mut runtime.program(&woven.join("program.exe"), &work.folder)).status.code(), Some(5), "{runtime:?}");
    }
    // What is woven there already is not put back to what it was.
    instrument(&[&outer, &"-o", &woven, &"--all", &"-q"]);
    let before = fs::read(woven.join("Outer.dll")).expect("it is there");
    instrument(&[&program, &"-o", &woven, &"--all", &"-q"]);
    assert!(before == fs::read(woven.join("Outer.dll")).expect("it is there"));
}

/// Mono's own libraries beside a program: left as they are by default, woven if they are asked for.
#[test]
#[ignore = "needs Mono"]
fn what_is_the_frameworks_is_left_in_a_folder() {
    let (Some(app), Some(library)) = (App::on_mono("framework"), require("ILINST_MONO_LIB")) else { return };
    let (work, home) = (&app.work, app.home());
    fs::copy(library.join("4.5/Mono.Posix.dll"), home.join("Mono.Posix.dll")).expect("it can be copied");
    let woven = |name: &str, options: &[&str]| {
        let folder = work.folder.join(name);
        let run = ilinst().arg("instrument").arg(home).arg("-o").arg(&folder).args(options).output().expect("ilinst runs");
        let (text, errors, code) = said(&run);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{text}");
        (folder.join("Mono.Posix.dll.ilinst.json").exists(), text)
    };
    let (is_woven, text) = woven("default", &[]);
    assert!(!is_woven && text.contains("1 assembly of the framework left alone; --all-assemblies"), "{text}");
    assert!(woven("all", &["--all-assemblies"]).0);
    assert!(woven("named", &["--include", "[Mono.Posix]*"]).0, "a pattern names it");

    // A list says that it was built with the program.
    let list = |kind: &str| {
        let text = format!(
            r#"{{ "runtimeTarget": {{ "name": "t" }}, "targets": {{ "t": {{
                "app/1.0.0": {{ "runtime": {{ "app.exe": {{}} }} }}, "p/1.0.0": {{ "runtime": {{ "lib/Mono.Posix.dll": {{}} }} }} }} }},
                "libraries": {{ "app/1.0.0": {{ "type": "{kind}" }}, "p/1.0.0": {{ "type": "{kind}" }} }} }}"#
        );
        fs::write(home.join("app.deps.json"), text).expect("it can be written");
    };
    list("project");
    assert!(woven("project", &[]).0);
    list("runtimepack");
    let text = woven("runtimepack", &[]).1;
    assert!(text.contains("2 assemblies of the framework left alone"), "{text}");
    fs::remove_file(home.join("app.deps.json")).expect("it can be removed");
    let keep = format!("--keep={}", work.folder.join("kept").display());
    assert_eq!(app.run(&["-q", "--no-report", &keep], &["write"]).status.code(), Some(0));
    assert_eq!(profile_in(&work.folder.join("kept")).modules.len(), 1, "run leaves it, too");
}

/// The second run weaves nothing, and has said it before.
#[test]
#[ignore = "needs Mono"]
fn line_numbers_that_are_lost_are_said() {
    let Some(app) = App::on_mono("lines") else { return };
    fs::write(app.home().join("app.exe.mdb"), "Mono's own").expect("it can be written");
    for is_said in [true, false] {
        let (out, errors, code) = said(&app.run(&["--no-report"], &["write"]));
        assert_eq!(code, Some(0), "{out}{errors}");
        assert_eq!(errors.contains("note ILI0005: ") && errors.contains("app.exe: its .mdb was left out"), is_said, "{errors}");
    }
}
