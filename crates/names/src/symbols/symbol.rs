//! The names and the place of a method.

use crate::{
    member::{is_compiler_generated, written_member, written_type},
    source_name::source_name,
};

/// The names and the place of a method.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Symbol {
    /// Its type's name and its own name in metadata: `Namespace.Outer/Inner`, `Method`.
    pub raw: (String, String),
    /// The name of its type in source form: `Namespace.Outer<T>.Inner`.
    pub type_name: String,
    /// Its own name in source form: `Load<T>`, `Name.get`, `Main [lambda at Program.cs:41]`.
    pub member: String,
    /// The types of its parameters: `int, string`; `None` if they are not known.
    pub parameters: Option<String>,
    /// Whether the method is compiler-generated and has no body in the source.
    pub is_compiler_generated: bool,
    /// The source file and line of its beginning, from the PDB; `None` without a PDB.
    pub place: Option<(String, u32)>,
}

impl Symbol {
    /// Returns a symbol from names in metadata alone.
    pub(super) fn from_names(type_name: &str, method: &str) -> Self {
        let source = source_name(type_name, method);
        Self {
            raw: (type_name.to_owned(), method.to_owned()),
            type_name: written_type(type_name),
            member: source.map_or_else(|| written_member(method), |source| source.member()),
            is_compiler_generated: is_compiler_generated(type_name, method),
            ..Self::default()
        }
    }
}
