//! What a user should know of a woven file, beside its methods.

use std::fmt;

use ecma335::writer::Obstacle;

/// What became of something else than a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The ReadyToRun code is gone: it would have run instead of the woven IL.
    ReadyToRunRemoved,
    /// The strong name's signature is gone, and its flag cleared.
    SignatureRemoved,
    /// The strong name was signed again.
    SignedAgain,
    /// The Authenticode signature is gone.
    CertificateRemoved,
    /// The link to the PDB is gone, as the PDB cannot follow, and its offsets no longer hold.
    PdbRemoved(PdbTrouble),
    /// Mono's debug information of it was left out, as it cannot follow.
    MdbLeftOut,
    /// The same lies beside it still, and does not match any more.
    MdbStale,
    /// It is a module of an assembly whose manifest holds a hash of it.
    ModuleHash,
    /// The image keeps its layout, with its old metadata as dead bytes.
    LayoutKept(Obstacle),
    /// It stays as it is, and its code lies in a composite image, where methods of other assemblies may be inlined.
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
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::ReadyToRunRemoved => "ReadyToRun code removed, so that the woven IL runs",
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
            Self::ModuleHash => "the manifest of its assembly holds a hash of it: weave both in one run",
            Self::CompositeCodeKept => {
                "its ReadyToRun code is part of a composite image, so methods of other assemblies may be inlined into it, and those \
                 calls are not counted: instrument this assembly too"
            }
            Self::LayoutKept(why) => return write!(f, "layout kept, with the old metadata in it, as {why}"),
        };
        f.write_str(text)
    }
}

/// Why a PDB cannot follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PdbTrouble {
    /// It is not beside the image, or was not given.
    NotFound(String),
    /// It is a Windows PDB.
    Windows,
    /// Its id is another than the image says.
    OfAnotherBuild,
    /// It cannot be read.
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
