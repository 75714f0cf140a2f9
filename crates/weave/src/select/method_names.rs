//! The names of methods for patterns: in metadata, and in the source.

use ecma335::{
    Error, Metadata, Rid,
    schema::{MethodDef, TypeDef},
};

use crate::patterns::pattern::Pattern;

/// The names by which patterns match a method.
#[derive(Debug)]
pub struct MethodNames<'n> {
    /// The full name of the declaring type.
    pub type_name: &'n str,
    /// The method's own name.
    pub name: String,
    source: Option<names::SourceName>,
    metadata: &'n Metadata<'n>,
    method: Rid<MethodDef>,
}

impl MethodNames<'_> {
    /// The names that patterns may match: `Type::Method`.
    pub(crate) fn full_names(&self) -> Vec<String> {
        let written = self.source.as_ref().map(|source| format!("{}::{}", source.type_name, source.method));
        std::iter::once(format!("{}::{}", self.type_name, self.name)).chain(written).collect()
    }

    /// Whether a pattern names the method. A compiler-generated method also matches by the name of the method it was made
    /// for.
    pub fn match_pattern(&self, pattern: &Pattern) -> bool {
        let has_parameters = || pattern.parameters().is_none_or(|parameters| parameters.match_method(self.metadata, self.method));
        let is_named = pattern.matches(self.type_name, &self.name)
            || self.source.as_ref().is_some_and(|source| pattern.matches(&source.type_name, &source.method));
        is_named && has_parameters()
    }
}

/// A function that returns a method's names when they are needed.
pub type Naming<'n> = &'n dyn Fn() -> Result<MethodNames<'n>, Error>;

/// Calls a function for each method that belongs to a type, with its row number minus one.
///
/// # Errors
/// If names cannot be read, or the function fails.
pub fn for_each_method(
    metadata: &Metadata<'_>,
    mut action: impl FnMut(usize, Naming<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    metadata.check_type_names()?;
    let names = metadata.full_names();
    for rid in names.types() {
        let mut methods = metadata.children::<TypeDef, MethodDef>(rid).peekable();
        let type_name = &if methods.peek().is_some() { names.name_of(rid)? } else { continue };
        for method in methods {
            let Some(index) = (method.get() as usize).checked_sub(1) else { continue };
            action(index, &|| {
                let name = metadata.name(metadata.row(method)?.name)?;
                let source = names::source_name(type_name, &name);
                Ok(MethodNames { type_name, name, source, metadata, method })
            })?;
        }
    }
    Ok(())
}
