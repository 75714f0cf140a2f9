//! The heaps: #Strings, #US, #Blob and #GUID (II.24.2.3 to II.24.2.5), for reading and appending.

use std::{borrow::Cow, collections::BTreeMap, hash::BuildHasher as _, ops::Range};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use little_endian::{BE, ByteOrder, LE, PutNumbers};

use crate::{
    cursor::{COMPRESSED_MAX, Cursor, put_compressed_u32},
    error::{Error, ErrorKind, Result, malformed},
    schema::{Blob, Guid, Str},
    token::FileOffset,
};

/// The maximum length of a name as text, in bytes; longer names are cut. Compilers write, and runtimes load, at most
/// 1,023.
pub const MAX_NAME: usize = 1024;

/// Replaces the omitted part of a name.
pub const LEFT_OUT: char = '…';

/// A heap's bytes and their file offset.
#[derive(Clone, Copy, Debug)]
pub struct Heap<'a> {
    /// The bytes. Empty if the file has no such heap.
    pub bytes: &'a [u8],
    /// The file offset.
    pub offset: FileOffset,
}

impl<'a> Heap<'a> {
    /// A heap the file does not have.
    pub const ABSENT: Heap<'static> = Heap { bytes: &[], offset: FileOffset(0) };

    fn cursor(&self, offset: u32) -> Result<Cursor<'a>> {
        let at = FileOffset(self.offset.0 + u64::from(offset));
        match self.bytes.get(offset as usize..) {
            Some(bytes) if !bytes.is_empty() => Ok(Cursor::new(bytes, at)),
            _ if offset == 0 => Ok(Cursor::new(&[], at)),
            _ => malformed(at, "beyond the end of its heap"),
        }
    }

    /// The bytes of a name in #Strings. They may be invalid UTF-8.
    #[inline]
    pub fn string_bytes(&self, index: Str) -> Result<&'a [u8]> {
        let rest = self.cursor(index.0)?.rest();
        // Without a terminating zero, a name ends with the heap.
        Ok(rest.iter().position(|byte| *byte == 0).and_then(|end| rest.get(..end)).unwrap_or(rest))
    }

    /// Checks that an offset lies within the heap.
    ///
    /// # Errors
    /// If the offset lies after its end.
    pub fn check(&self, index: Str) -> Result<()> {
        self.cursor(index.0).map(drop)
    }

    /// A name in #Strings. Invalid UTF-8 is replaced, and names longer than [`MAX_NAME`] are cut.
    pub fn string(&self, index: Str) -> Result<Cow<'a, str>> {
        let rest = self.cursor(index.0)?.rest();
        let head = rest.get(..MAX_NAME).unwrap_or(rest);
        let end = rest.iter().take(MAX_NAME + 1).position(|byte| *byte == 0);
        let name = String::from_utf8_lossy(end.and_then(|end| head.get(..end)).unwrap_or(head));
        Ok(if end.is_none() && head.len() < rest.len() {
            // The cut may have split a character, which was then replaced.
            Cow::Owned(format!("{}{LEFT_OUT}", name.trim_end_matches(char::REPLACEMENT_CHARACTER)))
        } else {
            name
        })
    }

    /// A blob in #Blob: its bytes and their offset.
    #[inline]
    pub fn blob(&self, index: Blob) -> Result<Cursor<'a>> {
        if index.0 == 0 {
            return Ok(Cursor::new(&[], self.offset));
        }
        let mut cursor = self.cursor(index.0)?;
        let length = cursor.compressed_u32()?;
        cursor.window(length as usize)
    }

    /// A user string of #US as UTF-16, without the flag byte at its end (II.24.2.4).
    pub fn user_string(&self, offset: u32) -> Result<Vec<u16>> {
        let blob = self.blob(Blob(offset))?.rest();
        Ok(blob.chunks_exact(2).map(LE::read_u16).collect())
    }

    /// A GUID, by its number from 1. None for 0.
    pub fn guid(&self, index: Guid) -> Result<Option<[u8; 16]>> {
        let Some(number) = index.0.checked_sub(1) else { return Ok(None) };
        let bytes = self.cursor(number.saturating_mul(16))?.bytes(16)?;
        Ok(bytes.try_into().ok())
    }
}

