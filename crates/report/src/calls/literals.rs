//! Values of simple types as C# and ISO 8601 write them.

use std::fmt::{self, Display, Write as _};

use little_endian::{ByteOrder, LE};

/// Writes a float with the fewest digits that identify it; large and small ones with an exponent.
pub(super) fn put_float(out: &mut String, number: &(impl Display + fmt::LowerExp), size: f64) -> fmt::Result {
    let is_plain = size == 0.0 || !size.is_finite() || (1e-5..1e15).contains(&size.abs());
    if is_plain { write!(out, "{number}") } else { write!(out, "{number:e}") }
}

/// Writes text as C# does: control characters and unpaired surrogates are escapes.
pub(super) fn put_quoted(out: &mut String, units: &[u16], quote: char) {
    out.push(quote);
    for decoded in char::decode_utf16(units.iter().copied()) {
        let _ = match decoded {
            Ok('\n') => write!(out, "\\n"),
            Ok('\r') => write!(out, "\\r"),
            Ok('\t') => write!(out, "\\t"),
            Ok('\0') => write!(out, "\\0"),
            Ok(character) if character == quote || character == '\\' => write!(out, "\\{character}"),
            Ok(character) if names::is_hidden(character) => write!(out, "\\u{:04x}", character as u32),
            Ok(character) => write!(out, "{character}"),
            Err(half) => write!(out, "\\u{:04x}", half.unpaired_surrogate()),
        };
    }
    out.push(quote);
}

/// A second in units of 100 ns.
const SECOND: u64 = 10_000_000;
pub(super) const DAY: u64 = 86_400 * SECOND;

/// Returns a time in ISO 8601, with its significant digits.
pub(super) fn date_time(data: u64) -> String {
    let units = data & (u64::MAX >> 2);
    let zone = if data >> 62 == 1 { "Z" } else { "" };
    format!("{}T{}{zone}", date(units / DAY), clock(units % DAY))
}

/// A day, by how many lie between the first of the year 1 and it.
pub(super) fn date(days: u64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

pub(super) fn time_span(units: i64) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let units = units.unsigned_abs();
    let days = if units >= DAY { format!("{}.", units / DAY) } else { String::new() };
    format!("{sign}{days}{}", clock(units % DAY))
}

fn clock(units: u64) -> String {
    let seconds = units / SECOND;
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = units % SECOND;
    if fraction == 0 { clock } else { format!("{clock}.{fraction:07}") }
}

/// Converts days since the start of the year 1 to year, month and day.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, in eras of 400 years.
    let days = days + 306;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

pub(super) fn decimal([low, middle, high, flags]: [u32; 4]) -> String {
    let number = u128::from(high) << 64 | u128::from(middle) << 32 | u128::from(low);
    let scale = (flags >> 16 & 0xFF).min(28) as usize;
    let mut digits = format!("{number:0width$}", width = scale + 1);
    if scale > 0 {
        digits.insert(digits.len() - scale, '.');
    }
    let sign = if flags >> 31 == 1 { "-" } else { "" };
    format!("{sign}{digits}")
}

pub(super) fn guid(bytes: &[u8; 16]) -> String {
    let (first, second, third) = (LE::read_u32(bytes), LE::read_u16(&bytes[4..]), LE::read_u16(&bytes[6..]));
    let (fourth, last) = (&bytes[8..10], &bytes[10..]);
    format!("{first:08x}-{second:04x}-{third:04x}-{}-{}", hex::encode(fourth), hex::encode(last))
}
