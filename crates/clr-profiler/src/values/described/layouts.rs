//! Layouts of values and objects: found once from metadata and queries of the runtime, and used in each call.

use std::collections::HashMap;

use ecma335::{
    Rid, Table, Token,
    element::ElementType,
    schema::{Constant, CustomAttribute, Field as FieldRow, TypeDef},
    signature::{Signature, TypeSig},
};
use profile_format::{UnreadReason, ValueKind};

use super::{
    resolve::{Arguments, Modules},
    types::{NamedType, Type},
};
use crate::{
    abi::runtime::{FieldLayout, FieldOffset, Id, Runtime},
    file::descriptions,
    function::{Field, ObjectLayout, ValueLayout},
    worlds::InCallback,
};

/// Additional levels for fields, by declaring type, for an array's elements and the elements' fields.
const DEEPER: [(&str, &str, usize); 4] = [
    ("System.Collections.Generic.List`1", "_items", 1),
    ("System.Collections.Generic.Dictionary`2", "_entries", 2),
    ("System.Collections.Generic.Dictionary`2", "entries", 2),
    ("System.Numerics.BigInteger", "_bits", 1),
];

fn deeper(of: &str, field: &str) -> usize {
    DEEPER.iter().find(|(ty, name, _)| *ty == of && *name == field).map_or(0, |(.., levels)| *levels)
}

/// The maximum number of fields that are read.
const MAX_FIELDS: usize = 16;
const POINTER: usize = size_of::<usize>();

/// The layouts and descriptions of types so far.
pub(crate) struct Layouts {
    runtime: Runtime,
    pub(crate) modules: Modules,
    numbers: HashMap<Type, u32>,
    /// Those of spans, whose descriptions differ from their fields.
    span_numbers: HashMap<Type, u32>,
    /// The fields of values, by their types with `object` for all references.
    fields: HashMap<Type, FieldLayout>,
}

impl Layouts {
    pub(crate) fn new(runtime: Runtime) -> Self {
        let (numbers, span_numbers) = (HashMap::new(), HashMap::new());
        Self { runtime, modules: Modules::new(runtime), numbers, span_numbers, fields: HashMap::new() }
    }

    /// A module is unloaded: discards everything about its types.
    pub(crate) fn forget_module(&mut self, module: Id) {
        self.modules.remove(module);
        self.numbers.clear();
        self.span_numbers.clear();
        self.fields.clear();
    }

    pub(crate) fn keep_layout(&mut self, of: Type, layout: FieldLayout) {
        self.fields.insert(of, layout);
    }

    /// Whether the layout of a value must be queried and was not yet.
    pub(crate) fn needs_layout(&mut self, of: &Type) -> bool {
        let Type::Named(named) = of else { return false };
        named.is_value
            && named.definition.is_some()
            && well_known(&named.name).is_none()
            && self.underlying(named).is_none()
            && !self.fields.contains_key(of)
    }

    /// The types to load for the layout of a value; `None` if a part of it is unknown.
    pub(crate) fn request(&mut self, of: &Type) -> Option<Request> {
        match of {
            Type::Element(element) => {
                let module = self.modules.core()?;
                let rid = self.modules.get(module)?.type_named(&Type::definition_of(*element)?)?;
                Some(Request { module, token: Token::new(Table::TypeDef, rid.get()).0, arguments: Vec::new() })
            }
            Type::Named(named) => {
                let (module, rid) = named.definition?;
                let arguments = named.arguments.iter().map(|argument| self.request(argument)).collect::<Option<_>>()?;
                Some(Request { module, token: Token::new(Table::TypeDef, rid.get()).0, arguments })
            }
            _ => None,
        }
    }

