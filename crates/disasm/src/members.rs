//! Members of types: fields, methods, properties, events (II.15 to II.18).

use std::{borrow::Cow, collections::BTreeMap};

use ecma335::{
    Error, ErrorKind, Result, Rid, Rva, Table, Token,
    element::ElementType,
    flags::{
        event_attributes, field_attributes, method_attributes, method_impl_attributes, method_semantics_attributes,
        param_attributes, pinvoke_attributes, property_attributes,
    },
    schema::{self, Event, Field, MethodDef, MethodImpl, MethodSemantics, Param, Property, TypeDef},
    signature::{MethodSig, Signature, TypeSig},
};

use super::{
    bodies, flags, generics,
    lines::{Lines, listed},
    marshal::marshal,
    names::Names,
    printer::Printer,
    security, values,
};
use crate::quote;
use sha2::{Digest as _, Sha256};

/// Prints a field (II.16).
pub fn field(printer: &mut Printer<'_, '_, '_>, rid: Rid<Field>, lines: &mut Lines) {
    let names = printer.names;
    let token = Token::new(Table::Field, rid.get());
    match field_line(printer, rid) {
        Ok(line) => {
            let tokens = if printer.options.tokens { format!("  // {token}") } else { String::new() };
            lines.line(format_args!("{line}{tokens}"));
            values::attributes(names, token, lines);
        }
        Err(error) => lines.comment(format_args!("field {token}: {error}")),
    }
}

fn field_line(printer: &mut Printer<'_, '_, '_>, rid: Rid<Field>) -> Result<String> {
    let names = printer.names;
    let token = Token::new(Table::Field, rid.get());
    let row = names.metadata.row(rid)?;
    let name = names.metadata.name(row.name)?;
    let signature = match Signature::parse(names.metadata.blobs.blob(row.signature)?)? {
        Signature::Field(signature) => signature,
        _ => return Err(Error::new(ErrorKind::Malformed("not a field's signature"))),
    };
    let offset = names.by_parent.offsets.first(names.metadata, rid.get());
    let offset = offset.map(|row: schema::FieldLayout| format!("[{}] ", row.offset)).unwrap_or_default();
    let mut tail = constant(names, token)?;
    if let Some(data) = names.by_parent.data.first::<schema::FieldRva>(names.metadata, rid.get()) {
        if let Some(size) = size_of(names, &signature) {
            let known = printer.data.entry(data.rva).or_default();
            *known = size.max(*known);
            let size = *known;
            tail = match printer.options.position_independent && !printer.options.stable {
                true => " at data".into(),
                false => format!(" at {}", data_label(printer, data.rva, size)),
            };
        } else if printer.options.position_independent {
            tail = " /* at data of a size that is not known */".into();
        } else {
            tail = format!(" /* at RVA {:#x}: the size of its type is not known */", data.rva);
        }
    }
    let words = flags::words(row.flags.into(), field_attributes::LIST);
    let name = names.alias(token).map_or_else(|| quote::name(&name), Cow::Owned);
    Ok(format!(".field {offset}{words}{}{} {name}{tail}", marshal(names, token), names.type_text(&signature)))
}

/// ` = int32(5)`, or empty.
fn constant(names: &Names<'_, '_>, owner: Token) -> Result<String> {
    match names.by_parent.constants.first::<schema::Constant>(names.metadata, owner.0) {
        Some(row) => Ok(format!(" = {}", values::constant(names, &row)?)),
        None => Ok(String::new()),
    }
}

/// The label of data at an address. A stable label depends on the content, not on the address.
pub fn data_label(printer: &Printer<'_, '_, '_>, rva: u32, size: u32) -> String {
    let bytes = printer.names.image.cursor_at(Rva(rva)).and_then(|mut cursor| cursor.bytes(size as usize));
    match bytes {
        Ok(bytes) if printer.options.stable => {
            format!("D_{}", hex::encode(Sha256::digest(bytes)).get(..16).unwrap_or_default())
        }
        _ => format!("D_{rva:08x}"),
    }
}

