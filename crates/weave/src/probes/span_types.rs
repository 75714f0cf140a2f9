//! Recognizes the types of spans.

use ecma335::{
    Metadata,
    schema::{AssemblyRef, MemberRef, TypeDefOrRef, TypeRef},
    signature::TypeSig,
};

/// The names of spans in the namespace `System`, and whether they are read-only ones.
pub const NAMES: [(&str, bool); 2] = [("Span`1", false), ("ReadOnlySpan`1", true)];
/// The assemblies that they are referred to in. Types of these names in other assemblies may have other methods.
const ASSEMBLIES: [&str; 5] = ["System.Runtime", "System.Memory", "System.Private.CoreLib", "mscorlib", "netstandard"];

/// `System.Span<T>` or `System.ReadOnlySpan<T>`.
pub(super) struct SpanType<'t> {
    pub(super) class: &'t TypeSig,
    /// The row of the generic type.
    pub(super) generic: TypeDefOrRef,
    pub(super) element: &'t TypeSig,
    pub(super) is_read_only: bool,
}

/// Whether a reference to a span's type is to a read-only one. `None` for other types.
pub(super) fn is_read_only_span(metadata: &Metadata<'_>, row: &TypeRef) -> Option<bool> {
    let is = |name, text: &str| metadata.strings.string_bytes(name) == Ok(text.as_bytes());
    let (_, is_read_only) = NAMES.iter().find(|(name, _)| is(row.name, name)).filter(|_| is(row.namespace, "System"))?;
    let assembly = metadata.row(row.resolution_scope.token()?.rid_in::<AssemblyRef>()?).ok()?;
    ASSEMBLIES.iter().any(|name| is(assembly.name, name)).then_some(*is_read_only)
}

/// Whether a woven module passes spans: it calls the least common of [`METHODS`](super::spans::METHODS).
pub(super) fn are_passed(metadata: &Metadata<'_>) -> bool {
    let is_name = |row: &MemberRef| metadata.strings.string_bytes(row.name) == Ok(b"op_Equality");
    let is_of_span = |row: &MemberRef| {
        let class = metadata.class_of_reference(row).and_then(|class| metadata.row(class).ok());
        class.is_some_and(|class| is_read_only_span(metadata, &class).is_some())
    };
    metadata.tables.rows::<MemberRef>().any(|(_, row)| is_name(&row) && is_of_span(&row))
}
