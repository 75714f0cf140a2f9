//! Field and FieldRVA (II.22.15, II.22.18).

use ecma335::{
    Rva, Table, Token,
    schema::{Field, FieldRva},
    signature::Signature,
};

use crate::{
    context::Context,
    model::{TypeKind, at, flags},
    rule::{Rule, rule},
    signatures::{self, Place},
    structure,
};

/// Flags of II.23.1.5.
const FIELD_FLAGS: u16 = 0xB7F7;
const INIT_ONLY: u16 = 0x20;
const SPECIAL_NAME: u16 = 0x200;
const RT_SPECIAL_NAME: u16 = 0x400;
const HAS_MARSHAL: u16 = 0x1000;
const HAS_DEFAULT: u16 = 0x8000;

pub(crate) fn check(context: &Context<'_, '_>) {
    let model = context.model;
    for ((row, owner), rid) in model.fields.iter().zip(&model.field_owners).zip(1..) {
        let token = Token::new(Table::Field, rid);
        context.expect(*owner != 0, rule!("II.22.15-2"), token);
        check_flags(context, token, row);
        context.expect(!context.name(row.name).is_empty(), rule!("II.22.15-12"), token);
        check_signature(context, token, row);
        if model.kind(*owner) == TypeKind::Module && *owner != 0 {
            context.expect(row.flags & flags::STATIC != 0, rule!("II.22.15-16"), token);
            context.expect(matches!(row.flags & flags::ACCESS, 0 | 1 | 6), rule!("II.22.15-16a"), token);
        }
    }
    if !context.is_uncompressed {
        let compared =
            model.fields.iter().zip(&model.field_owners).zip(1..).filter(|((row, _), _)| row.flags & flags::ACCESS != 0);
        let keys = compared.map(|((row, owner), rid)| {
            (Token::new(Table::Field, rid), (*owner, context.name(row.name), context.blob(row.signature)))
        });
        context.expect_unique(rule!("II.22.15-17"), keys);
    }
    check_rvas(context);
}

fn check_flags(context: &Context<'_, '_>, token: Token, row: &Field) {
    let has = |flag: u16| row.flags & flag != 0;
    if has(!FIELD_FLAGS) {
        context.find(rule!("II.22.15-4"), token, format_args!("{:#x}", row.flags));
    }
    context.expect(row.flags & flags::ACCESS < 7, rule!("II.22.15-5"), token);
    context.expect(!has(flags::FIELD_LITERAL) || !has(INIT_ONLY), rule!("II.22.15-6"), token);
    context.expect(!has(flags::FIELD_LITERAL) || has(flags::STATIC), rule!("II.22.15-7"), token);
    context.expect(!has(RT_SPECIAL_NAME) || has(SPECIAL_NAME), rule!("II.22.15-8"), token);
    let goes_with = |flag: u16, rows: &std::collections::BTreeMap<Token, u32>, rule: &'static Rule| {
        if has(flag) != rows.contains_key(&token) {
            let rows = rows.get(&token).copied().unwrap_or(0);
            context.find(rule, token, format_args!("{rows} rows, flags {:#x}", row.flags));
        }
    };
    goes_with(HAS_MARSHAL, &context.model.marshals, rule!("II.22.15-9"));
    goes_with(HAS_DEFAULT, &context.model.constants, rule!("II.22.15-10"));
    goes_with(flags::FIELD_HAS_RVA, &context.model.rvas, rule!("II.22.15-11"));
}

fn check_signature(context: &Context<'_, '_>, token: Token, row: &Field) {
    let checked = match signatures::parse(context, row.signature) {
        Ok(Signature::Field(signature)) => signatures::check_type(context, token, &signature, Place::Param),
        Ok(_) => Err("it is of another kind".into()),
        Err(error) => Err(error),
    };
    if let Err(error) = checked {
        context.find(rule!("II.22.15-14"), token, error);
    }
}

/// II.22.18.
fn check_rvas(context: &Context<'_, '_>) {
    for (token, row) in context.rows::<FieldRva>() {
        context.expect(row.rva != 0, rule!("II.22.18-1"), token);
        if row.rva != 0 && !structure::is_in_section(context, Rva(row.rva)) {
            context.find(rule!("II.22.18-2"), token, format_args!("{:#x}", row.rva));
        }
        let field = at(&context.model.fields, row.field.get());
        let is_well = field.is_none_or(|field| field.flags & flags::STATIC != 0 && field.flags & flags::FIELD_HAS_RVA != 0);
        context.expect(is_well, rule!("II.22.18-a"), token);
    }
    context.expect_unique(rule!("II.22.18-b"), context.rows::<FieldRva>().map(|(token, row)| (token, row.field.get())));
}
