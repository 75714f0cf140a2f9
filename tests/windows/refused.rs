//! Paths that Windows does not allow to be written: the error is reported, and no file is left.

use std::{fs, path::Path};

use crate::{Windows, files_below, into, lines, windows};

/// Windows has a single error for paths that must not be written.
#[test]
#[ignore = "needs Wine"]
fn read_only_files() {
    let Some(wine) = Windows::new("read-only") else { return };
    let input = wine.sample("hello").join("hello.exe");
    let output = wine.folder.join("woven");
    wine.run(&[&"instrument", &windows(&input), &"-o", &into(&output)]);
    let program = output.join("hello.exe");
    let set_read_only = |is_read_only| {
        let mut permissions = program.metadata().expect("it is there").permissions();
        permissions.set_readonly(is_read_only);
        fs::set_permissions(&program, permissions).expect("it can be set");
    };
    set_read_only(true);
    wine.refuses(&[&"instrument", &windows(&input), &"-o", &into(&output)], 3, &["ILI0014", "read-only", "hello.exe"]);
    set_read_only(false);
    // An input may be read-only; its output is not.
    let mut permissions = input.metadata().expect("it is there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&input, permissions).expect("it can be set");
    wine.run(&[&"instrument", &windows(&input), &"-o", &into(&wine.folder.join("again"))]);
    assert!(!wine.folder.join("again/hello.exe").metadata().expect("it is there").permissions().readonly());
}

/// A file that another program has open stays unchanged, and no file is left beside it: `cmd` has it open, and waits for
/// `ilinst`.
#[test]
#[ignore = "needs Wine"]
fn open_files() {
    let Some(wine) = Windows::new("open") else { return };
    wine.sample("hello");
    wine.run(&[&"instrument", &"hello\\hello.exe", &"-o", &"woven\\"]);
    fs::write(wine.folder.join("woven/hello.exe"), "not what would be written").expect("it can be written");
    let before = files_below(&wine.folder);
    let mut command = wine.program("cmd".as_ref());
    command.args(["/c", &format!("{} instrument hello\\hello.exe -o woven\\ < woven\\hello.exe", windows(&wine.exe).display())]);
    let (text, errors, code) = lines(&command.output().expect("Wine starts"));
    assert_eq!(code, Some(3), "{text}{errors}");
    for word in ["ILI0014", "hello.exe", "is it open in another program"] {
        assert!(errors.contains(word), "no '{word}' in: {errors}");
    }
    assert!(files_below(&wine.folder) == before, "something was written");
    assert_eq!(hidden_in(&wine.folder.join("woven")), 0);
    wine.run(&[&"instrument", &"hello\\hello.exe", &"-o", &"woven\\"]);
    assert!(fs::read(wine.folder.join("woven/hello.exe")).expect("it is there").starts_with(b"MZ"));
}

/// Returns the number of files and folders in a folder whose names begin with a dot.
fn hidden_in(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).count()
}
