//! Aliases for one item with two names. It is printed as a number, so that texts that mention it are equal. For
//! display, its names replace the number.

use std::borrow::Cow;

use ecma335::{
    Rid, Table, Token,
    schema::{Field, MethodDef, Str, TypeDef},
};

use super::{
    lines::LineTag,
    model::{Change, Status},
};
use disasm::{
    names::{Names, full_name},
    quote,
};

/// Encloses the number of a name. Names and strings contain no control characters, because those are escaped on
/// printing.
const START: char = '\u{2}';
const END: char = '\u{3}';

/// A member of one side: its token, its type, its name and signature.
type Member<'n, 'a, 'm> = (&'n Names<'a, 'm>, Token, Rid<TypeDef>, Option<(Str, Vec<u8>)>);

/// The names on the old and new side.
#[derive(Default)]
pub(crate) struct Aliases(Vec<[String; 2]>);

impl Aliases {
    fn add(&mut self, names: [String; 2]) -> String {
        self.0.push(names);
        format!("{START}{}{END}", self.0.len() - 1)
    }

    /// Gives a type of both modules one alias.
    pub(crate) fn types(
        &mut self,
        (old, old_rid): (&Names<'_, '_>, Rid<TypeDef>),
        (new, new_rid): (&Names<'_, '_>, Rid<TypeDef>),
    ) {
        let name =
            |names: &Names<'_, '_>, rid: Rid<TypeDef>| names.type_ref(Token::new(Table::TypeDef, rid.get())).unwrap_or_default();
        let full = [name(old, old_rid), name(new, new_rid)];
        if full[0] == full[1] {
            return;
        }
        let own = |names: &Names<'_, '_>, rid: Rid<TypeDef>| {
            names.metadata.row(rid).map(|row| full_name(names.metadata, row.namespace, row.name)).unwrap_or_default()
        };
        let (full, own) = (self.add(full), self.add([own(old, old_rid), own(new, new_rid)]));
        for (names, rid) in [(old, old_rid), (new, new_rid)] {
            let mut aliases = names.aliases.borrow_mut();
            aliases.types.insert(rid.get(), full.clone());
            aliases.own_types.insert(rid.get(), own.clone());
            aliases.reflected.insert(reflected(&names.plain_type_name(rid)), full.clone());
        }
    }

    /// Gives a method of both modules one alias.
    pub(crate) fn methods(&mut self, old: (&Names<'_, '_>, Rid<MethodDef>), new: (&Names<'_, '_>, Rid<MethodDef>)) {
        let row = |(names, rid): (&Names<'_, '_>, Rid<MethodDef>)| {
            let row = names.metadata.row(rid).ok()?;
            Some((row.name, names.metadata.blob(row.signature).ok()?.to_vec()))
        };
        let quote = |name: &str| quote::method(name).into_owned();
        self.members(
            [
                (old.0, Token::from(old.1), old.0.method_owner(old.1), row(old)),
                (new.0, Token::from(new.1), new.0.method_owner(new.1), row(new)),
            ],
            quote,
        );
    }

    /// Gives calls of a method of both modules one alias, for any owner and parameters.
    pub(crate) fn calls(&mut self, old: (&Names<'_, '_>, Rid<MethodDef>), new: (&Names<'_, '_>, Rid<MethodDef>)) {
        let text = |(names, rid): (&Names<'_, '_>, Rid<MethodDef>)| names.method(Token::from(rid)).unwrap_or_default();
        let alias = self.add([text(old), text(new)]);
        for (names, rid) in [(old.0, old.1), (new.0, new.1)] {
            names.aliases.borrow_mut().calls.insert(Token::from(rid), alias.clone());
        }
    }

    /// Gives a field of both modules one alias. `owners` are their types.
    pub(crate) fn fields(
        &mut self,
        old: (&Names<'_, '_>, Rid<Field>, Rid<TypeDef>),
        new: (&Names<'_, '_>, Rid<Field>, Rid<TypeDef>),
    ) {
        let row = |(names, rid, _): (&Names<'_, '_>, Rid<Field>, _)| {
            let row = names.metadata.row(rid).ok()?;
            Some((row.name, names.metadata.blob(row.signature).ok()?.to_vec()))
        };
        let quote = |name: &str| quote::name(name).into_owned();
        self.members([(old.0, Token::from(old.1), old.2, row(old)), (new.0, Token::from(new.1), new.2, row(new))], quote);
    }

    fn members(&mut self, sides: [Member<'_, '_, '_>; 2], quote: fn(&str) -> String) {
        let plain = sides
            .each_ref()
            .map(|(names, _, _, row)| row.as_ref().and_then(|(name, _)| names.metadata.name(*name).ok()).unwrap_or_default());
        if plain[0] == plain[1] {
            return;
        }
        let alias = self.add(plain.each_ref().map(|name| quote(name)));
        for ((names, token, owner, row), name) in sides.into_iter().zip(plain) {
            let mut aliases = names.aliases.borrow_mut();
            aliases.members.insert(token, alias.clone());
            if let Some((_, signature)) = row {
                aliases.references.insert((owner, name, signature), alias.clone());
            }
        }
    }

    /// A text with the names of one side.
    pub(crate) fn show<'t>(&self, text: &'t str, is_new: bool) -> Cow<'t, str> {
        if !text.contains(START) {
            return Cow::Borrowed(text);
        }
        let mut pieces = text.split(START);
        let mut out = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (number, rest) = piece.split_once(END).unwrap_or((piece, ""));
            let names = number.parse().ok().and_then(|number: usize| self.0.get(number));
            // The text of a method may mention types with two names.
            out.push_str(&names.map_or(Cow::Borrowed(""), |[old, new]| self.show(if is_new { new } else { old }, is_new)));
            out.push_str(rest);
        }
        Cow::Owned(out)
    }

    /// Puts the names of both sides into a change. Unchanged lines get the new names.
    pub(crate) fn show_change(&self, change: &mut Change) {
        if self.0.is_empty() {
            return;
        }
        let show = |text: &mut String, is_new| {
            if let Cow::Owned(shown) = self.show(text, is_new) {
                *text = shown;
            }
        };
        show(&mut change.name, change.status == Status::Added);
        for (tag, line) in change.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
            show(line, *tag != LineTag::Removed);
        }
    }
}

/// A type's reflection name, as attributes contain it (II.23.3).
fn reflected(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            '/' => out.push('+'),
            ',' | '+' | '&' | '*' | '[' | ']' | '\\' => out.extend(['\\', character]),
            other => out.push(other),
        }
    }
    out
}
