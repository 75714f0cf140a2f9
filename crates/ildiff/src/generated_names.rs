//! Recognises compiler-generated names, and removes the numbers that depend on preceding members.

/// A name without such numbers. None if it may be from the source.
pub(crate) fn stem(name: &str) -> Option<String> {
    // The name of data is a hash of its content.
    if name.starts_with("$field-") {
        return None;
    }
    if let Some((inner, suffix)) = angled(name) {
        let inner = match stem(inner) {
            _ if !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit()) => "#".to_owned(),
            Some(stem) => stem,
            None => inner.to_owned(),
        };
        return Some(format!("<{inner}>{}", suffix_stem(suffix)));
    }
    if let Some(rest) = name.strip_prefix("VB$StateMachine_") {
        return Some(format!("VB$StateMachine_{}", rest.trim_start_matches(|byte: char| byte.is_ascii_digit())));
    }
    // Names of Visual Basic, Mono, and F#, which uses line numbers.
    if ["_Closure$__", "_Lambda$__", "VB$", "$"].iter().any(|prefix| name.starts_with(prefix)) {
        return Some(without_numbers(name));
    }
    let (written, place) = name.split_once('@')?;
    place.starts_with(|first: char| first.is_ascii_digit()).then(|| format!("{written}@{}", without_numbers(place)))
}

/// Whether a field of this name caches a delegate.
pub(crate) fn keeps_delegate(name: &str) -> bool {
    ["<>9__", "<>f__am$cache", "<>f__mg$cache"].iter().any(|prefix| name.starts_with(prefix))
}

/// The kind of item for a stem, independent of the source's names.
pub(crate) fn kind(stem: &str) -> &str {
    let suffix = angled(stem).map_or(stem, |(_, suffix)| suffix);
    if suffix.starts_with("g__") { "g__" } else { suffix.split_once('@').map_or(suffix, |_| "@") }
}

/// `<inner>suffix`
fn angled(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix('<')?.rsplit_once('>')
}

fn suffix_stem(suffix: &str) -> String {
    match suffix.split_once("__") {
        // A local function has its own name, and a parameter's copy has the parameter's.
        Some(("g", rest)) => match rest.split_once('|') {
            Some((name, number)) => format!("g__{name}|{}", without_numbers(number)),
            None => suffix.to_owned(),
        },
        Some(("3", _)) => suffix.to_owned(),
        Some((head, rest)) => format!("{head}__{}", without_numbers(rest)),
        None => match suffix.split_once('{') {
            Some((head, _)) => head.to_owned(),
            None => suffix.to_owned(),
        },
    }
}

/// Replaces each number by one character, except the numbers of generic parameters.
fn without_numbers(text: &str) -> String {
    let (text, arity) = text.split_once('`').map_or((text, None), |(text, arity)| (text, Some(arity)));
    let mut out = String::new();
    for character in text.chars() {
        match character.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(character),
        }
    }
    arity.map_or(out.clone(), |arity| format!("{out}`{arity}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_shift_are_no_part_of_a_stem() {
        for (name, expected) in [
            ("<W2>d__0", Some("<W2>d__#")),
            ("<W2>d__13`1", Some("<W2>d__#`1")),
            ("<>c__DisplayClass3_0", Some("<>c__DisplayClass#_#")),
            ("<Run>b__3_0", Some("<Run>b__#_#")),
            ("<<Run>b__3_0>d", Some("<<Run>b__#_#>d")),
            ("<Run>g__Local4|3_0", Some("<Run>g__Local4|#_#")),
            ("<>9__3_0", Some("<>9__#_#")),
            ("<i>5__2", Some("<i>5__#")),
            ("<>3__x1", Some("<>3__x1")),
            ("<>1__state", Some("<>1__state")),
            ("<Count>k__BackingField", Some("<Count>k__BackingField")),
            ("<>f__AnonymousType0`2", Some("<>f__AnonymousType#`2")),
            ("<0>__Parse", Some("<#>__Parse")),
            ("<W>c__async0", Some("<W>c__async#")),
            ("<>f__am$cache1", Some("<>f__am$cache#")),
            ("$locvar0", Some("$locvar#")),
            ("$field-0AFC", None),
            ("VB$StateMachine_3_Load2", Some("VB$StateMachine__Load2")),
            ("_Lambda$__3-0", Some("_Lambda$__#-#")),
            ("total@12-1", Some("total@#-#")),
            ("<Module>", Some("<Module>")),
            ("Total2", None),
            ("Main", None),
        ] {
            assert_eq!(stem(name).as_deref(), expected, "{name}");
        }
        for (stem, expected) in [("<W>d__#", "d__#"), ("<<Run>b__#_#>d", "d"), ("<Run>g__Local|#_#", "g__")] {
            assert_eq!(kind(stem), expected);
        }
    }
}
