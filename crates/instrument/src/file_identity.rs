//! The identity of a file, independent of its folder.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The name, size and hash of a file.
pub(crate) struct FileIdentity {
    /// The name, without a folder.
    pub(crate) name: String,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The SHA-256 in hex.
    pub(crate) sha256: String,
}

impl FileIdentity {
    /// Computes the identity of a file in parts.
    pub(crate) fn new<'b>(name: String, parts: impl Iterator<Item = &'b [u8]>) -> Self {
        let mut hash = Sha256::new();
        let mut size = 0;
        for part in parts {
            hash.update(part);
            size += part.len() as u64;
        }
        Self { name, size, sha256: hex::encode(hash.finalize()) }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "file": self.name, "size": self.size, "sha256": self.sha256 })
    }
}
