//! Types of values for verification (III.1.8.1.2). Each type is stored once under a number, and queries cache their
//! answers.

use std::{
    any::{Any, TypeId as CacheId},
    cell::{Cell, RefCell},
    rc::Rc,
};

use ecma335::{Token, element::ElementType};
use foldhash::HashMap;

use crate::{
    model::TypeKind,
    types::library::{Def, Scope},
};

/// The limit of parts of a type. Larger types are not examined.
const MAX_SIZE: u32 = 1000;

/// The number of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TypeId(u32);

impl TypeId {
    /// The type that only an absent assembly defines, and the type of all values if types are not checked.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// The type of the null reference.
    pub(crate) const NULL: Self = Self(1);
}

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Type {
    Unknown,
    Null,
    /// A number or a boolean.
    Primitive(ElementType),
    /// A class, interface or value type, with its arguments.
    Named(Named, Rc<[TypeId]>),
    /// An array, with its rank unless it is a vector.
    Array(TypeId, Option<u32>),
    ByRef(TypeId),
    /// A controlled-mutability managed pointer (III.1.8.1.2.2), into a box.
    ReadOnly(TypeId),
    /// A controlled-mutability pointer that compilers pass as `in` and `ref readonly`. It comes from `readonly.`, from an
    /// initonly field (II.16.1.2), or from a signature with that modifier.
    In(TypeId),
    /// Unmanaged pointers, including function pointers.
    Pointer,
    Var(u32),
    MVar(u32),
    /// A boxed value type.
    Boxed(TypeId),
    /// `this`, before its constructor has called another (III.1.8.1.4).
    Uninitialized(TypeId),
    /// The address of a method that the module under check names.
    Method(Token),
}

/// A class, interface or value type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Named {
    /// A type of the library.
    Known(Def, TypeKind),
    /// A type of an absent assembly, by its full name.
    Missing(Rc<str>),
}

/// The arguments for generic parameters.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Arguments<'s> {
    pub(crate) of_type: &'s [TypeId],
    pub(crate) of_method: &'s [TypeId],
}

/// The context whose generic parameters may be open in a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct GenericContext {
    pub(crate) owner: u32,
    pub(crate) method: Token,
}

/// The types that one thread has seen.
pub(crate) struct Types<'l> {
    pub(crate) scope: Option<Scope<'l>>,
    /// The code under check, whose constraints hold for generic parameters.
    pub(crate) within: Cell<Option<GenericContext>>,
    items: RefCell<Vec<Type>>,
    ids: RefCell<HashMap<Type, TypeId>>,
    /// The number of types that each type consists of.
    sizes: RefCell<Vec<u32>>,
    caches: RefCell<Vec<(CacheId, Rc<dyn Any>)>>,
}

impl<'l> Types<'l> {
    /// The types of a library's assembly. Without a library, all types are unknown.
    pub(crate) fn new(scope: Option<Scope<'l>>) -> Self {
        Self {
            scope,
            within: Cell::default(),
            items: RefCell::new(vec![Type::Unknown, Type::Null]),
            ids: RefCell::default(),
            sizes: RefCell::new(vec![1, 1]),
            caches: RefCell::default(),
        }
    }

    /// The cached answers of a query. Each query has a cache type of its own.
    pub(crate) fn cache<C: Any + Default>(&self) -> Rc<C> {
        let id = CacheId::of::<C>();
        let known = self.caches.borrow().iter().find(|(of, _)| *of == id).map(|(_, cache)| cache.clone());
        match known.map(Rc::downcast) {
            Some(Ok(cache)) => cache,
            _ => {
                let cache = Rc::new(C::default());
                self.caches.borrow_mut().push((id, cache.clone()));
                cache
            }
        }
    }

    pub(crate) fn get(&self, id: TypeId) -> Type {
        self.items.borrow().get(id.0 as usize).cloned().unwrap_or(Type::Unknown)
    }

    /// The number of a type.
    pub(crate) fn intern(&self, item: Type) -> TypeId {
        match item {
            Type::Unknown => return TypeId::UNKNOWN,
            Type::Null => return TypeId::NULL,
            Type::ByRef(TypeId::UNKNOWN) | Type::Boxed(TypeId::UNKNOWN) => return TypeId::UNKNOWN,
            Type::ReadOnly(TypeId::UNKNOWN) | Type::In(TypeId::UNKNOWN) => return TypeId::UNKNOWN,
            _ if self.scope.is_none() => return TypeId::UNKNOWN,
            _ => {}
        }
        if let Some(known) = self.ids.borrow().get(&item) {
            return *known;
        }
        let size = self.size(&item);
        if size > MAX_SIZE {
            return TypeId::UNKNOWN;
        }
        self.sizes.borrow_mut().push(size);
        let mut items = self.items.borrow_mut();
        let id = TypeId(items.len() as u32);
        items.push(item.clone());
        self.ids.borrow_mut().insert(item, id);
        id
    }

    fn size(&self, item: &Type) -> u32 {
        let sizes = self.sizes.borrow();
        let of = |id: &TypeId| sizes.get(id.0 as usize).copied().unwrap_or(1);
        let inner: u32 = match item {
            Type::Named(_, arguments) => arguments.iter().map(of).fold(0, u32::saturating_add),
            Type::Array(inner, _) | Type::ByRef(inner) | Type::ReadOnly(inner) | Type::In(inner) => of(inner),
            Type::Boxed(inner) | Type::Uninitialized(inner) => of(inner),
            _ => 0,
        };
        inner.saturating_add(1)
    }