    /// How values of a type lie in memory; with their fields, if requested.
    pub(crate) fn value_layout(&mut self, of: &Type, with_fields: bool) -> ValueLayout {
        match of {
            Type::Element(element) => plain(*element),
            Type::ByRef(to) => ValueLayout::ByRef(Box::new(self.value_layout(to, with_fields))),
            Type::Pointer(_) | Type::Function(_) => ValueLayout::Plain { kind: ValueKind::Pointer.number(), size: POINTER },
            Type::Unknown(_) => ValueLayout::Unread { reason: UnreadReason::UnknownType, size: None },
            Type::Array(..) => ValueLayout::Reference,
            Type::Named(named) if !named.is_value => ValueLayout::Reference,
            Type::Named(named) => {
                if let Some(known) = well_known(&named.name) {
                    return known;
                }
                if let Some(element) = self.underlying(named) {
                    let ValueLayout::Plain { kind, size } = plain(element) else {
                        return ValueLayout::Unread { reason: UnreadReason::UnknownType, size: None };
                    };
                    return ValueLayout::Enum { number: self.number(of), element: kind, size };
                }
                let layout = self.fields.get(&of.canonical()).cloned();
                if let Some(argument) = of.nullable() {
                    return self.nullable(argument, layout.as_ref(), with_fields);
                }
                if let Some(span) = self.span(of, named, layout.as_ref()) {
                    return span;
                }
                let number = self.number(of);
                let fields = layout.as_ref().filter(|_| with_fields);
                let fields = fields.map(|layout| self.fields(named, &layout.fields).into_boxed_slice());
                ValueLayout::Struct { number, size: layout.map(|layout| layout.size), fields }
            }
        }
    }

    fn nullable(&mut self, of: &Type, layout: Option<&FieldLayout>, with_fields: bool) -> ValueLayout {
        let value = self.value_layout(of, with_fields);
        // Its fields are the flag and the value, in this order.
        let known = layout.and_then(|layout| Some((layout.fields.get(1)?.offset as usize, layout.size)));
        let aligned = || match value {
            ValueLayout::Plain { size, .. } | ValueLayout::Enum { size, .. } if size <= POINTER => Some((size, 2 * size)),
            _ => None,
        };
        match known.or_else(aligned) {
            Some((value_at, size)) => ValueLayout::Nullable { value_at, size, of: Box::new(value) },
            None => ValueLayout::Unread { reason: UnreadReason::UnknownLayout, size: None },
        }
    }

    /// The layout of a span; `None` for other types, and if it has other fields.
    fn span(&mut self, of: &Type, named: &NamedType, layout: Option<&FieldLayout>) -> Option<ValueLayout> {
        let (element, layout) = (of.span_element()?, layout?);
        if named.definition?.0 != self.modules.core()? {
            return None;
        }
        let fields = self.named_fields(named, &layout.fields);
        let offset = |names: &[&str]| {
            let field = fields.iter().find(|((name, _), _)| names.contains(&&**name));
            field.map(|(_, offset)| *offset)
        };
        // Before .NET 7, the reference is a struct of its own.
        let (reference_at, length_at) = (offset(&["_reference", "_pointer"])?, offset(&["_length"])?);
        let array = self.number(&Type::Array(Box::new(element.clone()), 1));
        let number = self.span_number(of);
        let element = Box::new(self.value_layout(element, false));
        Some(ValueLayout::Span { number, array, size: layout.size, reference_at, length_at, element })
    }

    fn span_number(&mut self, of: &Type) -> u32 {
        if let Some(number) = self.span_numbers.get(of) {
            return *number;
        }
        let number = descriptions::next_number();
        self.span_numbers.insert(of.clone(), number);
        descriptions::describe_fields(number, &of.to_string(), &["_length".to_owned(), "elements".to_owned()]);
        number
    }

    /// The underlying type of an enum; `None` for other types.
    fn underlying(&mut self, named: &NamedType) -> Option<ElementType> {
        let (module, rid) = named.definition?;
        let loaded = self.modules.get(module)?;
        let metadata = &loaded.metadata;
        let base = metadata.row(rid).ok()?.extends.token()?;
        let name = match base.table()? {
            Table::TypeRef => metadata.type_ref_name(base.rid_in()?).ok()?,
            _ => metadata.full_names().name_of(base.rid_in()?).ok()?,
        };
        if name != "System.Enum" {
            return None;
        }
        let instance = metadata.children::<TypeDef, FieldRow>(rid).filter_map(|field| metadata.row(field).ok());
        let signature =
            instance.filter(|field| !field.is_static()).find_map(|field| metadata.blobs.blob(field.signature).ok())?;
        match Signature::parse(signature).ok()? {
            Signature::Field(TypeSig::Element(element)) => Some(element),
            _ => None,
        }
    }

    /// The fields of a type that are in its layout.
    fn fields(&mut self, named: &NamedType, layout: &[FieldOffset]) -> Vec<Field> {
        let mut fields = Vec::new();
        for ((name, of), offset) in self.named_fields(named, layout) {
            let layout = self.value_layout(&of, false);
            fields.push(Field { offset, layout, deeper: deeper(&named.name, &name) });
        }
        fields
    }

