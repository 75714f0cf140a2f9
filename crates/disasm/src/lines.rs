//! Lines of assembly under construction: text and indentation.

use std::fmt::{Display, Write as _};

use ecma335::heap::LEFT_OUT;
use names::Visible;

/// The size at which lines are passed on, in bytes.
const PIECE: usize = 1 << 16;

/// Lines, each with the indentation of its block.
#[derive(Default)]
pub struct Lines {
    text: String,
    indent: usize,
}

impl Lines {
    /// Adds a line.
    pub fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = self.indent * 2);
    }

    /// Adds a comment. Line breaks in it are escaped.
    pub fn comment(&mut self, comment: impl Display) {
        self.line(format_args!("// {}", one_line(comment)));
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Opens a block.
    pub fn open(&mut self) {
        self.line("{");
        self.indent += 1;
    }

    /// Closes a block, with a comment that names it.
    pub fn close_with(&mut self, what: impl Display) {
        self.close();
        self.text.pop();
        let _ = writeln!(self.text, "  // {}", one_line(what));
    }

    /// Closes a block, without an empty line before its brace.
    pub fn close(&mut self) {
        if self.text.ends_with("\n\n") {
            self.text.pop();
        }
        self.indent = self.indent.saturating_sub(1);
        self.line("}");
    }

    /// An empty block.
    pub fn braces(&mut self) {
        self.open();
        self.close();
    }

    /// Takes all lines so far. The indentation stays.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Takes the lines so far, if they are large. Line breaks at the end stay, because a closing brace may remove
    /// them.
    pub fn take_much(&mut self) -> Option<String> {
        let is_much = self.text.len() >= PIECE;
        is_much.then(|| {
            let rest = self.text.split_off(self.text.trim_end_matches('\n').len());
            std::mem::replace(&mut self.text, rest)
        })
    }
}

/// A list of types, of limited length. A signature of a few kilobytes may name thousands of types with long names.
pub fn listed(types: impl Iterator<Item = String>) -> Vec<String> {
    let mut room = MAX_LIST;
    let mut listed = Vec::new();
    for each in types {
        if room == 0 {
            listed.push(LEFT_OUT.into());
            break;
        }
        room = room.saturating_sub(each.len());
        listed.push(each);
    }
    listed
}

/// The maximum length of a list of types, in bytes: many times that of real ones.
const MAX_LIST: usize = 256 << 10;

/// Text in one line, with control characters escaped.
pub fn one_line(text: impl Display) -> String {
    Visible(text).to_string()
}
