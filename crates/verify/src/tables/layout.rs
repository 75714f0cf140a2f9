//! ClassLayout and FieldLayout (II.22.8, II.22.16).

use std::collections::BTreeMap;

use ecma335::{
    Rid, Table, Token,
    element::ElementType,
    schema::{ClassLayout, Field, FieldLayout, TypeDef},
    signature::{Signature, TypeSig},
};

use crate::{
    context::Context,
    model::{TypeKind, at},
    rule::rule,
    signatures,
};

/// II.22.8: the limit in bytes that a value type's size has to stay below.
const MAX_VALUE_SIZE: u32 = 0x10_0000;
/// The limit of value types within one another.
const MAX_DEPTH: usize = 32;

pub(crate) fn check(context: &Context<'_>) {
    check_classes(context);
    check_fields(context);
}

fn check_classes(context: &Context<'_>) {
    for (token, row) in context.rows::<ClassLayout>() {
        let Some(parent) = at(&context.model.types, row.parent.get()) else { continue };
        let kind = context.model.kind(row.parent.get());
        context.require(kind != TypeKind::Interface, rule!("II.22.8-2"), token);
        let layout = parent.layout();
        context.require(layout != 0, rule!("II.22.8-3"), token);
        let is_packing = row.packing_size == 0 || row.packing_size.is_power_of_two() && row.packing_size <= 128;
        context.require(is_packing, rule!("II.22.8-4"), token);
        context.require(!kind.is_value() || row.class_size < MAX_VALUE_SIZE, rule!("II.22.8-4a"), token);
        context.require(!parent.is_explicit_layout() || row.packing_size == 0, rule!("II.22.8-5"), token);
    }
    context.require_unique(rule!("II.22.8-a"), context.rows::<ClassLayout>().map(|(token, row)| (token, row.parent.get())));
}

/// A field at an offset.
struct Placed {
    token: Token,
    start: u64,
    end: u64,
    is_reference: bool,
}

fn check_fields(context: &Context<'_>) {
    let model = context.model;
    let is_explicit = |owner: u32| at(&model.types, owner).is_some_and(|of| of.is_explicit_layout());
    let mut by_owner: BTreeMap<u32, Vec<Placed>> = BTreeMap::new();
    let mut has_offset = vec![false; model.fields.len()];
    for (token, row) in context.rows::<FieldLayout>() {
        let (Some(field), Some(owner)) = (at(&model.fields, row.field.get()), at(&model.field_owners, row.field.get())) else {
            continue;
        };
        if let Some(slot) = has_offset.get_mut((row.field.get() as usize).wrapping_sub(1)) {
            *slot = true;
        }
        // The CLR ignores the offsets of other layouts, and -1.
        context.require(is_explicit(owner), rule!("II.22.16-2"), token);
        context.require(row.offset <= i32::MAX as u32, rule!("II.22.16-3"), token);
        context.require(!field.is_static(), rule!("II.22.16-5"), token);
        if let Some((size, is_reference)) = size(context, &field) {
            let start = u64::from(row.offset);
            by_owner.entry(owner).or_default().push(Placed { token, start, end: start + size, is_reference });
        }
    }
    context.require_unique(rule!("II.22.16-6"), context.rows::<FieldLayout>().map(|(token, row)| (token, row.field.get())));
    by_owner.values_mut().for_each(|fields| check_overlaps(context, fields));
    for (((field, owner), has_offset), rid) in model.fields.iter().zip(&model.field_owners).zip(has_offset).zip(1..) {
        let is_well = has_offset || field.is_static() || !is_explicit(*owner);
        context.require(is_well, rule!("II.22.16-9"), Token::new(Table::Field, rid));
    }
}

/// Rules 7 and 8, with the smallest size of each field on any machine that runs the file.
fn check_overlaps(context: &Context<'_>, fields: &mut [Placed]) {
    fields.sort_by_key(|field| field.start);
    // The ends of references and of other fields so far.
    let (mut references, mut others) = (0, 0);
    for field in fields {
        context.require(
            !field.is_reference || field.start.is_multiple_of(reference_size(context)),
            rule!("II.22.16-7"),
            field.token,
        );
        let (own, opposite) = if field.is_reference { (&mut references, &others) } else { (&mut others, &references) };
        context.require(*opposite <= field.start, rule!("II.22.16-8"), field.token);
        *own = field.end.max(*own);
    }
}

/// The size of an object reference. Files that are not for 32 bits alone run on 64, and .NET refuses them there.
fn reference_size(context: &Context<'_>) -> u64 {
    if context.image.cli_header().is_required_32bit() { 4 } else { 8 }
}

/// The least size of a field in bytes, and whether it is an object reference. `None` if the size is unknown here.
fn size(context: &Context<'_>, field: &Field) -> Option<(u64, bool)> {
    let Ok(Signature::Field(signature)) = signatures::parse(context, field.signature) else { return None };
    size_of(context, &signature, MAX_DEPTH)
}

fn size_of(context: &Context<'_>, signature: &TypeSig, depth: usize) -> Option<(u64, bool)> {
    let reference = || (reference_size(context), true);
    Some(match signature {
        TypeSig::Element(element) => match element {
            ElementType::Boolean | ElementType::I1 | ElementType::U1 => (1, false),
            ElementType::Char | ElementType::I2 | ElementType::U2 => (2, false),
            ElementType::I4 | ElementType::U4 | ElementType::R4 | ElementType::I | ElementType::U => (4, false),
            ElementType::I8 | ElementType::U8 | ElementType::R8 => (8, false),
            ElementType::String | ElementType::Object => reference(),
            _ => return None,
        },
        TypeSig::Named { is_value: false, .. } | TypeSig::GenericInst { is_value: false, .. } => reference(),
        TypeSig::SzArray(_) | TypeSig::Array(..) => reference(),
        TypeSig::Ptr(_) | TypeSig::FnPtr(_) => (4, false),
        TypeSig::Modified { inner, .. } => return size_of(context, inner, depth),
        TypeSig::Named { is_value: true, token } => {
            let field = only_field(context, token.token()?.rid_in::<TypeDef>()?)?;
            let Ok(Signature::Field(signature)) = signatures::parse(context, field.signature) else { return None };
            return size_of(context, &signature, depth.checked_sub(1)?);
        }
        _ => return None,
    })
}

/// The instance field of a value type of this module, if it has one alone: its value is that of the field.
fn only_field(context: &Context<'_>, rid: Rid<TypeDef>) -> Option<Field> {
    at(&context.model.types, rid.get()).filter(|row| !row.is_explicit_layout())?;
    let fields = context.metadata.children::<_, Field>(rid).filter_map(|rid| at(&context.model.fields, rid.get()));
    let mut fields = fields.filter(|field| !field.is_static());
    fields.next().filter(|_| fields.next().is_none())
}
