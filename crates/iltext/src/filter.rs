//! Which types and methods are meant.

use weave::{Pattern, pattern::PatternError};

/// Which types and methods to show; all if it has no pattern.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Types to show whole.
    pub types: Vec<Pattern>,
    /// Methods to show, in types of which nothing else may be shown.
    pub methods: Vec<Pattern>,
}

impl Filter {
    /// Whether everything is meant.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.methods.is_empty()
    }

    /// Whether a type is meant as a whole.
    pub fn has_type(&self, type_name: &str) -> bool {
        self.is_empty() || self.types.iter().any(|pattern| pattern.matches(type_name, ""))
    }

    /// Whether a method is meant by its own name.
    pub fn has_method(&self, type_name: &str, method: &str) -> bool {
        self.methods.iter().any(|pattern| pattern.matches(type_name, method))
    }
}

/// What stands before a method's name that may be any type's.
const ANY_TYPE: &str = "*::";

/// A pattern that names methods; a method's name alone means that of any type.
///
/// # Errors
/// If it is no pattern.
pub fn method_pattern(text: &str) -> Result<Pattern, PatternError> {
    if text.is_empty() || text.contains("::") || text.starts_with("re:") {
        text.parse()
    } else {
        format!("{ANY_TYPE}{text}").parse()
    }
}

/// Patterns as they were written: `Total or Shop.Order`.
pub fn describe<'p>(patterns: impl IntoIterator<Item = &'p Pattern>) -> String {
    let patterns = patterns.into_iter().map(|pattern| pattern.as_str().trim_start_matches(ANY_TYPE));
    patterns.collect::<Vec<_>>().join(" or ")
}
