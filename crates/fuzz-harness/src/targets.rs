//! What is done with bytes, and what has to hold whatever they are.

mod files;
mod reading;
mod weaving;

use crate::fields::Format;

/// What is done with bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The headers of a PE file are read, as a file's and as a loader's.
    Image,
    /// Rows, heaps, names and attributes are read.
    Metadata,
    /// A blob is read as a signature of each kind, and written again.
    Signature,
    /// A body is read and written again, and put into an assembly that is woven.
    Body,
    /// An assembly is listed and disassembled.
    Text,
    /// It is verified, with types.
    Verify,
    /// It is woven: what comes out reads, has no finding that it had not, and is its original and the probes.
    Weave,
    /// An assembly is woven with a PDB.
    Pdb,
    /// A profile is read, added up and printed.
    Profile,
    /// A `deps.json` is told about the tracker.
    DepsJson,
    /// Originals are put back by the list of them.
    Originals,
    /// An assembly is woven from file to file, and in place, and is put back.
    Files,
    /// A profile is held against another, either way, and merged with itself; what that makes is read.
    Compare,
    /// A profile is written in each format of other tools.
    Export,
    /// Call paths are read from Parquet.
    Parquet,
    /// Names are read from a manifest.
    Manifest,
    /// A request at the profiler's socket is read, and the options in it.
    Request,
}

/// What came of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// They are said not to be what they should.
    Refused,
    /// There was nothing to be done.
    LeftAlone,
    /// All was done.
    Accepted,
}

impl Target {
    /// All, by name, with how many of 1,000 inputs are theirs.
    pub const ALL: [(Self, &'static str, u64); 17] = [
        (Self::Image, "image", 40),
        (Self::Metadata, "metadata", 80),
        (Self::Signature, "signature", 80),
        (Self::Body, "body", 140),
        (Self::Text, "text", 80),
        (Self::Verify, "verify", 80),
        (Self::Weave, "weave", 220),
        (Self::Pdb, "pdb", 20),
        (Self::Profile, "profile", 50),
        (Self::DepsJson, "deps_json", 20),
        (Self::Originals, "originals", 5),
        (Self::Files, "files", 15),
        (Self::Compare, "compare", 20),
        (Self::Export, "export", 20),
        (Self::Parquet, "parquet", 100),
        (Self::Manifest, "manifest", 20),
        (Self::Request, "request", 10),
    ];

    /// What its bytes are.
    pub fn format(self) -> Format {
        match self {
            Self::Image | Self::Metadata | Self::Text | Self::Verify | Self::Weave | Self::Files => Format::Image,
            Self::Signature | Self::Request => Format::Blob,
            Self::Body => Format::Body,
            Self::Pdb => Format::Pdb,
            Self::Profile | Self::Compare | Self::Export => Format::Profile,
            Self::DepsJson | Self::Originals | Self::Manifest => Format::Json,
            Self::Parquet => Format::Parquet,
        }
    }

    /// Does it. `variant` chooses among the ways there are; `beside` is what lies beside the bytes.
    ///
    /// # Errors
    /// What does not hold, and always should.
    pub fn check(self, bytes: &[u8], variant: u64, beside: Option<&[u8]>) -> Result<Outcome, String> {
        match self {
            Self::Image => reading::image(bytes),
            Self::Metadata => reading::metadata(bytes),
            Self::Signature => reading::signature(bytes),
            Self::Text => reading::text(bytes),
            Self::Verify => reading::verify(bytes),
            Self::Profile => reading::profile(bytes),
            Self::Compare => reading::comparison(bytes, beside),
            Self::Export => reading::export(bytes),
            Self::Parquet => Ok(reading::parquet(bytes)),
            Self::Manifest => Ok(reading::manifest(bytes)),
            Self::Request => reading::request(bytes),
            Self::DepsJson => reading::deps_json(bytes),
            Self::Body => weaving::body(bytes, variant),
            Self::Weave => weaving::assembly(bytes, variant, beside),
            Self::Pdb => weaving::pdb(bytes, variant, beside),
            Self::Originals => files::originals(bytes),
            Self::Files => files::assembly(bytes, variant),
        }
    }
}

/// A way that follows from the bytes, where nothing else chooses one.
pub fn variant_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}
