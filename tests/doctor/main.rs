//! `ilinst doctor`: each problem that it knows is created, and it reports this problem alone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use tests::{Runtime, ilinst, instrument, require, root, sample, scratch};

/// Codes of findings, and the end of the program.
type Said = (Vec<String>, Option<String>);

/// Returns the doctor's findings, and checks its exit code against them.
fn doctor(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut command = ilinst();
    command.args(["doctor", "--json"]).args(arguments).current_dir(folder).envs(variables.iter().copied());
    heard(&command.output().expect("ilinst runs"))
}

/// Parses the doctor's output.
fn heard(output: &Output) -> Said {
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find('{').unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    let document: Value = serde_json::from_str(&text[start..]).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    assert!(findings.iter().all(|finding| !word(finding, "what").is_empty() && !word(finding, "advice").is_empty()), "{text}");
    let codes: Vec<String> = findings.iter().map(|finding| word(finding, "code")).collect();
    let are_notes = codes.iter().all(|code| ["count-only", "killed"].contains(&code.as_str()));
    assert_eq!(output.status.code(), Some(if are_notes { 0 } else { 1 }), "{text}");
    (codes, document["status"].as_str().map(str::to_owned))
}

fn codes(folder: &Path, arguments: &[&str]) -> Vec<String> {
    doctor(folder, arguments, &[]).0
}

/// Returns a folder with `samples/orders`, original and instrumented.
fn orders(name: &str) -> PathBuf {
    let folder = scratch(&format!("doctor-{name}"));
    let app = folder.join("app");
    fs::create_dir(&app).expect("a folder can be made");
    for file in ["orders.exe", "orders.pdb", "orders.runtimeconfig.json"] {
        fs::copy(sample("orders").join(file), app.join(file)).expect("it can be copied");
    }
    instrument(&[&app, &"-o", &folder.join("woven"), &"-q"]);
    folder
}

#[test]
fn a_folder_tells_what_is_missing_in_it() {
    let folder = orders("folder");
    assert_eq!(codes(&folder, &["woven"]), [""; 0]);
    assert_eq!(codes(&folder, &["woven/orders.exe"]), [""; 0]);
    assert_eq!(codes(&folder, &["app"]), ["not-woven"]);

    let tracker = folder.join("woven/Ilinst.Tracker.dll");
    let right = fs::read(&tracker).expect("it is there");
    fs::write(&tracker, [&right[..], b"x"].concat()).expect("it can be written");
    assert_eq!(codes(&folder, &["woven"]), ["other-tracker"]);
    fs::remove_file(&tracker).expect("it can be removed");
    assert_eq!(codes(&folder, &["woven"]), ["tracker-not-found"]);
    fs::write(&tracker, &right).expect("it can be written");

    // An empty .NET beside the program.
    let library = folder.join("woven/System.Private.CoreLib.dll");
    fs::copy(sample("hello").join("hello.exe"), &library).expect("it can be copied");
    assert_eq!(codes(&folder, &["woven"]), ["tracker-unfit"]);
    fs::remove_file(&library).expect("it can be removed");

    let list = r#"{ "runtimeTarget": { "name": "t" }, "targets": { "t": { "orders/1.0.0": { "runtime": { "orders.exe": {} } } } },
        "libraries": { "orders/1.0.0": { "type": "project", "serviceable": false, "sha512": "" } } }"#;
    fs::write(folder.join("woven/orders.deps.json"), list).expect("it can be written");
    assert_eq!(codes(&folder, &["woven"]), ["tracker-not-listed"]);
    fs::remove_file(folder.join("woven/orders.deps.json")).expect("it can be removed");

    fs::copy(folder.join("app/orders.exe"), folder.join("woven/orders.exe")).expect("it can be copied");
    assert_eq!(codes(&folder, &["woven"]), ["copied-back"]);
}

#[test]
fn a_build_that_makes_the_file_anew_is_told() {
    let folder = orders("anew");
    fs::copy(sample("hello").join("hello.exe"), folder.join("woven/orders.exe")).expect("it can be copied");
    assert_eq!(codes(&folder, &["woven"]), ["copied-back"]);
}

#[test]
fn patterns_that_match_nothing_are_told() {
    let folder = orders("nothing");
    instrument(&[&folder.join("app"), &"-o", &folder.join("none"), &"--include", &"NoSuchType", &"-q"]);
    assert_eq!(codes(&folder, &["none"]), ["nothing-matched"]);
}

#[test]
fn a_single_file_is_told() {
    let folder = orders("single");
    // The host's marker, behind the offset of the bundle.
    let mark = "8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae";
    let mark: Vec<u8> = (0..32).map(|i| u8::from_str_radix(&mark[2 * i..2 * i + 2], 16).expect("hex")).collect();
    let host = [&[0; 80_000][..], &70_000_u64.to_le_bytes(), &mark].concat();
    fs::write(folder.join("woven/orders"), host).expect("it can be written");
    assert_eq!(codes(&folder, &["woven"]), ["single-file"]);
}

