//! Which types and methods are meant.

use weave::Pattern;

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

/// Patterns as they were written: `Total or Shop.Order`.
pub fn describe<'p>(patterns: impl IntoIterator<Item = &'p Pattern>) -> String {
    patterns.into_iter().map(Pattern::as_str).collect::<Vec<_>>().join(" or ")
}
