//! The words for the bits of flags columns (II.23.1). Those that Mono's ilasm does not know become comments.

use ecma335::flags::{Flag, type_attributes};

/// The words for the bits that are set, each followed by a space.
pub(crate) fn words(flags: u32, list: &[Flag]) -> String {
    words_of(flags, list, |_| true)
}

/// The words for a type of this module.
pub(crate) fn type_words(flags: u32) -> String {
    words_of(flags, type_attributes::LIST, |flag| flag.value != type_attributes::FORWARDER)
}

/// The words for an exported type: its visibility, and whether it is a forwarder.
pub(crate) fn exported_words(flags: u32) -> String {
    let parts = type_attributes::VISIBILITY_MASK | type_attributes::FORWARDER;
    words_of(flags, type_attributes::LIST, |flag| flag.mask & parts != 0 && flag.value != type_attributes::NOT_PUBLIC)
}

fn words_of(flags: u32, list: &[Flag], is_wanted: impl Fn(&Flag) -> bool) -> String {
    let set = list.iter().filter(|flag| flags & flag.mask == flag.value && !flag.word.is_empty() && is_wanted(flag));
    set.flat_map(|flag| [flag.word, " "]).collect()
}

/// Security actions, from 1 (II.22.11).
pub(crate) const SECURITY_ACTIONS: &[&str] = &[
    "request",
    "demand",
    "assert",
    "deny",
    "permitonly",
    "linkcheck",
    "inheritcheck",
    "reqmin",
    "reqopt",
    "reqrefuse",
    "prejitgrant",
    "prejitdeny",
    "noncasdemand",
    "noncaslinkdemand",
    "noncasinheritance",
];