/// Compiles and instruments `app.cs`.
fn app(name: &str, options: &[&str]) -> Option<PathBuf> {
    let folder = scratch(&format!("doctor-{name}"));
    fs::create_dir_all(folder.join("app")).expect("a folder can be made");
    let program = folder.join("app/app.exe");
    let mut compiler = Command::new(require("ILINST_MCS")?);
    compiler.arg(format!("-out:{}", program.display())).arg(root().join("tests/doctor/app.cs"));
    assert!(compiler.status().expect("it starts").success());
    let config = root().join("samples/hello/bin/hello.runtimeconfig.json");
    fs::copy(config, program.with_extension("runtimeconfig.json")).expect("it can be copied");
    let (from, to) = (folder.join("app"), folder.join("woven"));
    let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&from, &"-o", &to, &"-q"];
    arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
    instrument(&arguments);
    Some(folder)
}

/// Returns the words of a command that runs a program.
fn words(runtime: &Runtime, program: &str) -> Vec<String> {
    let command = runtime.program(Path::new(program), Path::new("."));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

fn run(folder: &Path, runtime: &Runtime, program: &str, before: &[&str], variables: &[(&str, &str)]) -> Said {
    let words = words(runtime, program);
    let command: Vec<&str> = before.iter().copied().chain(["--"]).chain(words.iter().map(String::as_str)).collect();
    doctor(folder, &command, variables)
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_run_tells_what_was_loaded_and_what_was_not_recorded() {
    let (Some(folder), Some(silent)) = (app("run", &["--all"]), app("silent", &["--include", "App::Never"])) else { return };
    for runtime in Runtime::all() {
        let ended = |code: i32| Some(format!("exit status: {code}"));
        let run = |folder: &Path, program: &str, before: &[&str], variables: &[(&str, &str)]| {
            let (codes, status) = run(folder, &runtime, program, before, variables);
            assert_eq!(status, ended(3), "{}", runtime.name);
            codes
        };
        let woven = "woven/app.exe";
        assert_eq!(run(&folder, woven, &[], &[]), [""; 0], "{}", runtime.name);
        assert_eq!(run(&folder, "app/app.exe", &["woven"], &[]), ["other-file-loaded"], "{}", runtime.name);
        assert_eq!(run(&silent, woven, &[], &[]), ["not-called"], "{}", runtime.name);
        let orders = sample("orders").join("orders.exe");
        assert_eq!(run(&folder, &orders.to_string_lossy(), &["woven"], &[]), ["not-loaded"], "{}", runtime.name);
        for (variable, value, expected) in [
            ("ILINST_OUTPUT", "/proc/self/no.ilprof", &["not-writable"; 2][..]),
            ("ILINST_OUTPUT", "/dev/null", &["not-writable"]),
            ("ILINST_MODE", "count", &["count-only"]),
            ("ILINST_START", "paused", &["paused"]),
            ("ILINST_MAX_NODES", "2", &["limit"]),
        ] {
            assert_eq!(run(&folder, woven, &[], &[(variable, value)]), expected, "{variable} {value} on {}", runtime.name);
        }
    }
}

/// In a folder where anybody can create links, the log has an unpredictable name.
#[test]
#[cfg(unix)]
#[ignore = "needs Mono"]
fn the_trackers_log_goes_through_no_link() {
    let (Some(folder), Some(mono)) = (app("log", &["--all"]), Runtime::find("Mono")) else { return };
    let temporary = folder.join("tmp");
    fs::create_dir(&temporary).expect("a folder can be made");
    fs::write(folder.join("file"), "as it was").expect("it can be written");
    // `exec` keeps the process id, which is in the link's name.
    let script = "ln -s ../file \"$TMPDIR/ilinst-doctor-$$.log\"; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(ilinst().get_program()).args(["doctor", "--json", "--"]);
    command.args(words(&mono, "woven/app.exe")).current_dir(&folder).env("TMPDIR", &temporary).env_remove("ILINST_LOG");
    assert_eq!(heard(&command.output().expect("sh starts")), (Vec::new(), Some("exit status: 3".into())));
    assert_eq!(fs::read_to_string(folder.join("file")).expect("it is there"), "as it was");
    assert_eq!(fs::read_dir(&temporary).expect("it is there").count(), 1, "the link alone");
}

#[test]
#[ignore = "needs .NET or Mono"]
fn a_profile_tells_what_is_not_in_it() {
    let Some(folder) = app("profile", &["--all"]) else { return };
    let Some(runtime) = Runtime::all().into_iter().next() else { return };
    let variables = [("ILINST_OUTPUT", "app.ilprof")];
    assert_eq!(run(&folder, &runtime, "woven/app.exe", &[], &variables).0, [""; 0]);
    assert_eq!(codes(&folder, &["app.ilprof"]), [""; 0]);
    let path = folder.join("app.ilprof");
    let original = fs::read(&path).expect("it is there");
    // Flags of the header (docs/profile-format.md): no end recorded; disk full.
    for (flags, expected) in [(4, "killed"), (1 | 4 | 32, "disk-full")] {
        let mut bytes = original.clone();
        bytes[12] = flags;
        fs::write(&path, bytes).expect("it can be written");
        assert_eq!(codes(&folder, &["app.ilprof"]), [expected]);
    }
    fs::write(&path, &original).expect("it can be written");
    // The original replaces the instrumented program that the profile is of.
    fs::copy(folder.join("app/app.exe"), folder.join("woven/app.exe")).expect("it can be copied");
    assert_eq!(codes(&folder, &["app.ilprof"]), ["copied-back"]);
    assert_eq!(codes(&folder, &["woven", "app.ilprof"]), ["copied-back"; 2]);
}
