//! A window on the file that knows its own file offset.

use little_endian::{ByteOrder, LE, NumbersAt, PutNumbers};
use profile_format::names;

use crate::error::Error;

#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) position: usize,
    /// The file offset of its first byte.
    pub(crate) base: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, position: 0, base }
    }

    /// Returns the current file offset.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.position
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let end = self.position.checked_add(count);
        let bytes = end.and_then(|end| self.bytes.get(self.position..end));
        let bytes = bytes.ok_or(Error::Damaged { what: "the file ends here", offset: self.offset() })?;
        self.position += count;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        Ok(self.take(N)?.first_chunk().copied().unwrap_or([0; N]))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.take(2).map(LE::read_u16)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.take(4).map(LE::read_u32)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.take(8).map(LE::read_u64)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Error> {
        self.take(8).map(LE::read_i64)
    }

    /// Reads a float; a value that is negative, infinite or NaN becomes zero.
    pub(crate) fn positive(&mut self) -> Result<f64, Error> {
        let value = self.take(8).map(LE::read_f64)?;
        Ok(if value.is_finite() && value > 0.0 { value } else { 0.0 })
    }

    pub(crate) fn string(&mut self) -> Result<String, Error> {
        let length = self.u32()? as usize;
        let bytes = self.take(length)?;
        // A module's name may be shown with each of its methods.
        Ok(match bytes.get(..names::MAX_STRING) {
            None => String::from_utf8_lossy(bytes).into_owned(),
            Some(head) => String::from_utf8_lossy(head).into_owned() + "…",
        })
    }

    /// Reads the number of a kind.
    pub(crate) fn kind<T>(&mut self, what: &'static str, from_number: impl Fn(u32) -> Option<T>) -> Result<T, Error> {
        let number = self.u32()?;
        from_number(number).ok_or_else(|| self.unknown(what, number))
    }

    /// Returns the error that the number just read has no meaning.
    pub(crate) fn unknown(&self, what: &'static str, value: u32) -> Error {
        Error::Unknown { what, value, offset: self.offset() - 4 }
    }
}

/// Returns the number at an offset; 0 beyond the end.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.u64_at(at).unwrap_or(0)
}

/// Returns the number at an offset; 0 beyond the end.
#[inline]
pub(crate) fn i64_at(bytes: &[u8], at: usize) -> i64 {
    u64_at(bytes, at).cast_signed()
}

/// Returns the number at an offset; 0 beyond the end.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.u32_at(at).unwrap_or(0)
}

/// Writes a number into bytes that are long enough.
pub(crate) fn put_u64(bytes: &mut [u8], at: usize, number: u64) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..8)) {
        LE::write_u64(place, number);
    }
}

/// Writes a number into bytes that are long enough.
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, number: u32) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..4)) {
        LE::write_u32(place, number);
    }
}

/// Appends a string in the file's form. Names from files are short enough for a 32-bit length.
pub(super) fn put_string(text: &str, to: &mut Vec<u8>) {
    to.put_u32(text.len() as u32);
    to.extend(text.as_bytes());
}
