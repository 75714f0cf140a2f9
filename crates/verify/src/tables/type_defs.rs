//! TypeDef, NestedClass and InterfaceImpl (II.22.37, II.22.32, II.22.23).

use std::collections::BTreeSet;

use ecma335::{
    Rid, Table, Token,
    flags::type_attributes,
    schema::{CustomAttribute, Field, InterfaceImpl, NestedClass, TypeDef, TypeSpec},
    signature::{Signature, TypeSig},
};

use crate::{
    context::Context,
    model::{TypeKind, at, is_named, is_system, type_token},
    rule::rule,
    signatures,
};

pub(crate) fn check(context: &Context<'_>) {
    if context.model.types.is_empty() {
        context.report(rule!("II.22.37-1"), Token::default(), "");
    }
    let suppressing = suppressing(context);
    for (row, rid) in context.model.types.iter().zip(1..) {
        let token = type_token(rid);
        check_flags(context, token, row);
        let has_security = row.has_security();
        let secured = context.model.security.contains_key(&token) || suppressing.contains(&token);
        context.require(!has_security || secured, rule!("II.22.37-2d"), token);
        context.require(!context.name(row.name).is_empty(), rule!("II.22.37-3"), token);
        context.require(row.namespace.0 == 0 || !context.name(row.namespace).is_empty(), rule!("II.22.37-6"), token);
        check_base(context, token, row);
        match context.model.kind(rid) {
            TypeKind::Interface => check_interface(context, token, row),
            TypeKind::Value | TypeKind::Enum => context.require(row.is_sealed(), rule!("II.22.37-35"), token),
            _ => {}
        }
    }
    check_members(context);
    check_enumerations(context);
    check_loops(context);
    check_nesting(context);
    check_interfaces(context);
    if !context.is_uncompressed {
        check_duplicates(context);
    }
}

/// The owners of `SuppressUnmanagedCodeSecurityAttribute`. It requires HasSecurity, as declared security does.
pub(crate) fn suppressing(context: &Context<'_>) -> BTreeSet<Token> {
    if !context.wants(rule!("II.22.26-12")) {
        return BTreeSet::new();
    }
    let is_suppressing = |row: &CustomAttribute| {
        context.metadata.attribute_type_name(row).is_some_and(|name| name.ends_with(".SuppressUnmanagedCodeSecurityAttribute"))
    };
    context.rows::<CustomAttribute>().filter(|(_, row)| is_suppressing(row)).filter_map(|(_, row)| row.parent.token()).collect()
}

fn check_flags(context: &Context<'_>, token: Token, row: &TypeDef) {
    if row.flags & !type_attributes::ALL != 0 {
        context.report(rule!("II.22.37-2a"), token, format_args!("{:#x}", row.flags));
    }
    context.require(row.layout() != type_attributes::LAYOUT_MASK, rule!("II.22.37-2b"), token);
}

/// Rules 8 to 11 and 13: the base type.
fn check_base(context: &Context<'_>, token: Token, row: &TypeDef) {
    let metadata = context.metadata;
    let kind = context.model.kind(token.rid());
    let extends = row.extends.token().filter(|base| base.rid() != 0);
    let own = |name: &[u8]| is_named(metadata, (row.namespace, row.name), name);
    let is_nested = at(&context.model.enclosing, token.rid()).is_some_and(|outer| !outer.is_none());
    if kind == TypeKind::Interface {
        context.require(extends.is_none(), rule!("II.22.37-13"), token);
        return;
    }
    if kind == TypeKind::Module {
        return;
    }
    // The root of all types is in the assembly that refers to no other.
    if own(b"Object") && !is_nested && metadata.tables.count(Table::AssemblyRef) == 0 {
        context.require(extends.is_none(), rule!("II.22.37-9"), token);
        return;
    }
    if own(b"ValueType") && !is_nested {
        context.require(is_system(metadata, row.extends, b"Object"), rule!("II.22.37-10"), token);
    }
    let Some(base) = extends else {
        return context.report(rule!("II.22.37-8"), token, "");
    };
    if base.table() == Some(Table::TypeSpec) && !is_instantiation(context, base) {
        return context.report(rule!("II.22.37-11"), token, base);
    }
    let Some(base_rid) = context.model.definition(metadata, base) else { return };
    let Some(base_row) = at(&context.model.types, base_rid.get()) else { return };
    let is_class = matches!(context.model.kind(base_rid.get()), TypeKind::Class | TypeKind::Delegate);
    if !is_class || base_row.is_sealed() {
        context.report(rule!("II.22.37-11"), token, base);
    }
}

