//! A file in pieces. Pieces borrowed from the input are not copied.

use std::{
    borrow::Cow,
    io::{self, BufRead as _, Write as _},
    ops::Range,
};

/// Bytes in order, some borrowed from the input, some owned. A file is written from them without first being
/// assembled in memory.
#[derive(Debug, Default)]
pub struct Segments<'a> {
    parts: Vec<Cow<'a, [u8]>>,
    length: usize,
}

impl<'a> Segments<'a> {
    /// The size of pieces for copies. The allocator maps pages for so large a block, and returns them to the system.
    const PIECE: usize = 1 << 20;

    /// Appends bytes.
    pub fn push(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        let bytes = bytes.into();
        self.length += bytes.len();
        if !bytes.is_empty() {
            self.parts.push(bytes);
        }
    }

    /// Appends a copy of bytes. Short copies share a piece.
    pub fn push_copy(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if let Some(Cow::Owned(last)) = self.parts.last_mut()
            && last.capacity() - last.len() >= bytes.len()
        {
            last.extend_from_slice(bytes);
            return;
        }
        let mut piece = Vec::with_capacity(bytes.len().max(self.length.min(Self::PIECE)));
        piece.extend_from_slice(bytes);
        self.parts.push(piece.into());
    }

    /// Appends all pieces of another.
    pub fn append(&mut self, other: Segments<'a>) {
        self.length += other.length;
        self.parts.extend(other.parts);
    }

    /// Appends zeros up to a multiple of `alignment`.
    pub fn pad_to(&mut self, alignment: usize) {
        self.push(vec![0; self.length.next_multiple_of(alignment) - self.length]);
    }

    /// Overwrites bytes. Bytes beyond the end are ignored.
    pub fn patch(&mut self, offset: usize, mut bytes: &[u8]) {
        let (mut start, mut at) = (0, offset);
        for part in &mut self.parts {
            let end = start + part.len();
            if at < end && !bytes.is_empty() {
                let count = bytes.len().min(end - at);
                let (now, rest) = bytes.split_at(count);
                part.to_mut()[at - start..at - start + count].copy_from_slice(now);
                (bytes, at) = (rest, at + count);
            }
            start = end;
        }
    }

    /// Overwrites four bytes at each of some ascending offsets. None may cross a boundary of pieces.
    pub fn patch_words(&mut self, words: impl IntoIterator<Item = (usize, [u8; 4])>) {
        let (mut parts, mut start) = (self.parts.iter_mut().peekable(), 0);
        for (offset, word) in words {
            while let Some(passed) = parts.next_if(|part| start + part.len() <= offset) {
                start += passed.len();
            }
            let place = parts.peek_mut().and_then(|part| part.to_mut().get_mut(offset.checked_sub(start)?..)?.get_mut(..4));
            place.into_iter().for_each(|place| place.copy_from_slice(&word));
        }
    }

    /// The bytes of a range, in pieces.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.parts.iter().filter_map(move |part| {
            let from = range.start.saturating_sub(start).min(part.len());
            let to = range.end.saturating_sub(start).min(part.len());
            start += part.len();
            part.get(from..to).filter(|piece| !piece.is_empty())
        })
    }

    /// The total number of bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(|part| &**part)
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// The writer's error.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        // Most pieces are short, so a system call for each would cost more than the copy.
        let mut out = io::BufWriter::with_capacity(64 << 10, out);
        self.iter().try_for_each(|part| out.write_all(part))?;
        out.flush()
    }

    /// The first offset at which a reader's bytes differ, including a difference in length.
    ///
    /// # Errors
    /// The reader's error.
    pub fn first_difference(&self, other: impl io::Read) -> io::Result<Option<usize>> {
        let mut other = io::BufReader::with_capacity(64 << 10, other);
        let mut at = 0;
        for mut part in self.iter() {
            while !part.is_empty() {
                let there = other.fill_buf()?;
                let length = there.len().min(part.len());
                if length == 0 || there[..length] != part[..length] {
                    return Ok(Some(at + there.iter().zip(part).take_while(|(there, here)| there == here).count()));
                }
                other.consume(length);
                part = &part[length..];
                at += length;
            }
        }
        Ok(if other.fill_buf()?.is_empty() { None } else { Some(at) })
    }

    /// A copy of all bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.length);
        self.iter().for_each(|part| out.extend_from_slice(part));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found_wherever_it_is() {
        let mut segments = Segments::default();
        segments.push(vec![1; 100_000]);
        segments.push(vec![2; 5]);
        let mut other = segments.to_vec();
        let found = |other: &[u8]| segments.first_difference(other).unwrap();
        assert_eq!(found(&other), None);
        assert_eq!(found(&other[..99_000]), Some(99_000));
        other.push(0);
        assert_eq!(found(&other), Some(100_005));
        other[70_000] = 0;
        assert_eq!(found(&other), Some(70_000));
    }

    #[test]
    fn patches_and_ranges_go_over_the_borders_of_pieces() {
        let mut segments = Segments::default();
        for piece in ["abc", "defg", "", "h"] {
            segments.push(piece.as_bytes());
        }
        segments.patch(2, b"-----");
        segments.patch(7, b"!?");
        assert_eq!(segments.to_vec(), b"ab-----!");
        segments.patch_words([(3, *b"++++")]);
        assert_eq!(segments.to_vec(), b"ab-++++!");
        segments.patch(3, b"----");
        for (range, expected) in [(0..8, "ab-----!"), (1..2, "b"), (6..20, "-!"), (3..3, "")] {
            assert_eq!(segments.range(range).flatten().copied().collect::<Vec<u8>>(), expected.as_bytes());
        }
    }
}
