//! The numbers in a file: their places and kinds, from which a mutator knows the format.

mod assembly;
mod code;
mod json;
mod metadata;
mod parquet;
mod profile;

use ecma335::{Cursor, FileOffset, Image, Metadata, MethodBody, schema::CodedIndex, tables::RowCounts};
use little_endian::NumbersAt;

/// A number in a file.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its offset in bytes.
    pub at: usize,
    /// Its size in bytes, 1 to 8.
    pub width: usize,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a number.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any number.
    Number,
    /// A row number, a heap offset, a count or an address; the operand is the largest valid one.
    UpTo(u32),
    /// A coded index.
    Coded(&'static CodedIndex),
    /// A token, or a row number with a table's byte above it.
    Token,
    /// An opcode of one byte; the operand is the size of the instruction's operand.
    OpCode(u8),
    /// A byte of a signature.
    Signature,
    /// A byte of text.
    Text,
}

/// The fields of a file, by area and group. Each area, and each group of an area, is equally likely to be changed.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    areas: Vec<Vec<Vec<Field>>>,
    /// The number of rows in each table.
    pub(crate) counts: RowCountsOrNone,
}

/// Row counts; zeros without tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCountsOrNone(pub(crate) RowCounts);

impl Default for RowCountsOrNone {
    fn default() -> Self {
        Self([0; 64])
    }
}

/// The format of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A PE file.
    Image,
    /// A portable PDB.
    Pdb,
    /// A signature or another blob.
    Blob,
    /// A method's body.
    Body,
    /// A profile.
    Profile,
    /// JSON.
    Json,
    /// Parquet.
    Parquet,
}

impl Fields {
    /// Returns the fields of bytes; bytes that cannot be read have none.
    pub fn of(bytes: &[u8], format: Format) -> Self {
        let mut fields = Self::default();
        match format {
            Format::Image => {
                if let Ok(image) = Image::parse(bytes) {
                    assembly::add(&image, &mut fields);
                }
            }
            Format::Pdb => {
                if let Ok(pdb) = Metadata::parse(Cursor::new(bytes, FileOffset(0))) {
                    metadata::add(bytes, &pdb, &mut fields);
                }
            }
            Format::Blob => fields.add(vec![bytes_of(0..bytes.len(), Kind::Signature).collect()]),
            Format::Body => {
                if let Ok(body) = MethodBody::parse(Cursor::new(bytes, FileOffset(0))) {
                    code::add_body(bytes, &body, &mut fields);
                }
            }
            Format::Profile => profile::add(bytes, &mut fields),
            Format::Json => json::add(bytes, &mut fields),
            Format::Parquet => parquet::add(bytes, &mut fields),
        }
        fields
    }

    /// Returns the same fields with these row counts, for input whose tables are elsewhere.
    #[must_use]
    pub fn with_counts(self, counts: &RowCounts) -> Self {
        Self { counts: RowCountsOrNone(*counts), ..self }
    }

    /// Adds an area of groups, without its empty groups.
    pub(crate) fn add(&mut self, mut area: Vec<Vec<Field>>) {
        area.retain(|group| !group.is_empty());
        if !area.is_empty() {
            self.areas.push(area);
        }
    }

    pub(crate) fn areas(&self) -> &[Vec<Vec<Field>>] {
        &self.areas
    }
}

/// Appends consecutive fields of these sizes, and returns the offset behind them.
pub(crate) fn row(mut at: usize, widths: &[usize], kind: Kind, group: &mut Vec<Field>) -> usize {
    for width in widths {
        group.push(Field { at, width: *width, kind });
        at += width;
    }
    at
}

/// Returns fields of single bytes of one kind.
pub(crate) fn bytes_of(range: std::ops::Range<usize>, kind: Kind) -> impl Iterator<Item = Field> {
    range.map(move |at| Field { at, width: 1, kind })
}

/// Returns four bytes of a file as a number; 0 behind its end.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.u32_at(at).unwrap_or(0)
}
