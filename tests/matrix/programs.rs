//! The programs that end, before and after weaving.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tests::{References, compile, instrument, root, scratch};

/// A folder with the programs, and one with what was woven of it.
pub(crate) struct Programs {
    pub(crate) folder: PathBuf,
    pub(crate) original: PathBuf,
    pub(crate) woven: PathBuf,
}

impl Programs {
    #[cfg(feature = "full")]
    /// Makes a program without threads, for the .NET for browsers. `None` without a compiler or that .NET.
    pub(crate) fn make_for_node(column: usize) -> Option<Self> {
        let folder = scratch(&format!("matrix-{column}"));
        let (original, woven) = (folder.join("original"), folder.join("woven"));
        let library = original.join("Steps.dll");
        compile(&source("Steps.cs"), &library, References::All, &[])?;
        let program = original.join("Browser.exe");
        compile(&source("Browser.cs"), &program, References::All, &[&library])?;
        fs::rename(&program, program.with_extension("dll")).expect("it can be renamed");
        instrument(&[&original, &"-o", &woven, &"-q"]);
        [&original, &woven].iter().try_for_each(|folder| tests::put_browser_net(folder, "Browser"))?;
        Some(Self { folder, original, woven })
    }

    /// Compiles and weaves them, for a column of the matrix; none without a compiler.
    pub(crate) fn make(column: usize) -> Option<Self> {
        let folder = scratch(&format!("matrix-{column}"));
        let (original, woven) = (folder.join("original"), folder.join("woven"));
        let library = original.join("Steps.dll");
        compile(&source("Steps.cs"), &library, References::All, &[])?;
        compile(&source("Ending.cs"), &original.join("Ending.exe"), References::All, &[&library])?;
        // A plug-in, with all that it needs beside it.
        fs::create_dir(original.join("plugins")).expect("a folder can be made");
        fs::copy(&library, original.join("plugins/Steps.dll")).expect("it can be copied");
        instrument(&[&original, &"-o", &woven, &"-q"]);
        fs::copy(woven.join("Ilinst.Tracker.dll"), woven.join("plugins/Ilinst.Tracker.dll")).expect("it can be copied");
        Some(Self { folder, original, woven })
    }
}

/// A source of this test.
pub(crate) fn source(name: &str) -> PathBuf {
    root().join("tests/matrix/programs").join(name)
}

/// The profiles below some folders.
pub(crate) fn profiles(folders: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            // A link may lead back to its own folder.
            if path.is_dir() && !path.is_symlink() {
                found.extend(profiles(&[&path]));
            } else if path.extension().is_some_and(|extension| extension == "ilprof") {
                found.push(path);
            }
        }
    }
    found
}
