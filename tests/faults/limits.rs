//! Full disks, and limits of a process's resources.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use tests::{Mounted, ilinst, said, sample, scratch, skip_part};

use crate::commands::{Prepared, call, is_leftover, prepared, tree};

/// A limit of file size: a write beyond it returns an error to the tool, while by default a signal ends the process.
#[test]
fn files_that_would_get_too_large_are_errors() {
    each_step("f", &(0..).step_by(9), |prepared, folder, output, limit| {
        let (_, errors, code) = said(output);
        assert!(code == Some(prepared.writer.done) || errors.contains("File too large"), "{limit}: {code:?} {errors}");
        prepared.check(folder, output.status, &format!("files of {limit} blocks"));
    });
}

#[test]
fn too_few_open_files_are_errors() {
    each_step("n", &(3..), |prepared, folder, output, limit| {
        prepared.check(folder, output.status, &format!("{limit} open files"));
    });
}

/// Without memory, Rust's allocator ends the process; no file is lost then either.
#[test]
fn too_little_memory_loses_nothing() {
    each_step("v", &(4096..).step_by(3072), |prepared, folder, output, limit| {
        prepared.check_killed(folder, &format!("{limit} KiB"));
        let code = output.status.code();
        assert_ne!(code, Some(101), "{}: {limit} KiB: {output:?}", prepared.writer.name);
    });
}

#[test]
fn a_full_disk_is_an_error() {
    let folder = scratch("faults-full");
    for prepared in prepared(&folder.join("work")) {
        // The folder's initial contents must fit.
        let pages: usize = prepared.before.values().flatten().map(|content| content.len().div_ceil(4096)).sum();
        for kib in (u32::try_from(4 * pages).expect("it is small")..).step_by(24) {
            let disk = folder.join("disk");
            let Some(mounted) = Mounted::new(&disk, kib) else {
                return skip_part("a full disk: no file system can be mounted here");
            };
            let work = disk.join("work");
            prepared.lay(&work);
            let status = call(prepared.writer.arguments, &work);
            prepared.check(&work, status, &format!("a disk of {kib} KiB"));
            drop(mounted);
            if status.code() == Some(prepared.writer.done) {
                break;
            }
            assert_eq!(status.code(), Some(prepared.writer.failed));
        }
    }
}

/// Outputs on two file systems get their names, too.
#[test]
fn a_folder_may_lie_on_several_file_systems() {
    let folder = scratch("faults-mounted");
    let copy = |to: &Path| fs::copy(sample("hello").join("hello.exe"), to).expect("it can be copied");
    fs::create_dir_all(folder.join("app/there")).expect("a folder can be made");
    copy(&folder.join("app/here.exe"));
    let Some(_mounted) = Mounted::new(&folder.join("app/there"), 1024) else {
        return skip_part("two file systems: none can be mounted here");
    };
    copy(&folder.join("app/there/there.exe"));
    let (before, there) = (tree(&folder), Path::new("app/there/there.exe"));
    assert_eq!(call(&["instrument", "app", "--in-place", "-q"], &folder).code(), Some(0));
    let woven = tree(&folder);
    assert_ne!(woven[there], before[there]);
    assert!(!woven.keys().any(|path| is_leftover(path)));
    assert_eq!(call(&["restore", "app", "-q"], &folder).code(), Some(0));
    assert!(tree(&folder) == before);
}

/// Runs each command under growing limits of `ulimit` until it succeeds.
fn each_step(option: &str, limits: &(impl Iterator<Item = u32> + Clone), check: impl Fn(&Prepared, &Path, &Output, u32)) {
    let folder = scratch(&format!("faults-ulimit-{option}"));
    for prepared in prepared(&folder) {
        for limit in limits.clone() {
            prepared.lay(&folder);
            let mut command = Command::new("sh");
            command.args(["-c", &format!("ulimit -{option} {limit} && exec \"$@\""), "sh"]).arg(ilinst().get_program());
            let output = command.args(prepared.writer.arguments).current_dir(&folder).output().expect("sh starts");
            check(&prepared, &folder, &output, limit);
            if output.status.code() == Some(prepared.writer.done) {
                break;
            }
        }
    }
}
