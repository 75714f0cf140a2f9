//! A program is instrumented once, for all runs, and a damaged entry of the cache is made anew.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Stdio,
    time::{Duration, SystemTime},
};

use tests::{give_away, ilinst, said, sample, scratch};

use crate::{App, Work, has_woven, mono, output, tree};

#[test]
#[ignore = "needs Mono"]
fn a_second_run_weaves_nothing() {
    let Some(app) = App::on_mono("second") else { return };
    let work = &app.work;
    let run = |options: &[&str]| {
        // In its folder, where it keeps profiles.
        let mut at_home = app.at_home(&["echo"]);
        let output = output(&mut work.run(options, at_home.current_dir(app.home())));
        assert_eq!(output.status.code(), Some(9), "{output:?}");
        has_woven(&output)
    };
    assert!(run(&["--no-report"]));
    let entries = work.entries();
    assert_eq!(entries.len(), 1);
    let made = fs::metadata(entries[0].join("made.json")).and_then(|file| file.modified()).expect("it is there");
    // A profile in the program's folder is none of its files.
    assert!(!run(&["--no-report", "--keep"]));
    assert!(!run(&["--no-report"]));
    assert_eq!(work.entries(), entries);
    let again = fs::metadata(entries[0].join("made.json")).and_then(|file| file.modified()).expect("it is there");
    assert_eq!(made, again, "nothing was written");

    assert!(run(&["--no-report", "--leave", "return"]), "other options");
    assert!(!run(&["--no-report"]) && !run(&["--no-report", "--leave", "return"]));
    fs::write(app.path.with_file_name("data.txt"), "other").expect("it can be written");
    assert!(run(&["--no-report"]), "another input");
    assert_eq!(work.entries().len(), 3);
    for number in 0..4 {
        fs::write(app.path.with_file_name("data.txt"), number.to_string()).expect("it can be written");
        assert!(run(&["--no-report"]));
    }
    assert_eq!(work.entries().len(), 4, "the latest of a program are kept");
}

#[test]
#[ignore = "needs Mono"]
fn runs_side_by_side_weave_once() {
    let Some(mono) = mono() else { return };
    let work = Work::new("parallel");
    let at_home = mono.program(&sample("orders").join("orders.exe"), &work.folder);
    let runs: Vec<_> = (0..6)
        .map(|_| {
            let mut run = work.run(&["--no-report"], &at_home);
            run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    let outputs: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().expect("it ends")).collect();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(output.stdout, outputs[0].stdout, "{output:?}");
    }
    assert_eq!(outputs.iter().filter(|output| has_woven(output)).count(), 1);
    assert_eq!(work.entries().len(), 1);
}

/// Cut short, changed, gone, unfinished: made anew, and never run.
#[test]
#[ignore = "needs Mono"]
fn a_damaged_entry_is_made_anew() {
    let Some(mono) = mono() else { return };
    let work = Work::new("damaged");
    let at_home = mono.program(&sample("hello").join("hello.exe"), &work.folder);
    let run = || {
        let output = output(&mut work.run(&["--no-report"], &at_home));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        has_woven(&output)
    };
    assert!(run());
    let entry = work.entries().remove(0);
    let program = entry.join("program/hello.exe");
    let whole = fs::read(&program).expect("it is there");
    let files = |files: &str| {
        let made = fs::read_to_string(entry.join("made.json")).expect("it is there");
        let (before, _) = made.split_once("\"files\":[").expect("a list");
        fs::write(entry.join("made.json"), format!("{before}\"files\":[{files}]}}")).expect("it can be written");
        fs::write(&program, "planted").expect("it can be written");
    };
    let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o777)).expect("it is ours");
    let damages: [&dyn Fn(); 8] = [
        &|| fs::write(&program, &whole[..100]).expect("it can be written"),
        &|| fs::write(&program, [&whole[..whole.len() - 1], b"x"].concat()).expect("it can be written"),
        &|| fs::remove_file(entry.join("program/Ilinst.Tracker.dll")).expect("it can be removed"),
        &|| fs::remove_file(entry.join("made.json")).expect("it can be removed"),
        &|| fs::write(entry.join("made.json"), "{}").expect("it can be written"),
        &|| files(""),
        &|| files(r#"{"name":"other","size":7,"sha256":""}"#),
        &|| open(&entry),
    ];
    for (number, damage) in damages.iter().enumerate() {
        damage();
        assert!(run(), "damage {number}");
        assert!(fs::read(&program).expect("it is there") == whole, "damage {number}");
        assert!(!run());
    }
    assert_eq!(work.entries(), [entry]);
}

