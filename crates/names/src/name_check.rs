//! A short hash of a method's name, by which a name that was looked up is known to be the method's.

/// FNV-1a's numbers for 32 bits.
const START: u32 = 0x811C_9DC5;
const PRIME: u32 = 0x0100_0193;

/// The hash of a method's names in metadata, `Namespace.Outer/Inner` and its own: 16 bits, never 0, over their UTF-16 code units
/// with a colon between. `None` for a name that readers may have in another form, as it was cut or is not UTF-8.
pub fn name_check(type_name: &str, method: &str) -> Option<u16> {
    TypeCheck::new(type_name).with_method(method)
}

/// The common beginning of the names of a type's methods.
#[derive(Clone, Copy, Debug)]
pub struct TypeCheck(Option<u32>);

impl TypeCheck {
    /// The beginning for a type.
    pub fn new(type_name: &str) -> Self {
        Self(add(START, type_name).and_then(|hash| add(hash, ":")))
    }

    /// The [`name_check`] of a method of the type.
    pub fn with_method(self, method: &str) -> Option<u16> {
        let hash = add(self.0?, method)?;
        Some(((hash ^ hash >> 16) as u16).max(1))
    }
}

fn add(hash: u32, text: &str) -> Option<u32> {
    text.encode_utf16().try_fold(hash, |hash, unit| {
        let is_whole = ![CUT, REPLACED].contains(&unit);
        is_whole.then(|| (hash ^ u32::from(unit)).wrapping_mul(PRIME))
    })
}

/// The mark for the rest of a name, and for bytes that are not UTF-8.
const CUT: u16 = '…' as u16;
const REPLACED: u16 = char::REPLACEMENT_CHARACTER as u16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let check = name_check("Shop.Order/<Load>d__5", "MoveNext");
        assert!(check.is_some_and(|check| check != 0));
        assert_ne!(check, name_check("Shop.Order/<Load>d__6", "MoveNext"));
        assert_ne!(name_check("a", "bc"), name_check("ab", "c"));
        // The tracker computes the same.
        assert_eq!(name_check("A", "b"), Some(0x3DE5));
    }

    #[test]
    fn a_name_that_is_not_whole_has_none() {
        assert_eq!((name_check("A…", "b"), name_check("A", "\u{fffd}")), (None, None));
    }
}
