//! Where a program runs, what it is given, and how it is named.

use std::{fs, io::Write as _, os::unix::fs::symlink, path::Path, process::Stdio};

use little_endian::{ByteOrder, LE};
use tests::{Runtime, require, said, sample};

use crate::{App, Work, ended, output, signal, tree};

/// Arguments, current folder, environment, input, output and exit code are the program's own.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_is_given_what_it_would_be_given_alone() {
    for app in App::on_all("given") {
        let (work, runtime) = (&app.work, &app.runtime);
        let mut at_home =
            app.at_home(&["echo", "two words", "", "--limit", "--", "*", "ü", "a \"quoted\" 'word'", "back\\slash\\"]);
        at_home.env("ILINST_TEST_WORD", "a b");
        at_home.env("ILINST_CACHE", work.cache());
        let say = |command: &mut std::process::Command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().expect("it starts");
            child.stdin.take().expect("a pipe").write_all(b"typed in").expect("it reads");
            let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
            // The one variable that says where the profile goes.
            let text: Vec<String> = text.lines().filter(|line| !line.starts_with("ILINST_OUTPUT=")).map(str::to_owned).collect();
            (text, errors, code)
        };
        let before = say(&mut at_home);
        assert_eq!((before.2, before.1.as_str()), (Some(9), "an error\n"));
        assert!(before.0.contains(&"argument [two words]".into()) && before.0.contains(&"read typed in".into()), "{before:?}");
        assert_eq!(say(&mut work.run(&["-q", "--no-report"], &at_home)), before, "on {}", runtime.name);
        assert_eq!(say(&mut work.run(&["-q", "--no-report", "--in-place"], &at_home)), before, "in place, on {}", runtime.name);
    }
}

/// Bazel and Nix make such folders: all files are links to a store, where nothing can be written.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_folder_of_links_is_instrumented() {
    for app in App::on_all("links") {
        let home = app.home();
        let store = app.work.folder.join("store");
        fs::rename(home, &store).expect("it can be renamed");
        fs::create_dir(home).expect("a folder can be made");
        for file in fs::read_dir(&store).expect("it is there").flatten() {
            let mut permissions = file.metadata().expect("it is there").permissions();
            permissions.set_readonly(true);
            fs::set_permissions(file.path(), permissions).expect("they can be set");
            symlink(Path::new("../store").join(file.file_name()), home.join(file.file_name())).expect("a link can be made");
        }
        let before = tree(&store);
        let (_, errors, code) = said(&app.run(&[], &["write"]));
        assert_eq!(code, Some(0), "{errors}");
        assert!(errors.contains("1 assembly instrumented") && errors.contains("ended cleanly"), "{errors}");
        assert!(tree(&store) == before, "on {}", app.runtime.name);
    }
}

/// A copy is not home, and that is said; in place, what it writes is where it would be, and all else is put back.
#[test]
#[ignore = "needs .NET and Mono"]
fn what_a_program_writes_beside_itself_is_said_or_at_home() {
    for app in App::on_all("beside") {
        let home = app.home();
        let before = tree(home);
        let (_, errors, code) = said(&app.run(&["--no-report"], &["write"]));
        assert_eq!(code, Some(0), "what lies beside it is found: {errors}");
        assert!(errors.contains("wrote 1 file into the instrumented copy of its folder (state.txt); --in-place"), "{errors}");
        assert!(tree(home) == before);

        let (_, errors, code) = said(&app.run(&["--no-report", "--in-place"], &["write"]));
        assert_eq!(code, Some(0));
        assert!(errors.contains("1 assembly instrumented") && !errors.contains("copy of its folder"), "{errors}");
        assert_eq!(fs::read_to_string(home.join("state.txt")).expect("it was written at home"), "written");
        fs::remove_file(home.join("state.txt")).expect("it can be removed");
        assert!(tree(home) == before, "put back, on {}", app.runtime.name);
    }
}

/// Whatever ends us, the program ends first, and is put back then; of a run that was killed, the next one does.
#[test]
#[ignore = "needs Mono"]
fn what_was_woven_in_place_is_put_back_whatever_ends_the_run() {
    let Some(app) = App::on_mono("in-place") else { return };
    let home = app.home();
    let before = tree(home);
    let quietly = ["--in-place", "--no-report", "-q"];
    let start = || app.start(&quietly);
    for (name, code) in [("INT", 128 + 2), ("TERM", 128 + 15), ("HUP", 128 + 1)] {
        let run = start();
        assert!(tree(home) != before, "it is woven");
        signal(run.id(), name);
        let (out, errors, ended_by) = said(&ended(run));
        assert_eq!(ended_by, Some(code), "{name}: {out}{errors}");
        assert!(tree(home) == before, "after {name}");
    }

    let first = start();
    let second = said(&app.run(&quietly, &["wait"]));
    assert_eq!(second.2, Some(2), "{second:?}");
    assert!(second.1.contains("uses this folder"), "{second:?}");
    signal(first.id(), "KILL");
    // Its program ends when its input does.
    drop(first.wait_with_output().expect("it ends"));
    assert!(tree(home) != before, "nobody is left to put it back");
    let (_, errors, code) = said(&app.run(&["--in-place", "--no-report"], &["echo"]));
    assert_eq!(code, Some(9), "{errors}");
    assert!(errors.contains("restored now"), "{errors}");
    assert!(tree(home) == before);
}

/// A folder that the user instrumented in place stays as it is.
#[test]
#[ignore = "needs Mono"]
fn what_the_user_has_woven_in_place_is_left() {
    let Some(app) = App::on_mono("users-own") else { return };
    let home = app.home();
    tests::instrument(&[&home, &"--in-place", &"-q"]);
    let woven = tree(home);
    let (_, errors, code) = said(&app.run(&["--in-place"], &["echo"]));
    assert_eq!(code, Some(2));
    assert!(errors.contains("it is instrumented in place already; to restore it: ilinst restore"), "{errors}");
    assert!(tree(home) == woven);
}

