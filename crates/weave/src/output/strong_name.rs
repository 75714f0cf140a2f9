//! Strong names (II.6.2.1.3): a signed file is signed again, or its flag is cleared.

use ecma335::{Image, ImageWriter, Metadata, flags::cli_flags};
use little_endian::NumbersAt;
use rsa::{BigUint, Pkcs1v15Sign, RsaPrivateKey, traits::PublicKeyParts as _};
use sha1::{Digest, Sha1};

use super::note::Note;

/// An RSA key pair in the format of `sn -k`: a private key blob.
#[derive(Clone, Debug)]
pub struct StrongNameKey {
    key: RsaPrivateKey,
}

/// The reason that a file is not a key pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// The file holds only a public key.
    #[error("it holds a public key alone; signing takes the private one")]
    PublicOnly,
    /// The file is something else.
    #[error("it is no strong name key pair, as `sn -k` writes one")]
    Malformed,
    /// The numbers do not form an RSA key.
    #[error("its numbers do not make an RSA key")]
    BadNumbers,
}

/// The size of the header of a public key in the Assembly table: two algorithms and a size.
const PUBLIC_KEY_HEADER: usize = 12;
/// The size of the key blob's header: kind, version, reserved, algorithm.
const BLOB_HEADER: usize = 8;
const PRIVATE: u8 = 7;
const PUBLIC: u8 = 6;

impl StrongNameKey {
    /// Reads a key file.
    ///
    /// # Errors
    /// If the file is not a key pair.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        match bytes {
            [PUBLIC, ..] | [0, 0x24, 0, 0, ..] => return Err(KeyError::PublicOnly),
            [PRIVATE, ..] => {}
            _ => return Err(KeyError::Malformed),
        }
        let content = bytes.get(BLOB_HEADER..).and_then(|content| content.strip_prefix(b"RSA2")).ok_or(KeyError::Malformed)?;
        let mut rest = content;
        let mut take = |size: usize| {
            let (number, behind) = rest.split_at_checked(size).ok_or(KeyError::Malformed)?;
            rest = behind;
            Ok(BigUint::from_bytes_le(number))
        };
        let bits = content.u32_at(0).ok_or(KeyError::Malformed)?;
        take(4)?;
        let (whole, half) = (bits as usize / 8, bits as usize / 16);
        let exponent = take(4)?;
        let modulus = take(whole)?;
        let primes = vec![take(half)?, take(half)?];
        // The two exponents and the coefficient follow from the other numbers.
        take(half * 3)?;
        let private_exponent = take(whole)?;
        let key = RsaPrivateKey::from_components(modulus, exponent, private_exponent, primes);
        Ok(Self { key: key.map_err(|_| KeyError::BadNumbers)? })
    }

    /// Whether an assembly's public key belongs to this key pair.
    pub fn fits(&self, public_key: &[u8]) -> bool {
        // Both headers are followed by `RSA1`, the size in bits, the exponent and the modulus.
        let modulus = public_key.get(PUBLIC_KEY_HEADER + BLOB_HEADER + 12..).unwrap_or_default();
        !modulus.is_empty() && BigUint::from_bytes_le(modulus) == *self.key.n()
    }

    /// The size of a signature in bytes.
    pub fn signature_size(&self) -> usize {
        self.key.size()
    }

    /// The signature of content given in pieces: PKCS #1 1.5 with SHA-1, last byte first.
    pub fn sign<'p>(&self, content: impl Iterator<Item = &'p [u8]>) -> Vec<u8> {
        let mut hash = Sha1::new();
        content.for_each(|piece| hash.update(piece));
        // A key too small for SHA-1 gets no signature. 512 bits are enough, and `sn` makes no key below 384.
        let mut signature = self.key.sign(Pkcs1v15Sign::new::<Sha1>(), &hash.finalize()).unwrap_or_default();
        signature.reverse();
        signature
    }
}

/// The key pair of an assembly's public key.
pub fn key_of<'k>(metadata: &Metadata<'_>, keys: &'k [StrongNameKey]) -> Option<&'k StrongNameKey> {
    let public_key = metadata.blob(metadata.assembly()?.public_key).ok()?;
    keys.iter().find(|key| key.fits(public_key))
}

/// Prepares the headers for the new strong name, and returns the key to sign with.
pub(crate) fn prepare<'k>(
    image: &Image<'_>,
    metadata: &Metadata<'_>,
    keys: &'k [StrongNameKey],
    writer: &mut ImageWriter<'_, '_>,
    notes: &mut Vec<Note>,
) -> Option<&'k StrongNameKey> {
    let cli = writer.cli_header_mut();
    if let Some(key) = key_of(metadata, keys) {
        cli.flags |= cli_flags::STRONG_NAME_SIGNED;
        writer.set_signature_size(key.signature_size());
        notes.push(Note::SignedAgain);
        return Some(key);
    }
    // A signature of zeros means that the file was public-signed. Such a file was never meant to be verified.
    let was_signed = image.bytes_at(image.cli_header().strong_name).iter().any(|byte| *byte != 0);
    if was_signed && cli.is_strong_name_signed() {
        cli.flags &= !cli_flags::STRONG_NAME_SIGNED;
        notes.push(Note::SignatureRemoved);
    }
    None
}