/// The size of a field's data in bytes. None if only another assembly defines it (II.16.3).
fn size_of(names: &Names<'_, '_>, signature: &TypeSig) -> Option<u32> {
    match signature {
        TypeSig::Element(element) => match element {
            ElementType::Boolean | ElementType::I1 | ElementType::U1 => Some(1),
            ElementType::Char | ElementType::I2 | ElementType::U2 => Some(2),
            ElementType::I4 | ElementType::U4 | ElementType::R4 => Some(4),
            ElementType::I8 | ElementType::U8 | ElementType::R8 => Some(8),
            _ => None,
        },
        TypeSig::Named { is_value: true, token } => {
            let rid: Rid<TypeDef> = token.token()?.rid_in()?;
            let layout: schema::ClassLayout = names.by_parent.layouts.first(names.metadata, rid.get())?;
            (layout.class_size > 0).then_some(layout.class_size)
        }
        TypeSig::Modified { inner, .. } => size_of(names, inner),
        TypeSig::Ptr(_) | TypeSig::FnPtr(_) => Some(if names.image.is_pe32_plus() { 8 } else { 4 }),
        _ => None,
    }
}

/// Prints the data of the fields printed so far (II.16.3.1).
pub fn data(printer: &mut Printer<'_, '_, '_>, lines: &mut Lines) {
    for (rva, size) in std::mem::take(&mut printer.data) {
        if !printer.printed.insert(rva) {
            continue;
        }
        let bytes = printer.names.image.cursor_at(Rva(rva)).and_then(|mut cursor| cursor.bytes(size as usize));
        match bytes {
            Ok(bytes) => lines.line(format_args!(".data {} = {}", data_label(printer, rva, size), quote::bytearray(bytes))),
            Err(error) => {
                lines.comment(error);
                lines.line(format_args!(".data {} = int8[{size}]", data_label(printer, rva, size)));
            }
        }
    }
}

/// Prints a method with its body (II.15).
pub fn method(printer: &mut Printer<'_, '_, '_>, owner: Rid<TypeDef>, rid: Rid<MethodDef>, lines: &mut Lines) {
    let names = printer.names;
    names.enter_method(rid);
    let Some(row) = method_head(printer, owner, rid, lines) else { return };
    if printer.options.offsets && row.rva != 0 {
        lines.comment(format_args!("RVA {}", Rva(row.rva)));
    }
    match names.body(&row) {
        Some(_) if !row.has_il_body() => lines.comment(format_args!("native code at RVA {}", Rva(row.rva))),
        Some(Ok(body)) => {
            if printer.options.offsets {
                lines.comment(format_args!("code size {} ({:#x})", body.il.len(), body.il.len()));
            }
            let debug = printer.debug.map(|debug| debug.method(rid)).unwrap_or_default();
            bodies::print(names, &body, &debug, printer.options, lines);
        }
        Some(Err(error)) => lines.comment(format_args!("its body cannot be read: {error}")),
        None => {}
    }
    let name = names.metadata.name(row.name).unwrap_or_default();
    let owner = if names.is_module_type(owner) { String::new() } else { format!("{}::", names.plain_type_name(owner)) };
    lines.close_with(format_args!("end of method {owner}{name}"));
    lines.blank();
    names.leave_method();
}

/// Prints a method without its body and closing brace. None if its row cannot be read.
pub fn method_head(
    printer: &Printer<'_, '_, '_>,
    owner: Rid<TypeDef>,
    rid: Rid<MethodDef>,
    lines: &mut Lines,
) -> Option<MethodDef> {
    let names = printer.names;
    let token = Token::new(Table::MethodDef, rid.get());
    let (row, name, signature) = match names.metadata.row(rid).and_then(|row| Ok((row, names.method_signature(token)?))) {
        Ok((row, (name, signature))) => (row, name, signature),
        Err(error) => {
            lines.comment(format_args!("method {token}: {error}"));
            return None;
        }
    };
    let params = params(names, rid);
    let tokens = if printer.options.tokens { format!("  // {token}") } else { String::new() };
    lines.line(format_args!("{}{tokens}", method_line(names, token, &row, &name, &signature, &params)));
    lines.open();
    values::attributes(names, token, lines);
    generics::attributes(names, token, lines);
    security::permissions(names, token, lines);
    for (number, (param, _)) in &params {
        let token = Token::new(Table::Param, param.get());
        let has_attributes = values::texts(names, token).next().is_some();
        match constant(names, token) {
            Ok(constant) if constant.is_empty() && !has_attributes => {}
            Ok(_) if *number as usize > signature.params.len() => lines.comment(format_args!(".param [{number}]: there is none")),
            Ok(constant) => {
                lines.line(format_args!(".param [{number}]{constant}"));
                values::attributes(names, token, lines);
            }
            Err(error) => lines.comment(format_args!(".param [{number}]: {error}")),
        }
    }
    overrides(names, owner, token, lines);
    if names.image.cli_header().entry_point_token() == Some(token) {
        lines.line(".entrypoint");
    }
    Some(row)
}

