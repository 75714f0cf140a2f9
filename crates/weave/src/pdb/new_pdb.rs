//! The PDB that goes with a woven image.

use ecma335::{Error, debug, pdb, pdb_stream::PdbId};
use sha2::{Digest, Sha256};

use super::deflate::deflate;

/// A PDB that goes with a woven image.
#[derive(Debug)]
pub(crate) struct NewPdb {
    /// What is in it; nothing if it is embedded.
    pub(crate) bytes: Vec<u8>,
    /// The debug entry's data that carries it, if it is to be embedded.
    pub(super) embedded: Vec<u8>,
    pub(super) id: PdbId,
    pub(super) hash: [u8; 32],
}

impl NewPdb {
    /// Gives a PDB an id, which is made of what it holds, and the hash that vouches for it.
    pub(super) fn new(mut bytes: Vec<u8>, is_embedded: bool) -> Result<Self, Error> {
        let hash: [u8; 32] = Sha256::digest(&bytes).into();
        let mut id = PdbId::default();
        id.0.copy_from_slice(&hash[..PdbId::SIZE]);
        // Version 4, the variant of RFC 9562: what compilers make of a hash.
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
