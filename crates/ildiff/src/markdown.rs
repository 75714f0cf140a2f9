//! Formats the differences as Markdown, for a comment on a change: the totals, a table of types, and each type's
//! changes in a folded section.

use std::io::{self, Write};

use super::{
    model::{Change, Totals, Visitor},
    text::heading,
};

/// Writes Markdown for forges.
pub struct Markdown<W> {
    out: W,
    files: [String; 2],
    types: Vec<String>,
    /// Whether a folded section is open.
    is_open: bool,
}

impl<W: Write> Markdown<W> {
    /// Begins with the names of the two files.
    pub fn new(out: W, files: [String; 2]) -> Self {
        Self { out, files, types: Vec::new(), is_open: false }
    }

    fn close(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) { writeln!(self.out, "\n</details>") } else { Ok(()) }
    }
}

impl<W: Write> Visitor for Markdown<W> {
    fn begin(&mut self, totals: &Totals) -> io::Result<()> {
        let [old, new] = &self.files;
        writeln!(self.out, "### {} and {}\n", code(old), code(new))?;
        if totals.is_same() {
            return writeln!(self.out, "Nothing differs.");
        }
        writeln!(self.out, "{}.", totals.all.words())?;
        self.types = totals.types.iter().map(|(name, _)| name.clone()).collect();
        if totals.types.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n| Type | What differs | + | - |\n|---|---|--:|--:|")?;
        totals.types.iter().try_for_each(|(name, sum)| {
            let cell = code(name).replace('|', "\\|");
            writeln!(self.out, "| {cell} | {} | {} | {} |", sum.words(), sum.new_lines, sum.old_lines)
        })
    }

    fn type_begins(&mut self, place: Option<usize>) -> io::Result<()> {
        self.close()?;
        self.is_open = true;
        let name = place.and_then(|place| self.types.get(place)).map_or("Assembly", |name| name);
        writeln!(self.out, "\n<details><summary>{}</summary>", super::html::escape(name))
    }

    fn change(&mut self, change: &Change) -> io::Result<()> {
        let mut text = heading(change);
        for hunk in &change.hunks {
            text.push_str(&format!("@@ -{},{} +{},{} @@\n", hunk.old.0, hunk.old.1, hunk.new.0, hunk.new.1));
            hunk.lines.iter().for_each(|(tag, line)| text.push_str(&format!("{}{line}\n", tag.sign())));
        }
        let fence = fence(&text);
        write!(self.out, "\n{fence}diff\n{text}{fence}\n")
    }

    fn finish(&mut self, _: &Totals) -> io::Result<()> {
        self.close()?;
        self.out.flush()
    }
}

/// Text as inline code.
fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A fence for text that may contain backticks itself.
fn fence(text: &str) -> String {
    "`".repeat((longest_run(text) + 1).max(3))
}

/// The length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_what_is_shown_as_it_is() {
        assert_eq!(code("A::B"), "`A::B`");
        assert_eq!(code("List`1"), "``List`1``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(fence("a ``` b"), "````");
    }
}
