//! Formats the differences as text: a unified diff, or a line for each method.

use std::io::{self, Write};

use super::model::{Change, Kind, Status, Totals, Visitor};
use crate::words::count;

/// The maximum width of a bar of signs.
const BAR: usize = 40;

/// A unified diff: the totals, by type, then the differences.
pub struct Unified<W> {
    out: W,
    files: [String; 2],
    /// The kind of the last listed item.
    listed: Option<Kind>,
}

impl<W: Write> Unified<W> {
    /// Begins with the names of the two files, unless there are no differences.
    pub fn new(out: W, files: [String; 2]) -> Self {
        Self { out, files, listed: None }
    }
}

/// The status of an item, in a line.
pub(crate) fn heading(change: &Change) -> String {
    let (kind, name) = (change.kind.name(), &change.name);
    let sign = match change.status {
        Status::Added => "+",
        Status::Removed => "-",
        _ => "",
    };
    let word = match change.status {
        Status::Renamed | Status::Moved | Status::Resigned => change.status.word(),
        // The names are compiler-generated numbers.
        _ => "in the second",
    };
    match &change.new_name {
        Some(new_name) => format!("{sign}{kind} {name}\n  {word}: {new_name}\n"),
        None => format!("{sign}{kind} {name}\n"),
    }
}

impl<W: Write> Visitor for Unified<W> {
    fn begin(&mut self, totals: &Totals) -> io::Result<()> {
        if totals.is_same() {
            return Ok(());
        }
        let [old, new] = &self.files;
        writeln!(self.out, "--- {old}\n+++ {new}\n\n{}", totals.all.words())?;
        totals.types.iter().try_for_each(|(name, sum)| writeln!(self.out, "  {name}: {}", sum.words()))
    }

    fn type_begins(&mut self, _: Option<usize>) -> io::Result<()> {
        self.listed = None;
        Ok(())
    }

    fn change(&mut self, change: &Change) -> io::Result<()> {
        let mut out = String::new();
        // A blank line separates full changes, and lists.
        let listed = change.hunks.is_empty().then_some(change.kind);
        if listed.is_none() || listed != self.listed {
            out.push('\n');
        }
        self.listed = listed;
        out.push_str(&heading(change));
        for hunk in &change.hunks {
            out.push_str(&format!("@@ -{},{} +{},{} @@\n", hunk.old.0, hunk.old.1, hunk.new.0, hunk.new.1));
            for (tag, line) in &hunk.lines {
                out.push_str(&format!("{}{line}\n", tag.sign()));
            }
        }
        self.out.write_all(out.as_bytes())
    }
}

/// The totals, and by type a line for each method.
pub struct Stat<W> {
    out: W,
    types: Vec<String>,
    lines: Vec<(String, usize, usize)>,
}

impl<W: Write> Stat<W> {
    /// Writes type by type.
    pub fn new(out: W) -> Self {
        Self { out, types: Vec::new(), lines: Vec::new() }
    }

    /// Writes the methods of the last type.
    fn methods(&mut self) -> io::Result<()> {
        let most = self.lines.iter().map(|(_, new, old)| new + old).max().unwrap_or(0);
        let digits = most.to_string().len();
        let bar = |number: usize| if most <= BAR { number } else { (number * BAR).div_ceil(most) };
        for (name, new, old) in self.lines.drain(..) {
            let signs = format!("{}{}", "+".repeat(bar(new)), "-".repeat(bar(old)));
            writeln!(self.out, "   {:>digits$} {signs}  {name}", new + old)?;
        }
        Ok(())
    }
}

impl<W: Write> Visitor for Stat<W> {
    fn begin(&mut self, totals: &Totals) -> io::Result<()> {
        if totals.is_same() {
            return Ok(());
        }
        self.types = totals.types.iter().map(|(name, sum)| format!(" {name}: {}", sum.words())).collect();
        let (new, old) = (count(totals.all.new_lines, "line"), count(totals.all.old_lines, "line"));
        let compared = count(totals.compared, "method");
        writeln!(self.out, "{compared} compared: {}; {new} added, {old} removed", totals.all.words())
    }

    fn type_begins(&mut self, place: Option<usize>) -> io::Result<()> {
        self.methods()?;
        let Some(line) = place.and_then(|place| self.types.get(place)) else { return Ok(()) };
        writeln!(self.out, "{line}")
    }

    fn change(&mut self, change: &Change) -> io::Result<()> {
        if change.kind == Kind::Method {
            let (new, old) = change.counts();
            let name = change.new_name.as_ref().map(|new_name| format!("{} => {new_name}", change.name));
            self.lines.push((name.unwrap_or_else(|| change.name.clone()), new, old));
        }
        Ok(())
    }

    fn finish(&mut self, _: &Totals) -> io::Result<()> {
        self.methods()
    }
}
