//! What holds metadata and method bodies: an image in a file, or one that a loader mapped. RVAs mean the same in each; where
//! their bytes are is its own matter.

use crate::{
    builder::MetadataBuilder,
    cursor::Cursor,
    error::Result,
    image::{Image, Mapping},
    output::OutputFile,
    segments::Segments,
    token::Rva,
};

/// From RVAs to bytes.
pub trait Container<'a>: Sync {
    /// The bytes from an RVA on, as far as they belong together.
    ///
    /// # Errors
    /// If the RVA leads nowhere.
    fn cursor_at(&self, rva: Rva) -> Result<Cursor<'a>>;

    /// The metadata root (II.24.2.1).
    ///
    /// # Errors
    /// If it lies outside.
    fn metadata(&self) -> Result<Cursor<'a>>;
}

/// And back to a file: one with new metadata and new bodies.
pub trait ContainerWriter<'a>: Sized {
    /// Where the first new body will be.
    ///
    /// # Errors
    /// If there is no address left for it.
    fn code_rva(&self) -> Result<Rva>;

    /// Where in the file that is.
    ///
    /// # Errors
    /// If the headers break the format.
    fn code_offset(&self) -> Result<usize>;

    /// The whole file. `code` holds the new bodies.
    ///
    /// # Errors
    /// If the headers break the format, or a limit of it is passed.
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

/// An image that a loader mapped: its headers first, then each section at its RVA. It has no way back to a file.
#[derive(Clone, Debug)]
pub struct LoadedImage<'a>(Image<'a>);

impl<'a> LoadedImage<'a> {
    /// Reads the headers of what lies in memory, from where it was loaded to its end.
    ///
    /// # Errors
    /// If the bytes are no PE image, have no CLI header, or are cut short.
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