/// Whether a TypeSpec is an instantiation of a generic type, or cannot be read.
fn is_instantiation(context: &Context<'_>, token: Token) -> bool {
    let row = token.rid_in::<TypeSpec>().and_then(|rid| context.metadata.row(rid).ok());
    let signature = row.and_then(|row| context.metadata.blobs.blob(row.signature).and_then(TypeSig::parse).ok());
    signature.is_none_or(|signature| matches!(signature, TypeSig::GenericInst { .. }))
}

fn check_interface(context: &Context<'_>, token: Token, row: &TypeDef) {
    context.require(row.is_abstract(), rule!("II.22.37-23"), token);
    context.require(!row.is_sealed(), rule!("II.22.37-27"), token);
}

/// Rules 16, 22, 26 and 28: requirements from a type's members.
fn check_members(context: &Context<'_>) {
    let model = context.model;
    let mut has_size = vec![false; model.types.len()];
    for row in context.rows::<ecma335::schema::ClassLayout>().map(|(_, row)| row).filter(|row| row.class_size > 0) {
        if let Some(slot) = has_size.get_mut((row.parent.get() as usize).wrapping_sub(1)) {
            *slot = true;
        }
    }
    for ((row, owner), rid) in model.fields.iter().zip(&model.field_owners).zip(1..) {
        if row.is_static() {
            continue;
        }
        if let Some(slot) = has_size.get_mut((*owner as usize).wrapping_sub(1)) {
            *slot = true;
        }
        context.require(model.kind(*owner) != TypeKind::Interface, rule!("II.22.37-26"), Token::new(Table::Field, rid));
    }
    for (rid, has_size) in (1..).zip(has_size) {
        context.require(has_size || model.kind(rid) != TypeKind::Value, rule!("II.22.37-16"), type_token(rid));
    }
    for ((row, owner), rid) in model.methods.iter().zip(&model.method_owners).zip(1..) {
        let token = Token::new(Table::MethodDef, rid);
        let is_abstract = row.is_abstract();
        let Some(of) = at(&model.types, *owner) else { continue };
        if model.kind(*owner) == TypeKind::Interface {
            let is_well = is_abstract || context.name(row.name) == b".cctor";
            context.require(is_well, rule!("II.22.37-28"), token);
        } else {
            context.require(!is_abstract || of.is_abstract(), rule!("II.22.37-22"), token);
        }
    }
}

/// Rule 33.
fn check_enumerations(context: &Context<'_>) {
    let model = context.model;
    let is_enum = |owner: u32| model.kind(owner) == TypeKind::Enum;
    let mut instance_fields = vec![0_u32; model.types.len()];
    for ((row, owner), rid) in model.fields.iter().zip(&model.field_owners).zip(1..).filter(|((_, owner), _)| is_enum(**owner)) {
        let token = Token::new(Table::Field, rid);
        if row.is_static() {
            context.require(row.is_literal(), rule!("II.22.37-33f"), token);
        } else {
            context.require(is_primitive(context, row), rule!("II.22.37-33h"), token);
            if let Some(count) = instance_fields.get_mut((*owner as usize).wrapping_sub(1)) {
                *count += 1;
            }
        }
    }
    for (rid, count) in (1..).zip(instance_fields).filter(|(rid, _)| is_enum(*rid)) {
        let row = at(&model.types, rid);
        context.require(row.is_none_or(|row| row.is_sealed()), rule!("II.22.37-33a"), type_token(rid));
        context.require(count == 1, rule!("II.22.37-33h"), type_token(rid));
    }
    for (owner, rid) in model.method_owners.iter().zip(1..) {
        context.require(!is_enum(*owner), rule!("II.22.37-33b"), Token::new(Table::MethodDef, rid));
    }
    for (token, row) in context.rows::<InterfaceImpl>() {
        context.require(!is_enum(row.class.get()), rule!("II.22.37-33c"), token);
    }
    for (table, owners) in [(Table::Event, &model.event_owners), (Table::Property, &model.property_owners)] {
        for (owner, rid) in owners.iter().zip(1..) {
            context.require(!is_enum(*owner), rule!("II.22.37-33d"), Token::new(table, rid));
        }
    }
}

