//! Errors, with their file offset and cell.

use std::fmt;

use crate::{
    schema::Table,
    token::{FileOffset, Token},
};

/// The text before the file offset in an error message. A parenthesis follows the offset.
pub const FILE_OFFSET: &str = " (file offset ";

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The fault in the input, or in a request to the builder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before the item does.
    #[error("truncated")]
    Truncated,
    /// The file is not a PE file.
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
        /// The requested row.
        rid: u32,
        /// The number of rows.
        rows: u32,
    },
    /// Bytes that encode no opcode of Partition III.
    #[error("unknown opcode 0x{0:x}")]
    BadOpCode(u16),
    /// A part of the format that this version cannot write.
    #[error("unsupported: {0}")]
    Unsupported(&'static str),
    /// A dangling reference of the input that would refer to an added item.
    #[error("{0} leads to what the file has not got, and what is added would be taken for it")]
    Dangling(Place),
    /// An added item would exceed a limit of the format.
    #[error("limit passed: {0}")]
    Limit(&'static str),
}

/// An error with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    offset: Option<FileOffset>,
    cell: Option<String>,
}

impl Error {
    /// An error without a place in the file.
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: None, cell: None }))
    }

    /// An error at a place in the file.
    #[cold]
    pub fn at(offset: FileOffset, kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: Some(offset), cell: None }))
    }

    /// Adds the name of the enclosing cell or item, outermost last: `MethodDef.name`.
    #[cold]
    #[must_use]
    pub fn in_cell(mut self, cell: impl fmt::Display) -> Self {
        self.0.cell = Some(match self.0.cell.take() {
            Some(inner) => format!("{cell}: {inner}"),
            None => cell.to_string(),
        });
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The file offset, if it is known.
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

/// The place of a dangling reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a cell of a table.
    Cell {
        /// The table.
        table: Table,
        /// The row, from 1.
        row: u32,
        /// The name of the column.
        column: &'static str,
    },
    /// In a signature that a row refers to.
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
    /// In a vtable slot through which native code calls (II.25.3.3.3).
    VTableFixup,
    /// The last name in #Strings, which has no terminating zero.
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
