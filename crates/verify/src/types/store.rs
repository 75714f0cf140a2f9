//! Types of values for verification (III.1.8.1.2): each is kept once, by a number.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use ecma335::{
    Token,
    element::ElementType,
    schema::{TypeDefOrRef, TypeRef},
    signature::TypeSig,
};

use crate::{
    body::{
        delegates::Invoke,
        stack_value::{Kind, Value},
    },
    model::TypeKind,
    types::{
        constraints::Instance,
        library::{Def, Scope},
        members::Members,
    },
};

/// A type made of more types than this is not looked into.
const MAX_SIZE: u32 = 1000;

/// The number of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TypeId(u32);

impl TypeId {
    /// Of what only an assembly that is not there tells, and of all if types are not checked.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// Of the null reference.
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
    /// An array; with its rank if it isn't a vector.
    Array(TypeId, Option<u32>),
    ByRef(TypeId),
    /// A controlled-mutability managed pointer (III.1.8.1.2.2), into a box.
    ReadOnly(TypeId),
    /// One that compilers pass on as `in` and `ref readonly`: of `readonly.`, to an initonly field (II.16.1.2), or
    /// what its signature marks so.
    In(TypeId),
    /// Unmanaged pointers, those to functions too.
    Pointer,
    Var(u32),
    MVar(u32),
    /// A value type in a box.
    Boxed(TypeId),
    /// `this`, before its constructor has called another (III.1.8.1.4).
    Uninitialized(TypeId),
    /// The address of a method that the module under check names.
    Method(Token),
}

/// Which class, interface or value type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Named {
    /// One of the library.
    Known(Def, TypeKind),
    /// One of an assembly that is not there, by its full name.
    Missing(Rc<str>),
}

/// The arguments that stand for generic parameters.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Arguments<'s> {
    pub(crate) of_type: &'s [TypeId],
    pub(crate) of_method: &'s [TypeId],
}

/// What a type extends and implements, in its own parameters.
#[derive(Default, Debug)]
pub(crate) struct Parents {
    pub(crate) base: Option<TypeId>,
    pub(crate) interfaces: Vec<TypeId>,
}

/// The types that one thread has met.
#[derive(Debug)]
pub(crate) struct Types<'l> {
    pub(crate) scope: Option<Scope<'l>>,
    items: RefCell<Vec<Type>>,
    numbers: RefCell<HashMap<Type, TypeId>>,
    pub(crate) definitions: RefCell<HashMap<(usize, Token), Type>>,
    parents: RefCell<HashMap<Def, Rc<Parents>>>,
    systems: RefCell<HashMap<&'static str, TypeId>>,
    pub(crate) invokes: RefCell<HashMap<TypeId, Option<Rc<Invoke>>>>,
    pub(crate) instances: RefCell<HashMap<TypeId, Rc<[Instance]>>>,
    pub(crate) members: RefCell<HashMap<Def, Rc<Members>>>,
    /// The modules whose assembly lets that of the module under check use what is for itself alone.
    pub(crate) friends: RefCell<HashMap<usize, bool>>,
    /// Which types of that module implement an interface, as far as it was asked.
    pub(crate) implemented: RefCell<HashMap<(u32, Def), bool>>,
    pub(crate) judged: RefCell<HashMap<(TypeId, TypeId), Option<bool>>>,
    /// How many types each one is made of.
    sizes: RefCell<Vec<u32>>,
    /// How many steps the question at hand may still take.
    pub(crate) fuel: Cell<u32>,
    /// The same for constraints, which ask more questions.
    pub(crate) budget: Cell<u32>,
    /// How many TypeSpecs are being read, one in the other.
    pub(crate) depth: Cell<u32>,
}

impl<'l> Types<'l> {
    /// Types of an assembly of a library; without one, all are unknown.
    pub(crate) fn new(scope: Option<Scope<'l>>) -> Self {
        Self {
            scope,
            items: RefCell::new(vec![Type::Unknown, Type::Null]),
            numbers: RefCell::default(),
            definitions: RefCell::default(),
            parents: RefCell::default(),
            systems: RefCell::default(),
            invokes: RefCell::default(),
            instances: RefCell::default(),
            members: RefCell::default(),
            friends: RefCell::default(),
            implemented: RefCell::default(),
            judged: RefCell::default(),
            sizes: RefCell::new(vec![1, 1]),
            fuel: Cell::new(0),
            budget: Cell::new(0),
            depth: Cell::new(0),
        }
    }

