//! Why a file is not read, or not to its end.

/// A profile that cannot be read, or not to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// It does not start as a profile does.
    #[error("not an ilinst profile")]
    NotAProfile,
    /// It was written by a later version.
    #[error("format version {found}; this ilinst reads versions up to {known}")]
    Version {
        /// What the file says.
        found: u32,
        /// The latest that is read.
        known: u32,
    },
    /// It says something that its version has no meaning for.
    #[error("{what} {value}, which this ilinst does not know (file offset 0x{offset:x})")]
    Unknown {
        /// Of what.
        what: &'static str,
        /// Which.
        value: u32,
        /// Where.
        offset: usize,
    },
    /// The bytes end too early, or make no sense.
    #[error("{what} (file offset 0x{offset:x})")]
    Damaged {
        /// What is wrong.
        what: &'static str,
        /// Where.
        offset: usize,
    },
}