/// Whoever weaves it: what is said of a pattern is said in each run that has it on its command line.
#[test]
#[ignore = "needs Mono"]
fn what_names_nothing_is_said_of_what_was_woven_before_too() {
    let Some(app) = App::on_mono("nothing") else { return };
    let pattern = ["--exclude", "App::Ecko", "--no-report"];
    for is_new in [true, false] {
        let output = app.run(&pattern, &["echo"]);
        let (_, errors, code) = said(&output);
        assert_eq!((has_woven(&output), code), (is_new, Some(9)));
        assert!(errors.contains("warning ILI0025: --exclude 'App::Ecko' names nothing there; nearest: App::Echo"), "{errors}");
    }
    let strict = said(&app.run(&[&pattern[..], &["--strict"]].concat(), &["echo"]));
    assert!(strict.2 == Some(4) && strict.0.is_empty() && strict.1.contains("error ILI0025"), "{strict:?}");
    // A file's patterns may be for other programs.
    fs::write(app.home().join("ilinst.toml"), "exclude = ['App::Ecko']\n").expect("it can be written");
    for _ in 0..2 {
        let errors = said(&app.run(&["--no-report"], &["echo"])).1;
        assert!(!errors.contains("ILI0025"), "{errors}");
    }
}

/// Nobody's program loses its files.
#[test]
#[ignore = "needs Mono"]
fn what_runs_is_not_cleared() {
    let Some(app) = App::on_mono("clear") else { return };
    let work = &app.work;
    let mut run = app.start(&["-q", "--no-report"]);
    assert_eq!(work.cached(&[])["entries"][0]["inUse"], true);
    let cleared = work.cached(&["clear"]);
    assert_eq!((&cleared["removed"], &cleared["inUse"]), (&0.into(), &1.into()));
    drop(run.stdin.take());
    assert_eq!(run.wait().expect("it ends").code(), Some(6));
    let cleared = work.cached(&["clear"]);
    assert_eq!((&cleared["removed"], &cleared["inUse"]), (&1.into(), &0.into()));
    let left: Vec<_> = tree(&work.cache()).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [work.cache().join("ilinst-cache/CACHEDIR.TAG")], "nothing else is left");
    let empty = said(&ilinst().arg("cache").env("ILINST_CACHE", work.cache()).output().expect("ilinst runs"));
    assert!(empty.0.ends_with(": 0 instrumented programs, 0 B\n"), "{empty:?}");
}