    /// Like `fields`: names and types, with their offsets.
    fn named_fields(&mut self, named: &NamedType, layout: &[FieldOffset]) -> Vec<((String, Type), usize)> {
        let Some((module, _)) = named.definition else { return Vec::new() };
        let Some(loaded) = self.modules.get(module) else { return Vec::new() };
        let with = Arguments { of_type: named.arguments.clone(), of_method: Vec::new() };
        let mut fields = Vec::new();
        for field in layout.iter().take(MAX_FIELDS) {
            let row = Token(field.token).rid_in::<FieldRow>().and_then(|rid| loaded.metadata.row(rid).ok());
            let Some(row) = row else { continue };
            let signature = loaded.metadata.blobs.blob(row.signature).and_then(Signature::parse);
            let Ok(Signature::Field(signature)) = signature else { continue };
            let name = loaded.metadata.name(row.name).unwrap_or_default();
            fields.push(((name, self.modules.type_of(module, &signature, &with)), field.offset as usize));
        }
        fields
    }

    /// The number of a type in the profile. Writes its description first.
    fn number(&mut self, of: &Type) -> u32 {
        let layout = self.fields.get(&of.canonical()).cloned().unwrap_or_default();
        let names = |layouts: &mut Self| match of {
            Type::Named(named) => layouts.named_fields(named, &layout.fields).into_iter().map(|((name, _), _)| name).collect(),
            _ => Vec::new(),
        };
        self.numbered(of, names)
    }

    fn numbered(&mut self, of: &Type, fields: impl FnOnce(&mut Self) -> Vec<String>) -> u32 {
        if let Some(number) = self.numbers.get(of) {
            return *number;
        }
        let number = descriptions::next_number();
        self.numbers.insert(of.clone(), number);
        let members = match of {
            Type::Named(named) => self.members(named),
            _ => None,
        };
        match members {
            Some((is_flags, members)) => descriptions::describe_members(number, &of.to_string(), is_flags, &members),
            None => {
                let fields = fields(self);
                descriptions::describe_fields(number, &of.to_string(), &fields);
            }
        }
        number
    }

    /// The members of an enum, and whether it is a flags enum; `None` for other types.
    fn members(&mut self, named: &NamedType) -> Option<(bool, Vec<(i64, String)>)> {
        self.underlying(named)?;
        let (module, rid) = named.definition?;
        let loaded = self.modules.get(module)?;
        let metadata = &loaded.metadata;
        let fields: Vec<Rid<FieldRow>> = metadata.children::<TypeDef, FieldRow>(rid).collect();
        let mut members = Vec::new();
        for (_, row) in metadata.tables.rows::<Constant>() {
            let Some(field) = row.parent.token().and_then(Token::rid_in::<FieldRow>) else { continue };
            if !fields.contains(&field) {
                continue;
            }
            let name = metadata.row(field).and_then(|field| metadata.name(field.name));
            let value = metadata.blob(row.value).map(|bytes| number_of(row.kind, bytes));
            if let (Ok(name), Ok(value)) = (name, value) {
                members.push((value, name));
            }
        }
        let is_flags = metadata.tables.rows::<CustomAttribute>().any(|(_, row)| {
            row.parent.token().and_then(Token::rid_in::<TypeDef>) == Some(rid)
                && metadata.attribute_type_name(&row).as_deref() == Some("System.FlagsAttribute")
        });
        Some((is_flags, members))
    }

    /// How objects of a class lie in memory.
    pub(crate) fn object_layout(&mut self, class: Id) -> ObjectLayout {
        let of = self.modules.type_of_class(class);
        match &of {
            Type::Element(ElementType::String) => ObjectLayout::String,
            Type::Array(element, rank) => self.array(class, &of, element, *rank as usize),
            Type::Element(ElementType::Object) => ObjectLayout::Object { number: self.number(&of), fields: Box::default() },
            Type::Element(element) => match self.runtime.box_layout(class) {
                Some(at) => ObjectLayout::Boxed { at, layout: plain(*element) },
                None => ObjectLayout::Unknown,
            },
            Type::Named(named) if named.is_value => match self.runtime.box_layout(class) {
                Some(at) => {
                    self.learn(&of, class);
                    ObjectLayout::Boxed { at, layout: self.value_layout(&of, true) }
                }
                None => ObjectLayout::Unknown,
            },
            Type::Named(_) => self.object(class, &of),
            _ => ObjectLayout::Unknown,
        }
    }

