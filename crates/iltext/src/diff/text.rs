//! The difference as text: a unified diff, or a line for each method.

use std::io;

use super::{
    lines::Side,
    model::{Change, How, Kind, Report, Totals},
};
use crate::{screen::Screen, text::count};

/// How wide a bar of signs may be.
const BAR: usize = 40;

/// A unified diff.
pub(crate) struct Unified<'s> {
    screen: &'s mut Screen,
    /// The two files, until they are named.
    files: Option<[String; 2]>,
    /// The kind of thing that was listed last.
    listed: Option<Kind>,
}

impl<'s> Unified<'s> {
    /// Writes to a screen.
    pub(crate) fn new(screen: &'s mut Screen, files: [String; 2]) -> Self {
        Self { screen, files: Some(files), listed: None }
    }
}

impl Report for Unified<'_> {
    fn change(&mut self, change: &Change) -> io::Result<()> {
        let mut out = String::new();
        if let Some([old, new]) = self.files.take() {
            out.push_str(&format!("--- {old}\n+++ {new}\n"));
        }
        let line = match change.how {
            How::Changed(_) => format!("{} {}\n", change.kind.name(), change.name),
            How::Added => format!("+{} {}\n", change.kind.name(), change.name),
            How::Removed => format!("-{} {}\n", change.kind.name(), change.name),
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
            for (side, line) in &hunk.lines {
                out.push_str(&format!("{}{line}\n", side.sign()));
            }
        }
        self.screen.write(&out)
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        if totals.is_same() {
            return Ok(());
        }
        self.screen.write(&format!("\n{}\n", totals.words()))
    }
}

/// A line for each method that changed, and the totals.
pub(crate) struct Stat<'s> {
    screen: &'s mut Screen,
    lines: Vec<(String, usize, usize)>,
}

impl<'s> Stat<'s> {
    /// Writes to a screen.
    pub(crate) fn new(screen: &'s mut Screen) -> Self {
        Self { screen, lines: Vec::new() }
    }
}

impl Report for Stat<'_> {
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
            self.screen.write(&format!(" {:>digits$} {signs}  {name}\n", new + old))?;
        }
        let (new, old) = (count(totals.new_lines, "line"), count(totals.old_lines, "line"));
        let compared = count(totals.compared, "method");
        self.screen.write(&format!("{compared} compared: {}; {new} added, {old} removed\n", totals.words()))
    }
}

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const RESET: &str = "\x1b[0m";

/// A line of either report in its colour.
pub(crate) fn colour(line: &str) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let whole = |colour: &str| format!("{colour}{text}{RESET}{end}");
    let is_method_line = |text: &str| text.starts_with(|first: char| first.is_ascii_lowercase());
    if text.starts_with("---") || text.starts_with("+++") || is_method_line(text) {
        whole(BOLD)
    } else if text.starts_with("@@") {
        whole(CYAN)
    } else if text.starts_with(Side::Old.sign()) {
        whole(RED)
    } else if text.starts_with(Side::New.sign()) {
        whole(GREEN)
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_coloured_by_their_signs() {
        assert_eq!(colour("+  ldc.i4.1\n"), format!("{GREEN}+  ldc.i4.1{RESET}\n"));
        assert_eq!(colour("-  ret\n"), format!("{RED}-  ret{RESET}\n"));
        for plain in [" ret\n", "\n", "", " 12 +++---  A::B()\n"] {
            assert_eq!(colour(plain), plain);
        }
    }
}
