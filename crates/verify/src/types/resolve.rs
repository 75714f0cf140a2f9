//! Resolves the types in signatures and tokens (II.23.2.12). Each definition is looked up once.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use ecma335::{
    Rid, Table, Token,
    element::ElementType,
    schema::{TypeDefOrRef, TypeRef, TypeSpec},
    signature::TypeSig,
};
use foldhash::HashMap;

use crate::{
    model::TypeKind,
    types::{
        library::Def,
        store::{Arguments, Named, Type, TypeId, Types},
    },
};

/// The limit of nesting of TypeSpecs.
const MAX_NESTING: u32 = 16;

#[derive(Default)]
struct Cache {
    definitions: RefCell<HashMap<(usize, Token), Type>>,
    system: RefCell<HashMap<&'static str, TypeId>>,
    /// The number of nested TypeSpecs being read.
    depth: Cell<u32>,
}

/// The type in a signature of a module, with arguments for its generic parameters. Void is unknown.
pub(crate) fn of_signature(types: &Types<'_>, module: usize, signature: &TypeSig, arguments: Arguments<'_>) -> TypeId {
    if types.scope.is_none() {
        return TypeId::UNKNOWN;
    }
    let inner = |inner: &TypeSig| of_signature(types, module, inner, arguments);
    let argument = |list: &[TypeId], number: u32, open: Type| match list.get(number as usize) {
        Some(argument) => *argument,
        None => types.intern(open),
    };
    match signature {
        TypeSig::Element(element) => of_element(types, *element),
        TypeSig::Named { token, .. } => of_index(types, module, *token, Rc::default()),
        TypeSig::GenericInst { token, arguments, .. } => of_index(types, module, *token, arguments.iter().map(inner).collect()),
        TypeSig::Ptr(_) | TypeSig::FnPtr(_) => types.intern(Type::Pointer),
        TypeSig::ByRef(target) => types.intern(Type::ByRef(inner(target))),
        TypeSig::Modified { modifier, inner: of, .. } if is_in_modifier(types, module, *modifier) => match types.get(inner(of)) {
            Type::ByRef(target) => types.intern(Type::In(target)),
            _ => inner(of),
        },
        TypeSig::Pinned(of) | TypeSig::Modified { inner: of, .. } => inner(of),
        TypeSig::SzArray(element) => types.intern(Type::Array(inner(element), None)),
        TypeSig::Array(element, shape) => types.intern(Type::Array(inner(element), Some(shape.rank))),
        TypeSig::Var(number) => argument(arguments.of_type, *number, Type::Var(*number)),
        TypeSig::MVar(number) => argument(arguments.of_method, *number, Type::MVar(*number)),
    }
}

/// Whether a modifier is the one that compilers put on `in` and `ref readonly`.
fn is_in_modifier(types: &Types<'_>, module: usize, modifier: TypeDefOrRef) -> bool {
    let Some(metadata) = types.scope.and_then(|scope| scope.library.metadata(module)) else { return false };
    let name = modifier.token().and_then(Token::rid_in::<TypeRef>).and_then(|rid| metadata.row(rid).ok());
    name.is_some_and(|row| metadata.strings.string_bytes(row.name) == Ok(b"InAttribute"))
}

fn of_element(types: &Types<'_>, element: ElementType) -> TypeId {
    match element {
        ElementType::String => system(types, "String"),
        ElementType::Object => system(types, "Object"),
        ElementType::TypedByRef => system(types, "TypedReference"),
        ElementType::Void => TypeId::UNKNOWN,
        _ => types.intern(Type::Primitive(element)),
    }
}

/// A type of the namespace `System`.
pub(crate) fn system(types: &Types<'_>, name: &'static str) -> TypeId {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.system.borrow().get(name) {
        return *known;
    }
    let found = types.scope.and_then(|scope| {
        let def = scope.library.system(scope.module, name.as_bytes())?;
        Some(Named::Known(def, scope.library.kind(def)?))
    });
    let named = found.unwrap_or_else(|| Named::Missing(format!("System.{name}").into()));
    let id = types.intern(Type::Named(named, Rc::default()));
    cache.system.borrow_mut().insert(name, id);
    id
}

