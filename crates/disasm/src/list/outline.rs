//! Lines with child lines, drawn as a tree.

use std::io::{self, Write};

use names::Visible;

/// A line with its child lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Node {
    pub(crate) line: String,
    /// The key for sorting by name.
    pub(crate) name: String,
    /// The key for sorting by size, the largest first.
    pub(crate) size: u64,
    /// The child lines.
    pub(crate) children: Vec<Node>,
}

/// Prints nodes as a tree.
pub(crate) fn print(nodes: &[Node], prefix: &str, out: &mut impl Write) -> io::Result<()> {
    for (index, node) in nodes.iter().enumerate() {
        let (branch, trunk) = if index + 1 == nodes.len() { ("└─", "  ") } else { ("├─", "│ ") };
        writeln!(out, "{prefix}{branch} {}", Visible(&node.line))?;
        print(&node.children, &format!("{prefix}{trunk} "), out)?;
    }
    Ok(())
}
