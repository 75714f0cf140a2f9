//! The default profile of commands that show or export one: the newest.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use tests::{ilinst, root, said, scratch};

/// Writes a profile with this time, in seconds since 1970.
fn lay(path: &Path, seconds: u64) {
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
    fs::copy(root().join("crates/profile/tests/golden/golden.ilprof"), path).expect("it can be copied");
    let file = fs::OpenOptions::new().write(true).open(path).expect("it can be opened");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("it can be set");
}

/// Other programs write to the temporary folder, too, and later.
#[test]
fn this_folder_comes_before_the_temporary_one() {
    let folder = scratch("cli-newest");
    let (here, temporary) = (folder.join("here"), folder.join("tmp"));
    lay(&here.join("older.ilprof"), 1);
    lay(&here.join("newer.ilprof"), 2);
    let elsewhere = temporary.join("ilinst-0/newest.ilprof");
    lay(&elsewhere, 3);
    let shown = || {
        let [reported, exported, quiet] = [&["report"][..], &["export", "--to", "folded"], &["export", "--to", "json", "-q"]]
            .map(|arguments| {
                let output = ilinst().args(arguments).current_dir(&here).env("TMPDIR", &temporary).output().expect("it starts");
                let (_, errors, code) = said(&output);
                assert_eq!(code, Some(0), "{errors}");
                errors
            });
        assert_eq!((&exported, &*quiet), (&reported, ""));
        reported
    };
    assert_eq!(shown(), "ilinst: note: this is ./newer.ilprof\n");
    for name in ["older.ilprof", "newer.ilprof"] {
        fs::remove_file(here.join(name)).expect("it can be removed");
    }
    assert_eq!(shown(), format!("ilinst: note: this is {}\n", elsewhere.display()));
}
