//! Relations between the tables: the owner of each row, and the kind of each type.

use std::collections::BTreeMap;

use ecma335::{
    Metadata, Rid, Table, Token,
    lists::ListOwners,
    schema::{
        Constant, DeclSecurity, Event, EventMap, Field, FieldMarshal, FieldRva, ImplMap, MethodDef, Param, Property, PropertyMap,
        Row, TypeDef, TypeDefOrRef, TypeRef,
    },
    signature::TypeSig,
};

/// The kind of a type, given by its base type (II.22.37).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TypeKind {
    /// The pseudo type of the module's own members.
    Module,
    Class,
    Interface,
    Value,
    Enum,
    Delegate,
}

impl TypeKind {
    pub(crate) fn is_value(self) -> bool {
        matches!(self, Self::Value | Self::Enum)
    }
}

/// Relations between the tables. Vectors are indexed by row number minus one.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) types: Vec<TypeDef>,
    pub(crate) kinds: Vec<TypeKind>,
    pub(crate) enclosing: Vec<Rid<TypeDef>>,
    pub(crate) fields: Vec<Field>,
    pub(crate) methods: Vec<MethodDef>,
    pub(crate) params: Vec<Param>,
    /// The types that own fields, methods, events and properties, and the methods that own parameters. 0 stands for none.
    pub(crate) field_owners: Vec<u32>,
    pub(crate) method_owners: Vec<u32>,
    pub(crate) param_owners: Vec<u32>,
    pub(crate) event_owners: Vec<u32>,
    pub(crate) property_owners: Vec<u32>,
    /// The number of rows of these tables that a row owns.
    pub(crate) constants: BTreeMap<Token, u32>,
    pub(crate) marshals: BTreeMap<Token, u32>,
    pub(crate) rvas: BTreeMap<Token, u32>,
    pub(crate) imports: BTreeMap<Token, u32>,
    pub(crate) security: BTreeMap<Token, u32>,
}

impl Model {
    pub(crate) fn new(metadata: &Metadata<'_>) -> Self {
        let types: Vec<TypeDef> = all(metadata);
        let methods: Vec<MethodDef> = all(metadata);
        let kinds = types.iter().zip(1..).map(|(row, rid)| kind(metadata, row, rid)).collect();
        Self {
            kinds,
            enclosing: metadata.enclosing_types(),
            fields: all(metadata),
            params: all(metadata),
            field_owners: numbers(&metadata.owners::<TypeDef, Field>()),
            method_owners: numbers(&metadata.owners::<TypeDef, MethodDef>()),
            param_owners: numbers(&metadata.owners::<MethodDef, Param>()),
            event_owners: parents(metadata, &metadata.owners::<_, Event>(), |map: EventMap| map.parent),
            property_owners: parents(metadata, &metadata.owners::<_, Property>(), |map: PropertyMap| map.parent),
            constants: count(all::<Constant>(metadata).iter().filter_map(|row| row.parent.token())),
            marshals: count(all::<FieldMarshal>(metadata).iter().filter_map(|row| row.parent.token())),
            rvas: count(all::<FieldRva>(metadata).iter().map(|row| Token::new(Table::Field, row.field.get()))),
            imports: count(all::<ImplMap>(metadata).iter().filter_map(|row| row.member_forwarded.token())),
            security: count(all::<DeclSecurity>(metadata).iter().filter_map(|row| row.parent.token())),
            types,
            methods,
        }
    }

    /// The kind of a type. A missing row counts as a class.
    pub(crate) fn kind(&self, rid: u32) -> TypeKind {
        at(&self.kinds, rid).unwrap_or(TypeKind::Class)
    }

    /// The TypeDef of this module that a token names, directly or as an instantiation.
    pub(crate) fn definition(&self, metadata: &Metadata<'_>, token: Token) -> Option<Rid<TypeDef>> {
        let rid = match token.table()? {
            Table::TypeDef => token.rid(),
            Table::TypeSpec => {
                let row: ecma335::schema::TypeSpec = metadata.row(Rid::new(token.rid())).ok()?;
                let TypeSig::GenericInst { token, .. } = TypeSig::parse(metadata.blobs.blob(row.signature).ok()?).ok()? else {
                    return None;
                };
                token.token()?.rid_in::<TypeDef>()?.get()
            }
            _ => return None,
        };
        (1..=self.types.len() as u32).contains(&rid).then_some(Rid::new(rid))
    }
}

/// The token of a type definition.
pub(crate) fn type_token(rid: u32) -> Token {
    Token::new(Table::TypeDef, rid)
}

/// The item of a row number.
pub(crate) fn at<T: Copy>(items: &[T], rid: u32) -> Option<T> {
    items.get(index(rid)?).copied()
}

fn index(rid: u32) -> Option<usize> {
    (rid as usize).checked_sub(1)
}

fn all<R: Row>(metadata: &Metadata<'_>) -> Vec<R> {
    metadata.tables.rows().map(|(_, row)| row).collect()
}

fn numbers<O, C>(owners: &ListOwners<O, C>) -> Vec<u32> {
    owners.as_slice().iter().map(|owner| owner.get()).collect()
}

/// The types that own the rows of a map table, through its rows.
fn parents<M: Row, C>(metadata: &Metadata<'_>, maps: &ListOwners<M, C>, parent: impl Fn(M) -> Rid<TypeDef>) -> Vec<u32> {
    maps.as_slice().iter().map(|map| metadata.row(*map).map_or(0, |map| parent(map).get())).collect()
}

fn count(tokens: impl Iterator<Item = Token>) -> BTreeMap<Token, u32> {
    let mut counts = BTreeMap::new();
    tokens.for_each(|token| *counts.entry(token).or_default() += 1);
    counts
}

pub(crate) fn kind(metadata: &Metadata<'_>, row: &TypeDef, rid: u32) -> TypeKind {
    let own = |name: &[u8]| is_named(metadata, (row.namespace, row.name), name);
    if row.is_interface() {
        TypeKind::Interface
    } else if rid == 1 {
        TypeKind::Module
    } else if is_system(metadata, row.extends, b"Enum") {
        TypeKind::Enum
    } else if is_system(metadata, row.extends, b"ValueType") && !own(b"Enum") {
        TypeKind::Value
    } else if is_system(metadata, row.extends, b"MulticastDelegate")
        || is_system(metadata, row.extends, b"Delegate") && !own(b"MulticastDelegate")
    {
        TypeKind::Delegate
    } else {
        TypeKind::Class
    }
}

/// Whether a token names the type of this name in the namespace `System`.
pub(crate) fn is_system(metadata: &Metadata<'_>, token: TypeDefOrRef, name: &[u8]) -> bool {
    let Some(token) = token.token() else { return false };
    if let Some(rid) = token.rid_in::<TypeRef>() {
        return metadata.row(rid).is_ok_and(|row| is_named(metadata, (row.namespace, row.name), name));
    }
    let Some(rid) = token.rid_in::<TypeDef>() else { return false };
    metadata.row(rid).is_ok_and(|row| is_named(metadata, (row.namespace, row.name), name))
}

/// Whether a namespace and a name are `System` and this name.
pub(crate) fn is_named(metadata: &Metadata<'_>, names: (ecma335::schema::Str, ecma335::schema::Str), name: &[u8]) -> bool {
    metadata.strings.string_bytes(names.1) == Ok(name) && metadata.strings.string_bytes(names.0) == Ok(b"System")
}
