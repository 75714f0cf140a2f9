//! Field and FieldRVA (II.22.15, II.22.18).

use ecma335::{
    Rva, Table, Token,
    flags::field_attributes,
    schema::{Field, FieldRva},
    signature::Signature,
};

use crate::{
    context::Context,
    model::{TypeKind, at},
    rule::{Rule, rule},
    signatures::{self, Place},
    structure,
    types::library::Def,
};

pub(crate) fn check(context: &Context<'_>) {
    let model = context.model;
    for ((row, owner), rid) in model.fields.iter().zip(&model.field_owners).zip(1..) {
        let token = Token::new(Table::Field, rid);
        context.require(*owner != 0, rule!("II.22.15-2"), token);
        check_flags(context, token, row);
        context.require(!context.name(row.name).is_empty(), rule!("II.22.15-12"), token);
        check_signature(context, token, (row, *owner));
        if model.kind(*owner) == TypeKind::Module && *owner != 0 {
            context.require(row.is_static(), rule!("II.22.15-16"), token);
            context.require(row.is_private_scope() || row.is_private() || row.is_public(), rule!("II.22.15-16a"), token);
        }
    }
    if !context.is_uncompressed {
        let compared = model.fields.iter().zip(&model.field_owners).zip(1..).filter(|((row, _), _)| !row.is_private_scope());
        let keys = compared.map(|((row, owner), rid)| {
            (Token::new(Table::Field, rid), (*owner, context.name(row.name), context.blob(row.signature)))
        });
        context.require_unique(rule!("II.22.15-17"), keys);
    }
    check_rvas(context);
}

fn check_flags(context: &Context<'_>, token: Token, row: &Field) {
    if row.flags & !field_attributes::ALL != 0 {
        context.report(rule!("II.22.15-4"), token, format_args!("{:#x}", row.flags));
    }
    context.require(row.access() <= field_attributes::PUBLIC, rule!("II.22.15-5"), token);
    context.require(!row.is_literal() || !row.is_init_only(), rule!("II.22.15-6"), token);
    context.require(!row.is_literal() || row.is_static(), rule!("II.22.15-7"), token);
    context.require(!row.is_rt_special_name() || row.is_special_name(), rule!("II.22.15-8"), token);
    let goes_with = |has: bool, rows: &std::collections::BTreeMap<Token, u32>, rule: &'static Rule| {
        if has != rows.contains_key(&token) {
            let rows = rows.get(&token).copied().unwrap_or(0);
            context.report(rule, token, format_args!("{rows} rows, flags {:#x}", row.flags));
        }
    };
    goes_with(row.has_field_marshal(), &context.model.marshals, rule!("II.22.15-9"));
    goes_with(row.has_default(), &context.model.constants, rule!("II.22.15-10"));
    goes_with(row.has_field_rva(), &context.model.rvas, rule!("II.22.15-11"));
}

fn check_signature(context: &Context<'_>, token: Token, (row, owner): (&Field, u32)) {
    let own = context.own;
    let is_bound = !row.is_static() && own.library.is_ref_struct(Def { module: own.module, rid: owner });
    let place = if is_bound { Place::Param } else { Place::Inner };
    let checked = match signatures::parse(context, row.signature) {
        Ok(Signature::Field(signature)) => signatures::check_type(context, token, &signature, place),
        Ok(_) => Err("it is of another kind".into()),
        Err(error) => Err(error),
    };
    if let Err(error) = checked {
        context.report(rule!("II.22.15-14"), token, error);
    }
}

/// II.22.18.
fn check_rvas(context: &Context<'_>) {
    for (token, row) in context.rows::<FieldRva>() {
        context.require(row.rva != 0, rule!("II.22.18-1"), token);
        if row.rva != 0 && !structure::is_in_section(context, Rva(row.rva)) {
            context.report(rule!("II.22.18-2"), token, format_args!("{:#x}", row.rva));
        }
        let field = at(&context.model.fields, row.field.get());
        let is_well = field.is_none_or(|field| field.is_static() && field.has_field_rva());
        context.require(is_well, rule!("II.22.18-a"), token);
    }
    context.require_unique(rule!("II.22.18-b"), context.rows::<FieldRva>().map(|(token, row)| (token, row.field.get())));
}
