//! A short form of bytes.

use sha2::{Digest as _, Sha256};

/// The number of bytes, and a hash.
pub(crate) fn digest(bytes: &[u8]) -> String {
    match bytes {
        [] => "none".into(),
        bytes => format!("{} bytes, SHA-256 {}", bytes.len(), sha256(bytes).get(..16).unwrap_or_default()),
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
