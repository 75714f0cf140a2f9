//! Outputs whose paths exist as other kinds of files, and the permissions of outputs.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::Path,
    process::Command,
};

use tests::{ilinst, said, sample, scratch, skip_part};

fn instrument(folder: &Path, arguments: &[&str]) -> (String, String, Option<i32>) {
    said(&ilinst().arg("instrument").args(arguments).arg("-q").current_dir(folder).output().expect("ilinst runs"))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it can be set");
}

#[test]
fn only_files_that_can_be_written_are_replaced() {
    let folder = scratch("cli-special");
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().expect("mkfifo starts").success());
    let original = sample("hello").join("hello.exe");
    let original = original.to_str().expect("it is text");
    let refused = |why: &str| (String::new(), format!("ilinst: error {why}\n"), Some(3));
    let why = "ILI0014: pipe: it is no regular file, and would be replaced by one; name another";
    assert_eq!(instrument(&folder, &[original, "-o", "pipe"]), refused(why));
    assert!(fs::metadata(folder.join("pipe")).expect("it is there").file_type().is_fifo());
    let why = "ILI0010: pipe: it is no regular file, and a file was asked for";
    assert_eq!(instrument(&folder, &["pipe", "-o", "out/"]), refused(why));

    fs::write(folder.join("kept.exe"), "kept").expect("it can be written");
    set_mode(&folder.join("kept.exe"), 0o444);
    let why = "ILI0014: kept.exe: it is there and is read-only; make it writable, or write elsewhere";
    assert_eq!(instrument(&folder, &[original, "-o", "kept.exe"]), refused(why));
    assert_eq!(fs::read(folder.join("kept.exe")).expect("it is there"), b"kept");
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 2, "nothing is left behind");
}

/// The error is reported at once, before the whole input is read.
#[test]
fn what_is_larger_than_an_image_can_be_is_refused() {
    let folder = scratch("cli-large");
    let large = folder.join("large.exe");
    fs::copy(sample("hello").join("hello.exe"), &large).expect("it can be copied");
    let file = fs::OpenOptions::new().write(true).open(&large).expect("it can be opened");
    if file.set_len(5 << 30).is_err() {
        return skip_part("there can be no file of 5 GiB");
    }
    let why = "ilinst: error ILI0011: large.exe: not a PE file: it is larger than 4 GiB\n";
    assert_eq!(instrument(&folder, &["large.exe", "--dry-run"]), (String::new(), why.into(), Some(3)));
    fs::remove_file(large).expect("it can be removed");
}

#[test]
fn outputs_have_the_permissions_of_what_they_come_from() {
    let folder = scratch("cli-modes");
    let files = [("orders.exe", 0o755), ("orders.pdb", 0o600), ("orders.runtimeconfig.json", 0o640)];
    for (file, bits) in files {
        fs::copy(sample("orders").join(file), folder.join(file)).expect("it can be copied");
        set_mode(&folder.join(file), bits);
    }
    assert_eq!(instrument(&folder, &["orders.exe", "-o", "out/"]).2, Some(0));
    // The output of a read-only input is writable, so that the next run can replace it.
    set_mode(&folder.join("orders.exe"), 0o555);
    assert_eq!(instrument(&folder, &["orders.exe", "-o", "again/"]).2, Some(0));
    assert_eq!(mode(&folder.join("again/orders.exe")), 0o755);
    assert_eq!(instrument(&folder, &["orders.exe", "-o", "again/"]).2, Some(0));
    set_mode(&folder.join("orders.exe"), 0o755);
    assert_eq!(instrument(&folder, &["orders.exe", "--in-place"]).2, Some(0));
    for (file, bits) in files {
        assert_eq!((mode(&folder.join("out").join(file)), mode(&folder.join(file))), (bits, bits), "{file}");
    }
}