    pub(crate) fn get(&self, id: TypeId) -> Type {
        self.items.borrow().get(id.0 as usize).cloned().unwrap_or(Type::Unknown)
    }

    /// The number of a type.
    pub(crate) fn put(&self, item: Type) -> TypeId {
        match item {
            Type::Unknown => return TypeId::UNKNOWN,
            Type::Null => return TypeId::NULL,
            Type::ByRef(TypeId::UNKNOWN) | Type::Boxed(TypeId::UNKNOWN) => return TypeId::UNKNOWN,
            Type::ReadOnly(TypeId::UNKNOWN) | Type::In(TypeId::UNKNOWN) => return TypeId::UNKNOWN,
            _ if self.scope.is_none() => return TypeId::UNKNOWN,
            _ => {}
        }
        if let Some(known) = self.numbers.borrow().get(&item) {
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
        self.numbers.borrow_mut().insert(item, id);
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

    /// A type of the namespace `System`.
    pub(crate) fn system(&self, name: &'static str) -> TypeId {
        if let Some(known) = self.systems.borrow().get(name) {
            return *known;
        }
        let found = self.scope.and_then(|scope| {
            let def = scope.library.system(scope.module, name.as_bytes())?;
            Some(Named::Known(def, scope.library.kind(def)?))
        });
        let named = found.unwrap_or_else(|| Named::Missing(format!("System.{name}").into()));
        let id = self.put(Type::Named(named, Rc::default()));
        self.systems.borrow_mut().insert(name, id);
        id
    }

    /// What a signature of a module says, with arguments for its parameters. Void is unknown.
    pub(crate) fn of(&self, module: usize, signature: &TypeSig, arguments: Arguments<'_>) -> TypeId {
        if self.scope.is_none() {
            return TypeId::UNKNOWN;
        }
        let inner = |inner: &TypeSig| self.of(module, inner, arguments);
        let argument = |list: &[TypeId], number: u32, open: Type| match list.get(number as usize) {
            Some(argument) => *argument,
            None => self.put(open),
        };
        match signature {
            TypeSig::Element(element) => self.of_element(*element),
            TypeSig::Named { token, .. } => self.named(module, *token, Rc::default()),
            TypeSig::GenericInst { token, arguments, .. } => self.named(module, *token, arguments.iter().map(inner).collect()),
            TypeSig::Ptr(_) | TypeSig::FnPtr(_) => self.put(Type::Pointer),
            TypeSig::ByRef(target) => self.put(Type::ByRef(inner(target))),
            TypeSig::Modified { modifier, inner: of, .. } if self.is_in(module, *modifier) => match self.get(inner(of)) {
                Type::ByRef(target) => self.put(Type::In(target)),
                _ => inner(of),
            },
            TypeSig::Pinned(of) | TypeSig::Modified { inner: of, .. } => inner(of),
            TypeSig::SzArray(element) => self.put(Type::Array(inner(element), None)),
            TypeSig::Array(element, shape) => self.put(Type::Array(inner(element), Some(shape.rank))),
            TypeSig::Var(number) => argument(arguments.of_type, *number, Type::Var(*number)),
            TypeSig::MVar(number) => argument(arguments.of_method, *number, Type::MVar(*number)),
        }
    }

    /// Whether a modifier is what compilers mark `in` and `ref readonly` with.
    fn is_in(&self, module: usize, modifier: TypeDefOrRef) -> bool {
        let Some(metadata) = self.scope.and_then(|scope| scope.library.metadata(module)) else { return false };
        let name = modifier.token().and_then(Token::rid_in::<TypeRef>).and_then(|rid| metadata.row(rid).ok());
        name.is_some_and(|row| metadata.strings.string_bytes(row.name) == Ok(b"InAttribute"))
    }

    fn of_element(&self, element: ElementType) -> TypeId {
        match element {
            ElementType::String => self.system("String"),
            ElementType::Object => self.system("Object"),
            ElementType::TypedByRef => self.system("TypedReference"),
            ElementType::Void => TypeId::UNKNOWN,
            _ => self.put(Type::Primitive(element)),
        }
    }

    /// What a known type extends and implements.
    pub(crate) fn parents(&self, def: Def) -> Rc<Parents> {
        if let Some(known) = self.parents.borrow().get(&def) {
            return known.clone();
        }
        let mut parents = Parents::default();
        if let Some(scope) = self.scope {
            let of = |index: TypeDefOrRef| {
                let token = index.token().filter(|token| token.rid() != 0)?;
                Some(self.of_token(def.module, token, Arguments::default()))
            };
            parents.base = scope.library.row(def).and_then(|row| of(row.extends));
            parents.interfaces = scope.library.interfaces(def).iter().filter_map(|index| of(*index)).collect();
        }
        let parents = Rc::new(parents);
        self.parents.borrow_mut().insert(def, parents.clone());
        parents
    }

    /// A type with arguments for a type's parameters.
    pub(crate) fn with(&self, id: TypeId, arguments: &[TypeId]) -> TypeId {
        match self.get(id) {
            _ if arguments.is_empty() => id,
            Type::Var(number) => arguments.get(number as usize).copied().unwrap_or(id),
            Type::Named(named, own) if !own.is_empty() => {
                let own = own.iter().map(|argument| self.with(*argument, arguments)).collect();
                self.put(Type::Named(named, own))
            }
            Type::Array(element, rank) => self.put(Type::Array(self.with(element, arguments), rank)),
            Type::ByRef(target) => self.put(Type::ByRef(self.with(target, arguments))),
            Type::ReadOnly(target) => self.put(Type::ReadOnly(self.with(target, arguments))),
            Type::In(target) => self.put(Type::In(self.with(target, arguments))),
            Type::Boxed(inner) => self.put(Type::Boxed(self.with(inner, arguments))),
            _ => id,
        }
    }

    /// A value of a type on the stack.
    pub(crate) fn value(&self, id: TypeId) -> Value {
        let kind = match self.get(id) {
            Type::Unknown | Type::Var(_) | Type::MVar(_) | Type::Named(Named::Missing(_), _) => Kind::Unknown,
            Type::Null | Type::Array(..) | Type::Boxed(_) | Type::Uninitialized(_) => Kind::Object,
            Type::Primitive(element) => Kind::of_element(element).unwrap_or(Kind::Unknown),
            Type::Named(Named::Known(def, TypeKind::Enum), _) => {
                let underlying = self.scope.and_then(|scope| scope.library.underlying(def));
                underlying.and_then(Kind::of_element).unwrap_or(Kind::Unknown)
            }
            Type::Named(Named::Known(_, TypeKind::Value), _) => Kind::Value,
            Type::Named(..) => Kind::Object,
            Type::ByRef(_) | Type::ReadOnly(_) | Type::In(_) => Kind::Ref,
            Type::Pointer | Type::Method(_) => Kind::Native,
        };
        Value::new(kind, id)
    }

    /// Whether values of a type are held as they are: value types, and parameters that may be one.
    pub(crate) fn may_be_boxed(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Primitive(_) | Type::Var(_) | Type::MVar(_) => true,
            Type::Named(Named::Known(_, kind), _) => kind.is_value(),
            _ => false,
        }
    }

    /// Whether it is a generic parameter.
    pub(crate) fn is_parameter(&self, id: TypeId) -> bool {
        matches!(self.items.borrow().get(id.0 as usize), Some(Type::Var(_) | Type::MVar(_)))
    }

    /// Whether it is made of other types.
    pub(crate) fn is_constructed(&self, id: TypeId) -> bool {
        match self.items.borrow().get(id.0 as usize) {
            Some(Type::Named(_, arguments)) => !arguments.is_empty(),
            item => matches!(item, Some(Type::Array(..) | Type::ByRef(_) | Type::In(_))),
        }
    }

    /// Whether it is an unmanaged pointer, or a reference to one.
    pub(crate) fn is_pointer(&self, id: TypeId) -> bool {
        match self.items.borrow().get(id.0 as usize) {
            Some(Type::ByRef(target) | Type::ReadOnly(target) | Type::In(target)) => {
                matches!(self.items.borrow().get(target.0 as usize), Some(Type::Pointer))
            }
            item => item == Some(&Type::Pointer),
        }
    }

    /// A type's name, for findings.
    pub(crate) fn name(&self, id: TypeId) -> String {
        match self.get(id) {
            Type::Unknown => "unknown".into(),
            Type::Null => "null".into(),
            Type::Primitive(element) => element.text().into(),
            Type::Named(named, arguments) => {
                let name = match named {
                    Named::Known(def, _) => self.scope.map_or_else(String::new, |scope| scope.library.full_name(def)),
                    Named::Missing(name) => name.to_string(),
                };
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
}
