//! Generic parameters: their declarations, and their attributes (II.10.1.7).

use ecma335::{
    Rid, Table, Token,
    flags::generic_param_attributes,
    schema::{self, GenericParam, GenericParamConstraint},
};

use super::{flags, lines::Lines, names::Names, values};
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
        constraints.filter_map(|rid| names.type_ref(names.metadata.row(rid).ok()?.constraint.token()?).ok()).collect();
    let constraints = if constraints.is_empty() { String::new() } else { format!("({}) ", constraints.join(", ")) };
    let name = names.metadata.name(row.name).unwrap_or_default();
    format!("{}{constraints}{}", words(row.flags), quote::name(&name))
}

/// The words for a generic parameter's flags (II.23.1.7).
pub fn words(flags: u16) -> String {
    flags::words(flags.into(), generic_param_attributes::LIST)
}

/// Prints the attributes of generic parameters, each after a `.param type` (II.15.4.1.5).
pub fn attributes(names: &Names<'_, '_>, owner: Token, lines: &mut Lines) {
    for (number, rid) in names.by_parent.generics.children::<GenericParam>(owner.0).enumerate() {
        let token = Token::new(Table::GenericParam, rid.get());
        if names.by_parent.attributes.children::<schema::CustomAttribute>(token.0).next().is_some() {
            lines.line(format_args!(".param type [{}]", number + 1));
            values::attributes(names, token, lines);
        }
        for rid in names.by_parent.constraints.children::<GenericParamConstraint>(rid.get()) {
            let token = Token::new(Table::GenericParamConstraint, rid.get());
            values::attributes_as_comments(names, token, &format!(".param constraint [{}]", number + 1), lines);
        }
    }
}
