//! Percentages as bars, and times in a suitable unit.

use std::fmt;

/// A bar for a percentage, behind a blank; nothing if bars are off.
pub(super) struct Bar(pub(super) bool, pub(super) f64);

impl Bar {
    const WIDTH: usize = 10;

    pub(super) fn head(is_drawn: bool) -> &'static str {
        if is_drawn { "           " } else { "" }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0 {
            return Ok(());
        }
        // Blocks in steps of an eighth of a cell.
        const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let eighths = (self.1.clamp(0.0, 100.0) / 100.0 * (8 * Self::WIDTH) as f64).round() as usize;
        let bar = "█".repeat(eighths / 8) + PARTS.get(eighths % 8).copied().unwrap_or_default();
        write!(f, " {bar:<width$}", width = Self::WIDTH)
    }
}

/// Returns a value without the decimals that its possible error makes meaningless; `<0.4` if the value is below the error.
pub(super) fn rough(value: f64, uncertainty: f64, decimals: usize) -> String {
    let unit = 10_f64.powi(decimals as i32);
    if uncertainty * unit < 1.0 {
        return format!("{value:.decimals$}");
    }
    let decimals = (-uncertainty.log10()).ceil().max(0.0) as usize;
    if value >= uncertainty {
        return format!("{value:.decimals$}");
    }
    let unit = 10_f64.powi(decimals as i32);
    format!("<{:.decimals$}", (uncertainty * unit).ceil() / unit)
}

/// The cell of a value that is part of another row's.
pub(super) const UNKNOWN: &str = "-";

/// Returns a running time and its share in percent, both as [`rough`] does. Of calls that are only counted, a time is known if it is
/// that of callees. All times are in milliseconds.
pub(super) fn rough_time(time: f64, uncertainty: f64, is_counted: bool, percent: f64, whole: f64) -> [String; 2] {
    if is_counted && time == 0.0 {
        return [UNKNOWN; 2].map(str::to_owned);
    }
    let uncertainty_percent = if whole > 0.0 { (uncertainty * 100.0 / whole).min(100.0) } else { 0.0 };
    [rough(time, uncertainty, 3), rough(percent, uncertainty_percent, 2)]
}

/// Returns a time in a suitable unit: `28 ns`, `1.25 us`, `13.8 ms`, `2.10 s`.
pub(super) fn short_time(milliseconds: f64) -> String {
    let units = [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let fits = units.iter().rev().find(|(_, unit)| milliseconds >= *unit);
    let (name, unit) = fits.unwrap_or(&units[0]);
    let value = milliseconds / unit;
    match value {
        _ if *name == "ns" => format!("{value:.0} {name}"),
        0.0..10.0 => format!("{value:.2} {name}"),
        10.0..100.0 => format!("{value:.1} {name}"),
        _ => format!("{value:.0} {name}"),
    }
}

/// Returns a size in bytes: `812 B`, `6.5 KiB`, `14.2 MiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let sizes = [812, 6656, 14_889_779, 5_368_709_120].map(size);
        assert_eq!(sizes, ["812 B", "6.5 KiB", "14.2 MiB", "5.0 GiB"]);
    }

    #[test]
    fn decimals_and_small_values_follow_the_possible_error() {
        let cases = [
            (12.3456, 0.0, "12.346"),
            (12.3456, 0.0004, "12.346"),
            (12.3456, 0.004, "12.346"),
            (12.3456, 0.04, "12.35"),
            (12.3456, 0.4, "12.3"),
            (12.3456, 4.0, "12"),
            (12.3456, 400.0, "<400"),
            (0.0, 0.34, "<0.4"),
            (0.0, 0.012, "<0.02"),
            (0.0, 0.0, "0.000"),
        ];
        for (value, uncertainty, expected) in cases {
            assert_eq!(rough(value, uncertainty, 3), expected, "{value} +/- {uncertainty}");
        }
    }
}