/// The items appended to a heap. Equal items are stored once.
#[derive(Debug, Default)]
pub(crate) struct HeapAppend {
    base: u32,
    /// Whether offset 0 is the empty item, as the standard requires.
    has_empty: bool,
    /// The offset of each item, with the range of its bytes including a length prefix. The bytes serve as the key,
    /// because copies would double the memory.
    items: HashTable<(u32, Range<usize>)>,
    hasher: RandomState,
    bytes: Vec<u8>,
    vacancies: Vacancies,
}

/// Bytes of the input's heap that are free for other items.
#[derive(Clone, Debug, Default)]
struct Vacancies {
    /// Their ranges in the heap, in order.
    places: Vec<Range<u32>>,
    /// The current bytes of all ranges, one after another; zeros where nothing was written.
    bytes: Vec<u8>,
    /// The free ranges, by length and offset, with their positions in `bytes`.
    free: BTreeMap<(usize, u32), usize>,
}

impl HeapAppend {
    /// Appends to the input's heap. A zero comes between, which terminates the last name if necessary. In an absent
    /// heap that zero is the required empty item (II.24.2.3, II.24.2.4).
    pub(crate) fn behind(heap: Heap<'_>) -> Self {
        let bytes = if heap.bytes.last() == Some(&0) { Vec::new() } else { vec![0] };
        let has_empty = heap.bytes.first().is_none_or(|first| *first == 0);
        Self { base: heap.bytes.len() as u32, has_empty, bytes, ..Self::default() }
    }

    /// Appends to the input's #GUID heap. Its items have one size and no separators.
    pub(crate) fn behind_guids(heap: Heap<'_>) -> Self {
        let whole = heap.bytes.len().next_multiple_of(16);
        Self { base: heap.bytes.len() as u32, bytes: vec![0; whole - heap.bytes.len()], ..Self::default() }
    }