/// The Param rows of a method by their sequence; 0 is the return value (II.22.33).
fn params(names: &Names<'_, '_>, rid: Rid<MethodDef>) -> BTreeMap<u16, (Rid<Param>, Param)> {
    let rows = names.metadata.children::<_, Param>(rid);
    rows.filter_map(|rid| names.metadata.row(rid).ok().map(|row: Param| (row.sequence, (rid, row)))).collect()
}

/// `.method public hidebysig instance int32 Add(int32 value) cil managed`
fn method_line(
    names: &Names<'_, '_>,
    token: Token,
    row: &MethodDef,
    name: &str,
    signature: &MethodSig,
    params: &BTreeMap<u16, (Rid<Param>, Param)>,
) -> String {
    let import: Option<schema::ImplMap> = names.by_parent.imports.first(names.metadata, token.0);
    let import = import.map(|import| pinvoke(names, &import, name)).unwrap_or_default();
    // The signature's words without its parameters. Those are printed here, with their names.
    let conventions = {
        let bare = MethodSig {
            return_type: TypeSig::Element(ElementType::Void),
            params: Vec::new(),
            sentinel: None,
            ..signature.clone()
        };
        bare.display(names).to_string().trim_end_matches("void ()").to_owned()
    };
    let result = params.get(&0);
    let result_words = result.map(|(_, row)| attributes_of(row)).unwrap_or_default();
    let result_marshal = result.map(|(rid, _)| marshal(names, Token::new(Table::Param, rid.get()))).unwrap_or_default();
    let param = |(index, each): (usize, &TypeSig)| {
        let text = names.type_text(each);
        let Some((rid, row)) = u16::try_from(index + 1).ok().and_then(|number| params.get(&number)) else { return text };
        let name = names.metadata.name(row.name).unwrap_or_default();
        let name = if name.is_empty() { String::new() } else { format!(" {}", quote::name(&name)) };
        let marshal = marshal(names, Token::new(Table::Param, rid.get()));
        let marshal = if marshal.is_empty() { marshal } else { format!(" {}", marshal.trim_end()) };
        format!("{}{text}{marshal}{name}", attributes_of(row))
    };
    let types = listed(signature.params.iter().enumerate().map(param));
    format!(
        ".method {}{import}{conventions}{result_words}{} {result_marshal}{}{} ({}) {}",
        flags::words(row.flags.into(), method_attributes::LIST),
        names.type_text(&signature.return_type),
        names.alias(token).map_or_else(|| quote::method(name), Cow::Owned),
        generics::list(names, token),
        types.join(", "),
        impl_words(names, row).trim_end()
    )
}

fn impl_words(names: &Names<'_, '_>, row: &MethodDef) -> String {
    names.ilasm.flags(flags::words(row.impl_flags.into(), method_impl_attributes::LIST))
}

fn attributes_of(row: &Param) -> String {
    flags::words(row.flags.into(), param_attributes::LIST)
}

/// `pinvokeimpl("c" as "puts" winapi) ` (II.15.5.2)
fn pinvoke(names: &Names<'_, '_>, import: &schema::ImplMap, method: &str) -> String {
    let module = names.metadata.row(import.import_scope).and_then(|row| names.metadata.name(row.name)).unwrap_or_default();
    let name = names.metadata.name(import.import_name).unwrap_or_default();
    let alias = if name == method { String::new() } else { format!(" as {}", quote::text(&name)) };
    let words = flags::words(import.flags.into(), pinvoke_attributes::LIST);
    format!("pinvokeimpl({}{alias} {}) ", quote::text(&module), words.trim_end())
}

/// Prints the methods that a method overrides according to MethodImpl rows (II.10.3.2).
fn overrides(names: &Names<'_, '_>, owner: Rid<TypeDef>, method: Token, lines: &mut Lines) {
    let rows = names.by_parent.overrides.children::<MethodImpl>(owner.get());
    for row in rows.filter_map(|rid| names.metadata.row(rid).ok()).filter(|row| row.body.token() == Some(method)) {
        match names.open_method(row.declaration.token().unwrap_or_default()) {
            Ok(declaration) => lines.line(format_args!(".override method {declaration}")),
            Err(error) => lines.comment(format_args!(".override: {error}")),
        }
    }
}

