//! Errors of reading a profile.

/// A profile that cannot be read, or only in part.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The file does not begin as a profile does.
    #[error("not an ilinst profile")]
    NotAProfile,
    /// Another version of the format.
    #[error("format version {found}; this ilinst reads version {known}")]
    Version {
        /// The version in the file.
        found: u32,
        /// The version of this reader.
        known: u32,
    },
    /// A number in the file has no meaning in its version.
    #[error("{what} {value}, which this ilinst does not know (file offset 0x{offset:x})")]
    Unknown {
        /// The kind of the number.
        what: &'static str,
        /// The number.
        value: u32,
        /// Its file offset.
        offset: usize,
    },
    /// The bytes end too early, or are inconsistent.
    #[error("{what} (file offset 0x{offset:x})")]
    Damaged {
        /// The defect.
        what: &'static str,
        /// Its file offset.
        offset: usize,
    },
}
