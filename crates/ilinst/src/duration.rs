//! Times on the command line.

use std::time::Duration;

/// Parses `30`, `30s`, `500ms`, `2m` or `1h`; seconds without a unit. None for a time that no clock counts.
///
/// # Errors
///
/// The part of the text that is no number or no unit.
pub(crate) fn parse(text: &str) -> Result<Option<Duration>, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        other => return Err(format!("'{other}' is none of ms, s, m, h")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("'{digits}' is no number"))?;
    Ok(number.checked_mul(unit).map(Duration::from_millis))
}
