//! Numbers as people read them, and names as they mistype them.

pub(crate) use ildiff::words::count;
pub(crate) use report::size;

/// The name that is most like what was written, if one is.
pub(crate) fn nearest<'n>(written: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |name: &'n str| (strsim::jaro_winkler(written, name), name);
    let (likeness, name) = names.map(likeness).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (likeness > 0.7).then_some(name)
}

/// A part in percent, as an option has it.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    let is_part = number.is_finite() && number >= 0.0;
    if is_part { Ok(number) } else { Err("a number from 0 on".into()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn percents_are_numbers_that_can_be_compared_with() {
        assert_eq!(["0.1", "250"].map(super::percent), [Ok(0.1), Ok(250.0)]);
        assert!(["NaN", "inf", "-1", "1e999", "x", ""].iter().all(|text| super::percent(text).is_err()));
    }
}
