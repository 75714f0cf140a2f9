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
