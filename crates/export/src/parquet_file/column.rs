//! The values of a column, one after another.

use std::borrow::Cow;

use super::{
    BYTES_PER_STEP, Rows, Steps,
    delta::{Delta, DeltaBytes},
    input::{Input, bits, damaged},
    schema::{self, Leaf, Physical},
    thrift::Struct,
};

/// The largest ratio of Snappy's compression: a copy of 64 bytes takes three bytes.
const SNAPPY: usize = 22;

/// A value of a column.
pub(super) struct Item {
    /// The repetition level; 0 at the start of a row.
    pub(super) repetition: u32,
    /// The value, or `None` for null and for an empty list. A name is given by its number.
    pub(super) value: Option<i64>,
    /// Whether the item is an empty list or a null list.
    pub(super) is_empty: bool,
}

/// A column of a group of rows.
pub(super) struct Column<'b> {
    input: Input<'b>,
    codec: i64,
    physical: Physical,
    max_definition: u32,
    element: u32,
    max_repetition: u32,
    /// The number of values left.
    left: u64,
    /// The dictionary: numbers, or the numbers of names.
    dictionary: Vec<i64>,
    page: Page<'b>,
}

/// A page of values.
struct Page<'b> {
    data: Cow<'b, [u8]>,
    left: u64,
    repetition: Hybrid,
    definition: Hybrid,
    values: Values,
}

enum Values {
    /// Values stored unencoded, from this offset on.
    Plain(usize),
    Dictionary(Hybrid),
    Delta(Delta),
    DeltaBytes(DeltaBytes),
}

/// Integers of a few bits (RLE and bit-packed hybrid): runs of one value, and bit-packed groups of eight.
#[derive(Clone, Copy, Default)]
struct Hybrid {
    at: usize,
    width: u32,
    /// The number of values left in the current run.
    left: u64,
    run: Run,
}

#[derive(Clone, Copy)]
enum Run {
    Same(u64),
    /// A bit-packed run: the offset of its data, and the index of the next value.
    Packed(usize, u64),
}

impl Default for Run {
    fn default() -> Self {
        Self::Same(0)
    }
}

impl Hybrid {
    fn new(at: usize, width: u32) -> Self {
        Self { at, width, ..Self::default() }
    }

    fn next(&mut self, data: &[u8]) -> Result<u64, String> {
        while self.left == 0 {
            let mut input = Input::new(data, self.at);
            let head = input.varint()?;
            if head & 1 == 0 {
                (self.left, self.run) = (head >> 1, Run::Same(input.little(self.width.div_ceil(8) as usize)?));
            } else {
                // Writers may omit the end of the last group of values.
                self.run = Run::Packed(input.at, 0);
                self.left = (head >> 1).saturating_mul(8);
                let size = (head >> 1).saturating_mul(self.width.into());
                input.at = input.at.saturating_add(usize::try_from(size).unwrap_or(usize::MAX)).min(data.len());
            }
            self.at = input.at;
        }
        self.left -= 1;
        match &mut self.run {
            Run::Same(value) => Ok(*value),
            Run::Packed(from, index) => {
                let value = bits(data, *from, *index, self.width).ok_or_else(|| damaged("packed numbers end here", *from))?;
                *index += 1;
                Ok(value)
            }
        }
    }
}

/// Returns the width of a level in bits.
fn width(max: u32) -> u32 {
    u32::BITS - max.leading_zeros()
}

impl<'b> Column<'b> {
    /// Opens a column of a group of rows, by its index in the schema.
    pub(super) fn read(file: &'b [u8], group: &Struct<'b>, index: usize, leaf: &Leaf<'_>) -> Result<Self, String> {
        let (input, left, codec) = schema::chunk(file, group, index)?;
        let none = Page {
            data: Cow::Borrowed(&[]),
            left: 0,
            repetition: Hybrid::default(),
            definition: Hybrid::default(),
            values: Values::Plain(0),
        };
        Ok(Self {
            input,
            codec,
            physical: leaf.physical,
            max_definition: leaf.max_definition,
            element: leaf.element,
            max_repetition: leaf.max_repetition,
            left,
            dictionary: Vec::new(),
            page: none,
        })
    }

