//! The types that tokens name: each is looked up once.

use std::rc::Rc;

use ecma335::{
    Rid, Table, Token,
    element::ElementType,
    schema::{TypeDefOrRef, TypeRef, TypeSpec},
    signature::TypeSig,
};

use crate::{
    model::TypeKind,
    types::{
        library::Def,
        store::{Arguments, Named, Type, TypeId, Types},
    },
};

/// TypeSpecs lie in each other no deeper than this.
const MAX_NESTING: u32 = 16;

impl Types<'_> {
    /// The type that a TypeDef, TypeRef or TypeSpec of a module names.
    pub(crate) fn of_token(&self, module: usize, token: Token, arguments: Arguments<'_>) -> TypeId {
        let Some(scope) = self.scope else { return TypeId::UNKNOWN };
        if token.table() != Some(Table::TypeSpec) {
            return self.defined(module, token, Rc::default());
        }
        let Some(metadata) = scope.library.metadata(module) else { return TypeId::UNKNOWN };
        if self.depth.get() > MAX_NESTING {
            return TypeId::UNKNOWN;
        }
        self.depth.set(self.depth.get() + 1);
        let blob = metadata.row(Rid::<TypeSpec>::new(token.rid())).and_then(|row| metadata.blobs.blob(row.signature));
        let id = blob.and_then(TypeSig::parse).map_or(TypeId::UNKNOWN, |signature| self.of(module, &signature, arguments));
        self.depth.set(self.depth.get() - 1);
        id
    }

    pub(crate) fn named(&self, module: usize, index: TypeDefOrRef, arguments: Rc<[TypeId]>) -> TypeId {
        match index.token() {
            // Some compilers name an instantiation by a TypeSpec.
            Some(token) if token.table() == Some(Table::TypeSpec) => self.of_token(module, token, Arguments::default()),
            Some(token) => self.defined(module, token, arguments),
            None => TypeId::UNKNOWN,
        }
    }

    fn defined(&self, module: usize, token: Token, arguments: Rc<[TypeId]>) -> TypeId {
        let known = self.definitions.borrow().get(&(module, token)).cloned();
        let plain = known.unwrap_or_else(|| {
            let found = self.find_definition(module, token);
            self.definitions.borrow_mut().insert((module, token), found.clone());
            found
        });
        match plain {
            Type::Named(named, _) => self.put(Type::Named(named, arguments)),
            plain => self.put(plain),
        }
    }

    /// The type of a TypeDef or TypeRef, without arguments.
    fn find_definition(&self, module: usize, token: Token) -> Type {
        let Some(library) = self.scope.map(|scope| scope.library) else { return Type::Unknown };
        let Some(def) = library.resolve(module, token) else {
            let metadata = library.metadata(module);
            let name = metadata.and_then(|metadata| metadata.type_ref_name(token.rid_in::<TypeRef>()?).ok());
            let Some(name) = name else { return Type::Unknown };
            let primitive = name.strip_prefix("System.").and_then(primitive);
            let missing = || Type::Named(Named::Missing(name.as_str().into()), Rc::default());
            return primitive.map_or_else(missing, Type::Primitive);
        };
        let Some(kind) = library.kind(def) else { return Type::Unknown };
        let of_name = || library.full_name(def).strip_prefix("System.").and_then(primitive);
        match (kind == TypeKind::Value).then(of_name).flatten() {
            Some(primitive) => Type::Primitive(primitive),
            None => Type::Named(Named::Known(def, kind), Rc::default()),
        }
    }

    /// A type of the module under check, with its own parameters for arguments.
    pub(crate) fn own(&self, rid: u32) -> TypeId {
        let Some(scope) = self.scope else { return TypeId::UNKNOWN };
        let def = Def { module: scope.module, rid };
        let params = scope.library.bounds(def.module, Token::new(Table::TypeDef, rid)).len() as u32;
        let arguments = (0..params).map(|number| self.put(Type::Var(number))).collect();
        self.defined(scope.module, Token::new(Table::TypeDef, rid), arguments)
    }
}

/// The primitive types by their names.
fn primitive(name: &str) -> Option<ElementType> {
    Some(match name {
        "Boolean" => ElementType::Boolean,
        "Char" => ElementType::Char,
        "SByte" => ElementType::I1,
        "Byte" => ElementType::U1,
        "Int16" => ElementType::I2,
        "UInt16" => ElementType::U2,
        "Int32" => ElementType::I4,
        "UInt32" => ElementType::U4,
        "Int64" => ElementType::I8,
        "UInt64" => ElementType::U8,
        "Single" => ElementType::R4,
        "Double" => ElementType::R8,
        "IntPtr" => ElementType::I,
        "UIntPtr" => ElementType::U,
        _ => return None,
    })
}
