//! Packed files (docs/profile-format.md): behind the header, each block of 64 KiB is compressed.

use std::borrow::Cow;

use lz4_flex::block::decompress_into;
use profile_format::{
    HeaderFlags,
    header::{BLOCK, FLAGS_AT},
};

use super::{cursor::u32_at, header::is_packed};
use crate::error::Error;

/// The largest size of an unpacked file: 4 GiB.
const MOST: u64 = 4 << 30;
/// The size of the number before each block: u32, its compressed size; 0 at the end of the file.
const SIZE: usize = 4;

/// Returns the bytes of a file as they were before it was packed. A packed file that is cut off or damaged ends within a block.
///
/// # Errors
/// If the header is missing or states an unknown version, or if the unpacked file would be larger than 4 GiB.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    if !is_packed(bytes)? {
        return Ok(bytes.into());
    }
    let (Some(header), Some(mut packed)) = (bytes.get(..BLOCK), bytes.get(BLOCK..)) else {
        return Err(Error::Damaged { what: "the file ends here", offset: bytes.len() });
    };
    let mut all = header.to_vec();
    all[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&(u32_at(header, FLAGS_AT) & !HeaderFlags::PACKED.bits()).to_le_bytes());
    while let Some((size, rest)) = packed.split_at_checked(SIZE) {
        let size = u32_at(size, 0) as usize;
        if size == 0 {
            return Ok(all.into());
        }
        let start = all.len();
        if start as u64 >= MOST {
            return Err(Error::Damaged { what: "a packed file of more than 4 GiB", offset: bytes.len() - rest.len() });
        }
        let Some((block, rest)) = rest.split_at_checked(size) else { break };
        all.resize(start + BLOCK, 0);
        if !decompress_into(block, &mut all[start..]).is_ok_and(|size| size == BLOCK) {
            all.truncate(start);
            break;
        }
        packed = rest;
    }
    // The beginning of a block, so that a reader sees that others are missing.
    all.extend([0; SIZE]);
    Ok(all.into())
}