    /// A type with arguments for its generic parameters.
    pub(crate) fn substitute(&self, id: TypeId, arguments: &[TypeId]) -> TypeId {
        match self.get(id) {
            _ if arguments.is_empty() => id,
            Type::Var(number) => arguments.get(number as usize).copied().unwrap_or(id),
            Type::Named(named, own) if !own.is_empty() => {
                let own = own.iter().map(|argument| self.substitute(*argument, arguments)).collect();
                self.intern(Type::Named(named, own))
            }
            Type::Array(element, rank) => self.intern(Type::Array(self.substitute(element, arguments), rank)),
            Type::ByRef(target) => self.intern(Type::ByRef(self.substitute(target, arguments))),
            Type::ReadOnly(target) => self.intern(Type::ReadOnly(self.substitute(target, arguments))),
            Type::In(target) => self.intern(Type::In(self.substitute(target, arguments))),
            Type::Boxed(inner) => self.intern(Type::Boxed(self.substitute(inner, arguments))),
            _ => id,
        }
    }

    /// Whether values of a type may need boxing: value types, and generic parameters that may be one.
    pub(crate) fn may_be_boxed(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Primitive(_) | Type::Var(_) | Type::MVar(_) => true,
            Type::Named(Named::Known(_, kind), _) => kind.is_value(),
            _ => false,
        }
    }

    /// Whether values of the type are references to objects.
    pub(crate) fn is_reference(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Null | Type::Array(..) | Type::Boxed(_) => true,
            Type::Named(Named::Known(_, kind), _) => !kind.is_value(),
            _ => false,
        }
    }

    /// The target type of a managed pointer.
    pub(crate) fn target(&self, id: TypeId) -> Option<TypeId> {
        match self.items.borrow().get(id.0 as usize) {
            Some(Type::ByRef(target) | Type::ReadOnly(target) | Type::In(target)) => Some(*target),
            _ => None,
        }
    }

    /// Whether the type is a generic parameter.
    pub(crate) fn is_parameter(&self, id: TypeId) -> bool {
        matches!(self.items.borrow().get(id.0 as usize), Some(Type::Var(_) | Type::MVar(_)))
    }

    /// Whether a type contains generic parameters of the current code.
    pub(crate) fn is_open(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Var(_) | Type::MVar(_) => true,
            Type::Named(_, arguments) => arguments.iter().any(|argument| self.is_open(*argument)),
            Type::Array(inner, _) | Type::ByRef(inner) | Type::In(inner) | Type::Boxed(inner) => self.is_open(inner),
            _ => false,
        }
    }

    /// Whether the type consists of other types.
    pub(crate) fn is_constructed(&self, id: TypeId) -> bool {
        match self.items.borrow().get(id.0 as usize) {
            Some(Type::Named(_, arguments)) => !arguments.is_empty(),
            item => matches!(item, Some(Type::Array(..) | Type::ByRef(_) | Type::In(_))),
        }
    }

    /// Whether the type is an unmanaged pointer, or a managed pointer to one.
    pub(crate) fn is_pointer(&self, id: TypeId) -> bool {
        let items = self.items.borrow();
        match items.get(id.0 as usize) {
            Some(Type::ByRef(target) | Type::ReadOnly(target) | Type::In(target)) => {
                matches!(items.get(target.0 as usize), Some(Type::Pointer))
            }
            item => item == Some(&Type::Pointer),
        }
    }

    /// Whether the type is a delegate.
    pub(crate) fn is_delegate(&self, id: TypeId) -> bool {
        matches!(self.items.borrow().get(id.0 as usize), Some(Type::Named(Named::Known(_, TypeKind::Delegate), _)))
    }

    /// The name of a type, for findings.
    pub(crate) fn name(&self, id: TypeId) -> String {
        match self.get(id) {
            Type::Unknown => "unknown".into(),
            Type::Null => "null".into(),
            Type::Primitive(element) => element.text().into(),
            Type::Named(named, arguments) => {
                let name = self.definition_name(&named);
                let arguments: Vec<String> = arguments.iter().map(|argument| self.name(*argument)).collect();
                if arguments.is_empty() { name } else { format!("{name}<{}>", arguments.join(", ")) }
            }
            Type::Array(element, None) => format!("{}[]", self.name(element)),
            Type::Array(element, Some(rank)) => {
                format!("{}[{}]", self.name(element), ",".repeat(rank.saturating_sub(1).min(32) as usize))
            }
            Type::ByRef(target) | Type::ReadOnly(target) | Type::In(target) => format!("{}&", self.name(target)),
            Type::Pointer => "an unmanaged pointer".into(),
            Type::Method(_) => "the address of a method".into(),
            Type::Var(number) => format!("!{number}"),
            Type::MVar(number) => format!("!!{number}"),
            Type::Boxed(inner) => format!("boxed {}", self.name(inner)),
            Type::Uninitialized(inner) => format!("uninitialized {}", self.name(inner)),
        }
    }

    /// The full name of a class, interface or value type, without its arguments.
    pub(crate) fn definition_name(&self, named: &Named) -> String {
        match named {
            Named::Known(def, _) => self.scope.map_or_else(String::new, |scope| scope.library.full_name(*def)),
            Named::Missing(name) => name.to_string(),
        }
    }
}
