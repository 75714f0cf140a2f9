//! Files that commands write: a path has its old contents or the new ones, and a signal leaves nothing half-written.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::Path,
};

use ::instrument::Outputs;

use crate::{failure::Failure, interrupt::clean_up_when_asked_to_end};

/// Writes a file, under a temporary name until it is whole; it may be none of the inputs.
pub(crate) fn write(
    path: &Path,
    inputs: &[&Path],
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    clean_up_when_asked_to_end()?;
    let real = fs::canonicalize(path).ok();
    if real.is_some() && inputs.iter().any(|input| fs::canonicalize(input).ok() == real) {
        return Err(Failure::output_is_input(format_args!(
            "{}: the output would overwrite the input; name another file",
            path.display()
        ))
        .into());
    }
    let mut outputs = Outputs::default();
    // An error unrelated to the file is reported unchanged.
    let mut other = None;
    let written = outputs.write(path, |file| {
        let mut out = BufWriter::new(file);
        fill(&mut out).map_err(|error| {
            error.downcast::<io::Error>().unwrap_or_else(|error| {
                other = Some(error);
                io::ErrorKind::Other.into()
            })
        })?;
        out.flush()
    });
    match other {
        Some(error) => Err(error),
        None => Ok(written.and_then(|()| outputs.commit())?),
    }
}