/// An assembly alone, a folder, a native host, a bare name that the shell would not find.
#[test]
#[ignore = "needs .NET 8 and Mono"]
fn a_program_is_found_however_it_is_named() {
    let (Some(dotnet), Some(App { work, path: app, .. })) = (require("ILINST_DOTNET8"), App::on_mono("named")) else { return };
    let home = app.parent().expect("it is in a folder").to_owned();
    let dotnet_folder = dotnet.parent().expect("it is in a folder");
    let path = std::env::join_paths([dotnet_folder, "/usr/bin".as_ref(), "/bin".as_ref()]).expect("paths");
    let run = |words: &[&str], folder: &std::path::Path| {
        let mut command = std::process::Command::new(words[0]);
        command.args(&words[1..]).arg("echo").current_dir(folder);
        let mut run = work.run(&["-q", "--no-report"], &command);
        run.env("PATH", &path).env("DOTNET_ROOT", dotnet_folder).env_remove("DOTNET_ROLL_FORWARD");
        said(&output(run.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")))
    };
    let app_name = app.to_str().expect("it is text");
    for (words, folder) in [
        (&[app_name][..], &work.folder),
        (&["app/app.exe"], &work.folder),
        (&["app.exe"], &home),
        (&["app"], &work.folder),
        (&["."], &home),
        (&["mono", "--debug", "app/app.exe"], &work.folder),
        (&["env", "WORD=1", "dotnet", "exec", "app/app.exe"], &work.folder),
    ] {
        let (out, errors, code) = run(words, folder);
        assert_eq!(code, Some(9), "{words:?}: {out}{errors}");
        assert!(out.starts_with("argument [echo]\n"), "{words:?}: {out}");
    }
    fs::remove_file(app.with_extension("runtimeconfig.json")).expect("it can be removed");
    assert_eq!(run(&[app_name], &work.folder).2, Some(9), "by Mono");
    fs::write(work.folder.join("none.exe"), "text").expect("it can be written");
    for (words, why) in [
        (&["no-such-command"][..], "there is no such file"),
        (&["sh", "-c", "true"], "it names no assembly that is there"),
        (&["dotnet", "build"], "dotnet build: it runs no program; use ilinst run -- dotnet run, or ilinst run -- dotnet test"),
        (&["dotnet", "missing.dll"], "error ILI0010: missing.dll: No such file or directory"),
        (&["mono", "--debug", "none.exe"], "error ILI0011: none.exe: not a PE file"),
    ] {
        let (_, errors, code) = run(words, &work.folder);
        assert!(matches!(code, Some(2 | 3)) && errors.contains(why), "{words:?}: {errors}");
    }
    let two = work.folder.join("two");
    for name in ["hello", "orders"] {
        fs::create_dir_all(&two).expect("a folder can be made");
        fs::copy(sample(name).join(format!("{name}.exe")), two.join(format!("{name}.exe"))).expect("it can be copied");
    }
    let (_, errors, code) = run(&["two"], &work.folder);
    assert!(code == Some(2) && errors.contains("more than one program, hello.exe, orders.exe"), "{errors}");
}

/// The host that `dotnet build` puts beside a program; and the error of a bundle.
#[test]
#[ignore = "needs .NET 8 and the SDK"]
fn a_native_host_is_run_from_the_copy() {
    let (Some(dotnet), Some(sdk)) = (Runtime::find(".NET 8"), require("ILINST_SDK")) else { return };
    let template = sdk.join("AppHostTemplate/apphost");
    let work = Work::new("host");
    let home = work.folder.join("app");
    fs::create_dir(&home).expect("a folder can be made");
    fs::copy(sample("modern").join("modern.dll"), home.join("modern.dll")).expect("it can be copied");
    fs::copy(sample("modern").join("modern.runtimeconfig.json"), home.join("modern.runtimeconfig.json"))
        .expect("it can be copied");
    // The name of the library stands where the hash of "foobar" does.
    let mut bytes = fs::read(&template).expect("it can be read");
    let place = b"c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2";
    let at = bytes.windows(place.len()).position(|window| window == place).expect("it is a template");
    bytes[at..at + place.len()].fill(0);
    bytes[at..at + 10].copy_from_slice(b"modern.dll");
    let host = home.join("modern");
    fs::write(&host, bytes).expect("it can be written");
    fs::set_permissions(&host, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it can be made to run");
    let at_home = dotnet.host(&host, &work.folder);
    let before = said(&output(&mut dotnet.host(&host, &work.folder)));
    assert_eq!(before.2, Some(7), "{before:?}");
    assert_eq!(said(&output(&mut work.run(&["-q", "--no-report"], &at_home))), before);
    let (_, errors, _) = said(&output(&mut work.run(&["--limit", "1"], &at_home)));
    assert!(errors.contains("modern (process "), "{errors}");

    // A bundle says where its header is, before its signature.
    let bundle = work.folder.join("bundle");
    let mut bytes = fs::read(&template).expect("it can be read");
    let found = bytes.windows(4).position(|window| window == [0x8b, 0x12, 0x02, 0xb9]).expect("the signature");
    LE::write_u64(&mut bytes[found - 8..], 4096);
    fs::write(&bundle, bytes).expect("it can be written");
    let (_, errors, code) = said(&output(&mut work.run(&[], &dotnet.host(&bundle, &work.folder))));
    assert_eq!(code, Some(3));
    assert!(errors.contains("a program in a single file (a bundle)"), "{errors}");
}
