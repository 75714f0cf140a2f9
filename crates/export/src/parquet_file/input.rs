//! Bytes that are read from front to back.

/// A window on bytes, with its read position.
#[derive(Clone, Copy)]
pub(super) struct Input<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
}

impl<'b> Input<'b> {
    pub(super) fn new(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'b [u8], String> {
        let taken = self.at.checked_add(count).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| damaged("the data ends here", self.at))?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    /// Reads a little-endian number of at most eight bytes.
    pub(super) fn little(&mut self, width: usize) -> Result<u64, String> {
        Ok(self.take(width)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads bytes that follow their count.
    pub(super) fn counted(&mut self) -> Result<&'b [u8], String> {
        let count = self.little(4)?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Reads a number in groups of seven bits (ULEB128).
    pub(super) fn varint(&mut self) -> Result<u64, String> {
        let at = self.at;
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged("a number of more than 64 bits", at))
    }

    /// Reads a ULEB128 number with its sign in the lowest bit (zigzag).
    pub(super) fn zigzag(&mut self) -> Result<i64, String> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

/// Returns the message for damaged data at an offset.
pub(super) fn damaged(what: &str, at: usize) -> String {
    format!("{what}, at byte {at}")
}

/// Returns the bit-packed number at an index, `width` bits wide (at most 64), with the first one at byte `from`. Returns `None`
/// if the bytes end before it.
pub(super) fn bits(bytes: &[u8], from: usize, index: u64, width: u32) -> Option<u64> {
    let first = index.checked_mul(width.into())?;
    let (start, shift) = (from.checked_add(usize::try_from(first / 8).ok()?)?, first % 8);
    let count = (shift + u64::from(width)).div_ceil(8) as usize;
    let taken = bytes.get(start..start.checked_add(count)?)?;
    let number = taken.iter().rev().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    Some((number >> shift) as u64 & u64::MAX.checked_shr(64 - width.min(64)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_from_the_lowest_bit_on() {
        // The numbers 0 to 7 in three bits each: the example in the format's description.
        let bytes = [0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(
            (0..9).map(|index| bits(&bytes, 0, index, 3)).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7), None]
        );
        assert_eq!(bits(&[0xFF; 9], 0, 0, 64), Some(u64::MAX));
        assert_eq!((bits(&[], 0, u64::MAX, 0), bits(&[], 0, u64::MAX, 2)), (Some(0), None));
        let zigzag = |bytes: &[u8]| Input::new(bytes, 0).zigzag();
        assert_eq!((zigzag(&[0]), zigzag(&[1]), zigzag(&[2]), zigzag(&[0x83, 1])), (Ok(0), Ok(-1), Ok(1), Ok(-66)));
        assert!(zigzag(&[0x80; 11]).is_err());
    }
}