    /// The appended bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // Without items, the zero is not needed.
        if self.items.is_empty() { &[] } else { &self.bytes }
    }

    /// Adds a zero-terminated name.
    pub(crate) fn string(&mut self, name: &str) -> Result<Str> {
        if name.is_empty() && self.has_empty {
            return Ok(Str(0));
        }
        self.add(name.as_bytes(), false, &[0]).map(Str)
    }

    /// Adds a blob with its length prefix.
    pub(crate) fn blob(&mut self, blob: &[u8]) -> Result<Blob> {
        if blob.is_empty() && self.has_empty {
            return Ok(Blob(0));
        }
        if blob.len() > COMPRESSED_MAX as usize {
            return Err(Error::new(ErrorKind::Limit("a blob of 2^29 bytes or more")));
        }
        self.add(blob, true, &[]).map(Blob)
    }

    /// Frees ranges of the input's heap, in order. Nothing may refer to them.
    pub(crate) fn vacate(&mut self, places: Vec<Range<u32>>) {
        let mut at = 0;
        for place in &places {
            self.vacancies.free.insert((place.len(), place.start), at);
            at += place.len();
        }
        self.vacancies.bytes = vec![0; at];
        self.vacancies.places = places;
    }

    /// Adds a blob to the smallest free range that holds it, otherwise to the end of the heap.
    pub(crate) fn place_blob(&mut self, blob: &[u8]) -> Result<Blob> {
        if blob.is_empty() {
            return self.blob(blob);
        }
        let mut prefix = Vec::with_capacity(4);
        put_compressed_u32(&mut prefix, (blob.len() as u32).min(COMPRESSED_MAX));
        let length = prefix.len() + blob.len();
        let Vacancies { bytes, free, .. } = &mut self.vacancies;
        let Some(((room, offset), at)) = free.range((length, 0)..).next().map(|(place, at)| (*place, *at)) else {
            return self.blob(blob);
        };
        free.remove(&(room, offset));
        if room > length {
            free.insert((room - length, offset + length as u32), at + length);
        }
        bytes[at..at + prefix.len()].copy_from_slice(&prefix);
        bytes[at + prefix.len()..at + length].copy_from_slice(blob);
        Ok(Blob(offset))
    }

    /// The current bytes of the freed ranges, by their offset.
    pub(crate) fn changes(&self) -> Vec<(u32, Vec<u8>)> {
        let mut rest = &self.vacancies.bytes[..];
        let take = |place: &Range<u32>| {
            let (bytes, behind) = rest.split_at(place.len());
            rest = behind;
            (place.start, bytes.to_vec())
        };
        self.vacancies.places.iter().map(take).collect()
    }

    /// The input's heap with the current bytes of the freed ranges.
    pub(crate) fn changed<'h>(&self, heap: &'h [u8]) -> Cow<'h, [u8]> {
        let mut heap = Cow::Borrowed(heap);
        let mut rest = &self.vacancies.bytes[..];
        for place in &self.vacancies.places {
            let (bytes, behind) = rest.split_at(place.len());
            rest = behind;
            heap.to_mut()[place.start as usize..place.end as usize].copy_from_slice(bytes);
        }
        heap
    }

    /// Adds a user string: UTF-16, then a byte that tells whether comparing needs more than bytes (II.24.2.4).
    pub(crate) fn user_string(&mut self, text: &str) -> Result<u32> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut blob = Vec::with_capacity(2 * units.len() + 1);
        units.iter().for_each(|unit| blob.put_u16(*unit));
        blob.push(u8::from(units.iter().any(|unit| is_special(*unit))));
        if blob.len() > COMPRESSED_MAX as usize {
            return Err(Error::new(ErrorKind::Limit("a string of 2^29 bytes or more")));
        }
        self.add(&blob, true, &[])
    }

    /// Adds a GUID and returns its number, from 1.
    pub(crate) fn guid(&mut self, guid: [u8; 16]) -> Result<Guid> {
        self.add(&guid, false, &[]).map(|offset| Guid(offset / 16 + 1))
    }

    /// Finds or adds an item, with a length prefix if `is_counted`. Returns its offset in the heap.
    fn add(&mut self, item: &[u8], is_counted: bool, end: &[u8]) -> Result<u32> {
        let Self { base, items, hasher, bytes, .. } = self;
        let hash = hasher.hash_one(item);
        if let Some((offset, _)) = items.find(hash, |(_, place)| bytes.get(place.clone()) == Some(item)) {
            return Ok(*offset);
        }
        let offset = u32::try_from(bytes.len()).ok().and_then(|length| base.checked_add(length));
        let offset = offset.ok_or_else(|| Error::new(ErrorKind::Limit("a heap of 2^32 bytes")))?;
        if is_counted {
            put_compressed_u32(bytes, item.len() as u32);
        }
        let place = bytes.len()..bytes.len() + item.len();
        bytes.extend_from_slice(item);
        bytes.extend_from_slice(end);
        items.insert_unique(hash, (offset, place), |(_, place)| hasher.hash_one(&bytes[place.clone()]));
        Ok(offset)
    }
}

/// A GUID in its usual text form. The first three parts are little-endian numbers.
pub fn format_guid(guid: &[u8; 16]) -> String {
    let (a, b, c) = (LE::read_u32(guid), LE::read_u16(&guid[4..]), LE::read_u16(&guid[6..]));
    let rest = BE::read_u64(&guid[8..]);
    format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", rest >> 48, rest & 0xFFFF_FFFF_FFFF)
}

