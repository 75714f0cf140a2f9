//! Assemblies that contain hooks. They are deployed with instrumented files, as the tracker is.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use weave::HookMethod;

use crate::{
    failure::{Failure, Result},
    input::{read_assembly, read_small},
    outputs::Outputs,
};

/// An assembly with hooks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookAssembly {
    /// The file name.
    pub file_name: String,
    /// The path of the file; `None` for the tool's own assembly.
    pub path: Option<PathBuf>,
    pub(crate) bytes: Arc<[u8]>,
    /// `Name/1.0.0.0`.
    pub(crate) library: String,
}

/// The largest size of an assembly with hooks, in bytes.
const LARGEST: u64 = 256 << 20;

impl HookAssembly {
    /// Reads an assembly from its file.
    ///
    /// # Errors
    /// If the file cannot be read, or is no assembly.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = read_small(path, LARGEST)?;
        Ok(Self { path: Some(path.to_owned()), ..Self::new(path, bytes.into())? })
    }

    /// Creates an assembly from bytes; the path states its name.
    ///
    /// # Errors
    /// If the bytes are no assembly.
    pub fn new(path: &Path, bytes: Arc<[u8]>) -> Result<Self> {
        let (_, metadata) = read_assembly(path, &bytes)?;
        let library = metadata.display_name().replace(", Version=", "/");
        let file_name = crate::paths::file_name(path);
        Ok(Self { file_name, path: None, bytes, library })
    }

    /// Returns whether the assembly has this path.
    pub fn is(&self, path: &Path) -> bool {
        self.path.as_deref().unwrap_or(Path::new(&self.file_name)) == path
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns a method, by the full name of its type and its own name.
    ///
    /// # Errors
    /// If the assembly has no such method that can be a hook.
    pub fn method(&self, class: &str, name: &str) -> Result<HookMethod> {
        let path = self.path.as_deref().unwrap_or(Path::new(&self.file_name));
        let (_, metadata) = read_assembly(path, &self.bytes)?;
        HookMethod::read(&metadata, class, name).map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))
    }

    /// Returns the full name of the only type with this simple name, if there is exactly one.
    ///
    /// # Errors
    /// If the bytes are no assembly.
    pub fn type_named(&self, name: &str) -> Result<Option<String>> {
        let path = Path::new(&self.file_name);
        let (_, metadata) = read_assembly(path, &self.bytes)?;
        let names = metadata.full_names();
        let mut full_names = names.types().filter_map(|rid| names.name_of(rid).ok());
        Ok(full_names.find(|full_name| full_name.rsplit(['.', '/']).next() == Some(name)))
    }

    /// Writes the assembly into a folder, unless it is already there.
    pub(crate) fn write(&self, folder: &Path, outputs: &mut Outputs) -> Result<()> {
        let path = folder.join(&self.file_name);
        if outputs.paths().any(|output| output == path) {
            return Ok(());
        }
        if fs::read(&path).is_ok_and(|bytes| *bytes == *self.bytes) {
            outputs.keep(&path);
            return Ok(());
        }
        outputs.write(&path, |file| file.write_all(&self.bytes))
    }
}
