//! Response files: `@FILE` stands for the arguments that are in it, so that no shell and no limit comes between.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use ::instrument::failure::about;

use crate::failure::Failure;

/// The arguments with those of response files in their places. A line is an argument as it stands, be there spaces or quotes
/// in it; one that begins with a quote is words as a shell has them; empty lines are none. `@FILE` in it is another file, by
/// the folder of the first. What follows `--` is another program's.
///
/// # Errors
/// If a file cannot be read, is no UTF-8, lacks a quote, or leads to itself.
pub(crate) fn expand(arguments: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut expanded = Expanded { arguments: Vec::new(), is_ours: true, open: Vec::new() };
    arguments.into_iter().try_for_each(|argument| expanded.add(argument, Path::new("")))?;
    Ok(expanded.arguments)
}

struct Expanded {
    arguments: Vec<OsString>,
    is_ours: bool,
    /// The files that are being read, each by the one before.
    open: Vec<PathBuf>,
}

impl Expanded {
    fn add(&mut self, argument: OsString, folder: &Path) -> Result<(), Failure> {
        self.is_ours &= argument != "--";
        match argument.to_str().and_then(|argument| argument.strip_prefix('@')).filter(|_| self.is_ours) {
            Some(file) => self.add_file(&folder.join(file)),
            None => {
                self.arguments.push(argument);
                Ok(())
            }
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Failure> {
        let unreadable = |error: std::io::Error| Failure::unreadable(format_args!("@{}", about(path, &error)));
        let real = fs::canonicalize(path).map_err(unreadable)?;
        if self.open.contains(&real) {
            return Err(Failure::usage(format_args!("@{}: it leads to itself", path.display())));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        self.open.push(real);
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        for (number, line) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(&text).lines()) {
            if line.starts_with(['\'', '"']) {
                let unclosed = || Failure::usage(format_args!("@{}:{number}: a quote is missing", path.display()));
                let words = shlex::split(line).ok_or_else(unclosed)?;
                words.into_iter().try_for_each(|word| self.add(word.into(), folder))?;
            } else if !line.is_empty() {
                self.add(line.into(), folder)?;
            }
        }
        self.open.pop();
        Ok(())
    }
}
