//! Numbers with nouns.

/// `1 method`, `2 methods`, `3 bodies`.
pub fn count(number: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}