/// A cache may be put into a folder with anything in it. An entry has a marker within, and lies in a folder that ilinst made, or
/// beside that, where an older ilinst has left it.
#[test]
#[ignore = "needs Mono"]
fn only_entries_are_removed() {
    let Some(app) = App::on_mono("only") else { return };
    let (work, own) = (&app.work, app.work.cache().join("ilinst-cache"));
    let set_time = |path: &Path, time: SystemTime| File::open(path).expect("it is there").set_modified(time).expect("it is ours");
    let put = |folder: &Path| {
        let key = "0123456789abcdef0123456789abcdef";
        let of_key = [format!("{key}.lock"), format!("{key}/data.txt"), format!("{key}-1/made.json/data.txt")];
        let names =
            ["Cargo.lock", "poetry.lock", "poetry/data.txt", "a.b.lock", "a/data.txt", "toolchain/apt.lock", "b/made.json"];
        for name in names.map(str::to_owned).iter().chain(&of_key) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
            fs::write(&path, "the user's").expect("it can be written");
            set_time(&path, SystemTime::UNIX_EPOCH);
        }
    };
    let run = |data: &str| {
        fs::write(app.home().join("data.txt"), data).expect("it can be written");
        assert!(has_woven(&app.run(&["--no-report"], &["write"])));
        work.entries().remove(0)
    };
    put(&work.cache());
    fs::create_dir(&own).expect("a folder can be made");
    fs::write(own.join("CACHEDIR.1"), "").expect("it can be written");
    assert_eq!(work.cached(&["clear"])["removed"], 0);
    let older = run("older");
    fs::remove_file(own.join("CACHEDIR.1")).expect("it is as it was");
    put(&own);
    let users = [tree(&work.cache()), tree(&own)].concat();
    let users = users.iter().filter(|(path, _)| !path.starts_with(&older) && !path.starts_with(older.with_extension("lock")));

    for path in [older.clone(), older.with_extension("lock")] {
        fs::rename(&path, work.cache().join(path.file_name().expect("it has a name"))).expect("it can be moved");
    }
    let unused = run("unused");
    assert_eq!(work.entries().len(), 2);
    set_time(&unused.with_extension("lock"), SystemTime::now() - Duration::from_secs(60 * 60 * 24 * 31));
    let used = run("used");
    assert!(!unused.exists() && !unused.with_extension("lock").exists(), "nobody used it for a month");
    assert_eq!(work.entries(), [used, work.cache().join(older.file_name().expect("it has a name"))]);
    assert_eq!(work.cached(&["clear"])["removed"], 2);
    let mut left: Vec<_> = users.cloned().collect();
    left.sort();
    left.dedup();
    assert!(tree(&work.cache()) == left, "nothing else is removed");
}

/// A folder that another user can change, or put another in the place of, may hold anybody's programs.
#[test]
#[ignore = "needs Mono"]
fn what_others_can_change_is_no_cache() {
    let Some(mono) = mono() else { return };
    let work = Work::new("others");
    let at_home = mono.program(&sample("hello").join("hello.exe"), &work.folder);
    let run = |variable: &str, folder: &Path| {
        let mut run = work.run(&["--no-report"], &at_home);
        said(&output(run.env_remove("ILINST_CACHE").env_remove("XDG_CACHE_HOME").env(variable, folder)))
    };
    let is_refused = |variable: &str, folder: &Path, reason: &str| {
        let before = tree(folder);
        let (text, errors, code) = run(variable, folder);
        assert_eq!((text.as_str(), code), ("", Some(3)), "{errors}");
        assert!(errors.contains("error ILI0014: ") && errors.contains(reason), "{errors}");
        assert!(errors.ends_with("; set ILINST_CACHE to a folder of your own\n"), "{errors}");
        assert!(tree(folder) == before);
        let cleared = ilinst().args(["cache", "clear"]).env("ILINST_CACHE", folder).output().expect("ilinst runs");
        let cleared = said(&cleared);
        assert!(!folder.join("ilinst-cache").exists() || cleared.2 == Some(3), "{cleared:?}");
    };
    let folder = |name: &str| {
        let folder = work.folder.join(name);
        assert_eq!(run("ILINST_CACHE", &folder).2, Some(0));
        (folder.join("ilinst-cache"), folder)
    };
    let open = |folder: &Path, mode: u32| fs::set_permissions(folder, Permissions::from_mode(mode)).expect("it is ours");

    let (own, holding) = folder("open");
    open(&own, 0o707);
    is_refused("ILINST_CACHE", &holding, "ilinst-cache: other users can write to it (mode 0707)");
    open(&own, 0o1777);
    is_refused("ILINST_CACHE", &holding, "ilinst-cache: other users can write to it (mode 1777)");
    open(&own, 0o755);
    open(&holding, 0o777);
    is_refused("ILINST_CACHE", &holding, "open: other users can write to it (mode 0777)");
    // Nobody can rename what is another's in it, as in /tmp.
    open(&holding, 0o1777);
    assert_eq!(run("ILINST_CACHE", &holding).2, Some(0));

    let (own, holding) = folder("link");
    fs::rename(&own, work.folder.join("elsewhere")).expect("it can be moved");
    std::os::unix::fs::symlink("../elsewhere", &own).expect("a link can be made");
    is_refused("ILINST_CACHE", &holding, "ilinst-cache: it is no folder");
    // A link that is there already is the user's.
    let (_, holding) = folder("linked");
    let link = work.folder.join("to-linked");
    std::os::unix::fs::symlink(holding, &link).expect("a link can be made");
    assert_eq!(run("ILINST_CACHE", &link).2, Some(0));

    let (own, holding) = folder("not-made");
    fs::remove_file(own.join("CACHEDIR.TAG")).expect("it is there");
    is_refused("ILINST_CACHE", &holding, "ilinst-cache: ilinst did not make this folder (CACHEDIR.TAG is missing)");

    let (own, holding) = folder("another-user");
    if give_away(&own) {
        is_refused("ILINST_CACHE", &holding, "ilinst-cache: it belongs to another user (");
        // In a user namespace that maps it, 65534 is a user as any other.
        let (_, holding) = folder("nobody");
        std::os::unix::fs::chown(&holding, Some(65534), None).expect("root can");
        is_refused("ILINST_CACHE", &holding, "nobody: it belongs to another user (65534)");
        // Root, with the home of who became root.
        let home = scratch("launch-others-home");
        give_away(&home);
        is_refused("HOME", &home, "launch-others-home: it belongs to another user (");
        assert!(!home.join(".cache/ilinst/ilinst-cache").exists());
        assert_eq!(output(&mut work.run(&["--no-report"], &at_home)).status.code(), Some(0));
        give_away(&work.entries()[0]);
        let output = output(&mut work.run(&["--no-report"], &at_home));
        assert!(has_woven(&output), "another user's entry is not run: {output:?}");
    }
}

