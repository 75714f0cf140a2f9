//! The command line, case by case. A case is a file: lines that begin with `$` are run, and their output follows. `BLESS=1`
//! writes the current output into the files; read the difference before you commit it.
//!
//! Lines that begin with `# ` are comments. Beside `ilinst ...`, a case can call these commands:
//! `first LINES ilinst ...` (the first lines of output), `folder NEW`, `ls FOLDER`, `copy FILE|FOLDER NEW`, `link TARGET NEW`,
//! `same FOLDER FOLDER` (the differences), `cut FILE BYTES NEW` (the file's first bytes),
//! `zero FILE OFFSET NEW` (the file with eight bytes zeroed), `text NEW WORDS` (`\n` in them begins a line) and `show FILE`.
//!
//! `{samples}`, `{tmp}` and `{tracker}` stand for folders. Times and process ids are replaced, since they vary.

mod browser;
mod codes;
mod config;
mod crafted;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod hostile;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod names;
#[cfg(unix)]
mod newest;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod work;

use std::{
    fs,
    path::{Path, PathBuf},
};

use tests::{ilinst, root, said, scratch};

#[test]
fn cases() {
    tests::check_cases(&root().join("tests/cli/cases"), |case, text| Some(run(case, text)));
}

/// A name may be invalid UTF-8.
#[cfg(unix)]
#[test]
fn odd_names_are_put_back() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let folder = scratch("cli-odd-names");
    let program = folder.join(OsStr::from_bytes(b"bad\xff.exe"));
    let original = fs::read(root().join("samples/orders/bin/orders.exe")).expect("it can be read");
    fs::write(&program, &original).expect("it can be written");
    let call = |arguments: &[&str]| {
        assert_eq!(said(&ilinst().args(arguments).arg(&folder).output().expect("ilinst runs")), ("".into(), "".into(), Some(0)));
    };
    call(&["instrument", "--in-place", "-q"]);
    assert_ne!(fs::read(&program).expect("it is there"), original);
    call(&["restore", "-q"]);
    assert_eq!(fs::read(&program).expect("it is there"), original);
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1, "nothing is left behind");
}

/// A path in a folder that is neither file nor folder is skipped.
#[cfg(unix)]
#[test]
fn sockets_are_left_out() {
    let folder = scratch("cli-sockets");
    fs::create_dir(folder.join("app")).expect("a folder can be made");
    copy(&root().join("samples/hello/bin/hello.exe"), &folder.join("app/hello.exe"));
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("app/socket.dll")).expect("a socket can be made");
    let output = ilinst().args(["instrument", "app", "-o", "woven"]).current_dir(&folder).output().expect("ilinst runs");
    let (out, errors, code) = said(&output);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.contains("socket.dll: left out: it is no regular file\n"), "{out}");
    assert!(folder.join("woven/hello.exe").is_file() && !folder.join("woven/socket.dll").exists());
}

/// The start of a comment line. Lines of output may begin with more than one `#`.
const COMMENT: &str = "# ";

/// Runs a case's commands; returns the case with the current output.
fn run(case: &Path, text: &str) -> String {
    let name = case.file_stem().expect("a case has a name").to_string_lossy().into_owned();
    let folders = [
        ("{samples}", root().join("samples")),
        ("{tracker}", root().join("tracker-runtime/bin")),
        ("{tmp}", scratch(&format!("cli-{name}"))),
    ];
    let mut actual = String::new();
    for line in text.lines().take_while(|line| !line.starts_with('$')) {
        actual.push_str(line);
        actual.push('\n');
    }
    for line in text.lines().filter(|line| line.starts_with('$') || line.starts_with(COMMENT)) {
        actual.push_str(line);
        actual.push('\n');
        if line.starts_with(COMMENT) {
            continue;
        }
        let words = words(line.trim_start_matches('$'), &folders);
        let printed = match words.first().map(String::as_str) {
            Some("ilinst") => call(&words[1..], &folders[2].1),
            Some("first") => first(&words[1], &call(&words[3..], &folders[2].1)),
            Some("folder") => fs::create_dir_all(&words[1]).map(|()| String::new()).expect("a folder can be made"),
            Some("show") => fs::read_to_string(&words[1]).expect("it is text"),
            Some("ls") => list(Path::new(&words[1])),
            Some("cut") => cut(&words[1], &words[2], &words[3]),
            Some("zero") => zero(&words[1], &words[2], &words[3]),
            Some("link") => link(Path::new(&words[1]), Path::new(&words[2])),
            Some("copy") => copy(Path::new(&words[1]), Path::new(&words[2])),
            Some("same") => same(Path::new(&words[1]), Path::new(&words[2])),
            Some("text") => fs::write(&words[1], words[2..].join(" ").replace("\\n", "\n"))
                .map(|()| String::new())
                .expect("it can be written"),
            other => panic!("{name}: no command {other:?}"),
        };
        actual.push_str(&plain(&printed, &folders));
        actual.push('\n');
    }
    while actual.ends_with("\n\n") {
        actual.pop();
    }
    actual
}

