//! Compression of what is embedded, on several threads.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use flate2::{Compress, Compression, FlushCompress};

/// Deflates (RFC 1951) in pieces, side by side: each but the last ends at a byte with a block of nothing, so that they make
/// one stream, and the same one from any number of threads.
pub(super) fn deflate(bytes: &[u8], threads: usize) -> Vec<u8> {
    const PIECE: usize = 1 << 19;
    let deflate_piece = |piece: &[u8], is_last: bool| {
        let mut out = Vec::with_capacity(piece.len() / 2 + 64);
        let mut deflater = Compress::new(Compression::default(), false);
        let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
        loop {
            let done = deflater.total_in() as usize;
            let status = deflater.compress_vec(piece.get(done..).unwrap_or_default(), &mut out, flush);
            // With room left over, all of it is out.
            if out.len() < out.capacity() || status.is_err() {
                return out;
            }
            out.reserve(piece.len() / 2 + 64);
        }
    };
    let pieces: Vec<&[u8]> = bytes.chunks(PIECE).collect();
    let last = pieces.len().saturating_sub(1);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Vec<u8>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(pieces.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(piece) = pieces.get(index) else { break };
                    let deflated = deflate_piece(piece, index == last);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, deflated));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, piece)| piece).collect()
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
            let deflated = deflate(bytes, 1);
            assert_eq!(deflate(bytes, 3), deflated);
            let mut inflated = Vec::new();
            if !bytes.is_empty() {
                DeflateDecoder::new(&deflated[..]).read_to_end(&mut inflated).unwrap();
            }
            assert!(inflated == bytes, "{length} bytes");
        }
    }
}
