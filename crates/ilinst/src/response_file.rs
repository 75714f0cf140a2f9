//! Response files: `@FILE` stands for the arguments that are in it, so that no shell and no limit comes between.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::Path,
};

use ::instrument::failure::about;

use crate::failure::Failure;

/// The arguments with those of response files in their places: a line is an argument as it stands, be there spaces or
/// quotes in it; empty lines are none. What follows `--` is another program's.
///
/// # Errors
/// If a file cannot be read, or is no UTF-8.
pub(crate) fn expand(arguments: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let (mut expanded, mut is_ours) = (Vec::new(), true);
    for argument in arguments {
        is_ours &= argument != "--";
        match argument.to_str().and_then(|argument| argument.strip_prefix('@')).filter(|_| is_ours) {
            Some(file) => expanded.extend(read(file.as_ref())?.lines().filter(|line| !line.is_empty()).map(OsString::from)),
            None => expanded.push(argument),
        }
    }
    Ok(expanded)
}

fn read(file: &OsStr) -> Result<String, Failure> {
    let path = Path::new(file);
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(format_args!("@{}", about(path, &error))))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
