//! Numbers as people read them, and names as they mistype them.

pub(crate) use iltext::words::count;

/// A size in bytes: `812 B`, `6.5 KiB`, `14.2 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// The name that is most like what was written, if one is.
pub(crate) fn nearest<'n>(written: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |name: &'n str| (strsim::jaro_winkler(written, name), name);
    let (likeness, name) = names.map(likeness).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (likeness > 0.7).then_some(name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes() {
        assert_eq!([812, 6656, 14_889_779].map(super::size), ["812 B", "6.5 KiB", "14.2 MiB"]);
    }
}
