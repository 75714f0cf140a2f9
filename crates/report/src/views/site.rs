//! The place of a method in the source.

use profile::{Profile, model::Function};
use serde::Serialize;

/// The place of a method.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Site<'n> {
    /// The full name of its assembly.
    pub assembly: Option<&'n str>,
    /// The source file of its beginning.
    pub file: Option<&'n str>,
    /// The line of its beginning, from 1.
    pub line: Option<u32>,
}

/// Returns the place of a function; empty without a function.
pub(super) fn site<'n>(profile: &'n Profile, function: Option<&'n Function>) -> Site<'n> {
    let module = function.and_then(|function| profile.module_of(function));
    Site {
        assembly: module.map(|module| module.assembly.as_str()),
        file: function.and_then(Function::file),
        line: function.and_then(Function::line),
    }
}
