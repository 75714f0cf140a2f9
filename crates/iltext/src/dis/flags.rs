//! The words of what the bits of attributes columns mean (II.23.1). What Mono's ilasm has no word for stands in a comment.

use ecma335::flags::{Flag, type_attributes};

/// The words of the bits that are set, each with a space behind it.
pub(crate) fn words(flags: u32, list: &[Flag]) -> String {
    words_of(flags, list, |_| true)
}

/// Of a type that is defined here.
pub(crate) fn type_words(flags: u32) -> String {
    words_of(flags, type_attributes::LIST, |flag| flag.value != type_attributes::FORWARDER)
}

/// Of a type that is elsewhere: who sees it, and whether it was moved there.
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
