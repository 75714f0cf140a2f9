//! Parquet: the footer, which states where everything is, and pages. Both consist of small numbers in single bytes.

use super::{Fields, Kind, bytes_of, u32_at};

pub(super) fn add(bytes: &[u8], fields: &mut Fields) {
    // The footer's length and the magic number are the last eight bytes.
    let end = bytes.len().saturating_sub(8);
    let start = end.saturating_sub(u32_at(bytes, end) as usize);
    for range in [start..bytes.len(), 0..start] {
        fields.add(vec![bytes_of(range, Kind::Number).collect()]);
    }
}
