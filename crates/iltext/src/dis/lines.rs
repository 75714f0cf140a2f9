//! Lines of assembly as they are put together: text and its indentation.

use std::fmt::{Display, Write as _};

use identity::Visible;

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
}

/// Text that ends no comment's line, and steers nothing.
pub(crate) fn one_line(text: impl Display) -> String {
    Visible(text).to_string()
}
