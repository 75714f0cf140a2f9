//! Folded stacks: `outermost;...;innermost NUMBER`, a line for each call path.

use std::io::Write;

use names::Visible;
use profile::CallTree;

use crate::{
    Error, Export,
    walk::{Step, Walk},
};

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let (profile, measure) = (export.profile, export.measure);
    if !measure.is_in(profile) {
        let message = format!("there is no {} in it; --value calls writes how often each path was called", measure.name());
        return Err(Error::Refused(message));
    }
    let frames: Vec<String> = profile.display_names().iter().map(|name| frame(name)).collect();
    if export.by_thread {
        for tree in &profile.trees {
            write_tree(tree, &measure.values(profile, tree), &frames, &visible(&tree.thread_names()), out)?;
        }
        return Ok(());
    }
    let tree = profile.merged_tree();
    write_tree(&tree, &measure.values(profile, &tree), &frames, "", out)
}

fn write_tree(tree: &CallTree, values: &[i64], frames: &[String], root: &str, out: &mut impl Write) -> Result<(), Error> {
    let mut path = root.to_owned();
    let mut lengths = Vec::new();
    for step in Walk::over(tree) {
        let Step::Enter(node) = step else {
            path.truncate(lengths.pop().unwrap_or_default());
            continue;
        };
        lengths.push(path.len());
        if !path.is_empty() {
            path.push(';');
        }
        let function = tree.nodes.get(node).and_then(|node| frames.get(node.function));
        path.push_str(function.map_or("?", String::as_str));
        match values.get(node) {
            Some(value) if *value > 0 => writeln!(out, "{path} {value}")?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns a name for use between semicolons, in one line. Semicolons and line breaks become escapes.
fn visible(name: &str) -> String {
    Visible(name).to_string().replace(';', "\\u{3b}")
}

/// Returns a name for use in front of the line's number. If the name itself ends with a blank and a number, the blank becomes an
/// escape.
fn frame(name: &str) -> String {
    let name = visible(name);
    match name.rsplit_once(' ') {
        Some((before, last)) if last.is_empty() || last.parse::<f64>().is_ok() => format!("{before}\\u{{20}}{last}"),
        _ if name.is_empty() => "?".into(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_neither_frames_nor_lines() {
        for (name, expected) in [
            ("Shop.Order.Load(int, string)", "Shop.Order.Load(int, string)"),
            ("a;b", "a\\u{3b}b"),
            ("a\nb 7", "a\\u{a}b\\u{20}7"),
            ("a ", "a\\u{20}"),
            ("a 1e5", "a\\u{20}1e5"),
            ("", "?"),
        ] {
            assert_eq!(frame(name), expected);
        }
    }
}
