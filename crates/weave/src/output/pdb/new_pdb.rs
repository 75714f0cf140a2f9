//! The PDB that goes with a woven image.

use ecma335::{Error, debug, pdb, pdb_stream::PdbId};
use sha2::{Digest, Sha256};

use super::deflate::deflate;

/// A PDB that goes with a woven image.
#[derive(Debug)]
pub(crate) struct NewPdb {
    /// The PDB's bytes. Empty if the PDB is embedded.
    pub(crate) bytes: Vec<u8>,
    /// The data of the debug entry that embeds the PDB, if it is to be embedded.
    pub(super) embedded: Vec<u8>,
    pub(super) id: PdbId,
    pub(super) hash: [u8; 32],
}

impl NewPdb {
    /// Gives a PDB an id, which is derived from its contents, and the hash for the debug directory.
    pub(super) fn new(mut bytes: Vec<u8>, is_embedded: bool) -> Result<Self, Error> {
        let hash: [u8; 32] = Sha256::digest(&bytes).into();
        let mut id = PdbId::default();
        id.0.copy_from_slice(&hash[..PdbId::SIZE]);
        // UUID version 4 and variant of RFC 9562, as compilers set them on ids from a hash.
        id.0[7] = id.0[7] & 0x0F | 0x40;
        id.0[8] = id.0[8] & 0x3F | 0x80;
        id.0[19] |= 0x80;
        pdb::set_id(&mut bytes, id)?;
        if !is_embedded {
            return Ok(Self { bytes, embedded: Vec::new(), id, hash });
        }
        let embedded = debug::embed_pdb(bytes.len() as u32, &deflate(&bytes));
        Ok(Self { bytes: Vec::new(), embedded, id, hash })
    }
}
