//! What `--only-probes` hides: exactly what weaving puts in, and nothing beside it.

use ecma335::{Image, Metadata, MethodBody, Rid, Token, schema::MethodDef};
use weave::{
    Shape, Tracker,
    tracker::TrackerRows,
    unweave::{self, Audit, Unweaver, Unwoven},
};

/// The probes of a woven module.
pub(crate) struct Probes<'a, 'm> {
    /// The rows it refers to its tracker by.
    pub(crate) rows: &'m TrackerRows,
    unweaver: Unweaver,
    audit: Option<Audit<'a, 'm>>,
    /// The flags that its CLI header may have.
    flags: [u32; 3],
}

impl<'a, 'm> Probes<'a, 'm> {
    /// Looks for what weaving the original would have left in the woven module.
    pub(crate) fn new(original: (&'m Image<'a>, &'m Metadata<'a>), woven: &'m Metadata<'m>, rows: &'m TrackerRows) -> Self {
        let flags = unweave::woven_flags(original.0);
        Self { rows, unweaver: Unweaver::default(), audit: Audit::new(original, woven, rows), flags }
    }

    /// The rows of this tool's tracker in a woven module.
    pub(crate) fn rows(tracker: &Tracker, metadata: &Metadata<'_>) -> Option<TrackerRows> {
        unweave::rows(tracker, metadata)
    }

    /// A body without its probes.
    pub(crate) fn unweave(
        &mut self,
        metadata: &Metadata<'_>,
        rid: Rid<MethodDef>,
        body: &MethodBody<'_>,
        original: &MethodBody<'_>,
    ) -> Option<Unwoven> {
        self.unweaver.unweave(metadata, self.rows, rid, body, Some(original))
    }

    /// Whether it can be told that bodies are, to the byte, as weaving makes them.
    pub(crate) fn has_audit(&self) -> bool {
        self.audit.is_some()
    }

    /// Whether a body is, to the byte, what weaving makes of the original method.
    pub(crate) fn is_exact(&mut self, rid: Rid<MethodDef>, shape: Shape, bytes: &[u8]) -> bool {
        self.audit.as_mut().is_some_and(|audit| audit.is_exact(rid, shape, bytes))
    }

    /// Whether weaving added what a token names.
    pub(crate) fn is_added(&self, token: Token) -> bool {
        let is = |rid: u32, table| token == Token::new(table, rid);
        use ecma335::Table::{AssemblyRef, CustomAttribute, MemberRef, TypeRef};
        is(self.rows.assembly.get(), AssemblyRef)
            || self.rows.types.iter().any(|rid| is(rid.get(), TypeRef))
            || self.rows.members.iter().any(|rid| is(rid.get(), MemberRef))
            // A mark with another original's key is not hidden.
            || self.has_audit() && is(self.rows.attribute.get(), CustomAttribute)
    }

    /// Whether weaving makes these flags of the CLI header.
    pub(crate) fn has_flags(&self, flags: u32) -> bool {
        self.flags.contains(&flags)
    }

    /// Whether weaving gives the module this version identifier.
    pub(crate) fn has_mvid(&self, mvid: [u8; 16]) -> bool {
        self.audit.as_ref().and_then(Audit::mvid) == Some(mvid)
    }

    /// Rows that weaving does not add and no name shows, in words.
    pub(crate) fn other_rows(&self) -> Vec<String> {
        let rows = self.audit.as_ref().map(Audit::other_rows).unwrap_or_default();
        rows.iter().map(|(table, more)| format!("{} of {table} that no probe needs", *more as i32)).collect()
    }
}
