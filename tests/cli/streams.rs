//! Standard output and standard error that are full or closed: the command still does its work, and the exit code states the
//! result.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use tests::{ilinst, root, said, sample, scratch};

const FULL: &str = "ilinst: error ILI0014: standard output: No space left on device\n";

/// Returns an output to which nothing can be written.
fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("it can be opened").into()
}

/// Returns a pipe without a reader.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    writer.into()
}

/// Runs a command with a standard output; returns its standard error and its exit code.
fn run(command: &mut Command, out: Stdio) -> (String, Option<i32>) {
    let child = command.stdout(out).stderr(Stdio::piped()).spawn().expect("ilinst starts");
    let (_, errors, code) = said(&child.wait_with_output().expect("it ends"));
    (errors, code)
}

fn call(arguments: &[&str], files: &[&Path]) -> Command {
    let mut command = ilinst();
    command.args(arguments).args(files);
    command
}

#[test]
fn what_only_prints_says_that_it_could_not() {
    let folder = scratch("cli-streams");
    let (orders, hello) = (sample("orders").join("orders.exe"), sample("hello").join("hello.exe"));
    let broken = folder.join("broken.exe");
    let mut bytes = fs::read(&orders).expect("the sample is there");
    let at = bytes.windows(8).position(|window| window == b"<Module>").expect("it has one");
    bytes[at..at + 8].copy_from_slice(b"<module>");
    fs::write(&broken, bytes).expect("it can be written");
    let profile = root().join("crates/profile/tests/golden/golden.ilprof");
    let table: &[(&[&str], &[&Path], i32)] = &[
        (&["list"], &[&orders], 0),
        (&["list", "--json"], &[&orders], 0),
        (&["dis"], &[&orders], 0),
        (&["report"], &[&profile], 0),
        (&["report", "--json"], &[&profile], 0),
        (&["verify"], &[&orders], 0),
        (&["verify", "--json"], &[&orders], 0),
        (&["verify", "--pedantic"], &[&broken], 1),
        (&["verify", "--sarif", "--pedantic"], &[&broken], 1),
        (&["diff"], &[&orders, &hello], 1),
        (&["diff", "--stat"], &[&orders, &hello], 1),
        (&["diff", "--json"], &[&orders, &hello], 1),
        (&["diff", "--json"], &[&orders, &orders], 0),
        (&["--help"], &[], 0),
        (&["list", "--help"], &[], 0),
    ];
    for (arguments, files, expected) in table {
        let (errors, code) = run(&mut call(arguments, files), closed());
        assert_eq!((errors.as_str(), code), ("", Some(*expected)), "{arguments:?} into a closed pipe");
        let trouble = if arguments.first() == Some(&"diff") { 2 } else { 3 };
        assert_eq!(run(&mut call(arguments, files), full()), (FULL.into(), Some(trouble)), "{arguments:?} to a full device");
    }
}

/// Standard output has no effect on files: they are those of an uninterrupted run.
#[test]
fn what_writes_files_has_written_them() {
    let folder = scratch("cli-streams-files");
    let original = fs::read(sample("orders").join("orders.exe")).expect("the sample is there");
    let (app, file, woven) = (folder.join("app"), folder.join("app/orders.exe"), folder.join("woven"));
    fs::create_dir(&app).expect("a folder can be made");
    type Make = fn() -> Stdio;
    for (make, errors, code) in [(closed as Make, "", 0), (full as Make, FULL, 3)] {
        fs::write(&file, &original).expect("it can be written");
        let said = (errors.to_owned(), Some(code));
        for format in [&["instrument"][..], &["instrument", "--json"], &["instrument", "-v"]] {
            let _ = fs::remove_dir_all(&woven);
            assert_eq!(run(call(format, &[&file]).arg("-o").arg(woven.join("")), make()), said, "{format:?}");
            assert!(woven.join("orders.exe").is_file() && woven.join("orders.exe.ilinst.json").is_file(), "{format:?}");
        }
        assert_eq!(run(&mut call(&["instrument", "--in-place"], &[&app]), make()), said);
        assert_ne!(fs::read(&file).expect("it is there"), original);
        assert_eq!(run(&mut call(&["restore"], &[&app]), make()), said);
        assert_eq!(fs::read(&file).expect("it is there"), original);
        assert_eq!(fs::read_dir(&app).expect("it is there").count(), 1, "nothing is left behind");
        // A file that was changed since is a finding, even if the report cannot be written.
        assert_eq!(run(&mut call(&["instrument", "--in-place", "-q"], &[&app]), make()), (String::new(), Some(0)));
        fs::write(&file, b"changed").expect("it can be written");
        let expected = if code == 0 { (String::new(), Some(1)) } else { said };
        assert_eq!(run(&mut call(&["restore"], &[&app]), make()), expected);
        // A command without output needs no standard output.
        fs::write(&file, &original).expect("it can be written");
        let il = folder.join("orders.il");
        assert_eq!(run(call(&["dis"], &[&file]).arg("-o").arg(&il), make()), (String::new(), Some(0)));
        assert!(il.is_file());
        let page = folder.join("page.html");
        assert_eq!(run(call(&["diff"], &[&file, &file]).arg("--html").arg(&page), make()), (String::new(), Some(0)));
    }
}

#[test]
fn exit_codes_need_no_standard_error() {
    let folder = scratch("cli-streams-errors");
    let orders = sample("orders").join("orders.exe");
    let missing = folder.join("missing.exe");
    for make in [full as fn() -> Stdio, closed] {
        for (arguments, files, expected) in [
            (&["list"][..], &[&*missing][..], 3),
            (&["dis", "--source"], &[&orders], 0),
            (&["diff"], &[&missing, &missing], 2),
            (&["verify"], &[&missing, &orders], 3),
            (&["restore"], &[&missing], 3),
            (&["instrument", "--dry-run"], &[&missing], 3),
            (&["no-command"], &[], 2),
        ] {
            let output = call(arguments, files).stdout(Stdio::piped()).stderr(make()).output().expect("ilinst runs");
            assert_eq!(output.status.code(), Some(expected), "{arguments:?}");
        }
    }
}