/// Names are bytes; what is in them is nobody's business but the program's.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "needs Mono"]
fn names_need_not_be_text() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let Some(app) = App::on_mono("names") else { return };
    let folder = app.home().join(OsStr::from_bytes(b"folder\xfe"));
    fs::create_dir(&folder).expect("a folder can be made");
    fs::write(folder.join(OsStr::from_bytes(b"m\xe9.txt")), "Latin-1").expect("it can be written");
    for is_new in [true, false] {
        let output = app.run(&["--no-report"], &["echo"]);
        assert_eq!((has_woven(&output), output.status.code()), (is_new, Some(9)), "{output:?}");
    }
    let entry = app.work.entries().remove(0);
    let name = Path::new(OsStr::from_bytes(b"folder\xfe")).join(OsStr::from_bytes(b"m\xe9.txt"));
    assert_eq!(fs::read(entry.join("program").join(&name)).expect("it was copied"), b"Latin-1");
    fs::write(entry.join("program").join(&name), "damaged").expect("it can be written");
    assert!(has_woven(&app.run(&["--no-report"], &["echo"])), "its hash is known");
    assert_eq!(app.run(&["--no-report", "--in-place"], &["echo"]).status.code(), Some(9));
}

/// As where a program lies in its user's home.
#[test]
#[ignore = "needs Mono"]
fn a_cache_may_lie_in_the_programs_folder() {
    let Some(app) = App::on_mono("within") else { return };
    for cache in [app.home().to_owned(), app.home().join("deep/er")] {
        let run = |options: &[&str]| output(app.work.run(options, &app.at_home(&["echo"])).env("ILINST_CACHE", &cache));
        for is_new in [true, false, false] {
            let output = run(&["--no-report"]);
            assert_eq!((has_woven(&output), output.status.code()), (is_new, Some(9)), "{output:?}");
        }
        assert_eq!(run(&["--no-report", "--in-place"]).status.code(), Some(9));
        let programs = tree(&cache).into_iter().filter(|(path, _)| path.ends_with("program/app.exe")).count();
        assert_eq!(programs, 1, "it is not copied with the program");
    }
}
