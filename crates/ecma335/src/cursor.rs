//! A window of the file with its offset, and the integers of the format for reading and writing.

use little_endian::NumbersAt;
use scroll::{Endian, LE, Pread, ctx::TryFromCtx};

use crate::{
    error::{Error, ErrorKind, Result},
    token::FileOffset,
};

/// Reads little-endian and compressed integers (II.23.2) from a window of the file.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    base: FileOffset,
}

macro_rules! fixed {
    ($($ty:ident $at:ident)*) => {$(
        #[doc = concat!("The next little-endian `", stringify!($ty), "`.")]
        #[inline]
        pub fn $ty(&mut self) -> Result<$ty> {
            let value = self.bytes.$at(self.position).ok_or_else(|| self.truncated())?;
            self.position += size_of::<$ty>();
            Ok(value)
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, whose file offset is `base`.
    pub fn new(bytes: &'a [u8], base: FileOffset) -> Self {
        Self { bytes, position: 0, base }
    }

    fixed! { u16 u16_at u32 u32_at u64 u64_at i16 i16_at i32 i32_at i64 i64_at f32 f32_at f64 f64_at }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        let value = self.peek().ok_or_else(|| self.truncated())?;
        self.position += 1;
        Ok(value)
    }

    /// The next byte, as a signed number.
    pub fn i8(&mut self) -> Result<i8> {
        self.u8().map(u8::cast_signed)
    }

    /// The next structure.
    pub(crate) fn structure<T: TryFromCtx<'a, Endian, Error = scroll::Error>>(&mut self) -> Result<T> {
        self.bytes.gread_with(&mut self.position, LE).map_err(|_| self.truncated())
    }

    /// The file offset of the next byte.
    pub fn offset(&self) -> FileOffset {
        FileOffset(self.base.0 + self.position as u64)
    }

    /// The number of bytes read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// The next byte, without reading it. None at the end.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let bytes = self.rest().get(..count).ok_or_else(|| self.truncated())?;
        self.position += count;
        Ok(bytes)
    }

    /// A separate cursor on the next `count` bytes.
    pub fn window(&mut self, count: usize) -> Result<Cursor<'a>> {
        let base = self.offset();
        Ok(Cursor::new(self.bytes(count)?, base))
    }

    /// Skips to the next multiple of `alignment`, counted from the cursor's start.
    pub fn align(&mut self, alignment: usize) -> Result<()> {
        let over = self.position % alignment;
        if over != 0 {
            self.bytes(alignment - over)?;
        }
        Ok(())
    }

    /// An unsigned compressed integer, 0 to 0x1FFF_FFFF (II.23.2).
    pub fn compressed_u32(&mut self) -> Result<u32> {
        Ok(self.compressed()?.0)
    }

    /// A signed compressed integer, -2^28 to 2^28-1 (II.23.2).
    pub fn compressed_i32(&mut self) -> Result<i32> {
        let (raw, bits) = self.compressed()?;
        // The sign is the lowest bit: the value is rotated left by one within its 7, 14 or 29 bits.
        let value = (raw >> 1) as i32;
        Ok(if raw & 1 == 0 { value } else { value - (1 << (bits - 1)) })
    }

    fn compressed(&mut self) -> Result<(u32, u32)> {
        let offset = self.offset();
        let first = u32::from(self.u8()?);
        if first & 0x80 == 0 {
            Ok((first, 7))
        } else if first & 0xC0 == 0x80 {
            Ok(((first & 0x3F) << 8 | u32::from(self.u8()?), 14))
        } else if first & 0xE0 == 0xC0 {
            let rest = self.bytes(3)?.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
            Ok(((first & 0x1F) << 24 | rest, 29))
        } else {
            Err(Error::at(offset, ErrorKind::Malformed("not a compressed integer")))
        }
    }

    fn truncated(&self) -> Error {
        Error::at(self.offset(), ErrorKind::Truncated)
    }
}

/// The largest unsigned compressed integer (II.23.2).
pub const COMPRESSED_MAX: u32 = 0x1FFF_FFFF;

/// The signed compressed integers (II.23.2).
pub const COMPRESSED_SIGNED: std::ops::Range<i32> = -(1 << 28)..1 << 28;

/// Appends an unsigned compressed integer. The value must not exceed [`COMPRESSED_MAX`].
pub fn put_compressed_u32(out: &mut Vec<u8>, value: u32) {
    debug_assert!(value <= COMPRESSED_MAX);
    match value {
        0..=0x7F => out.push(value as u8),
        0x80..=0x3FFF => out.extend_from_slice(&(value as u16 | 0x8000).to_be_bytes()),
        _ => out.extend_from_slice(&(value & COMPRESSED_MAX | 0xC000_0000).to_be_bytes()),
    }
}

/// Appends a signed compressed integer, -2^28 to 2^28-1.
pub fn put_compressed_i32(out: &mut Vec<u8>, value: i32) {
    debug_assert!(COMPRESSED_SIGNED.contains(&value));
    let sign = u32::from(value < 0);
    let rotated = |bits: u32| ((value << 1) as u32 & ((1 << bits) - 1)) | sign;
    // The value decides the width, not its rotated form: -64..63 in one byte, -8192..8191 in two.
    match value {
        -0x40..=0x3F => out.push(rotated(7) as u8),
        -0x2000..=0x1FFF => out.extend_from_slice(&(rotated(14) as u16 | 0x8000).to_be_bytes()),
        _ => out.extend_from_slice(&(rotated(29) | 0xC000_0000).to_be_bytes()),
    }
}

/// Appends zeros up to a multiple of `alignment`.
pub fn pad_to(out: &mut Vec<u8>, alignment: usize) {
    out.resize(out.len().next_multiple_of(alignment), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_integers_of_the_standards_tables() {
        // The examples of II.23.2.
        for (value, bytes) in [
            (0x03, &[0x03][..]),
            (0x7F, &[0x7F]),
            (0x80, &[0x80, 0x80]),
            (0x2E57, &[0xAE, 0x57]),
            (0x3FFF, &[0xBF, 0xFF]),
            (0x4000, &[0xC0, 0x00, 0x40, 0x00]),
            (0x1FFF_FFFF, &[0xDF, 0xFF, 0xFF, 0xFF]),
        ] {
            let mut out = Vec::new();
            put_compressed_u32(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(Cursor::new(bytes, FileOffset(0)).compressed_u32(), Ok(value));
        }
        for (value, bytes) in [
            (3, &[0x06][..]),
            (-3, &[0x7B]),
            (64, &[0x80, 0x80]),
            (-64, &[0x01]),
            (8192, &[0xC0, 0x00, 0x40, 0x00]),
            (-8192, &[0x80, 0x01]),
            (268_435_455, &[0xDF, 0xFF, 0xFF, 0xFE]),
            (-268_435_456, &[0xC0, 0x00, 0x00, 0x01]),
        ] {
            let mut out = Vec::new();
            put_compressed_i32(&mut out, value);
            assert_eq!(out, bytes, "{value}");
            assert_eq!(Cursor::new(bytes, FileOffset(0)).compressed_i32(), Ok(value));
        }
    }

    #[test]
    fn errors_say_where() {
        let mut cursor = Cursor::new(&[1, 2, 3], FileOffset(0x100));
        cursor.u16().unwrap();
        let error = cursor.u32().unwrap_err().in_cell("MethodDef.name");
        assert_eq!(error.to_string(), "MethodDef.name: truncated (file offset 0x102)");
    }
}
