//! The assembly under check, as all of its checks see it.

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
    /// Whether its tables are the unordered kind of an editor or of edit-and-continue (`#-`).
    pub(crate) is_uncompressed: bool,
    pub(crate) options: Options,
    /// Where types are found, if they are checked.
    pub(crate) scope: Option<Scope<'m>>,
    /// Where the types that it extends and implements are found: there, or in itself alone.
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

    /// Whether findings of this rule are wanted: then it is worth looking for them.
    pub(crate) fn wants(&self, rule: &Rule) -> bool {
        rule.level == Level::Error || self.options.pedantic || self.scope.is_some() && rule.level == Level::Unverifiable
    }

    /// A name's bytes; empty where it lies outside of its heap, which is another rule's matter.
    pub(crate) fn name(&self, index: Str) -> &'m [u8] {
        self.metadata.strings.string_bytes(index).unwrap_or_default()
    }

    /// A row's full name, for findings.
    pub(crate) fn full_name(&self, token: Token) -> String {
        self.names.of(token)
    }

    /// A blob's bytes; empty where it lies outside of its heap.
    pub(crate) fn blob(&self, index: Blob) -> &'m [u8] {
        self.metadata.blob(index).unwrap_or_default()
    }

    /// All rows of a table, with their tokens.
    pub(crate) fn rows<R: Row>(&self) -> impl Iterator<Item = (Token, R)> + use<'m, R> {
        self.metadata.tables.rows::<R>().map(|(rid, row)| (token(rid), row))
    }

    /// Whether a token names a row that is there.
    pub(crate) fn is_row(&self, token: Token) -> bool {
        token.table().is_some_and(|table| (1..=self.metadata.tables.count(table)).contains(&token.rid()))
    }
}

/// The token of a row.
fn token<R: Row>(rid: Rid<R>) -> Token {
    Token::new(R::TABLE, rid.get())
}
