//! Numbers as people read them.

/// A size in bytes: `812 B`, `6.5 KiB`, `14.2 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// `1 method`, `2 methods`, `3 bodies`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes() {
        assert_eq!([812, 6656, 14_889_779].map(super::size), ["812 B", "6.5 KiB", "14.2 MiB"]);
    }
}
