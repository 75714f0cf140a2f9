//! Packs profiles as the tracker does.

use little_endian::{ByteOrder, LE, PutNumbers};
use lz4_flex::block::compress;
use profile_format::{
    HeaderFlags,
    header::{BLOCK, FLAGS_AT},
};

/// Returns the packed file.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let (header, blocks) = bytes.split_at(BLOCK);
    let mut packed = header.to_vec();
    let flags = LE::read_u32(&header[FLAGS_AT..]) | HeaderFlags::PACKED.bits();
    LE::write_u32(&mut packed[FLAGS_AT..], flags);
    for block in blocks.chunks(BLOCK).map(compress) {
        packed.put_u32(block.len() as u32);
        packed.extend(block);
    }
    packed.extend([0; 4]);
    packed
}