/// Prints a type's properties (II.17).
pub fn properties(printer: &Printer<'_, '_, '_>, owner: Rid<TypeDef>, lines: &mut Lines) {
    properties_of(printer.names, owner).into_iter().for_each(|rid| property(printer, rid, lines));
}

/// The properties of a type.
pub fn properties_of(names: &Names<'_, '_>, owner: Rid<TypeDef>) -> Vec<Rid<Property>> {
    let maps = names.by_parent.properties.children::<schema::PropertyMap>(owner.get());
    maps.flat_map(|map| names.metadata.children(map)).collect()
}

/// Prints a property.
pub fn property(printer: &Printer<'_, '_, '_>, rid: Rid<Property>, lines: &mut Lines) {
    let token = Token::new(Table::Property, rid.get());
    match property_line(printer.names, rid) {
        Ok(line) => feature(printer, token, &line, lines),
        Err(error) => lines.comment(format_args!("property {token}: {error}")),
    }
}

fn property_line(names: &Names<'_, '_>, rid: Rid<Property>) -> Result<String> {
    let row = names.metadata.row(rid)?;
    let name = names.metadata.name(row.name)?;
    let words = flags::words(row.flags.into(), property_attributes::LIST);
    let constant = constant(names, Token::new(Table::Property, rid.get()))?;
    let Signature::Property(signature) = Signature::parse(names.metadata.blobs.blob(row.signature)?)? else {
        return Err(Error::new(ErrorKind::Malformed("not a property's signature")));
    };
    let instance = if signature.has_this { "instance " } else { "" };
    let params: Vec<String> = signature.params.iter().map(|param| names.type_text(param)).collect();
    let text = names.type_text(&signature.property_type);
    Ok(format!(".property {words}{instance}{text} {}({}){constant}", quote::dotted(&name), params.join(", ")))
}

/// Prints a type's events (II.18).
pub fn events(printer: &Printer<'_, '_, '_>, owner: Rid<TypeDef>, lines: &mut Lines) {
    events_of(printer.names, owner).into_iter().for_each(|rid| event(printer, rid, lines));
}

/// The events of a type.
pub fn events_of(names: &Names<'_, '_>, owner: Rid<TypeDef>) -> Vec<Rid<Event>> {
    let maps = names.by_parent.events.children::<schema::EventMap>(owner.get());
    maps.flat_map(|map| names.metadata.children(map)).collect()
}

/// Prints an event.
pub fn event(printer: &Printer<'_, '_, '_>, rid: Rid<Event>, lines: &mut Lines) {
    let token = Token::new(Table::Event, rid.get());
    match event_line(printer.names, rid) {
        Ok(line) => feature(printer, token, &line, lines),
        Err(error) => lines.comment(format_args!("event {token}: {error}")),
    }
}

fn event_line(names: &Names<'_, '_>, rid: Rid<Event>) -> Result<String> {
    let row = names.metadata.row(rid)?;
    let name = names.metadata.name(row.name)?;
    let words = flags::words(row.flags.into(), event_attributes::LIST);
    let kind = match row.event_type.token().filter(|token| token.rid() != 0) {
        Some(token) => names.type_ref(token)? + " ",
        None => String::new(),
    };
    Ok(format!(".event {words}{kind}{}", quote::dotted(&name)))
}

/// Prints a property or event: its line, its attributes, its methods.
fn feature(printer: &Printer<'_, '_, '_>, token: Token, line: &str, lines: &mut Lines) {
    let names = printer.names;
    let tokens = if printer.options.tokens { format!("  // {token}") } else { String::new() };
    lines.line(format_args!("{line}{tokens}"));
    lines.open();
    values::attributes(names, token, lines);
    let rows = names.by_parent.accessors.children::<MethodSemantics>(token.0);
    let mut rows: Vec<MethodSemantics> = rows.filter_map(|rid| names.metadata.row(rid).ok()).collect();
    if printer.options.position_independent {
        rows.sort_by_key(|row| row.semantics);
    }
    for row in rows {
        let words = flags::words(row.semantics.into(), method_semantics_attributes::LIST);
        match names.method(Token::new(Table::MethodDef, row.method.get())) {
            Ok(method) => lines.line(format_args!("{words}{method}")),
            Err(error) => lines.comment(format_args!("{words}{error}")),
        }
    }
    lines.close();
}