    /// Returns the next value, if there is one.
    pub(super) fn next(&mut self, names: &mut impl Rows, steps: &mut Steps) -> Result<Option<Item>, String> {
        steps.take(1)?;
        if self.left == 0 {
            return Ok(None);
        }
        while self.page.left == 0 {
            self.read_page(names, steps)?;
        }
        self.left -= 1;
        self.page.left -= 1;
        let Page { data, repetition, definition, .. } = &mut self.page;
        let level = |levels: &mut Hybrid, max: u32| if max == 0 { Ok(0) } else { levels.next(data) };
        let repetition = level(repetition, self.max_repetition)? as u32;
        let definition = level(definition, self.max_definition)? as u32;
        let value = if definition == self.max_definition { Some(self.value(names, steps)?) } else { None };
        Ok(Some(Item { repetition, value, is_empty: definition < self.element }))
    }

    fn value(&mut self, names: &mut impl Rows, steps: &mut Steps) -> Result<i64, String> {
        let Page { data, values, .. } = &mut self.page;
        match values {
            Values::Plain(at) => {
                let mut input = Input::new(data, *at);
                let value = plain(&mut input, self.physical, names);
                *at = input.at;
                value
            }
            Values::Dictionary(indices) => {
                let index = indices.next(data)?;
                let value = usize::try_from(index).ok().and_then(|index| self.dictionary.get(index));
                value.copied().ok_or_else(|| format!("a value is number {index} of a dictionary of {}", self.dictionary.len()))
            }
            Values::Delta(delta) => Ok(self.physical.number(delta.next(data)?.cast_unsigned())),
            Values::DeltaBytes(delta) => {
                let name = delta.next(data)?;
                steps.take((name.len() / BYTES_PER_STEP) as u64)?;
                Ok(names.name(name)? as i64)
            }
        }
    }

    /// Reads the next page of values, and the dictionary before it.
    fn read_page(&mut self, names: &mut impl Rows, steps: &mut Steps) -> Result<(), String> {
        let head = Struct::read(&mut self.input)?;
        let size = |field: i64| head.int(field).and_then(|size| usize::try_from(size).ok());
        let (Some(expanded), Some(stored)) = (size(2), size(3)) else {
            return Err(damaged("a page of no size", self.input.at));
        };
        let bytes = self.input.take(stored)?;
        steps.take(1 + (stored.max(expanded) / BYTES_PER_STEP) as u64)?;
        if let Some(about) = head.structure(7) {
            let data = self.expanded(bytes, expanded)?;
            self.dictionary.clear();
            let mut input = Input::new(&data, 0);
            for _ in 0..about.int(1).unwrap_or_default() {
                steps.take(1)?;
                self.dictionary.push(plain(&mut input, self.physical, names)?);
            }
        } else if let Some(about) = head.structure(5) {
            let data = self.expanded(bytes, expanded)?;
            let mut input = Input::new(&data, 0);
            let mut levels = |max: u32, encoding: i64| {
                if max == 0 {
                    return Ok(Hybrid::default());
                }
                if about.int(encoding) != Some(RLE) {
                    return Err(unknown("levels", about.int(encoding)));
                }
                let start = input.at + 4;
                input.counted().map(|_| Hybrid::new(start, width(max)))
            };
            let (repetition, definition) = (levels(self.max_repetition, 4)?, levels(self.max_definition, 3)?);
            let at = input.at;
            self.page = Page { left: count(about.int(1)), repetition, definition, values: Values::Plain(at), data };
            self.page.values = self.values(about.int(2), at)?;
        } else if let Some(about) = head.structure(8) {
            let length = |field: i64| about.int(field).and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
            let (of_repetition, of_definition) = (length(6), length(5));
            // Levels are not compressed.
            let levels = of_repetition.saturating_add(of_definition);
            let (Some((levels, values)), Some(expanded)) = (bytes.split_at_checked(levels), expanded.checked_sub(levels)) else {
                return Err(damaged("a page is shorter than its levels", self.input.at));
            };
            let values = if about.bool(7) == Some(false) { Cow::Borrowed(values) } else { self.expanded(values, expanded)? };
            let data = Cow::Owned([levels, &values].concat());
            let repetition = Hybrid::new(0, width(self.max_repetition));
            let definition = Hybrid::new(of_repetition, width(self.max_definition));
            let at = levels.len();
            self.page = Page { left: count(about.int(1)), repetition, definition, values: Values::Plain(at), data };
            self.page.values = self.values(about.int(4), at)?;
        }
        Ok(())
    }

