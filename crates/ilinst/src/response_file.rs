//! Response files: `@FILE` stands for the arguments that are in it, so that no shell and no limit comes between.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use ::instrument::read_small;

use crate::failure::Failure;

/// So many files are read for one command line, so many arguments, and no more bytes.
const MOST_FILES: usize = 1000;
const MOST_ARGUMENTS: usize = 1_000_000;
const MOST_BYTES: u64 = 16 << 20;

/// The arguments with those of response files in their places. A line is an argument as it stands, be there spaces or quotes
/// in it; one that begins with a quote is words as a shell has them; empty lines are none. `@FILE` in it is another file, by
/// the folder of the first. What follows `--` is another program's.
///
/// # Errors
/// If a file cannot be read, is no UTF-8, lacks a quote, or leads to itself, or if they are too many or too large.
pub(crate) fn expand(arguments: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut expanded = Expanded { arguments: Vec::new(), is_ours: true, open: Vec::new(), files: 0, bytes: 0 };
    arguments.into_iter().try_for_each(|argument| expanded.add(argument, Path::new("")))?;
    Ok(expanded.arguments)
}

struct Expanded {
    arguments: Vec<OsString>,
    is_ours: bool,
    /// The files that are being read, each by the one before.
    open: Vec<PathBuf>,
    /// How many were read, and how large they are together: one that is named twice is two.
    files: usize,
    bytes: u64,
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
        let too_many = |what: std::fmt::Arguments<'_>| {
            let text = format_args!("@{}: response files come to more than {what}: do they name each other?", path.display());
            Failure::usage(text)
        };
        // A pipe has no other path.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if self.open.contains(&real) {
            return Err(Failure::usage(format_args!("@{}: it leads to itself", path.display())));
        }
        self.files += 1;
        if self.files > MOST_FILES {
            return Err(too_many(format_args!("{MOST_FILES}")));
        }
        let bytes =
            read_small(path, MOST_BYTES).map_err(|failure| Failure { message: format!("@{}", failure.message), ..failure })?;
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES {
            return Err(too_many(format_args!("{MOST_BYTES} bytes")));
        }
        let text = String::from_utf8(bytes);
        let text = text.map_err(|error| Failure::unreadable(format_args!("@{}: it is no UTF-8: {error}", path.display())))?;
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
            if self.arguments.len() > MOST_ARGUMENTS {
                return Err(too_many(format_args!("{MOST_ARGUMENTS} arguments")));
            }
        }
        self.open.pop();
        Ok(())
    }
}
