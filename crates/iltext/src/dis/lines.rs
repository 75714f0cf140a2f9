//! Lines of assembly as they are put together: text and its indentation.

use std::fmt::{Display, Write as _};

use ecma335::heap::LEFT_OUT;
use identity::Visible;

/// So many bytes are much.
const PIECE: usize = 1 << 16;

/// Lines, each with the indentation of the block it stands in.
#[derive(Default)]
pub(crate) struct Lines {
    text: String,
    indent: usize,
}

impl Lines {
    /// Adds a line.
    pub(crate) fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = self.indent * 2);
    }

    /// Adds a comment; whatever is in it stays in its line.
    pub(crate) fn comment(&mut self, comment: impl Display) {
        self.line(format_args!("// {}", one_line(comment)));
    }

    /// Adds an empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Opens a block.
    pub(crate) fn open(&mut self) {
        self.line("{");
        self.indent += 1;
    }

    /// Closes a block, and says which.
    pub(crate) fn close_with(&mut self, what: impl Display) {
        self.close();
        self.text.pop();
        let _ = writeln!(self.text, "  // {}", one_line(what));
    }

    /// Closes a block, without an empty line before its brace.
    pub(crate) fn close(&mut self) {
        if self.text.ends_with("\n\n") {
            self.text.pop();
        }
        self.indent = self.indent.saturating_sub(1);
        self.line("}");
    }

    /// An empty block.
    pub(crate) fn braces(&mut self) {
        self.open();
        self.close();
    }

    /// All lines so far, which are then gone; the indentation stays.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The lines so far, if they are much, but for the end of the last and what is empty, which a brace may take back.
    pub(crate) fn take_much(&mut self) -> Option<String> {
        let is_much = self.text.len() >= PIECE;
        is_much.then(|| {
            let rest = self.text.split_off(self.text.trim_end_matches('\n').len());
            std::mem::replace(&mut self.text, rest)
        })
    }
}

/// Types listed in words, as far as there is room: a signature of some kilobytes may name thousands of types of long names.
pub(crate) fn listed(types: impl Iterator<Item = String>) -> Vec<String> {
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

/// How many bytes of text a list of types may have: many times what real ones do.
const MAX_LIST: usize = 256 << 10;

/// Text that ends no comment's line, and steers nothing.
pub(crate) fn one_line(text: impl Display) -> String {
    Visible(text).to_string()
}
