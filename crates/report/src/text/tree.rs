//! Call paths as text.

use std::fmt::Write;

use names::Visible;
use profile::{Profile, SampleType, counted};

use super::{
    bar::{Bar, rough_time, short_time, size},
    options::TextOptions,
};
use crate::views::PathRow;

/// The number of indented levels of the call tree. Deeper rows state their depth instead, since recursion may be very deep.
const INDENTED_LEVELS: usize = 40;

/// Writes paths, with a heading for each tree.
pub(super) fn write(profile: &Profile, rows: &[PathRow<'_>], options: &TextOptions, text: &mut String) {
    let (has_waiting, has_calls) = (profile.sum(SampleType::WAITING) > 0, profile.mode.has_calls());
    let has_bytes = profile.has(SampleType::ALLOCATED);
    let running = profile.milliseconds(profile.running());
    let head = |text: &mut String| {
        let _ = write!(text, "{:>7} {:>12} {:>12}", "total %", "total ms", "self ms");
        if has_waiting {
            let _ = write!(text, " {:>12}", "waiting ms");
        }
        if has_calls {
            let _ = write!(text, " {:>12}", "calls");
        }
        if has_bytes {
            let _ = write!(text, " {:>10}", "all bytes");
        }
        let _ = writeln!(text, "{}  call tree", Bar::head(options.bars));
    };
    let mut tree = None;
    if rows.first().is_none_or(|row| row.tree.is_none()) {
        head(text);
    }
    for row in rows {
        if row.tree != tree {
            tree = row.tree;
            let of_row = profile.trees.iter().find(|tree| Some(tree.number) == row.tree);
            let _ = writeln!(text, "{}:", Visible(of_row.map(profile::CallTree::thread_names).unwrap_or_default()));
            head(text);
        }
        let is_counted = row.is_counted();
        let [total, percent] = rough_time(row.total_ms, row.total_uncertainty_ms, is_counted, row.total_percent, running);
        let [own, _] = rough_time(row.self_ms, row.self_uncertainty_ms, is_counted, row.self_percent, running);
        let _ = write!(text, "{percent:>7} {total:>12} {own:>12}");
        if has_waiting {
            let _ = write!(text, " {:>12.3}", row.waiting_ms);
        }
        if has_calls {
            let _ = write!(text, " {:>12}", row.calls);
        }
        if has_bytes {
            let _ = write!(text, " {:>10}", size(row.total_bytes.unwrap_or_default()));
        }
        let bar = Bar(options.bars, row.total_percent);
        let depth_mark = if row.depth > INDENTED_LEVELS { format!("[{}] ", row.depth) } else { String::new() };
        let indent = row.depth.min(INDENTED_LEVELS) * 2;
        let _ = writeln!(text, "{bar}  {:indent$}{depth_mark}{}{}", "", Visible(row.name), remarks(row));
    }
}

fn remarks(row: &PathRow<'_>) -> String {
    let mut text = String::new();
    if row.waits {
        text.push_str("  [waits]");
    }
    if let (Some(latency), Some(awaiting)) = (row.latency_ms, row.awaiting_ms) {
        let share = if latency > 0.0 { awaiting * 100.0 / latency } else { 0.0 };
        let _ = write!(text, "  [async: {} a call, {share:.0} % of it suspended]", short_time(row.average_ms));
    }
    if row.overflow {
        text.push_str("  [callers not recorded]");
    }
    if row.is_counted() {
        text.push_str("  [counted]");
    } else if row.counted > 0 {
        let _ = write!(text, "  [{} of {} counted only]", row.counted, counted(row.calls as u64, "call"));
    }
    text
}
