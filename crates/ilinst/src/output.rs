//! Files that commands write: a path has its old contents or the new ones.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
};

use ::instrument::failure::about;

use crate::failure::Failure;

/// Writes a file, under a temporary name beside it until it is whole; it may be none of the inputs.
pub(crate) fn write(
    path: &Path,
    inputs: &[&Path],
    fill: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let real = fs::canonicalize(path).ok();
    if real.is_some() && inputs.iter().any(|input| fs::canonicalize(input).ok() == real) {
        return Err(Failure::output_is_input(format_args!("{}: it is what is to be read", path.display())).into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let unwritable = |error: &std::io::Error| Failure::unwritable(about(path, error));
    let written = File::create(&temporary).map_err(|error| unwritable(&error).into()).and_then(|file| {
        let mut out = BufWriter::new(file);
        fill(&mut out)?;
        out.flush().and_then(|()| fs::rename(&temporary, path)).map_err(|error| unwritable(&error).into())
    });
    written.inspect_err(|_| drop(fs::remove_file(&temporary))).map_err(|error: anyhow::Error| match error.downcast() {
        Ok(error) => unwritable(&error).into(),
        Err(other) => other,
    })
}
