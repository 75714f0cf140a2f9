//! The assembly under check, shared by all checks.

use ecma335::{
    Image, Metadata, Rid, Token,
    schema::{Blob, Row, Str},
};

use crate::{
    model::Model,
    names::Names,
    report::Options,
    rule::{Level, Rule},
    types::library::Scope,
};

/// An assembly under check. Threads share it.
pub(crate) struct Assembly<'m> {
    pub(crate) image: &'m Image<'m>,
    pub(crate) metadata: &'m Metadata<'m>,
    pub(crate) model: &'m Model,
    /// Whether the tables are of the unordered kind (`#-`) that editors and edit-and-continue write.
    pub(crate) is_uncompressed: bool,
    pub(crate) options: Options,
    /// The library that resolves types, if types are checked.
    pub(crate) scope: Option<Scope<'m>>,
    /// The library that resolves base types and interfaces: that of `scope`, or one with this assembly only.
    pub(crate) own: Scope<'m>,
    names: Names<'m>,
}

impl<'m> Assembly<'m> {
    pub(crate) fn new(
        image: &'m Image<'m>,
        metadata: &'m Metadata<'m>,
        model: &'m Model,
        options: &Options,
        (scope, own): (Option<Scope<'m>>, Scope<'m>),
    ) -> Self {
        let has_stream = |name: &[u8]| metadata.streams.iter().any(|stream| stream.name == name);
        Self {
            image,
            metadata,
            model,
            is_uncompressed: has_stream(b"#-") && !has_stream(b"#~"),
            options: *options,
            scope,
            own,
            names: Names::new(metadata, model),
        }
    }

    /// Whether findings of this rule are reported. If not, its check can be skipped.
    pub(crate) fn wants(&self, rule: &Rule) -> bool {
        rule.level == Level::Error || self.options.pedantic || self.scope.is_some() && rule.level == Level::Unverifiable
    }

    /// The bytes of a name. Empty if it is outside of its heap, which another rule reports.
    pub(crate) fn name(&self, index: Str) -> &'m [u8] {
        self.metadata.strings.string_bytes(index).unwrap_or_default()
    }

    /// The full name of a row, for findings.
    pub(crate) fn full_name(&self, token: Token) -> String {
        self.names.name_of(token)
    }

    /// The bytes of a blob. Empty if it is outside of its heap.
    pub(crate) fn blob(&self, index: Blob) -> &'m [u8] {
        self.metadata.blob(index).unwrap_or_default()
    }

    /// All rows of a table, with their tokens.
    pub(crate) fn rows<R: Row>(&self) -> impl Iterator<Item = (Token, R)> + use<'m, R> {
        self.metadata.tables.rows::<R>().map(|(rid, row)| (token(rid), row))
    }

    /// Whether a token names an existing row.
    pub(crate) fn is_row(&self, token: Token) -> bool {
        token.table().is_some_and(|table| (1..=self.metadata.tables.count(table)).contains(&token.rid()))
    }
}

/// The token of a row.
fn token<R: Row>(rid: Rid<R>) -> Token {
    Token::new(R::TABLE, rid.get())
}
