//! Constant, CustomAttribute, FieldMarshal and DeclSecurity (II.22.9, II.22.10, II.22.17, II.22.11).

use ecma335::{
    ErrorKind, Table, Token,
    attribute::{AttributeTypes, AttributeValue},
    element::ElementType,
    schema::{Constant, CustomAttribute, DeclSecurity, FieldMarshal, MemberRef, TypeDef, TypeDefOrRef, TypeRef},
};

use crate::{
    context::Context,
    model::{at, is_system},
    rule::rule,
    signatures,
    tables::generics,
};

/// The last security action of .NET Framework.
const MAX_ACTION: u16 = 15;
/// The last native type that runtimes know. `NATIVE_TYPE_MAX` means that none is given.
const MAX_NATIVE_TYPE: u8 = 0x50;

pub(crate) fn check(context: &Context<'_>) {
    check_constants(context);
    check_attributes(context);
    check_marshalling(context);
    check_security(context);
}

fn check_constants(context: &Context<'_>) {
    for (token, row) in context.rows::<Constant>() {
        context.require(row.padding == 0, rule!("II.22.9-b"), token);
        let value = context.blob(row.value);
        let size = match ElementType::from_byte(row.kind) {
            Some(ElementType::Boolean | ElementType::I1 | ElementType::U1) => 1,
            Some(ElementType::Char | ElementType::I2 | ElementType::U2) => 2,
            Some(ElementType::I4 | ElementType::U4 | ElementType::R4) => 4,
            Some(ElementType::I8 | ElementType::U8 | ElementType::R8) => 8,
            // A string is UTF-16 of any length.
            Some(ElementType::String) => {
                context.require(value.len().is_multiple_of(2), rule!("II.22.9-a"), token);
                continue;
            }
            Some(ElementType::Class) => {
                context.require(value.iter().all(|byte| *byte == 0), rule!("II.22.9-1"), token);
                4
            }
            _ => {
                context.report(rule!("II.22.9-1"), token, format_args!("{:#x}", row.kind));
                continue;
            }
        };
        if value.len() != size {
            context.report(rule!("II.22.9-a"), token, format_args!("{} bytes instead of {size}", value.len()));
        }
    }
    context.require_unique(rule!("II.22.9-4"), context.rows::<Constant>().map(|(token, row)| (token, row.parent)));
}

fn check_attributes(context: &Context<'_>) {
    for (token, row) in context.rows::<CustomAttribute>() {
        let Some(constructor) = row.constructor.token().filter(|of| context.is_row(*of)) else { continue };
        let name = match constructor.table() {
            Some(Table::MethodDef) => at(&context.model.methods, constructor.rid()).map(|row| row.name),
            _ => context.metadata.row(ecma335::Rid::<MemberRef>::new(constructor.rid())).ok().map(|row| row.name),
        };
        let Some(signature) = generics::method_signature(context, constructor) else {
            context.report(rule!("II.22.10-3"), token, constructor);
            continue;
        };
        if name.is_none_or(|name| context.name(name) != b".ctor") {
            context.report(rule!("II.22.10-3"), token, constructor);
        }
        let Ok(blob) = context.metadata.blobs.blob(row.value) else { continue };
        // An attribute without arguments may have an empty value.
        if blob.is_empty() {
            continue;
        }
        match AttributeValue::parse(blob, &signature, &Types(context)) {
            Ok(_) => {}
            // The size of another assembly's enumeration is unknown.
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported(_)) => {}
            Err(error) => context.report(rule!("II.22.10-6"), token, format_args!("{constructor}: {error}")),
        }
    }
}

/// Resolves the enumerations of the module itself.
struct Types<'c>(&'c Context<'c>);

impl Types<'_> {
    fn underlying(&self, rid: u32) -> Option<ElementType> {
        signatures::underlying(self.0, rid)
    }
}

impl AttributeTypes for Types<'_> {
    fn enum_of(&self, token: TypeDefOrRef) -> Option<ElementType> {
        self.underlying(token.token()?.rid_in::<TypeDef>()?.get())
    }

    fn enum_named(&self, name: &str) -> Option<ElementType> {
        // A name without an assembly, or with this one, is of this module. Nested types are not searched.
        let context = self.0;
        let (namespace, name) = name.rsplit_once('.').unwrap_or(("", name));
        let is_it =
            |row: &TypeDef| context.name(row.name) == name.as_bytes() && context.name(row.namespace) == namespace.as_bytes();
        let index = context.model.types.iter().position(is_it)?;
        self.underlying(index as u32 + 1)
    }

    fn is_system_type(&self, token: TypeDefOrRef) -> bool {
        let context = self.0;
        match token.token().and_then(Token::rid_in::<TypeRef>) {
            // A valid argument of a class type other than object and string is a System.Type.
            Some(_) => true,
            None => is_system(context.metadata, token, b"Type"),
        }
    }
}

fn check_marshalling(context: &Context<'_>) {
    for (token, row) in context.rows::<FieldMarshal>() {
        match context.blob(row.native_type).first() {
            None => context.report(rule!("II.22.17-3"), token, ""),
            Some(native) if (1..=MAX_NATIVE_TYPE).contains(native) => {}
            Some(native) => context.report(rule!("II.22.17-5"), token, format_args!("{native:#x}")),
        }
    }
    context.require_unique(rule!("II.22.17-4"), context.rows::<FieldMarshal>().map(|(token, row)| (token, row.parent)));
}

fn check_security(context: &Context<'_>) {
    for (token, row) in context.rows::<DeclSecurity>() {
        if !(1..=MAX_ACTION).contains(&row.action) {
            context.report(rule!("II.22.11-1"), token, row.action);
        }
        if let Some(parent) = row.parent.token() {
            check_secured(context, token, parent);
        }
        let set = context.blob(row.permission_set);
        context.require(!set.is_empty(), rule!("II.22.11-6"), token);
        let is_known = set.is_empty() || matches!(set, [b'.', ..] | [b'<', 0, ..] | [0xFF, 0xFE, b'<', 0, ..]);
        context.require(is_known, rule!("II.22.11-7"), token);
    }
}

fn check_secured(context: &Context<'_>, token: Token, parent: Token) {
    match parent.table() {
        Some(Table::TypeDef) => {
            let Some(row) = at(&context.model.types, parent.rid()) else { return };
            context.require(row.has_security(), rule!("II.22.11-4"), token);
            context.require(!row.is_interface(), rule!("II.22.11-3"), token);
        }
        Some(Table::MethodDef) => {
            let Some(row) = at(&context.model.methods, parent.rid()) else { return };
            context.require(row.has_security(), rule!("II.22.11-5"), token);
        }
        _ => {}
    }
}
