//! Selects types and methods.

use weave::Pattern;

/// The types and methods to show. All if it has no pattern.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Types to show completely.
    pub types: Vec<Pattern>,
    /// Methods to show, even if nothing else of their types is shown.
    pub methods: Vec<Pattern>,
    /// Whether the state machines of these methods are shown too.
    pub with_machines: bool,
}

impl Filter {
    /// Whether the filter includes everything.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.methods.is_empty()
    }

    /// Whether the filter includes a type as a whole.
    pub fn has_type(&self, type_name: &str) -> bool {
        let is_machine = || self.with_machines && self.is_machine(type_name);
        self.is_empty() || self.types.iter().any(|pattern| pattern.matches(type_name, "")) || is_machine()
    }

    /// Whether a type is the state machine of such a method: `Shop.Order/<Load>d__3`.
    fn is_machine(&self, type_name: &str) -> bool {
        let parts =
            type_name.rsplit_once('/').and_then(|(outer, made)| Some((outer, made.strip_prefix('<')?.split_once(">d__")?.0)));
        parts.is_some_and(|(outer, method)| self.has_method(outer, method))
    }

    /// Whether a pattern names the method itself.
    pub fn has_method(&self, type_name: &str, method: &str) -> bool {
        self.methods.iter().any(|pattern| pattern.matches(type_name, method))
    }
}

/// The original text of patterns: `Total or Shop.Order`.
pub fn describe<'p>(patterns: impl IntoIterator<Item = &'p Pattern>) -> String {
    patterns.into_iter().map(Pattern::as_str).collect::<Vec<_>>().join(" or ")
}
