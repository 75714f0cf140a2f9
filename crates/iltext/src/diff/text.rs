//! The difference as text: a unified diff, or a line for each method.

use std::io::{self, Write};

use super::model::{Change, Kind, Status, Totals, Visitor};
use crate::words::count;

/// How wide a bar of signs may be.
const BAR: usize = 40;

/// A unified diff.
pub struct Unified<W> {
    out: W,
    /// The two files, until they are named.
    files: Option<[String; 2]>,
    /// The kind of thing that was listed last.
    listed: Option<Kind>,
}

impl<W: Write> Unified<W> {
    /// Begins with the names of the two files, if anything differs.
    pub fn new(out: W, files: [String; 2]) -> Self {
        Self { out, files: Some(files), listed: None }
    }
}

impl<W: Write> Visitor for Unified<W> {
    fn change(&mut self, change: &Change) -> io::Result<()> {
        let mut out = String::new();
        if let Some([old, new]) = self.files.take() {
            out.push_str(&format!("--- {old}\n+++ {new}\n"));
        }
        let line = match change.status {
            Status::Changed(_) => format!("{} {}\n", change.kind.name(), change.name),
            Status::Added => format!("+{} {}\n", change.kind.name(), change.name),
            Status::Removed => format!("-{} {}\n", change.kind.name(), change.name),
        };
        // A blank line between what is shown in full, and between lists.
        let listed = change.hunks().is_empty().then_some(change.kind);
        if listed.is_none() || listed != self.listed {
            out.push('\n');
        }
        self.listed = listed;
        out.push_str(&line);
        for hunk in change.hunks() {
            out.push_str(&format!("@@ -{},{} +{},{} @@\n", hunk.old.0, hunk.old.1, hunk.new.0, hunk.new.1));
            for (tag, line) in &hunk.lines {
                out.push_str(&format!("{}{line}\n", tag.sign()));
            }
        }
        self.out.write_all(out.as_bytes())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        if totals.is_same() {
            return Ok(());
        }
        writeln!(self.out, "\n{}", totals.words())
    }
}

/// A line for each method that changed, and the totals.
pub struct Stat<W> {
    out: W,
    lines: Vec<(String, usize, usize)>,
}

impl<W: Write> Stat<W> {
    /// Writes when it has seen all.
    pub fn new(out: W) -> Self {
        Self { out, lines: Vec::new() }
    }
}

impl<W: Write> Visitor for Stat<W> {
    fn change(&mut self, change: &Change) -> io::Result<()> {
        if change.kind == Kind::Method && !change.hunks().is_empty() {
            let (new, old) = change.counts();
            self.lines.push((change.name.clone(), new, old));
        }
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        if totals.is_same() {
            return Ok(());
        }
        let most = self.lines.iter().map(|(_, new, old)| new + old).max().unwrap_or(0);
        let digits = most.to_string().len();
        let bar = |number: usize| if most <= BAR { number } else { (number * BAR).div_ceil(most) };
        for (name, new, old) in &self.lines {
            let signs = format!("{}{}", "+".repeat(bar(*new)), "-".repeat(bar(*old)));
            writeln!(self.out, " {:>digits$} {signs}  {name}", new + old)?;
        }
        let (new, old) = (count(totals.new_lines, "line"), count(totals.old_lines, "line"));
        let compared = count(totals.compared, "method");
        writeln!(self.out, "{compared} compared: {}; {new} added, {old} removed", totals.words())
    }
}
