//! Values on the evaluation stack, as signatures of the module under check and their types determine them.

use ecma335::{
    Rid, Table, Token,
    element::ElementType,
    schema::{Str, TypeDefOrRef, TypeRef, TypeSpec},
    signature::TypeSig,
};

use crate::{
    assembly::Assembly,
    model::{TypeKind, at},
    signatures,
    types::{
        store::{Named, Type, TypeId, Types},
        value_kind::ValueKind,
    },
};

/// A value on the stack: its kind, and its type if types are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StackValue {
    pub(crate) kind: ValueKind,
    pub(crate) ty: TypeId,
    /// Whether the value is the method's own `this`.
    pub(crate) is_this: bool,
    /// Whether the value refers to the method's own frame: a managed pointer to an argument, a local variable or a field of
    /// one, or a ref struct made from such a pointer.
    pub(crate) is_of_frame: bool,
}

impl StackValue {
    /// A value with only a kind.
    pub(crate) const fn of_kind(kind: ValueKind) -> Self {
        Self::new(kind, TypeId::UNKNOWN)
    }

    /// A value with a kind and a type.
    pub(crate) const fn new(kind: ValueKind, ty: TypeId) -> Self {
        Self { kind, ty, is_this: false, is_of_frame: false }
    }

    /// A value of a type, with the kind that the type determines.
    pub(crate) fn of_type(types: &Types<'_>, id: TypeId) -> Self {
        let kind = match types.get(id) {
            Type::Unknown | Type::Var(_) | Type::MVar(_) | Type::Named(Named::Missing(_), _) => ValueKind::Unknown,
            Type::Null | Type::Array(..) | Type::Boxed(_) | Type::Uninitialized(_) => ValueKind::Object,
            Type::Primitive(element) => ValueKind::of_element(element).unwrap_or(ValueKind::Unknown),
            Type::Named(Named::Known(def, TypeKind::Enum), _) => {
                let underlying = types.scope.and_then(|scope| scope.library.underlying(def));
                underlying.and_then(ValueKind::of_element).unwrap_or(ValueKind::Unknown)
            }
            Type::Named(Named::Known(_, TypeKind::Value), _) => ValueKind::Value,
            Type::Named(..) => ValueKind::Object,
            Type::ByRef(_) | Type::ReadOnly(_) | Type::In(_) => ValueKind::Ref,
            Type::Pointer | Type::Method(_) => ValueKind::Native,
        };
        Self::new(kind, id)
    }
}

/// The kind of a type on the stack. `None` for void.
pub(crate) fn kind_of(assembly: &Assembly<'_>, signature: &TypeSig) -> Option<ValueKind> {
    Some(match signature {
        TypeSig::Element(element) => return ValueKind::of_element(*element),
        TypeSig::Named { is_value: true, token } | TypeSig::GenericInst { is_value: true, token, .. } => {
            kind_of_index(assembly, *token)
        }
        TypeSig::Named { .. } | TypeSig::GenericInst { .. } | TypeSig::SzArray(_) | TypeSig::Array(..) => ValueKind::Object,
        TypeSig::Ptr(_) | TypeSig::FnPtr(_) => ValueKind::Native,
        TypeSig::ByRef(_) => ValueKind::Ref,
        TypeSig::Pinned(inner) | TypeSig::Modified { inner, .. } => return kind_of(assembly, inner),
        TypeSig::Var(_) | TypeSig::MVar(_) => ValueKind::Unknown,
    })
}

/// The kind on the stack of a token's type.
pub(crate) fn kind_of_token(assembly: &Assembly<'_>, token: Token) -> ValueKind {
    match token.table() {
        Some(Table::TypeDef) => match at(&assembly.model.types, token.rid()) {
            Some(row) if assembly.model.kind(token.rid()).is_value() => {
                let underlying = signatures::underlying(assembly, token.rid()).and_then(ValueKind::of_element);
                let primitive = || kind_of_primitive(assembly, row.namespace, row.name);
                underlying.or_else(primitive).unwrap_or(ValueKind::Value)
            }
            _ => ValueKind::Object,
        },
        Some(Table::TypeRef) => {
            let row = assembly.metadata.row(Rid::<TypeRef>::new(token.rid())).ok();
            row.and_then(|row| kind_of_primitive(assembly, row.namespace, row.name)).unwrap_or(ValueKind::Unknown)
        }
        Some(Table::TypeSpec) => {
            let signature = assembly.metadata.row(Rid::<TypeSpec>::new(token.rid())).map(|row| row.signature);
            let parsed = signature.and_then(|blob| assembly.metadata.blobs.blob(blob)).and_then(TypeSig::parse);
            parsed.ok().and_then(|parsed| kind_of(assembly, &parsed)).unwrap_or(ValueKind::Unknown)
        }
        _ => ValueKind::Unknown,
    }
}

/// The kind of a primitive type by name. The assembly that defines it refers to it by name.
fn kind_of_primitive(assembly: &Assembly<'_>, namespace: Str, name: Str) -> Option<ValueKind> {
    let is_system = assembly.name(namespace) == b"System";
    let element = is_system.then(|| ElementType::of_class(assembly.name(name))).flatten();
    element.filter(|element| element.is_primitive()).and_then(ValueKind::of_element)
}

fn kind_of_index(assembly: &Assembly<'_>, index: TypeDefOrRef) -> ValueKind {
    match index.token() {
        Some(token) if token.table() == Some(Table::TypeDef) => kind_of_token(assembly, token),
        _ => ValueKind::Unknown,
    }
}
