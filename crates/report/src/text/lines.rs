//! Source files and their lines as text.

use std::fmt::Write;

use names::Visible;
use profile::{
    Profile, counted,
    coverage::{Totals, totals},
};

use super::{bar::Bar, options::TextOptions};
use crate::views::{FileRow, SourceRow, UncoveredRow};

/// Writes files with their numbers of lines, and the sum over all files.
pub(super) fn files(rows: &[FileRow<'_>], profile: &Profile, options: &TextOptions, text: &mut String) {
    let _ = writeln!(text, "{:>8} {:>8} {:>6}{}  source file", "lines", "ran", "%", Bar::head(options.bars));
    let mut line = |lines: u64, ran: u64, percent: f64, name: &str| {
        let _ = writeln!(text, "{lines:>8} {ran:>8} {percent:>6.1}{}  {name}", Bar(options.bars, percent));
    };
    for row in rows {
        line(row.lines, row.covered, row.percent, &Visible(row.file).to_string());
    }
    let all = totals(&profile.lines);
    let Totals { lines, covered } = all;
    line(lines, covered, all.percent(), &format!("({})", counted(profile.lines.len() as u64, "file")));
}

/// Writes the lines that never ran: `src/Order.cs:12-18  Shop.Order.Load`.
pub(super) fn uncovered(rows: &[UncoveredRow<'_>], text: &mut String) {
    for row in rows {
        let _ = write!(text, "{}:{}", Visible(row.file), row.first_line);
        if row.last_line > row.first_line {
            let _ = write!(text, "-{}", row.last_line);
        }
        let part = if row.is_partial { "  (in part)" } else { "" };
        let _ = writeln!(text, "  {}{part}", Visible(&row.method));
    }
    if rows.is_empty() {
        text.push_str("all lines ran\n");
    }
}

/// Writes the lines of a file, each behind its count. `~` marks lines of which a part never ran.
pub(super) fn source(rows: &[SourceRow], text: &mut String) {
    let _ = writeln!(text, "{:>10}{:>7}   source", "count", "line");
    for row in rows {
        let count = row.count.map(|count| count.to_string()).unwrap_or_default();
        let mark = if row.is_partial { '~' } else { ' ' };
        let line = row.text.as_deref().unwrap_or_default().replace('\t', "    ");
        let shown = format!("{count:>10}{mark}{:>6} | {}", row.line, Visible(line));
        let _ = writeln!(text, "{}", shown.trim_end());
    }
}
