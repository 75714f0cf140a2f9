//! Archives with reproducible bytes: files are sorted by name and all have the same time.

use std::{collections::BTreeMap, fs::File, io::Write as _, path::Path};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

/// Files by their names in the archive.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The time of a tar archive's files, in seconds since 1970: the earliest that zip can store. Some programs do not accept zero.
const TIME: u64 = 315_532_800;

/// Writes an archive: zip, or tar with gzip, by its file extension.
pub(super) fn write(path: &Path, files: &Files, is_program: impl Fn(&str) -> bool) -> Result<()> {
    let mode = |name: &str| if is_program(name) { 0o755 } else { 0o644 };
    let out = File::create(path).with_context(|| path.display().to_string())?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        return write_tar(out, files, mode);
    }
    let mut archive = ZipWriter::new(out);
    for (name, bytes) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(mode(name));
        archive.start_file(name, options)?;
        archive.write_all(bytes)?;
    }
    archive.finish()?.sync_all()?;
    Ok(())
}

fn write_tar(out: File, files: &Files, mode: impl Fn(&str) -> u32) -> Result<()> {
    let mut archive = tar::Builder::new(GzBuilder::new().mtime(0).write(out, Compression::best()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode(name));
        header.set_mtime(TIME);
        archive.append_data(&mut header, name, &bytes[..])?;
    }
    archive.into_inner()?.finish()?.sync_all()?;
    Ok(())
}