/// The integers of the standard, and the other types that the CLR accepts: bool, char, floats, native integers.
fn is_primitive(context: &Context<'_>, row: &Field) -> bool {
    let Ok(Signature::Field(TypeSig::Element(element))) = signatures::parse(context, row.signature) else { return false };
    element.is_primitive()
}

/// Rule 12: chains of base types have an end.
fn check_loops(context: &Context<'_>) {
    let model = context.model;
    let bases: Vec<u32> = (model.types.iter())
        .map(|row| row.extends.token().and_then(|base| model.definition(context.metadata, base)).map_or(0, Rid::get))
        .collect();
    for rid in on_cycles(&bases) {
        context.report(rule!("II.22.37-12"), type_token(rid), "");
    }
}

/// The rows on cycles of a table in which each row leads to another, or to none (0).
pub(crate) fn on_cycles(next: &[u32]) -> Vec<u32> {
    // The number of the walk that reached each row first.
    let mut walks = vec![0; next.len()];
    let mut found = Vec::new();
    for start in 1..=next.len() as u32 {
        let mut rid = start;
        while let Some(walk) = walks.get_mut((rid as usize).wrapping_sub(1)) {
            if *walk == start {
                let mut on_cycle = rid;
                loop {
                    found.push(on_cycle);
                    on_cycle = at(next, on_cycle).unwrap_or(rid);
                    if on_cycle == rid {
                        break;
                    }
                }
            }
            if *walk != 0 {
                break;
            }
            *walk = start;
            rid = at(next, rid).unwrap_or(0);
        }
    }
    found
}

/// Rule 34, and those of NestedClass.
fn check_nesting(context: &Context<'_>) {
    let model = context.model;
    for ((row, outer), rid) in model.types.iter().zip(&model.enclosing).zip(1..) {
        let is_nested = row.visibility() > type_attributes::PUBLIC;
        if is_nested == outer.is_none() {
            context.report(rule!("II.22.37-34"), type_token(rid), "");
        }
    }
    let enclosing: Vec<u32> = model.enclosing.iter().map(|outer| outer.get()).collect();
    for rid in on_cycles(&enclosing) {
        context.report(rule!("II.22.32-a"), type_token(rid), "");
    }
    let rows = || context.rows::<NestedClass>().map(|(token, row)| (token, (row.nested_class.get(), row.enclosing_class.get())));
    let again: BTreeSet<Token> = context.duplicates(rows()).into_iter().map(|(token, _)| token).collect();
    context.require_unique(rule!("II.22.32-4"), rows());
    let others = rows().filter(|(token, _)| !again.contains(token)).map(|(token, (nested, _))| (token, nested));
    context.require_unique(rule!("II.22.32-5"), others);
}

/// II.22.23.
fn check_interfaces(context: &Context<'_>) {
    for (token, row) in context.rows::<InterfaceImpl>() {
        let interface = row.interface.token().and_then(|token| context.model.definition(context.metadata, token));
        let is_well = interface.is_none_or(|rid| context.model.kind(rid.get()) == TypeKind::Interface);
        context.require(is_well, rule!("II.22.23-3c"), token);
    }
}

/// Rules 29 and 30.
fn check_duplicates(context: &Context<'_>) {
    let keys = |nested: bool| {
        let rows = context.model.types.iter().zip(&context.model.enclosing).zip(1..);
        rows.filter(move |((_, outer), _)| outer.is_none() != nested)
            .map(move |((row, outer), rid)| (type_token(rid), (outer.get(), context.name(row.namespace), context.name(row.name))))
    };
    context.require_unique(rule!("II.22.37-29"), keys(false));
    context.require_unique(rule!("II.22.37-30"), keys(true));
}
