//! A file ready for writing. Only the parts computed from its own bytes are missing: the strong name signature and
//! the checksum.

use std::ops::Range;

use little_endian::{ByteOrder, LE};

use crate::segments::Segments;

/// An image ready for writing.
#[derive(Debug, Default)]
pub struct OutputFile<'a> {
    pub(crate) segments: Segments<'a>,
    /// The range reserved for a strong name signature.
    pub(crate) signature: Option<Range<usize>>,
    /// The ranges that the signature covers.
    pub(crate) hashed: Vec<Range<usize>>,
    /// The offset of the PE checksum, if it is to be set.
    pub(crate) checksum_at: Option<usize>,
}

impl<'a> OutputFile<'a> {
    /// An output file equal to the input.
    pub fn unchanged(bytes: &'a [u8]) -> Self {
        let mut segments = Segments::default();
        segments.push(bytes);
        Self { segments, ..Self::default() }
    }

    /// The content for the strong name signature, in pieces: headers and sections, without the range of the signature
    /// itself. The checksum and the Authenticode entry count as zeros (II.6.2.1.3), and are still zero here.
    pub fn signed_content(&self) -> impl Iterator<Item = &[u8]> {
        let signature = self.signature.clone().unwrap_or_default();
        self.hashed.iter().flat_map(move |range| {
            let before = range.start..range.end.min(signature.start.max(range.start));
            let behind = range.start.max(signature.end.min(range.end))..range.end;
            let (before, behind) = if signature.start >= range.end || signature.end <= range.start {
                (range.clone(), range.end..range.end)
            } else {
                (before, behind)
            };
            self.segments.range(before).chain(self.segments.range(behind))
        })
    }

    /// The size reserved for a strong name signature, in bytes; 0 if there is none.
    pub fn signature_size(&self) -> usize {
        self.signature.as_ref().map_or(0, Range::len)
    }

    /// Writes the strong name signature into its range.
    pub fn sign(&mut self, signature: &[u8]) {
        if let Some(range) = &self.signature {
            self.segments.patch(range.start, signature.get(..range.len()).unwrap_or(signature));
        }
    }

    /// The file's bytes. The PE checksum is set if the input had one.
    pub fn into_segments(mut self) -> Segments<'a> {
        if let Some(at) = self.checksum_at {
            let sum = checksum(self.segments.iter()).wrapping_add(self.segments.len() as u32);
            self.segments.patch(at, &sum.to_le_bytes());
        }
        self.segments
    }
}

/// The PE checksum before adding the file's length: the sum of all 16-bit words, with each carry added in.
fn checksum<'s>(parts: impl Iterator<Item = &'s [u8]>) -> u32 {
    let mut sum = 0_u64;
    let mut odd: Option<u8> = None;
    for mut part in parts {
        if let (Some(low), [high, rest @ ..]) = (odd, part) {
            sum += u64::from(low) | u64::from(*high) << 8;
            odd = None;
            part = rest;
        }
        // One's complement addition gives the same sum for four bytes at a time.
        let words = part.chunks_exact(4);
        let tail = words.remainder();
        sum += words.map(|word| u64::from(LE::read_u32(word))).sum::<u64>();
        let pairs = tail.chunks_exact(2);
        if let [last] = pairs.remainder() {
            odd = Some(*last);
        }
        sum += pairs.map(|pair| u64::from(LE::read_u16(pair))).sum::<u64>();
    }
    sum += u64::from(odd.unwrap_or(0));
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    sum as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_does_not_depend_on_how_the_file_is_cut() {
        let bytes: Vec<u8> = (0..1001_u32).map(|number| ((number * 7919) >> 3) as u8).collect();
        let whole = checksum(std::iter::once(&bytes[..]));
        for cut in [1, 2, 3, 500, 999] {
            assert_eq!(checksum([&bytes[..cut], &bytes[cut..]].into_iter()), whole, "cut at {cut}");
        }
    }
}
