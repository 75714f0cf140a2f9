//! The program's own assemblies are instrumented, and those of the framework are not.

use std::fs;

use ecma335::{Image, Metadata};
use tests::{References, Runtime, compile, compile_with, ilinst, instrument, profile_in, require, root, said};

use crate::{App, Work, has_woven, mono, output, tree};

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
    assert!(text.contains("note ILI0024: not instrumented: Inner.dll, Outer.dll; "), "{text}");
    assert!(!woven.join("Other.dll").exists(), "nothing refers to it");
    for runtime in Runtime::all() {
        assert_eq!(output(&mut runtime.program(&woven.join("program.exe"), &work.folder)).status.code(), Some(5), "{runtime:?}");
    }
    // A file that was instrumented already is not restored.
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
    assert!(!is_woven && text.contains("1 assembly of the framework skipped; --all-assemblies"), "{text}");
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
    assert!(text.contains("2 assemblies of the framework skipped"), "{text}");
    fs::remove_file(home.join("app.deps.json")).expect("it can be removed");
    let keep = format!("--keep={}", work.folder.join("kept").display());
    assert_eq!(app.run(&["-q", "--no-report", &keep], &["write"]).status.code(), Some(0));
    assert_eq!(profile_in(&work.folder.join("kept")).modules.len(), 1, "run leaves it, too");
}

/// As Debian's KeePass is by Mono's key.
#[test]
#[ignore = "needs .NET and Mono"]
fn the_named_program_is_woven_whoever_has_signed_it() {
    let Some(library) = require("ILINST_MONO_LIB") else { return };
    let library = library.join("4.5/Mono.Posix.dll");
    let bytes = fs::read(&library).expect("it is there");
    let image = Image::parse(&bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let key = metadata.blob(metadata.assembly().expect("it is an assembly").public_key).expect("it is signed");
    let work = Work::new("signed");
    let (key_file, app) = (work.folder.join("key"), work.folder.join("app/app.exe"));
    fs::write(&key_file, key).expect("it can be written");
    let options = ["-publicsign+", &format!("-keyfile:{}", key_file.display())];
    let Some(()) = compile_with(&root().join("tests/launch/app.cs"), &app, References::All, &[], &options) else { return };
    let home = app.parent().expect("it is in a folder");
    fs::write(home.join("data.txt"), "data").expect("it can be written");
    fs::copy(&library, home.join("Mono.Posix.dll")).expect("it can be copied");
    for runtime in Runtime::all() {
        let live = ["--no-report", "--live"];
        let places = [&["--no-report"][..], &["--no-report", "--in-place"], &live, &[&live[..], &["--rewrite"]].concat()];
        // The profiler is for .NET.
        for place in &places[..if runtime.is_mono() { 2 } else { places.len() }] {
            let kept = work.folder.join(format!("{}{}", runtime.name.replace(' ', "-"), place.concat()));
            let keep = format!("--keep={}", kept.display());
            let at_home = &mut runtime.program(&app, &work.folder);
            let (_, errors, code) = said(&output(&mut work.run(&[*place, &[&keep]].concat(), at_home.arg("write"))));
            assert_eq!(code, Some(0), "{errors}");
            assert_eq!(profile_in(&kept).modules.len(), 1, "the program alone, on {}: {errors}", runtime.name);
            let _ = fs::remove_file(home.join("state.txt"));
        }
    }
    let woven = |input: &std::path::Path| {
        let run = ilinst().arg("instrument").arg(input).arg("-o").arg(work.folder.join("woven/")).output();
        said(&run.expect("ilinst runs")).0
    };
    assert!(woven(&app).contains(" instrumented, "), "a file that is named");
    assert!(woven(home).contains("2 assemblies of the framework skipped; --all-assemblies"), "of a folder nothing is named");
}

/// A run without a profile is nothing that anybody wants: it says why there would be none.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_run_that_weaves_nothing_fails() {
    let (Some(app), Some(mono)) = (App::on_mono("weaves-nothing"), mono()) else { return };
    let (work, before) = (&app.work, tree(app.home()));
    let fails = |output: &std::process::Output, why: &str| {
        let (text, errors, code) = said(output);
        assert_eq!((text.as_str(), code), ("", Some(3)), "{errors}");
        let last = errors.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("ilinst: error ILI0006: ")
                && last.contains(&format!(": nothing to instrument, so the program was not started: {why}")),
            "{errors}"
        );
        assert!(!has_woven(output) && work.entries().is_empty());
    };
    let include = ["--no-report", "--include", "App::Ecko"];
    fails(&app.run(&include, &["write"]), "no pattern names a method with a body; ilinst list ");
    fails(&app.run(&[&include[..], &["--in-place"]].concat(), &["write"]), "no pattern names a method with a body");
    assert!(tree(app.home()) == before);

    let source = work.folder.join("tiny.cs");
    fs::write(&source, "static class Tiny { static int Main() { return 4; } }").expect("it can be written");
    let tiny = work.folder.join("tiny/tiny.exe");
    let Some(()) = compile(&source, &tiny, References::All, &[]) else { return };
    let run = |program: &std::path::Path, options: &[&str]| {
        output(&mut work.run(&[&["--no-report"], options].concat(), &mono.program(program, &work.folder)))
    };
    fails(&run(&tiny, &[]), "all methods are trivial, and are skipped by default; --all instruments them");
    let link = work.folder.join("links/tiny.exe");
    fs::create_dir(link.parent().expect("it is in a folder")).expect("a folder can be made");
    std::os::unix::fs::symlink("../tiny/tiny.exe", &link).expect("a link can be made");
    for program in [&tiny, &link] {
        assert_eq!(run(program, &["--all"]).status.code(), Some(4));
    }
}

/// The second run instruments nothing, but what is lost is lost in each run.
#[test]
#[ignore = "needs Mono"]
fn line_numbers_that_are_lost_are_said() {
    let Some(app) = App::on_mono("lines") else { return };
    fs::write(app.home().join("app.exe.mdb"), "Mono's own").expect("it can be written");
    for (options, is_said) in [(&["--no-report"][..], true), (&["--no-report"], true), (&["--no-report", "--quiet"], false)] {
        let (out, errors, code) = said(&app.run(options, &["write"]));
        assert_eq!(code, Some(0), "{out}{errors}");
        assert_eq!(errors.contains("note ILI0005: ") && errors.contains("app.exe: its .mdb was left out"), is_said, "{errors}");
    }
}
