//! The fuzz targets: work done with bytes, and the properties that it must have for any bytes.

mod files;
mod reading;
mod weaving;

use crate::fields::Format;

/// A fuzz target: work done with bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Reads the headers of a PE file, from the file and as loaded in memory.
    Image,
    /// Reads rows, heaps, names and attributes.
    Metadata,
    /// Reads a blob as a signature of each kind, and writes it again.
    Signature,
    /// Reads a body, writes it again, and puts it into an assembly, which is then instrumented.
    Body,
    /// Lists and disassembles an assembly.
    Text,
    /// Verifies an assembly, with types.
    Verify,
    /// Instruments an assembly. The output can be read, has no new findings, and consists of the original and the probes.
    Weave,
    /// Instruments an assembly with a PDB.
    Pdb,
    /// Reads, adds up and prints a profile.
    Profile,
    /// Adds the tracker to a `deps.json`.
    DepsJson,
    /// Restores originals by their list.
    Originals,
    /// Instruments an assembly from file to file and in place, and restores it.
    Files,
    /// Compares a profile with another in both directions, merges it with itself, and reads the merged profile.
    Compare,
    /// Writes a profile in each export format.
    Export,
    /// Reads call paths from Parquet.
    Parquet,
    /// Reads names from a manifest.
    Manifest,
    /// Reads a request at the profiler's socket, and the options in it.
    Request,
}

/// The result of checking bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The bytes are refused with an error.
    Refused,
    /// There was nothing to do.
    LeftAlone,
    /// All work was done.
    Accepted,
}

impl Target {
    /// All targets with their names, and their share of 1,000 inputs.
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

    /// Returns the format of the target's bytes.
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

    /// Runs the target. `variant` chooses among its options; `beside` is the companion file.
    ///
    /// # Errors
    /// If a property fails that must hold for any bytes; the text describes it.
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

/// Derives a variant from the bytes, where nothing else chooses one.
pub fn variant_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}
