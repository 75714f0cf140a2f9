//! Exit codes, and errors as the command line says them.

pub(crate) use ::instrument::failure::{EXIT_BAD_INPUT, EXIT_USAGE, Failure};

/// Something was found, and saying so is the command's job.
pub(crate) const EXIT_FINDINGS: u8 = 1;
/// Under `--strict`: methods that should have been woven were left alone.
pub(crate) const EXIT_LEFT_ALONE: u8 = 4;

/// An error and its causes in one line.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    format!("{error:#}").replace('\n', " ")
}
