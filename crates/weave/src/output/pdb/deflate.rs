//! Compresses embedded data on several threads.

use flate2::{Compress, Compression, FlushCompress};
use rayon::prelude::*;

/// Deflates (RFC 1951) pieces in parallel. Each piece but the last ends at a byte boundary with an empty block, so the
/// pieces form one stream. The stream is the same for any number of threads.
pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    const PIECE: usize = 1 << 19;
    let deflate_piece = |piece: &[u8], is_last: bool| {
        let mut out = Vec::with_capacity(piece.len() / 2 + 64);
        let mut deflater = Compress::new(Compression::default(), false);
        let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
        loop {
            let done = deflater.total_in() as usize;
            let status = deflater.compress_vec(piece.get(done..).unwrap_or_default(), &mut out, flush);
            // If the buffer is not full, the output is complete.
            if out.len() < out.capacity() || status.is_err() {
                return out;
            }
            out.reserve(piece.len() / 2 + 64);
        }
    };
    let pieces: Vec<&[u8]> = bytes.chunks(PIECE).collect();
    match &pieces[..] {
        [] => Vec::new(),
        [piece] => deflate_piece(piece, true),
        [first @ .., last] => {
            let deflated: Vec<Vec<u8>> = first
                .par_iter()
                .map(|piece| (piece, false))
                .chain([(last, true)])
                .map(|(piece, is_last)| deflate_piece(piece, is_last))
                .collect();
            deflated.concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::DeflateDecoder;

    use super::*;

    #[test]
    fn what_is_deflated_in_pieces_is_one_stream() {
        let noise = (0..3_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> (number % 13 + 8)) as u8);
        let bytes: Vec<u8> = noise.collect();
        for length in [0, 1, 1 << 19, (1 << 19) + 1, bytes.len()] {
            let bytes = &bytes[..length];
            let deflated = deflate(bytes);
            let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(threads.install(|| deflate(bytes)), deflated);
            let mut inflated = Vec::new();
            if !bytes.is_empty() {
                DeflateDecoder::new(&deflated[..]).read_to_end(&mut inflated).unwrap();
            }
            assert!(inflated == bytes, "{length} bytes");
        }
    }
}
