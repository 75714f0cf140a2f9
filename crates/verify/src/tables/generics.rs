//! GenericParam, GenericParamConstraint and MethodSpec (II.22.20, II.22.21, II.22.29).

use std::collections::BTreeMap;

use ecma335::{
    Table, Token,
    flags::generic_param_attributes,
    schema::{Blob, GenericParam, GenericParamConstraint, MemberRef, MethodSpec},
    signature::{MethodSig, Signature},
};

use crate::{
    context::Context,
    model::{TypeKind, at, is_system, type_token},
    rule::rule,
    signatures::{self, Place},
};

pub(crate) fn check(context: &Context<'_>) {
    let counts = check_params(context);
    check_methods(context, &counts);
    check_reach(context, &counts);
    check_constraints(context);
    check_instantiations(context);
}

/// II.22.20. Returns the number of parameters of each owner.
fn check_params(context: &Context<'_>) -> BTreeMap<Token, u32> {
    let mut counts: BTreeMap<Token, u32> = BTreeMap::new();
    for (token, row) in context.rows::<GenericParam>() {
        let Some(owner) = row.owner.token() else { continue };
        let count = counts.entry(owner).or_default();
        // The rows of one owner are consecutive and in order, since the table is sorted.
        if u32::from(row.number) != *count && !context.is_uncompressed {
            context.report(rule!("II.22.20-10"), token, format_args!("{} instead of {count}", row.number));
        }
        *count += 1;
        let variance = row.variance();
        if row.flags & !generic_param_attributes::ALL != 0 || variance == generic_param_attributes::VARIANCE_MASK {
            context.report(rule!("II.22.20-a"), token, format_args!("{:#x}", row.flags));
        }
        let kind = (owner.table() == Some(Table::TypeDef)).then(|| context.model.kind(owner.rid()));
        let may_vary = matches!(kind, Some(TypeKind::Interface | TypeKind::Delegate));
        context.require(variance == 0 || may_vary, rule!("II.22.20-6"), token);
        context.require(!context.name(row.name).is_empty(), rule!("II.22.20-11"), token);
    }
    for (token, row) in context.rows::<GenericParam>() {
        let count = row.owner.token().and_then(|owner| counts.get(&owner)).copied().unwrap_or(0);
        context.require(u32::from(row.number) < count, rule!("II.22.20-9"), token);
    }
    let rows = || context.rows::<GenericParam>();
    context.require_unique(rule!("II.22.20-12"), rows().map(|(token, row)| (token, (row.owner, context.name(row.name)))));
    context.require_unique(rule!("II.22.20-13"), rows().map(|(token, row)| (token, (row.owner, row.number))));
    counts
}

/// II.22.20 rule 4.
fn check_methods(context: &Context<'_>, counts: &BTreeMap<Token, u32>) {
    for (row, rid) in context.model.methods.iter().zip(1..) {
        let token = Token::new(Table::MethodDef, rid);
        let Ok(Signature::Method(signature)) = signatures::parse(context, row.signature) else { continue };
        let rows = counts.get(&token).copied().unwrap_or(0);
        if rows != signature.generic_params {
            context.report(
                rule!("II.22.20-4"),
                token,
                format_args!("{rows} rows, {} in the signature", signature.generic_params),
            );
        }
    }
}

/// II.23.2: members mention no generic parameters beyond those of their type and method.
fn check_reach(context: &Context<'_>, counts: &BTreeMap<Token, u32>) {
    let model = context.model;
    let of_type = |owner: u32| counts.get(&type_token(owner)).copied().unwrap_or(0);
    for ((row, owner), rid) in model.methods.iter().zip(&model.method_owners).zip(1..) {
        let Ok(Signature::Method(signature)) = signatures::parse(context, row.signature) else { continue };
        let (var, mvar) = signatures::method_reach(&signature);
        if var > of_type(*owner) || mvar > signature.generic_params {
            context.report(rule!("II.22.26-17"), Token::new(Table::MethodDef, rid), "a generic parameter that is not there");
        }
    }
    for ((row, owner), rid) in model.fields.iter().zip(&model.field_owners).zip(1..) {
        let Ok(Signature::Field(signature)) = signatures::parse(context, row.signature) else { continue };
        let (var, mvar) = signatures::generic_reach(&signature);
        if var > of_type(*owner) || mvar > 0 {
            context.report(rule!("II.22.15-14"), Token::new(Table::Field, rid), "a generic parameter that is not there");
        }
    }
}

/// II.22.21.
fn check_constraints(context: &Context<'_>) {
    let rows = || context.rows::<GenericParamConstraint>();
    let mut classes = BTreeMap::new();
    for (token, row) in rows() {
        context.require(!is_system(context.metadata, row.constraint, b"Void"), rule!("II.22.21-8"), token);
        let definition = row.constraint.token().and_then(|of| context.model.definition(context.metadata, of));
        if definition.is_some_and(|rid| context.model.kind(rid.get()) != TypeKind::Interface) {
            let count: &mut u32 = classes.entry(row.owner.get()).or_default();
            *count += 1;
            context.require(*count == 1, rule!("II.22.21-5"), token);
        }
    }
    context.require_unique(rule!("II.22.21-7"), rows().map(|(token, row)| (token, (row.owner.get(), row.constraint))));
}

/// II.22.29.
fn check_instantiations(context: &Context<'_>) {
    let rule = rule!("II.22.29-3");
    for (token, row) in context.rows::<MethodSpec>() {
        let arguments = match signatures::parse(context, row.instantiation) {
            Ok(Signature::MethodSpec(arguments)) => arguments,
            Ok(_) => {
                context.report(rule, token, "the signature is of another kind");
                continue;
            }
            Err(error) => {
                context.report(rule, token, error);
                continue;
            }
        };
        for argument in &arguments {
            if let Err(error) = signatures::check_type(context, token, argument, Place::Inner) {
                context.report(rule, token, error);
            }
        }
        let Some(method) = row.method.token().and_then(|method| method_signature(context, method)) else { continue };
        if method.generic_params as usize != arguments.len() {
            context.report(rule, token, format_args!("{} arguments for {} parameters", arguments.len(), method.generic_params));
        }
    }
    context.require_unique(
        rule!("II.22.29-4"),
        context.rows::<MethodSpec>().map(|(token, row)| (token, (row.method, context.blob(row.instantiation)))),
    );
}

/// The signature of a method definition or reference.
pub(crate) fn method_signature(context: &Context<'_>, token: Token) -> Option<MethodSig> {
    let blob: Blob = match token.table()? {
        Table::MethodDef => at(&context.model.methods, token.rid())?.signature,
        Table::MemberRef => context.metadata.row(token.rid_in::<MemberRef>()?).ok()?.signature,
        _ => return None,
    };
    match signatures::parse(context, blob) {
        Ok(Signature::Method(signature)) => Some(signature),
        _ => None,
    }
}
