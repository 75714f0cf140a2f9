//! `ilinst.exe`, and what it has woven on .NET for Windows, under Wine: what it does there, and what Linux does, is the same.

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

use tests::{Wine, require, said, scratch};

/// .NET for Windows: name, variable.
const RUNTIMES: [(&str, &str); 2] = [(".NET 8", "ILINST_WINDOWS_DOTNET8"), (".NET Core 3.1", "ILINST_WINDOWS_DOTNET31")];

/// Wine, `ilinst.exe`, and a folder to work in.
struct Windows {
    wine: Wine,
    exe: PathBuf,
    folder: PathBuf,
}

impl Windows {
    /// None where `ilinst.exe` cannot be built, or Wine cannot be had, as [`require`] has it.
    fn new(name: &str) -> Option<Self> {
        let (wine, exe) = (Wine::find()?, require("ILINST_EXE")?);
        Some(Self { wine, exe, folder: scratch(&format!("windows-{name}")) })
    }

    /// A program for Windows, in the folder to work in.
    fn program(&self, program: &Path) -> Command {
        let mut command = self.wine.command(program);
        // By which it reads arguments and names of files.
        command.current_dir(&self.folder).env("LC_ALL", "C.UTF-8").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        for not_there in ["DOTNET_ROOT", "DOTNET_ROLL_FORWARD", "ILINST_OUTPUT", "ILINST_CACHE"] {
            command.env_remove(not_there);
        }
        command.env("ILINST_CACHE", windows(&self.folder.join("cache")));
        command
    }

    /// `ilinst.exe`, ready for its arguments.
    fn ilinst(&self) -> Command {
        self.program(&self.exe)
    }

    /// The same, which has to succeed; gives what it printed.
    fn run(&self, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
        let output = self.ilinst().args(arguments.iter().map(AsRef::as_ref)).output();
        let (text, errors, code) = lines(&output.expect("Wine starts"));
        assert_eq!(code, Some(0), "{text}{errors}");
        text
    }

    /// The same, which has to fail with an exit code and say some words, and leave nothing in the folder but what was there.
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

    /// Gives the computer a share of this name, which is the folder to work in: in a copy of what Wine takes for a Windows.
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

    /// A copy of a sample's folder.
    fn sample(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        copy(&tests::sample(name), &folder);
        folder
    }

    /// The runtimes that are here.
    fn runtimes(&self) -> Vec<(&'static str, PathBuf)> {
        RUNTIMES.iter().filter_map(|(name, variable)| Some((*name, require(variable)?))).collect()
    }
}

/// What a program printed, without what Windows puts at the ends of lines.
fn lines(output: &Output) -> (String, String, Option<i32>) {
    let (text, errors, code) = said(output);
    (text.replace("\r\n", "\n"), errors.replace("\r\n", "\n"), code)
}

/// How Windows has a path: Wine's drive Z is the root.
fn windows(path: &Path) -> OsString {
    format!("Z:{}", path.display().to_string().replace('/', "\\")).into()
}

/// The same of a folder that is to be made.
fn into(folder: &Path) -> OsString {
    let mut path = windows(folder);
    path.push("\\");
    path
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("it is there") {
        let path = entry.expect("it can be read").path();
        fs::copy(&path, to.join(path.file_name().expect("it has a name"))).expect("it can be copied");
    }
}

/// The files below a folder, with what is in them.
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
