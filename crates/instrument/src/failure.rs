//! Failures that end a run: numbered, one line each, with an exit code.

use std::{fmt, path::Path};

/// The exit code for an invalid command line or request.
pub const EXIT_USAGE: u8 = 2;
/// The exit code for an input or output that cannot be used.
pub const EXIT_BAD_INPUT: u8 = 3;

/// The result of a step that may end the run.
pub type Result<T> = std::result::Result<T, Failure>;

/// A numbered diagnostic that ends a run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("error {code}: {message}")]
pub struct Failure {
    /// Its number: `ILI0010` and up.
    pub code: &'static str,
    /// The exit code of the process.
    pub exit: u8,
    /// The message; it begins with the path that the failure is about.
    pub message: String,
}

macro_rules! failures {
    ($($(#[$doc:meta])* $name:ident = $code:literal exits $exit:ident)*) => {
        impl Failure {
            $($(#[$doc])* pub fn $name(message: impl fmt::Display) -> Self {
                Self { code: $code, exit: $exit, message: message.to_string() }
            })*
        }
    };
}
failures! {
    /// The input cannot be read.
    unreadable = "ILI0010" exits EXIT_BAD_INPUT
    /// The input is no managed assembly, or a damaged one.
    not_an_assembly = "ILI0011" exits EXIT_BAD_INPUT
    /// The input is an assembly that must not be instrumented.
    refused = "ILI0012" exits EXIT_BAD_INPUT
    /// The output would be the input.
    output_is_input = "ILI0013" exits EXIT_USAGE
    /// The output cannot be written.
    unwritable = "ILI0014" exits EXIT_BAD_INPUT
    /// Arguments that contradict each other.
    usage = "ILI0015" exits EXIT_USAGE
    /// The profile cannot be read.
    bad_profile = "ILI0016" exits EXIT_BAD_INPUT
    /// The file is no strong name key pair.
    bad_key = "ILI0017" exits EXIT_BAD_INPUT
    /// There are no originals to be put back.
    no_originals = "ILI0018" exits EXIT_BAD_INPUT
    /// A running program did not answer a command.
    no_answer = "ILI0023" exits EXIT_BAD_INPUT
    /// A file of options has an invalid setting.
    bad_config = "ILI0026" exits EXIT_USAGE
    /// The CLR profiler recorded nothing of a program.
    not_recorded = "ILI0031" exits EXIT_BAD_INPUT
    /// The output failed the output check.
    broken_output = "ILI0019" exits EXIT_BAD_INPUT
}

/// Describes an I/O error, with its path.
pub fn about(path: &Path, error: &std::io::Error) -> String {
    format!(
        "{}: {}",
        path.display(),
        error.to_string().trim_end_matches(|c: char| c == ')' || c.is_ascii_digit()).trim_end_matches(" (os error ")
    )
}