    /// Returns a decoder for the values of the current page, from an offset on.
    fn values(&self, encoding: Option<i64>, at: usize) -> Result<Values, String> {
        let mut input = Input::new(&self.page.data, at);
        let is_text = self.physical == Physical::Bytes;
        Ok(match encoding {
            Some(PLAIN) => Values::Plain(at),
            // A page without values may have no width.
            Some(PLAIN_DICTIONARY | RLE_DICTIONARY) if input.bytes.len() == at => Values::Dictionary(Hybrid::default()),
            Some(PLAIN_DICTIONARY | RLE_DICTIONARY) => {
                let width = u32::from(input.byte()?);
                if width > 32 {
                    return Err(damaged("places in a dictionary of more than 32 bits", at));
                }
                Values::Dictionary(Hybrid::new(input.at, width))
            }
            Some(DELTA_BINARY_PACKED)
                if matches!(self.physical, Physical::Int32 | Physical::Int64 | Physical::UInt32 | Physical::UInt64) =>
            {
                Values::Delta(Delta::read(&mut input)?)
            }
            Some(DELTA_LENGTH_BYTE_ARRAY) if is_text => Values::DeltaBytes(DeltaBytes::lengths(&mut input)?),
            Some(DELTA_BYTE_ARRAY) if is_text => Values::DeltaBytes(DeltaBytes::prefixes(&mut input)?),
            encoding => return Err(unknown("values", encoding)),
        })
    }

    /// Returns the bytes of a page, decompressed.
    fn expanded(&self, bytes: &'b [u8], size: usize) -> Result<Cow<'b, [u8]>, String> {
        match self.codec {
            0 => Ok(Cow::Borrowed(bytes)),
            1 => {
                let wrong = || damaged("a page that Snappy cannot expand", self.input.at);
                let length = snap::raw::decompress_len(bytes).map_err(|_| wrong())?;
                if length != size || length > bytes.len().saturating_mul(SNAPPY) {
                    return Err(wrong());
                }
                let mut expanded = vec![0; length];
                snap::raw::Decoder::new().decompress(bytes, &mut expanded).map_err(|_| wrong())?;
                Ok(Cow::Owned(expanded))
            }
            codec => {
                let name = usize::try_from(codec).ok().and_then(|codec| CODECS.get(codec)).unwrap_or(&"an unknown way");
                Err(format!("it is compressed by {name}: write it with Snappy, or uncompressed"))
            }
        }
    }
}

/// Reads an unencoded value.
fn plain(input: &mut Input<'_>, physical: Physical, names: &mut impl Rows) -> Result<i64, String> {
    if physical == Physical::Bytes {
        return Ok(names.name(input.counted()?)? as i64);
    }
    Ok(physical.number(input.little(physical.width())?))
}

fn count(values: Option<i64>) -> u64 {
    values.and_then(|values| u64::try_from(values).ok()).unwrap_or_default()
}

const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE: i64 = 3;
const DELTA_BINARY_PACKED: i64 = 5;
const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
const DELTA_BYTE_ARRAY: i64 = 7;
const RLE_DICTIONARY: i64 = 8;

const CODECS: [&str; 8] = ["nothing", "Snappy", "gzip", "LZO", "Brotli", "LZ4", "Zstandard", "LZ4"];

fn unknown(of: &str, encoding: Option<i64>) -> String {
    let encoding = encoding.map_or_else(|| "none".to_owned(), |encoding| encoding.to_string());
    format!("its {of} have encoding {encoding}, which is not read here: write it with dictionaries, or plain")
}
