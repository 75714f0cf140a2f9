//! Generic parameters: their declarations, and their attributes (II.10.1.7).

use ecma335::{
    Rid, Table, Token,
    flags::generic_param_attributes,
    schema::{GenericParam, GenericParamConstraint, TypeSpec},
    signature::TypeSig,
};

use super::{flags, ilasm::Ilasm, lines::Lines, names::Names, values};
use crate::quote;

/// The generic parameters of a type or method, between angle brackets (II.10.1.7).
pub fn list(names: &Names<'_, '_>, owner: Token) -> String {
    let params = names.by_parent.generics.children::<GenericParam>(owner.0);
    // Within the declarations, Mono's ilasm does not know the parameters' names yet.
    let params: Vec<String> = names.without_variables(|| params.map(|rid| generic(names, rid)).collect());
    if params.is_empty() { String::new() } else { format!("<{}>", params.join(", ")) }
}

fn generic(names: &Names<'_, '_>, rid: Rid<GenericParam>) -> String {
    let Ok(row) = names.metadata.row(rid) else { return format!("/* {rid:?} */") };
    let constraints = names.by_parent.constraints.children::<GenericParamConstraint>(rid.get());
    let constraints: Vec<String> =
        constraints.filter_map(|rid| constraint(names, names.metadata.row(rid).ok()?.constraint.token()?)).collect();
    let constraints = if constraints.is_empty() { String::new() } else { format!("({}) ", constraints.join(", ")) };
    let name = names.metadata.name(row.name).unwrap_or_default();
    let words = names.ilasm.flags(words(row.flags));
    format!("{words}{constraints}{}", quote::name(&name))
}

/// A constraint. Mono's ilasm writes none that has a modifier, as that of `unmanaged` does; so modifiers become comments.
fn constraint(names: &Names<'_, '_>, token: Token) -> Option<String> {
    let text = names.type_ref(token).ok()?;
    if names.for_comparison || names.ilasm == Ilasm::DotNet {
        return Some(text);
    }
    let modified = token.rid_in::<TypeSpec>().and_then(|rid| {
        let signature = names.metadata.row(rid).ok()?.signature;
        match TypeSig::parse(names.metadata.blobs.blob(signature).ok()?).ok()? {
            TypeSig::Modified { inner, .. } => Some(*inner),
            _ => None,
        }
    });
    let parts = modified.and_then(|inner| {
        let modifiers = text.strip_prefix(&names.type_text(&inner))?;
        let plain = match inner {
            TypeSig::Named { token, .. } => names.type_ref(token.token()?).ok()?,
            inner => names.type_text(&inner),
        };
        Some(format!("{plain} /*{modifiers} */"))
    });
    Some(parts.unwrap_or(text))
}

/// The words for a generic parameter's flags (II.23.1.7).
pub fn words(flags: u16) -> String {
    flags::words(flags.into(), generic_param_attributes::LIST)
}

/// Prints the attributes of generic parameters, each after a `.param type` (II.15.4.1.5).
pub fn attributes(names: &Names<'_, '_>, owner: Token, lines: &mut Lines) {
    for (number, rid) in names.by_parent.generics.children::<GenericParam>(owner.0).enumerate() {
        let token = Token::new(Table::GenericParam, rid.get());
        values::attributes_of(names, token, &format!(".param type [{}]", number + 1), lines);
        for rid in names.by_parent.constraints.children::<GenericParamConstraint>(rid.get()) {
            let token = Token::new(Table::GenericParamConstraint, rid.get());
            let of = format!(".param constraint [{}]", number + 1);
            let constraint = names.metadata.row(rid).ok().and_then(|row| row.constraint.token());
            match constraint.and_then(|constraint| names.type_ref(constraint).ok()) {
                Some(constraint) if names.ilasm == Ilasm::DotNet => {
                    values::attributes_of(names, token, &format!("{of}, {constraint}"), lines);
                }
                _ => values::attributes_as_comments(names, token, &of, lines),
            }
        }
    }
}
