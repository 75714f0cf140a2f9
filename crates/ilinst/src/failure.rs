//! Exit codes, and errors as the command line says them.

pub(crate) use ::instrument::failure::{EXIT_BAD_INPUT, EXIT_USAGE, Failure};

/// Something was found, and saying so is the command's job.
pub(crate) const EXIT_FINDINGS: u8 = 1;
/// Under `--strict`: methods that should have been woven were left alone.
pub(crate) const EXIT_LEFT_ALONE: u8 = 4;

/// The page about the number of a diagnostic.
pub(crate) fn page_about(code: &str) -> String {
    format!("{ERRORS_PAGE}#{}", code.to_lowercase())
}

const ERRORS_PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/errors.md");

/// The exit code of what was done and then printed: that whoever read our output has closed it changes nothing.
pub(crate) fn printed(printing: anyhow::Result<()>, code: u8) -> anyhow::Result<u8> {
    match printing {
        Err(error) if !is_closed(&error) => Err(error),
        _ => Ok(code),
    }
}

/// Whether an error says that whoever read our output has closed it.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    error.chain().any(is_broken_pipe)
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    // JSON's errors keep the one they come from to themselves.
    let kind = kind.or_else(|| error.downcast_ref::<serde_json::Error>()?.io_error_kind());
    kind == Some(std::io::ErrorKind::BrokenPipe)
}
