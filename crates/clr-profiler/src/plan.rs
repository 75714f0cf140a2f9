//! Plans to read values of types: made once from metadata and runtime queries, and used in each call.

use std::collections::HashMap;

use ecma335::{
    Rid, Table, Token,
    element::ElementType,
    schema::{Constant, CustomAttribute, Field as FieldRow, TypeDef},
    signature::{Signature, TypeSig},
};
use profile_format::{UnreadReason, ValueKind};

use crate::{
    descriptions,
    info::{FieldOffset, Id, Layout, Runtime},
    resolve::{Arguments, Modules},
    types::{NamedType, Type},
};

/// A plan to read a value of a type from memory.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Bytes copied unchanged, after a byte for their kind.
    Plain {
        kind: u8,
        size: usize,
    },
    Decimal,
    /// The number of its type, and the plain element type of its values.
    Enum {
        number: u32,
        element: u8,
        size: usize,
    },
    /// The address of an object.
    Reference,
    /// A flag, and the value at an offset.
    Nullable {
        value_at: usize,
        size: usize,
        of: Box<Plan>,
    },
    /// The number of its type, and its fields; no fields if they are unknown.
    Struct {
        number: u32,
        size: Option<usize>,
        fields: Option<Box<[Field]>>,
    },
    /// The address of a value.
    ByRef(Box<Plan>),
    /// The value cannot be read; its size, if known.
    Unread {
        reason: UnreadReason,
        size: Option<usize>,
    },
}

/// A field of an object or a value.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) plan: Plan,
    /// The number of additional levels to show: for fields that hold a collection's elements, or a number's digits.
    pub(crate) deeper: usize,
}

/// A plan to read objects of a class.
#[derive(Debug)]
pub(crate) enum Class {
    String,
    /// A value at an offset.
    Boxed {
        at: usize,
        plan: Plan,
    },
    Array {
        number: u32,
        rank: usize,
        size: usize,
        element: Plan,
    },
    Object {
        number: u32,
        fields: Box<[Field]>,
    },
    /// A type, with the location of its class.
    Type {
        at: usize,
    },
    Unknown,
}

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

impl Plan {
    /// The size of the value as an argument or field; `None` if unknown.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Self::Plain { size, .. } | Self::Enum { size, .. } | Self::Nullable { size, .. } => Some(*size),
            Self::Decimal => Some(16),
            Self::Reference | Self::ByRef(_) => Some(POINTER),
            Self::Struct { size, .. } | Self::Unread { size, .. } => *size,
        }
    }
}

/// The plans and descriptions of types so far.
pub(crate) struct Plans {
    runtime: Runtime,
    pub(crate) modules: Modules,
    numbers: HashMap<Type, u32>,
    /// Layouts of values, by their types with `object` for all references.
    layouts: HashMap<Type, Layout>,
}

