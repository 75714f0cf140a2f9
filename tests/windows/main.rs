//! `ilinst.exe`, and programs that it instruments, on .NET for Windows under Wine: they behave as on Linux.

mod interrupted;
mod live;
mod paths;
mod programs;
mod refused;
mod same;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tests::{Wine, copy, require, said, scratch};

/// .NET for Windows: name and variable.
const RUNTIMES: [(&str, &str); 2] = [(".NET 8", "ILINST_WINDOWS_DOTNET8"), (".NET Core 3.1", "ILINST_WINDOWS_DOTNET31")];

/// Wine, `ilinst.exe`, and a working folder.
struct Windows {
    wine: Wine,
    exe: PathBuf,
    folder: PathBuf,
}

impl Windows {
    /// Returns `None` if `ilinst.exe` cannot be built, or without Wine, as [`require`] does.
    fn new(name: &str) -> Option<Self> {
        let (wine, exe) = (Wine::find()?, require("ILINST_EXE")?);
        Some(Self { wine, exe, folder: scratch(&format!("windows-{name}")) })
    }

    /// Returns a command that runs a program for Windows in the working folder.
    fn program(&self, program: &Path) -> Command {
        let mut command = self.wine.command(program);
        // The encoding of arguments and file names.
        command.current_dir(&self.folder).env("LC_ALL", "C.UTF-8").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        for not_there in ["DOTNET_ROOT", "DOTNET_ROLL_FORWARD", "ILINST_OUTPUT", "ILINST_CACHE"] {
            command.env_remove(not_there);
        }
        command.env("ILINST_CACHE", windows(&self.folder.join("cache")));
        command
    }

    /// Returns a command of `ilinst.exe`.
    fn ilinst(&self) -> Command {
        self.program(&self.exe)
    }

    /// Runs `ilinst.exe`, which must succeed; returns its output.
    fn run(&self, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
        let output = self.ilinst().args(arguments.iter().map(AsRef::as_ref)).output();
        let (text, errors, code) = lines(&output.expect("Wine starts"));
        assert_eq!(code, Some(0), "{text}{errors}");
        text
    }

    /// Runs `ilinst.exe`, which must fail with an exit code and these words, and leave no new file in the folder.
    fn refuses(&self, arguments: &[&dyn AsRef<std::ffi::OsStr>], expected: i32, words: &[&str]) {
        let before = files_below(&self.folder);
        let output = self.ilinst().args(arguments.iter().map(AsRef::as_ref)).output();
        let (text, errors, code) = lines(&output.expect("Wine starts"));
        assert_eq!(code, Some(expected), "{text}{errors}");
        for word in words {
            assert!(errors.contains(word), "no '{word}' in: {errors}");
        }
        assert_eq!(files_below(&self.folder), before, "{errors}");
    }

    /// Gives the computer a share with this name, which is the working folder. Uses a copy of Wine's prefix.
    fn has_share(&mut self, name: &str) {
        let prefix = scratch(&format!("windows-share-{name}"));
        let drives = prefix.join("dosdevices");
        fs::create_dir_all(drives.join("unc/localhost")).expect("a folder can be made");
        for (to, from) in [
            (self.wine.prefix().join("drive_c"), prefix.join("drive_c")),
            ("../drive_c".into(), drives.join("c:")),
            ("/".into(), drives.join("z:")),
            (self.folder.clone(), drives.join("unc/localhost").join(name)),
        ] {
            std::os::unix::fs::symlink(to, from).expect("a link can be made");
        }
        for file in ["system.reg", "user.reg", "userdef.reg", ".update-timestamp"] {
            fs::copy(self.wine.prefix().join(file), prefix.join(file)).expect("it can be copied");
        }
        self.wine = self.wine.with_prefix(prefix);
    }

    /// Returns a copy of a sample's folder.
    fn sample(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        copy(&tests::sample(name), &folder);
        folder
    }

    /// Returns the available runtimes.
    fn runtimes(&self) -> Vec<(&'static str, PathBuf)> {
        RUNTIMES.iter().filter_map(|(name, variable)| Some((*name, require(variable)?))).collect()
    }
}

/// Returns a program's output and exit code, with Unix line ends.
fn lines(output: &Output) -> (String, String, Option<i32>) {
    let (text, errors, code) = said(output);
    (text.replace("\r\n", "\n"), errors.replace("\r\n", "\n"), code)
}

/// Returns a path in the form of Windows: Wine's drive Z is the root.
fn windows(path: &Path) -> OsString {
    format!("Z:{}", path.display().to_string().replace('/', "\\")).into()
}

/// Returns the path of a folder to be created.
fn into(folder: &Path) -> OsString {
    let mut path = windows(folder);
    path.push("\\");
    path
}

/// Returns the files below a folder, with their bytes.
fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut files, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).expect("it is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it lies there").to_owned();
                files.push((name, fs::read(&path).expect("it can be read")));
            }
        }
    }
    files.sort();
    files
}
