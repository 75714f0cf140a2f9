//! Delta encodings of numbers and texts, which writers of Parquet's second version choose.

use super::input::{Input, bits, damaged};

/// Numbers, each stored as the difference from the previous one. A block has a smallest difference, and its groups have their own
/// bit widths.
pub(super) struct Delta {
    /// The offset behind the bytes read so far.
    at: usize,
    per_group: u64,
    groups: u64,
    /// The number of values left, including the first, which is stored as it is.
    left: u64,
    is_first: bool,
    value: i64,
    least: i64,
    /// The offset of the block's widths, the index of the next group, and the index of the next difference in it.
    widths: usize,
    group: u64,
    index: u64,
    width: u32,
}

impl Delta {
    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, String> {
        let start = input.at;
        let (block, groups, left, value) = (input.varint()?, input.varint()?, input.varint()?, input.zigzag()?);
        let per_group = block.checked_div(groups).filter(|count| *count > 0 && count.is_multiple_of(8));
        let per_group = per_group.ok_or_else(|| damaged("a block of differences of no size", start))?;
        Ok(Self {
            at: input.at,
            per_group,
            groups,
            left,
            is_first: true,
            value,
            least: 0,
            widths: 0,
            group: groups,
            index: per_group,
            width: 0,
        })
    }

    pub(super) fn next(&mut self, data: &[u8]) -> Result<i64, String> {
        self.left = self.left.checked_sub(1).ok_or_else(|| damaged("differences end here", self.at))?;
        if std::mem::take(&mut self.is_first) {
            return Ok(self.value);
        }
        if self.index == self.per_group {
            self.open_group(data)?;
        }
        let difference = bits(data, self.at, self.index, self.width).ok_or_else(|| damaged("differences end here", self.at))?;
        self.index += 1;
        if self.index == self.per_group {
            self.close_group(data);
        }
        self.value = self.value.wrapping_add(self.least).wrapping_add(difference.cast_signed());
        Ok(self.value)
    }

    fn open_group(&mut self, data: &[u8]) -> Result<(), String> {
        if self.group == self.groups {
            let mut input = Input::new(data, self.at);
            self.least = input.zigzag()?;
            self.widths = input.at;
            input.take(usize::try_from(self.groups).unwrap_or(usize::MAX))?;
            (self.at, self.group) = (input.at, 0);
        }
        let width = usize::try_from(self.group).ok().and_then(|group| data.get(self.widths.checked_add(group)?)).copied();
        self.width = width.unwrap_or_default().into();
        if self.width > 64 {
            return Err(damaged("differences of more than 64 bits", self.widths));
        }
        (self.group, self.index) = (self.group + 1, 0);
        Ok(())
    }

    /// Closes a group; the data may end within the last one.
    fn close_group(&mut self, data: &[u8]) {
        let size = (self.per_group / 8).saturating_mul(self.width.into());
        self.at = self.at.saturating_add(usize::try_from(size).unwrap_or(usize::MAX)).min(data.len());
    }

    /// Returns the end of the data, found group by group. The claimed count can be too large to step through.
    fn end(&self, data: &[u8]) -> Result<usize, String> {
        let mut all = Self { ..*self };
        let mut left = self.left.saturating_sub(1);
        while left > 0 {
            all.open_group(data)?;
            all.close_group(data);
            left = left.saturating_sub(all.per_group);
        }
        Ok(all.at)
    }
}

/// Texts whose lengths are stored in front of them, optionally with the length of the prefix shared with the previous text.
pub(super) struct DeltaBytes {
    prefixes: Option<Delta>,
    lengths: Delta,
    at: usize,
    text: Vec<u8>,
}

impl DeltaBytes {
    pub(super) fn lengths(input: &mut Input<'_>) -> Result<Self, String> {
        let lengths = Delta::read(input)?;
        let at = lengths.end(input.bytes)?;
        Ok(Self { prefixes: None, lengths, at, text: Vec::new() })
    }

    pub(super) fn prefixes(input: &mut Input<'_>) -> Result<Self, String> {
        let prefixes = Delta::read(input)?;
        input.at = prefixes.end(input.bytes)?;
        Ok(Self { prefixes: Some(prefixes), ..Self::lengths(input)? })
    }

    pub(super) fn next(&mut self, data: &[u8]) -> Result<&[u8], String> {
        let damaged = || damaged("a text of no length", self.at);
        let prefix = self.prefixes.as_mut().map_or(Ok(0), |prefixes| prefixes.next(data))?;
        let prefix = usize::try_from(prefix).ok().filter(|prefix| *prefix <= self.text.len()).ok_or_else(damaged)?;
        let length = usize::try_from(self.lengths.next(data)?).map_err(|_| damaged())?;
        self.text.truncate(prefix);
        let mut input = Input::new(data, self.at);
        self.text.extend(input.take(length)?);
        self.at = input.at;
        Ok(&self.text)
    }
}