    /// Queries the layout of a value whose class is known.
    pub(crate) fn learn(&mut self, of: &Type, class: Id) {
        let canonical = of.canonical();
        if self.needs_layout(&canonical)
            && let Some(layout) = self.runtime.class_layout(class)
        {
            self.fields.insert(canonical, layout);
        }
    }

    fn array(&mut self, class: Id, of: &Type, element: &Type, rank: usize) -> ObjectLayout {
        if let Some((_, element_class, _)) = self.runtime.array_class(class) {
            self.learn(element, element_class);
        }
        let element = self.value_layout(element, true);
        let size = element.size().unwrap_or_default();
        ObjectLayout::Array { number: self.number(of), rank: rank.max(1), size, element }
    }

    /// The fields of an object: its own first, then those of its base classes.
    fn object(&mut self, class: Id, of: &Type) -> ObjectLayout {
        let mut fields = Vec::new();
        let mut at = class;
        while at != 0 && fields.len() < MAX_FIELDS {
            let Some(place) = self.runtime.class(at) else { break };
            if let (Type::Named(named), Some(layout)) = (self.modules.type_of_class(at), self.runtime.class_layout(at)) {
                fields.extend(self.named_fields(&named, &layout.fields));
            }
            at = place.base;
        }
        fields.truncate(MAX_FIELDS);
        let (named, offsets): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        let (names, types): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        let name = match of {
            Type::Named(named) => named.name.as_str(),
            _ => "",
        };
        let handle = names.iter().position(|name| name == "m_handle").filter(|_| name == "System.RuntimeType");
        if let Some(at) = handle.and_then(|index| offsets.get(index)) {
            return ObjectLayout::Type { at: *at };
        }
        let deeper: Vec<usize> = names.iter().map(|field| deeper(name, field)).collect();
        let number = self.numbered(of, |_| names);
        let fields = types.iter().zip(offsets).zip(deeper);
        let fields =
            fields.map(|((of, offset), deeper)| Field { offset, layout: self.value_layout(of, false), deeper }).collect();
        ObjectLayout::Object { number, fields }
    }

    /// The number of the type of a class.
    pub(crate) fn number_of_class(&mut self, class: Id) -> u32 {
        let of = self.modules.type_of_class(class);
        self.number(&of)
    }
}

/// A type to load; its arguments are loaded first.
pub(crate) struct Request {
    module: Id,
    token: u32,
    arguments: Vec<Request>,
}

impl Request {
    /// Calls [`Runtime::load_class`].
    pub(crate) fn load(&self, may: InCallback, runtime: Runtime) -> Option<Id> {
        let arguments = self.arguments.iter().map(|argument| argument.load(may, runtime)).collect::<Option<Vec<_>>>()?;
        runtime.load_class(may, self.module, self.token, &arguments)
    }
}

/// The layouts of types that need no description.
fn well_known(name: &str) -> Option<ValueLayout> {
    Some(match name {
        "System.Decimal" => ValueLayout::Decimal,
        "System.DateTime" => ValueLayout::Plain { kind: ValueKind::DateTime.number(), size: 8 },
        "System.TimeSpan" => ValueLayout::Plain { kind: ValueKind::TimeSpan.number(), size: 8 },
        "System.Guid" => ValueLayout::Plain { kind: ValueKind::Guid.number(), size: 16 },
        _ => return None,
    })
}

fn plain(element: ElementType) -> ValueLayout {
    use ElementType as E;
    let size = match element {
        E::String | E::Object => return ValueLayout::Reference,
        E::Boolean | E::I1 | E::U1 => 1,
        E::Char | E::I2 | E::U2 => 2,
        E::I4 | E::U4 | E::R4 => 4,
        E::I8 | E::U8 | E::R8 => 8,
        E::I | E::U => POINTER,
        E::TypedByRef => return ValueLayout::Unread { reason: UnreadReason::TypedReference, size: Some(2 * POINTER) },
        _ => return ValueLayout::Unread { reason: UnreadReason::UnknownType, size: None },
    };
    ValueLayout::Plain { kind: element as u8, size }
}

/// The value of a constant of this element type (II.22.9).
fn number_of(element: u8, bytes: &[u8]) -> i64 {
    let mut word = [0; 8];
    let size = bytes.len().min(8);
    word[..size].copy_from_slice(&bytes[..size]);
    let number = i64::from_le_bytes(word);
    match ElementType::from_byte(element) {
        Some(ElementType::I1) => (number as i8).into(),
        Some(ElementType::I2) => (number as i16).into(),
        Some(ElementType::I4) => (number as i32).into(),
        _ => number,
    }
}