/// The characters for which the last byte of a user string is 1: control characters, hyphens, and all with a nonzero
/// high byte (II.24.2.4).
fn is_special(unit: u16) -> bool {
    unit > 0xFF || matches!(unit, 0x01..=0x08 | 0x0E..=0x1F | 0x27 | 0x2D | 0x7F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_items_lie_behind_the_inputs_and_are_stored_once() {
        let heap = Heap { bytes: b"\0Main\0\0\0", offset: FileOffset(0x200) };
        let mut append = HeapAppend::behind(heap);
        let first = append.string("Enter").unwrap();
        assert_eq!((first, append.string("Leave").unwrap(), append.string("Enter").unwrap()), (Str(8), Str(14), Str(8)));
        assert_eq!(append.bytes(), b"Enter\0Leave\0");
    }

    #[test]
    fn an_absent_heap_begins_with_the_empty_item() {
        let mut append = HeapAppend::behind(Heap::ABSENT);
        assert_eq!(append.blob(&[7, 0]).unwrap(), Blob(1));
        assert_eq!(append.bytes(), [0, 2, 7, 0]);
        assert!(HeapAppend::behind(Heap::ABSENT).bytes().is_empty());
    }

    #[test]
    fn a_heap_that_does_not_begin_with_the_empty_item_gets_one() {
        let heap = Heap { bytes: b"neutral\0", offset: FileOffset(0) };
        let mut append = HeapAppend::behind(heap);
        assert_eq!((append.string("").unwrap(), append.blob(&[]).unwrap()), (Str(8), Blob(8)));
        assert_eq!(append.bytes(), [0]);
    }

    #[test]
    fn user_strings_and_guids_come_back() {
        let heap = Heap { bytes: &[0, 3, 65, 0, 0], offset: FileOffset(0) };
        let mut append = HeapAppend::behind(heap);
        let [plain, special] = ["ab", "a-\u{e4}\u{1f600}"].map(|text| (append.user_string(text).unwrap(), text));
        let bytes = [heap.bytes, append.bytes()].concat();
        let heap = Heap { bytes: &bytes, ..heap };
        for (at, text) in [plain, special] {
            assert_eq!(heap.user_string(at).unwrap(), text.encode_utf16().collect::<Vec<_>>());
        }
        assert_eq!((plain.0, bytes[plain.0 as usize + 5], bytes.last()), (5, 0, Some(&1)));

        let heap = Heap { bytes: &[1; 16], offset: FileOffset(0) };
        let mut append = HeapAppend::behind_guids(heap);
        assert_eq!([append.guid([2; 16]), append.guid([3; 16]), append.guid([2; 16])], [Ok(Guid(2)), Ok(Guid(3)), Ok(Guid(2))]);
        assert_eq!(append.bytes(), [[2; 16], [3; 16]].concat());
    }

    #[test]
    fn a_name_that_only_the_heaps_end_ends_stays_as_it_is() {
        let heap = Heap { bytes: b"\0Main", offset: FileOffset(0) };
        let mut append = HeapAppend::behind(heap);
        let added = append.string("Enter").unwrap();
        let bytes = [heap.bytes, append.bytes()].concat();
        let heap = Heap { bytes: &bytes, ..heap };
        assert_eq!((heap.string(Str(1)).unwrap(), heap.string(added).unwrap()), ("Main".into(), "Enter".into()));
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let text = "é".repeat(MAX_NAME);
        for (name, expected) in [(&text[..MAX_NAME], text[..MAX_NAME].to_owned()), (&text, format!("{}…", &text[..MAX_NAME]))] {
            for bytes in [[name.as_bytes(), b"\0"].concat(), name.as_bytes().to_vec()] {
                let heap = Heap { bytes: &bytes, offset: FileOffset(0) };
                assert_eq!(heap.string(Str(0)).unwrap(), expected, "{}", bytes.len());
            }
        }
        let odd = ["x", &text].concat();
        let heap = Heap { bytes: odd.as_bytes(), offset: FileOffset(0) };
        assert_eq!(heap.string(Str(0)).unwrap(), format!("{}…", &odd[..MAX_NAME - 1]));
    }

    #[test]
    fn what_lies_outside_is_an_error() {
        let heap = Heap { bytes: &[0, 5, 1, 2], offset: FileOffset(0x10) };
        assert_eq!(heap.blob(Blob(1)).unwrap_err().offset(), Some(FileOffset(0x12)));
        assert!(heap.blob(Blob(9)).is_err());
        assert!(heap.string_bytes(Str(5)).is_err());
        assert_eq!(Heap::ABSENT.string(Str(0)).unwrap(), "");
    }

    #[test]
    fn guids_are_mixed_endian() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        assert_eq!(format_guid(&bytes), "03020100-0504-0706-0809-0a0b0c0d0e0f");
    }
}
