//! Notes to the user about a woven file, other than about its methods.

use std::fmt;

use ecma335::writer::Obstacle;

/// A change to a woven file outside of its methods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The ReadyToRun code was removed. It would have run instead of the woven IL.
    ReadyToRunRemoved,
    /// The strong name signature was removed, and its flag cleared.
    SignatureRemoved,
    /// The strong name was signed again.
    SignedAgain,
    /// The Authenticode signature was removed.
    CertificateRemoved,
    /// The link to the PDB was removed. The PDB cannot be updated, and its offsets are no longer valid.
    PdbRemoved(PdbTrouble),
    /// The file's Mono debug information (`.mdb`) was left out, as it cannot be updated.
    MdbLeftOut,
    /// The file's Mono debug information (`.mdb`) is still beside it, and no longer matches.
    MdbStale,
    /// The file is a module, and the manifest of its assembly holds a hash of it.
    ModuleHash,
    /// The image keeps its layout. Its old metadata remains as dead bytes.
    LayoutKept(Obstacle),
    /// No lines are counted.
    NoLines(LinesTrouble),
    /// The file keeps its code in a composite image, where methods of other assemblies may be inlined.
    CompositeCodeKept,
}

impl Note {
    /// The diagnostic's number.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ReadyToRunRemoved => "ILI0002",
            Self::SignatureRemoved | Self::SignedAgain => "ILI0003",
            Self::CertificateRemoved => "ILI0004",
            Self::PdbRemoved(_) | Self::MdbLeftOut | Self::MdbStale => "ILI0005",
            Self::LayoutKept(_) => "ILI0008",
            Self::ModuleHash => "ILI0009",
            Self::CompositeCodeKept => "ILI0034",
            Self::NoLines(_) => "ILI0035",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::ReadyToRunRemoved => {
                "ReadyToRun code removed, so that the instrumented IL runs; start-up is slower, as all methods are compiled then"
            }
            Self::SignatureRemoved => {
                "strong name signature removed, as there is no key to sign again (--snk); the assembly keeps its name and public key"
            }
            Self::SignedAgain => "strong name signed again",
            Self::CertificateRemoved => "Authenticode signature removed",
            Self::PdbRemoved(why) => return write!(f, "link to the PDB removed, so stack traces have no line numbers: {why}"),
            Self::MdbLeftOut => {
                "its .mdb was left out: Mono's own debug information cannot follow; a portable PDB can (csc -debug:portable)"
            }
            Self::MdbStale => {
                "its .mdb does not match any more, and Mono may say so: it cannot follow; take it away, or compile with a portable \
                 PDB (csc -debug:portable)"
            }
            Self::ModuleHash => "the manifest of its assembly holds a hash of it: instrument both in one run",
            Self::CompositeCodeKept => {
                "its ReadyToRun code is part of a composite image, so methods of other assemblies may be inlined into it, and those \
                 calls are not counted: instrument this assembly too"
            }
            Self::NoLines(why) => return write!(f, "its lines are not counted: {why}"),
            Self::LayoutKept(why) => return write!(f, "layout kept, with the old metadata in it, as {why}"),
        };
        f.write_str(text)
    }
}

/// The reason that no lines are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinesTrouble {
    /// There is no portable PDB.
    NoPdb,
    /// The module has no place for the type with the counters' address.
    NoPlace,
}

impl fmt::Display for LinesTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPdb => "they need its portable PDB, embedded or beside it (-p:DebugType=portable makes one)",
            Self::NoPlace => {
                "its metadata has no place for counters, as in the core library, and in obfuscated or damaged files; instrument \
                 the compiler's output"
            }
        })
    }
}

/// The reason that a PDB cannot be updated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PdbTrouble {
    /// The PDB is not beside the image, or was not given.
    NotFound(String),
    /// The PDB is a Windows PDB.
    Windows,
    /// The PDB's id differs from the one in the image.
    OfAnotherBuild,
    /// The PDB cannot be read.
    Unreadable(String),
}

impl fmt::Display for PdbTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(name) => write!(f, "{name} was not found"),
            Self::Windows => write!(f, "it is a Windows PDB, and only portable ones can be read"),
            Self::OfAnotherBuild => write!(f, "it is of another build"),
            Self::Unreadable(error) => write!(f, "it cannot be read: {error}"),
        }
    }
}
