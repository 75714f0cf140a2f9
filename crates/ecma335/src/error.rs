//! What went wrong, where in the file, and in which cell.

use std::fmt;

use crate::{
    schema::Table,
    token::{FileOffset, Token},
};

/// What stands before the file offset in an error's text, behind which is a parenthesis.
pub const FILE_OFFSET: &str = " (file offset ";

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with the input, or with what was asked of the builder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before the item does.
    #[error("truncated")]
    Truncated,
    /// Not a PE file at all.
    #[error("not a PE file: {0}")]
    NotPe(String),
    /// A PE file without a CLI header: native code, or data.
    #[error("no CLI header: not a managed assembly")]
    NoCliHeader,
    /// An RVA that lies in no section.
    #[error("RVA 0x{0:x} lies in no section")]
    BadRva(u32),
    /// Bytes that break a rule of the format.
    #[error("{0}")]
    Malformed(&'static str),
    /// A row number beyond its table.
    #[error("row {rid} of a table with {rows} rows")]
    BadRow {
        /// The row asked for.
        rid: u32,
        /// How many there are.
        rows: u32,
    },
    /// Bytes that are no opcode of Partition III.
    #[error("unknown opcode 0x{0:x}")]
    BadOpCode(u16),
    /// Something of the format that this version cannot write.
    #[error("unsupported: {0}")]
    Unsupported(&'static str),
    /// A reference of the input's that leads nowhere, and would lead to what is added.
    #[error("{0} leads to what the file has not got, and what is added would be taken for it")]
    Dangling(Place),
    /// An added item would pass a limit of the format.
    #[error("limit passed: {0}")]
    Limit(&'static str),
}

/// An error with the place it was found at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    offset: Option<FileOffset>,
    cell: Option<String>,
}

impl Error {
    /// An error that has no place in the file.
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: None, cell: None }))
    }

    /// An error at a place in the file.
    #[cold]
    pub fn at(offset: FileOffset, kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: Some(offset), cell: None }))
    }

    /// Names the cell or item it was found in, outermost last: `MethodDef.name`.
    #[cold]
    #[must_use]
    pub fn in_cell(mut self, cell: impl fmt::Display) -> Self {
        self.0.cell = Some(match self.0.cell.take() {
            Some(inner) => format!("{cell}: {inner}"),
            None => cell.to_string(),
        });
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where in the file, if that is known.
    pub fn offset(&self) -> Option<FileOffset> {
        self.0.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cell) = &self.0.cell {
            write!(f, "{cell}: ")?;
        }
        write!(f, "{}", self.0.kind)?;
        if let Some(offset) = self.0.offset {
            write!(f, "{FILE_OFFSET}{offset})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Shorthand for [`ErrorKind::Malformed`] at an offset.
pub(crate) fn malformed<T>(offset: FileOffset, what: &'static str) -> Result<T> {
    Err(Error::at(offset, ErrorKind::Malformed(what)))
}

/// Where a reference stands that leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a column.
    Cell {
        /// The table.
        table: Table,
        /// The row, from 1.
        row: u32,
        /// The column's name.
        column: &'static str,
    },
    /// In a signature that a column has.
    Signature {
        /// The table.
        table: Table,
        /// The row, from 1.
        row: u32,
    },
    /// In a method's body.
    Body(Token),
    /// In the CLI header.
    EntryPoint,
    /// In a slot that native code calls by (II.25.3.3.3).
    VTableFixup,
    /// The last name in #Strings, which nothing ends.
    LastName,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell { table, row, column } => write!(f, "{table}[{row}].{column}"),
            Self::Signature { table, row } => write!(f, "the signature of {table}[{row}]"),
            Self::Body(method) => write!(f, "the body of {method}"),
            Self::EntryPoint => f.write_str("the entry point"),
            Self::VTableFixup => f.write_str("a vtable fix-up"),
            Self::LastName => f.write_str("the end of #Strings"),
        }
    }
}
