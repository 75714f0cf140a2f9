//! The footer of a file, and the columns of its schema.

use little_endian::{ByteOrder, LE};

use super::{
    input::{Input, damaged},
    thrift::Struct,
};

const MAGIC: &[u8; 4] = b"PAR1";

/// The physical types of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Physical {
    Int32,
    Int64,
    UInt32,
    UInt64,
    Float,
    Double,
    Bytes,
    /// A type that no column read here has.
    Other,
}

impl Physical {
    pub(super) fn is_number(self) -> bool {
        !matches!(self, Self::Bytes | Self::Other)
    }

    /// Returns the size of a number in bytes.
    pub(super) fn width(self) -> usize {
        if matches!(self, Self::Int32 | Self::UInt32 | Self::Float) { 4 } else { 8 }
    }

    /// Converts bits to a number.
    pub(super) fn number(self, bits: u64) -> i64 {
        match self {
            Self::Int32 => i64::from((bits as u32).cast_signed()),
            Self::UInt32 => i64::from(bits as u32),
            Self::UInt64 => i64::try_from(bits).unwrap_or(i64::MAX),
            Self::Float => f32::from_bits(bits as u32) as i64,
            Self::Double => f64::from_bits(bits) as i64,
            Self::Int64 | Self::Bytes | Self::Other => bits.cast_signed(),
        }
    }
}

/// A column.
pub(super) struct Leaf<'b> {
    /// The name of the top-level field that contains the column.
    pub(super) name: &'b [u8],
    pub(super) physical: Physical,
    /// The definition level at which a value is present, and the one at which a list has an element.
    pub(super) max_definition: u32,
    pub(super) element: u32,
    pub(super) max_repetition: u32,
}

/// Reads the footer.
pub(super) fn footer(file: &[u8]) -> Result<Struct<'_>, String> {
    let none = || "it is no Parquet file, or is cut short".to_owned();
    let (front, end) = file.split_last_chunk::<8>().ok_or_else(none)?;
    let (length, magic) = end.split_first_chunk::<4>().ok_or_else(none)?;
    if magic != MAGIC || !file.starts_with(MAGIC) {
        return Err(none());
    }
    let start = front.len().checked_sub(LE::read_u32(length) as usize).ok_or_else(none)?;
    Struct::read(&mut Input::new(front, start))
}

/// Returns the columns in the order of the schema, which is also their order in each group of rows.
pub(super) fn leaves<'b>(footer: &Struct<'b>) -> Result<Vec<Leaf<'b>>, String> {
    struct Open<'b> {
        children: i64,
        name: &'b [u8],
        definition: u32,
        element: u32,
        repetition: u32,
    }
    let (mut leaves, mut open) = (Vec::new(), Vec::<Open<'b>>::new());
    for (index, element) in footer.structs(2).enumerate() {
        while open.pop_if(|group| group.children == 0).is_some() {}
        let name = element.bytes(4).unwrap_or_default();
        let children = element.int(5).unwrap_or_default().max(0);
        if index == 0 {
            open.push(Open { children, name: b"", definition: 0, element: 0, repetition: 0 });
            continue;
        }
        let depth = open.len();
        let group = open.last_mut().ok_or("its schema has fields behind its end")?;
        group.children -= 1;
        let kind = element.int(3).unwrap_or_default();
        let definition = group.definition + u32::from(kind != 0);
        let field = Open {
            children,
            name: if depth == 1 { name } else { group.name },
            definition,
            element: if kind == 2 { definition } else { group.element },
            repetition: group.repetition + u32::from(kind == 2),
        };
        if children > 0 {
            open.push(field);
            continue;
        }
        // A nested number has the name of its top-level field, and must not pass for a column of numbers.
        let is_nested_number = depth > 1 && field.repetition == 0;
        leaves.push(Leaf {
            name: field.name,
            physical: if is_nested_number { Physical::Other } else { physical(element) },
            max_definition: field.definition,
            element: field.element,
            max_repetition: field.repetition,
        });
    }
    Ok(leaves)
}

fn physical(element: &Struct<'_>) -> Physical {
    /// The converted types of decimal numbers, and of unsigned numbers of 8 to 64 bits.
    const DECIMAL: i64 = 5;
    const UNSIGNED: std::ops::RangeInclusive<i64> = 11..=14;
    let converted = element.int(6).unwrap_or(-1);
    let integer = element.structure(10).and_then(|logical| logical.structure(10));
    let is_unsigned = UNSIGNED.contains(&converted) || integer.and_then(|integer| integer.bool(2)) == Some(false);
    match element.int(1) {
        _ if converted == DECIMAL => Physical::Other,
        Some(1) if is_unsigned => Physical::UInt32,
        Some(1) => Physical::Int32,
        Some(2) if is_unsigned => Physical::UInt64,
        Some(2) => Physical::Int64,
        Some(4) => Physical::Float,
        Some(5) => Physical::Double,
        Some(6) => Physical::Bytes,
        _ => Physical::Other,
    }
}

/// Returns a column of a group of rows: its bytes in the file, its number of values, and its compression.
pub(super) fn chunk<'b>(file: &'b [u8], group: &Struct<'b>, index: usize) -> Result<(Input<'b>, u64, i64), String> {
    let missing = || format!("a group of rows has no column {index}");
    let chunk = group.structs(1).nth(index).ok_or_else(missing)?;
    let about = chunk.structure(3).filter(|_| chunk.bytes(1).is_none()).ok_or_else(missing)?;
    let number = |field: i64| about.int(field).and_then(|number| u64::try_from(number).ok());
    let (Some(values), Some(size), Some(data)) = (number(5), number(7), number(9)) else { return Err(missing()) };
    let start = number(11).filter(|dictionary| (1..data).contains(dictionary)).unwrap_or(data);
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let end = start.checked_add(usize::try_from(size).unwrap_or(usize::MAX));
    let bytes = end.and_then(|end| file.get(..end)).ok_or_else(|| damaged("a column is not in the file", start))?;
    Ok((Input::new(bytes, start), values, about.int(4).unwrap_or_default()))
}
