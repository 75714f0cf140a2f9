//! Lines below lines, drawn as a tree.

use std::io::{self, Write};

use identity::Visible;

/// A line with the lines below it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Node {
    /// The line itself.
    pub(crate) line: String,
    /// What it is sorted by.
    pub(crate) name: String,
    /// What it is sorted by, the largest first.
    pub(crate) size: u64,
    /// What belongs to it.
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
