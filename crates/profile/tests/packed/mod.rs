//! Packs profiles as the tracker does.

use lz4_flex::block::compress;
use profile_format::{
    HeaderFlags,
    header::{BLOCK, FLAGS_AT},
};

/// Returns the packed file.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let (header, blocks) = bytes.split_at(BLOCK);
    let mut packed = header.to_vec();
    let flags = header.get(FLAGS_AT..).and_then(|flags| flags.first_chunk()).copied().map(u32::from_le_bytes);
    let flags = flags.expect("the header is whole") | HeaderFlags::PACKED.bits();
    packed[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&flags.to_le_bytes());
    for block in blocks.chunks(BLOCK).map(compress) {
        packed.extend((block.len() as u32).to_le_bytes());
        packed.extend(block);
    }
    packed.extend([0; 4]);
    packed
}