/// The type that a TypeDef, TypeRef or TypeSpec of a module names.
pub(crate) fn of_token(types: &Types<'_>, module: usize, token: Token, arguments: Arguments<'_>) -> TypeId {
    let Some(scope) = types.scope else { return TypeId::UNKNOWN };
    if token.table() != Some(Table::TypeSpec) {
        return definition(types, module, token, Rc::default());
    }
    let Some(metadata) = scope.library.metadata(module) else { return TypeId::UNKNOWN };
    let cache = types.cache::<Cache>();
    if cache.depth.get() > MAX_NESTING {
        return TypeId::UNKNOWN;
    }
    cache.depth.set(cache.depth.get() + 1);
    let blob = metadata.row(Rid::<TypeSpec>::new(token.rid())).and_then(|row| metadata.blobs.blob(row.signature));
    let id =
        blob.and_then(TypeSig::parse).map_or(TypeId::UNKNOWN, |signature| of_signature(types, module, &signature, arguments));
    cache.depth.set(cache.depth.get() - 1);
    id
}

fn of_index(types: &Types<'_>, module: usize, index: TypeDefOrRef, arguments: Rc<[TypeId]>) -> TypeId {
    match index.token() {
        // Some compilers name the generic type of an instantiation by a TypeSpec.
        Some(token) if token.table() == Some(Table::TypeSpec) => of_token(types, module, token, Arguments::default()),
        Some(token) => definition(types, module, token, arguments),
        None => TypeId::UNKNOWN,
    }
}

fn definition(types: &Types<'_>, module: usize, token: Token, arguments: Rc<[TypeId]>) -> TypeId {
    let cache = types.cache::<Cache>();
    let known = cache.definitions.borrow().get(&(module, token)).cloned();
    let plain = known.unwrap_or_else(|| {
        let found = find_definition(types, module, token);
        cache.definitions.borrow_mut().insert((module, token), found.clone());
        found
    });
    match plain {
        Type::Named(named, _) => types.intern(Type::Named(named, arguments)),
        plain => types.intern(plain),
    }
}

/// The type of a TypeDef or TypeRef, without arguments.
fn find_definition(types: &Types<'_>, module: usize, token: Token) -> Type {
    let Some(library) = types.scope.map(|scope| scope.library) else { return Type::Unknown };
    let Some(def) = library.resolve(module, token) else {
        let metadata = library.metadata(module);
        let name = metadata.and_then(|metadata| metadata.type_ref_name(token.rid_in::<TypeRef>()?).ok());
        let Some(name) = name else { return Type::Unknown };
        let primitive = primitive(&name);
        let missing = || Type::Named(Named::Missing(name.as_str().into()), Rc::default());
        return primitive.map_or_else(missing, Type::Primitive);
    };
    let Some(kind) = library.kind(def) else { return Type::Unknown };
    let of_name = || primitive(&library.full_name(def));
    match (kind == TypeKind::Value).then(of_name).flatten() {
        Some(primitive) => Type::Primitive(primitive),
        None => Type::Named(Named::Known(def, kind), Rc::default()),
    }
}

/// The typical instantiation of a type of the module under check: its own parameters are its arguments.
pub(crate) fn typical_instantiation(types: &Types<'_>, rid: u32) -> TypeId {
    types.scope.map_or(TypeId::UNKNOWN, |scope| typical_instantiation_of(types, Def { module: scope.module, rid }))
}

/// The typical instantiation of a type of any module.
pub(crate) fn typical_instantiation_of(types: &Types<'_>, def: Def) -> TypeId {
    let Some(scope) = types.scope else { return TypeId::UNKNOWN };
    let token = Token::new(Table::TypeDef, def.rid);
    let params = scope.library.bounds(def.module, token).len() as u32;
    let arguments = (0..params).map(|number| types.intern(Type::Var(number))).collect();
    definition(types, def.module, token, arguments)
}

/// A primitive type by its full name. The assembly that defines it refers to it by name.
fn primitive(full_name: &str) -> Option<ElementType> {
    ElementType::of_class(full_name.strip_prefix("System.")?.as_bytes()).filter(|element| element.is_primitive())
}
