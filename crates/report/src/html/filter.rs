//! The functions that a page is of.

use profile::Profile;

/// A filter of functions.
#[expect(missing_debug_implementations, reason = "it is a function")]
pub struct Filter<'a> {
    /// The filter as the user wrote it.
    pub text: String,
    /// Returns for each function of a profile whether the filter selects it.
    pub is_meant: &'a dyn Fn(&Profile) -> Vec<bool>,
}
