//! TypeRef, MemberRef, ModuleRef, TypeSpec and StandAloneSig (II.22.38, II.22.25, II.22.31, II.22.39, II.22.36).

use std::collections::BTreeSet;

use ecma335::{
    Table, Token,
    element::convention,
    schema::{ExportedType, File, MemberRef, ModuleRef, StandAloneSig, TypeRef, TypeSpec},
    signature::{Signature, TypeSig},
};

use crate::{
    context::Context,
    model::at,
    rule::rule,
    signatures::{self, Place},
    structure,
    tables::type_defs::on_cycles,
};

pub(crate) fn check(context: &Context<'_>) {
    check_types(context);
    check_members(context);
    check_modules(context);
    check_specs(context);
    check_signatures(context);
}

/// II.22.38.
fn check_types(context: &Context<'_>) {
    let exported: BTreeSet<_> =
        context.rows::<ExportedType>().map(|(_, row)| (context.name(row.namespace), context.name(row.name))).collect();
    let mut outer = Vec::new();
    for (token, row) in context.rows::<TypeRef>() {
        let scope = row.resolution_scope.token();
        outer.push(scope.filter(|scope| scope.table() == Some(Table::TypeRef)).map_or(0, Token::rid));
        if scope.is_some_and(|scope| scope.rid() == 0) {
            let names = (context.name(row.namespace), context.name(row.name));
            context.require(exported.contains(&names), rule!("II.22.38-1a"), token);
        } else {
            let is_elsewhere = scope.is_none_or(|scope| scope.table() != Some(Table::Module));
            context.require(is_elsewhere, rule!("II.22.38-1d"), token);
        }
        context.require(!context.name(row.name).is_empty(), rule!("II.22.38-2"), token);
        context.require(row.namespace.0 == 0 || !context.name(row.namespace).is_empty(), rule!("II.22.38-4"), token);
    }
    for rid in on_cycles(&outer) {
        context.report(rule!("II.22.38-1b"), Token::new(Table::TypeRef, rid), "");
    }
    let keys = context.rows::<TypeRef>();
    let keys = keys.map(|(token, row)| (token, (row.resolution_scope, context.name(row.namespace), context.name(row.name))));
    context.require_unique(rule!("II.22.38-6"), keys);
}

/// II.22.25.
fn check_members(context: &Context<'_>) {
    for (token, row) in context.rows::<MemberRef>() {
        let parent = row.class.token().filter(|parent| parent.rid() != 0);
        context.require(parent.is_some(), rule!("II.22.25-2"), token);
        context.require(!context.name(row.name).is_empty(), rule!("II.22.25-3"), token);
        let checked = match signatures::parse(context, row.signature) {
            Ok(Signature::Field(signature)) => signatures::check_type(context, token, &signature, Place::Param),
            Ok(Signature::Method(signature)) => {
                check_call_site(context, token, &row, parent, signature.convention);
                signatures::check_method(context, token, &signature)
            }
            Ok(_) => Err("it is of another kind".into()),
            Err(error) => Err(error),
        };
        if let Err(error) = checked {
            context.report(rule!("II.22.25-5"), token, error);
        }
    }
    let keys = context.rows::<MemberRef>();
    let keys = keys.map(|(token, row)| (token, (row.class, context.name(row.name), context.blob(row.signature))));
    context.require_unique(rule!("II.22.25-6"), keys);
}

/// Rule 1c: a reference to a method of this module gives the types of a vararg call's extra arguments.
fn check_call_site(context: &Context<'_>, token: Token, row: &MemberRef, parent: Option<Token>, first: u8) {
    let Some(parent) = parent.filter(|parent| parent.table() == Some(Table::MethodDef)) else { return };
    let Some(method) = at(&context.model.methods, parent.rid()) else { return };
    let is_well = first & convention::MASK == convention::VARARG && context.name(method.name) == context.name(row.name);
    context.require(is_well, rule!("II.22.25-1"), token);
}

/// II.22.31.
fn check_modules(context: &Context<'_>) {
    for (token, row) in context.rows::<ModuleRef>() {
        context.require(!context.name(row.name).is_empty(), rule!("II.22.31-1"), token);
    }
    let keys = context.rows::<ModuleRef>().map(|(token, row)| (token, context.name(row.name)));
    context.require_unique(rule!("II.22.31-2"), keys);
    if !structure::has_manifest(context) || !context.wants(rule!("II.22.31-3")) {
        return;
    }
    // Modules that only native imports name are not modules of the assembly.
    let files: BTreeSet<_> = context.rows::<File>().map(|(_, row)| context.name(row.name)).collect();
    let scopes = context.rows::<TypeRef>().filter_map(|(_, row)| row.resolution_scope.token());
    let parents = context.rows::<MemberRef>().filter_map(|(_, row)| row.class.token());
    let used: BTreeSet<Token> = scopes.chain(parents).filter(|token| token.table() == Some(Table::ModuleRef)).collect();
    for (token, row) in context.rows::<ModuleRef>().filter(|(token, _)| used.contains(token)) {
        context.require(files.contains(context.name(row.name)), rule!("II.22.31-3"), token);
    }
}

/// II.22.39.
fn check_specs(context: &Context<'_>) {
    for (token, row) in context.rows::<TypeSpec>() {
        let parsed = context.metadata.blobs.blob(row.signature).and_then(TypeSig::parse).map_err(|error| error.to_string());
        let checked = parsed.and_then(|signature| signatures::check_type(context, token, &signature, Place::Spec));
        if let Err(error) = checked {
            context.report(rule!("II.22.39-2"), token, error);
        }
    }
    let keys = context.rows::<TypeSpec>().map(|(token, row)| (token, context.blob(row.signature)));
    context.require_unique(rule!("II.22.39-3"), keys);
}

/// II.22.36.
fn check_signatures(context: &Context<'_>) {
    for (token, row) in context.rows::<StandAloneSig>() {
        let checked = match signatures::parse(context, row.signature) {
            Ok(Signature::Method(signature)) => signatures::check_method(context, token, &signature),
            Ok(Signature::Locals(types)) => signatures::check_locals(context, token, &types),
            Ok(Signature::Field(signature)) => {
                context.report(rule!("II.22.36-3/clr"), token, "");
                signatures::check_type(context, token, &signature, Place::Local)
            }
            Ok(_) => Err("it is of another kind".into()),
            Err(error) => Err(error),
        };
        if let Err(error) = checked {
            context.report(rule!("II.22.36-3"), token, error);
        }
    }
}