/// Splits a line into words; quotes enclose one word.
fn words(line: &str, folders: &[(&str, PathBuf)]) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.trim().chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(character),
        }
    }
    for word in &mut words {
        for (name, folder) in folders {
            *word = word.replace(name, &folder.to_string_lossy());
        }
    }
    words
}

fn call(arguments: &[String], folder: &Path) -> String {
    let output = ilinst().args(arguments).current_dir(folder).output().expect("ilinst runs");
    let (out, errors, code) = said(&output);
    let mut printed = out + &errors;
    if code != Some(0) {
        printed.push_str(&format!("[exit {}]\n", code.map_or("by signal".into(), |code| code.to_string())));
    }
    printed
}

/// Returns the first lines of the output.
fn first(lines: &str, printed: &str) -> String {
    printed.lines().take(lines.parse().expect("a number")).map(|line| line.to_owned() + "\n").collect()
}

/// Returns the paths below a folder, in order; links are not followed.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            paths.push(entry.path().strip_prefix(folder).expect("it is below").to_owned());
        }
    }
    paths.sort();
    paths
}

/// Lists the names below a folder, and the targets of links.
fn list(folder: &Path) -> String {
    let line = |path: PathBuf| match fs::read_link(folder.join(&path)) {
        Ok(target) => format!("{} -> {}\n", path.display(), target.display()),
        Err(_) => format!("{}\n", path.display()),
    };
    below(folder).into_iter().map(line).collect()
}

/// Copies a file, or a folder with its contents.
fn copy(from: &Path, to: &Path) -> String {
    if let Ok(target) = fs::read_link(from) {
        return link(&target, to);
    }
    if from.is_file() {
        fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::copy(from, to).expect("it can be copied");
        return String::new();
    }
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("it can be read").flatten() {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
    String::new()
}

/// Creates a link.
fn link(target: &Path, new: &Path) -> String {
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, new).expect("a link can be made");
    #[cfg(not(unix))]
    panic!("no link from {} to {}: links are tested where everybody may make them", new.display(), target.display());
    String::new()
}

/// Lists the differences between two folders.
fn same(one: &Path, other: &Path) -> String {
    let (files, others) = (below(one), below(other));
    let mut paths: Vec<&PathBuf> = files.iter().chain(&others).collect();
    paths.sort();
    paths.dedup();
    let read = |folder: &Path, path: &PathBuf| match fs::read_link(folder.join(path)) {
        Ok(target) => Ok(target.into_os_string().into_encoded_bytes()),
        Err(_) => fs::read(folder.join(path)).map_err(|error| error.kind()),
    };
    let differs = |path: &&PathBuf| read(one, path) != read(other, path);
    paths.into_iter().filter(differs).map(|path| format!("{} differs\n", path.display())).collect()
}

fn cut(from: &str, bytes: &str, to: &str) -> String {
    let content = fs::read(from).expect("it can be read");
    let count: usize = bytes.parse().expect("a number");
    fs::write(to, &content[..count.min(content.len())]).expect("it can be written");
    String::new()
}

fn zero(from: &str, offset: &str, to: &str) -> String {
    let mut content = fs::read(from).expect("it can be read");
    let offset: usize = offset.parse().expect("a number");
    content[offset..offset + 8].fill(0);
    fs::write(to, content).expect("it can be written");
    String::new()
}

/// Returns the output with varying parts replaced.
fn plain(text: &str, folders: &[(&str, PathBuf)]) -> String {
    let mut text = text.to_owned();
    for (name, folder) in folders {
        text = text.replace(&*folder.to_string_lossy(), name);
    }
    let mut lines = Vec::new();
    for line in text.lines() {
        let in_time = line.rfind(" in ").map(|at| line.split_at(at));
        lines.push(match (in_time, line.split_once("\"milliseconds\": ")) {
            (Some((before, time)), _) if time.ends_with(" ms") || time.ends_with(" s") => format!("{before} in _"),
            (_, Some((indent, _))) => format!("{indent}\"milliseconds\": _,"),
            _ => line.trim_end().to_owned(),
        });
    }
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
