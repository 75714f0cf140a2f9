//! Containers of metadata and method bodies: an image in a file, or one mapped by a loader. RVAs mean the same in
//! both. Each container finds their bytes in its own way.

use crate::{
    builder::MetadataBuilder,
    cursor::Cursor,
    error::Result,
    image::{Image, Mapping},
    output::OutputFile,
    segments::Segments,
    token::Rva,
};

/// Maps RVAs to bytes.
pub trait Container<'a>: Sync {
    /// The contiguous bytes from an RVA on.
    ///
    /// # Errors
    /// If the RVA lies outside of the container.
    fn cursor_at(&self, rva: Rva) -> Result<Cursor<'a>>;

    /// The metadata root (II.24.2.1).
    ///
    /// # Errors
    /// If it lies outside of the container.
    fn metadata(&self) -> Result<Cursor<'a>>;
}

/// Writes a container back to a file, with new metadata and new bodies.
pub trait ContainerWriter<'a>: Sized {
    /// The RVA of the first new body.
    ///
    /// # Errors
    /// If no address is left for it.
    fn code_rva(&self) -> Result<Rva>;

    /// The file offset of the first new body.
    ///
    /// # Errors
    /// If the headers break the format.
    fn code_offset(&self) -> Result<usize>;

    /// The whole file. `code` holds the new bodies.
    ///
    /// # Errors
    /// If the headers break the format, or the output exceeds a limit of it.
    fn finish(self, code: Segments<'a>, builder: MetadataBuilder<'a, '_>) -> Result<OutputFile<'a>>;
}

/// A PE file.
impl<'a> Container<'a> for Image<'a> {
    fn cursor_at(&self, rva: Rva) -> Result<Cursor<'a>> {
        Image::cursor_at(self, rva)
    }

    fn metadata(&self) -> Result<Cursor<'a>> {
        Image::metadata(self)
    }
}

/// An image mapped by a loader: its headers first, then each section at its RVA. It cannot be written back to a file.
#[derive(Clone, Debug)]
pub struct LoadedImage<'a>(Image<'a>);

impl<'a> LoadedImage<'a> {
    /// Reads the headers of an image in memory, from its load address to its end.
    ///
    /// # Errors
    /// If the bytes are no PE image, have no CLI header, or are truncated.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Image::parse_mapped(bytes, Mapping::Loaded).map(Self)
    }
}

impl<'a> Container<'a> for LoadedImage<'a> {
    fn cursor_at(&self, rva: Rva) -> Result<Cursor<'a>> {
        self.0.cursor_at(rva)
    }

    fn metadata(&self) -> Result<Cursor<'a>> {
        self.0.metadata()
    }
}