impl Plans {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, modules: Modules::new(runtime), numbers: HashMap::new(), layouts: HashMap::new() }
    }

    /// A module is unloaded: discards everything about its types.
    pub(crate) fn forget(&mut self, module: Id) {
        self.modules.remove(module);
        self.numbers.clear();
        self.layouts.clear();
    }

    pub(crate) fn keep_layout(&mut self, of: Type, layout: Layout) {
        self.layouts.insert(of, layout);
    }

    /// Whether the layout of a value must be queried and was not yet.
    pub(crate) fn needs_layout(&mut self, of: &Type) -> bool {
        let Type::Named(named) = of else { return false };
        named.is_value
            && named.definition.is_some()
            && well_known(&named.name).is_none()
            && self.underlying(named).is_none()
            && !self.layouts.contains_key(of)
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

    /// The plan for values of a type; with its fields, if requested.
    pub(crate) fn plan(&mut self, of: &Type, with_fields: bool) -> Plan {
        match of {
            Type::Element(element) => plain(*element),
            Type::ByRef(to) => Plan::ByRef(Box::new(self.plan(to, with_fields))),
            Type::Pointer(_) | Type::Function(_) => Plan::Plain { kind: ValueKind::Pointer.number(), size: POINTER },
            Type::Unknown(_) => Plan::Unread { reason: UnreadReason::UnknownType, size: None },
            Type::Array(..) => Plan::Reference,
            Type::Named(named) if !named.is_value => Plan::Reference,
            Type::Named(named) => {
                if let Some(known) = well_known(&named.name) {
                    return known;
                }
                if let Some(element) = self.underlying(named) {
                    let Plan::Plain { kind, size } = plain(element) else {
                        return Plan::Unread { reason: UnreadReason::UnknownType, size: None };
                    };
                    return Plan::Enum { number: self.number(of), element: kind, size };
                }
                let layout = self.layouts.get(&of.canonical()).cloned();
                if let Some(argument) = of.nullable() {
                    return self.nullable(argument, layout.as_ref(), with_fields);
                }
                let number = self.number(of);
                let fields = layout.as_ref().filter(|_| with_fields);
                let fields = fields.map(|layout| self.fields(named, &layout.fields).into_boxed_slice());
                Plan::Struct { number, size: layout.map(|layout| layout.size), fields }
            }
        }
    }

    fn nullable(&mut self, of: &Type, layout: Option<&Layout>, with_fields: bool) -> Plan {
        let plan = self.plan(of, with_fields);
        // Its fields are the flag and the value, in this order.
        let known = layout.and_then(|layout| Some((layout.fields.get(1)?.offset as usize, layout.size)));
        let aligned = || match plan {
            Plan::Plain { size, .. } | Plan::Enum { size, .. } if size <= POINTER => Some((size, 2 * size)),
            _ => None,
        };
        match known.or_else(aligned) {
            Some((value_at, size)) => Plan::Nullable { value_at, size, of: Box::new(plan) },
            None => Plan::Unread { reason: UnreadReason::UnknownLayout, size: None },
        }
    }

    /// The underlying type of an enum; `None` for other types.
    fn underlying(&mut self, named: &NamedType) -> Option<ElementType> {
        let (module, rid) = named.definition?;
        let loaded = self.modules.get(module)?;
        let metadata = &loaded.metadata;
        let base = metadata.row(rid).ok()?.extends.token()?;
        let name = match base.table()? {
            Table::TypeRef => metadata.type_ref_name(base.rid_in()?).ok()?,
            _ => metadata.full_names().of(base.rid_in()?).ok()?,
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
            let plan = self.plan(&of, false);
            fields.push(Field { offset, plan, deeper: deeper(&named.name, &name) });
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
        let layout = self.layouts.get(&of.canonical()).cloned().unwrap_or_default();
        let names = |plans: &mut Self| match of {
            Type::Named(named) => plans.named_fields(named, &layout.fields).into_iter().map(|((name, _), _)| name).collect(),
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
            Some((is_flags, members)) => descriptions::members(number, &of.to_string(), is_flags, &members),
            None => {
                let fields = fields(self);
                descriptions::fields(number, &of.to_string(), &fields);
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

    /// The plan for objects of a class.
    pub(crate) fn class(&mut self, class: Id) -> Class {
        let of = self.modules.type_of_class(class);
        match &of {
            Type::Element(ElementType::String) => Class::String,
            Type::Array(element, rank) => self.array(class, &of, element, *rank as usize),
            Type::Element(ElementType::Object) => Class::Object { number: self.number(&of), fields: Box::default() },
            Type::Element(element) => match self.runtime.box_layout(class) {
                Some(at) => Class::Boxed { at, plan: plain(*element) },
                None => Class::Unknown,
            },
            Type::Named(named) if named.is_value => match self.runtime.box_layout(class) {
                Some(at) => {
                    self.learn(&of, class);
                    Class::Boxed { at, plan: self.plan(&of, true) }
                }
                None => Class::Unknown,
            },
            Type::Named(_) => self.object(class, &of),
            _ => Class::Unknown,
        }
    }

    /// Queries the layout of a value whose class is known.
    pub(crate) fn learn(&mut self, of: &Type, class: Id) {
        let canonical = of.canonical();
        if self.needs_layout(&canonical)
            && let Some(layout) = self.runtime.class_layout(class)
        {
            self.layouts.insert(canonical, layout);
        }
    }

    fn array(&mut self, class: Id, of: &Type, element: &Type, rank: usize) -> Class {
        if let Some((_, element_class, _)) = self.runtime.array_class(class) {
            self.learn(element, element_class);
        }
        let plan = self.plan(element, true);
        let size = plan.size().unwrap_or_default();
        Class::Array { number: self.number(of), rank: rank.max(1), size, element: plan }
    }

    /// The fields of an object: its own first, then those of its base classes.
    fn object(&mut self, class: Id, of: &Type) -> Class {
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
            return Class::Type { at: *at };
        }
        let deeper: Vec<usize> = names.iter().map(|field| deeper(name, field)).collect();
        let number = self.numbered(of, |_| names);
        let fields = types.iter().zip(offsets).zip(deeper);
        let fields = fields.map(|((of, offset), deeper)| Field { offset, plan: self.plan(of, false), deeper }).collect();
        Class::Object { number, fields }
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
    pub(crate) fn load(&self, runtime: Runtime) -> Option<Id> {
        let arguments = self.arguments.iter().map(|argument| argument.load(runtime)).collect::<Option<Vec<_>>>()?;
        runtime.load_class(self.module, self.token, &arguments)
    }
}

/// The plans for types that need no description.
fn well_known(name: &str) -> Option<Plan> {
    Some(match name {
        "System.Decimal" => Plan::Decimal,
        "System.DateTime" => Plan::Plain { kind: ValueKind::DateTime.number(), size: 8 },
        "System.TimeSpan" => Plan::Plain { kind: ValueKind::TimeSpan.number(), size: 8 },
        "System.Guid" => Plan::Plain { kind: ValueKind::Guid.number(), size: 16 },
        _ => return None,
    })
}

fn plain(element: ElementType) -> Plan {
    use ElementType as E;
    let size = match element {
        E::String | E::Object => return Plan::Reference,
        E::Boolean | E::I1 | E::U1 => 1,
        E::Char | E::I2 | E::U2 => 2,
        E::I4 | E::U4 | E::R4 => 4,
        E::I8 | E::U8 | E::R8 => 8,
        E::I | E::U => POINTER,
        E::TypedByRef => return Plan::Unread { reason: UnreadReason::TypedReference, size: Some(2 * POINTER) },
        _ => return Plan::Unread { reason: UnreadReason::UnknownType, size: None },
    };
    Plan::Plain { kind: element as u8, size }
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
