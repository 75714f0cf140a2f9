//! Packed files (docs/profile-format.md): behind the header, each block of 64 KiB is compressed.

use std::borrow::Cow;

use lz4_flex::block::{compress, decompress_into};
use profile_format::{
    HeaderFlags,
    header::{BLOCK, FLAGS_AT},
};

use super::{
    cursor::{put_u32, u32_at},
    header::is_packed,
};
use crate::error::Error;

/// The largest size to which a file is unpacked: 4 GiB. Trackers pack files of 1 GiB at most.
const MOST: u64 = 4 << 30;
/// The size of the u32 before each block. It is the block's packed size, or 0 at the end of the file.
const SIZE: usize = 4;
/// The end of a packed file.
pub(super) const END: [u8; SIZE] = [0; SIZE];
/// The largest size of a packed block, if nothing in it repeats.
const LARGEST: usize = BLOCK + BLOCK / 255 + 16;

/// Packs whole blocks, and ends the file.
pub(super) fn pack(blocks: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for block in blocks.chunks(BLOCK) {
        let block = compress(block);
        packed.extend((block.len() as u32).to_le_bytes());
        packed.extend(block);
    }
    packed.extend(END);
    packed
}

/// Returns the bytes of a file as they were before it was packed. A packed file that is cut off, damaged, or larger than 4 GiB ends within a block.
///
/// # Errors
/// If the header is missing, or states an unknown version.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    if !is_packed(bytes)? {
        return Ok(bytes.into());
    }
    let (Some(header), Some(mut packed)) = (bytes.get(..BLOCK), bytes.get(BLOCK..)) else {
        return Err(Error::Damaged { what: "the file ends here", offset: bytes.len() });
    };
    let mut all = header.to_vec();
    put_u32(&mut all, FLAGS_AT, u32_at(header, FLAGS_AT) & !HeaderFlags::PACKED.bits());
    while let Some((size, rest)) = packed.split_at_checked(SIZE) {
        let size = u32_at(size, 0) as usize;
        if size == 0 {
            return Ok(all.into());
        }
        let start = all.len();
        if size > LARGEST || start as u64 >= MOST {
            break;
        }
        let Some((block, rest)) = rest.split_at_checked(size) else { break };
        all.resize(start + BLOCK, 0);
        if !decompress_into(block, &mut all[start..]).is_ok_and(|size| size == BLOCK) {
            all.truncate(start);
            break;
        }
        packed = rest;
    }
    // A block that begins here tells readers that something is missing.
    all.extend([0; SIZE]);
    Ok(all.into())
}
