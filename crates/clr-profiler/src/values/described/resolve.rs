//! Resolves signatures and classes to types, with the loaded modules and their type definitions.

use std::{collections::HashMap, path::Path, sync::Arc};

use ecma335::{
    Rid, Token,
    schema::{Table, TypeDef, TypeDefOrRef},
    signature::{MethodSig, TypeSig},
};

use super::types::{NamedType, Type};
use crate::{
    abi::runtime::{Id, Runtime},
    modules::loaded::Loaded,
};

/// The loaded modules.
pub(crate) struct Modules {
    runtime: Runtime,
    all: Vec<Id>,
    loaded: HashMap<Id, Option<Arc<Loaded>>>,
}

/// The arguments for the generic parameters of types and methods.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) of_type: Vec<Type>,
    pub(crate) of_method: Vec<Type>,
}

/// The definition of a type: its module and row.
type Definition = (Id, Rid<TypeDef>);

/// The maximum number of type forwards: a type may have moved several times.
const MAX_FORWARDS: usize = 8;
/// The maximum nesting of generic arguments of classes.
const MAX_DEPTH: usize = 16;

impl Modules {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, all: Vec::new(), loaded: HashMap::new() }
    }

    pub(crate) fn add(&mut self, module: Id) {
        self.all.push(module);
    }

    pub(crate) fn remove(&mut self, module: Id) {
        self.all.retain(|known| *known != module);
        self.loaded.remove(&module);
    }

    pub(crate) fn get(&mut self, module: Id) -> Option<Arc<Loaded>> {
        let runtime = self.runtime;
        let read = || runtime.module(module).and_then(|place| Loaded::read(&place)).map(Arc::new);
        self.loaded.entry(module).or_insert_with(read).clone()
    }

    /// The module of an assembly; `None` if several loaded ones have this name, as only contexts tell them apart.
    fn assembly(&mut self, name: &str) -> Option<Id> {
        let mut found = None;
        for module in self.all.clone() {
            let Some(loaded) = self.get(module) else { continue };
            let is_called_so = match Path::new(&loaded.path).file_stem().and_then(|stem| stem.to_str()) {
                Some(stem) => stem.eq_ignore_ascii_case(name),
                None => loaded.metadata.display_name().split(',').next() == Some(name),
            };
            if is_called_so && found.replace(module).is_some() {
                return None;
            }
        }
        found
    }

    /// Finds the definition of a type in an assembly.
    fn find(&mut self, assembly: &str, name: &str) -> Option<Definition> {
        let mut assembly = assembly.to_owned();
        for _ in 0..MAX_FORWARDS {
            // The forwarding assembly may not be loaded, as the JIT has not needed it yet.
            let module = self.assembly(&assembly).or_else(|| self.core())?;
            let loaded = self.get(module)?;
            if let Some(rid) = loaded.type_named(name) {
                return Some((module, rid));
            }
            assembly = loaded.forwarded(name)?;
        }
        None
    }

    /// The module of the core library.
    pub(crate) fn core(&mut self) -> Option<Id> {
        self.assembly("System.Private.CoreLib").or_else(|| self.assembly("mscorlib"))
    }

    /// The type of a module's token: its name and its definition.
    fn named(&mut self, module: Id, token: Token) -> Option<(String, Option<Definition>)> {
        let loaded = self.get(module)?;
        match token.table()? {
            Table::TypeDef => {
                let rid = token.rid_in()?;
                Some((loaded.metadata.full_names().name_of(rid).ok()?, Some((module, rid))))
            }
            Table::TypeRef => {
                let rid = token.rid_in()?;
                let name = loaded.metadata.type_ref_name(rid).ok()?;
                let definition = match loaded.metadata.assembly_of(rid) {
                    Some(assembly) => self.find(&assembly, &name),
                    None => loaded.type_named(&name).map(|rid| (module, rid)),
                };
                Some((name, definition))
            }
            _ => None,
        }
    }

    /// The name of a modifier.
    pub(crate) fn name_of(&mut self, module: Id, token: TypeDefOrRef) -> String {
        token.token().and_then(|token| self.named(module, token)).map(|(name, _)| name).unwrap_or_default()
    }

    fn named_type(&mut self, module: Id, token: TypeDefOrRef, is_value: bool, arguments: Vec<Type>) -> Type {
        match token.token().and_then(|token| self.named(module, token)) {
            Some((name, definition)) => Type::named(NamedType { name, is_value, definition, arguments }),
            None => Type::Unknown("?".into()),
        }
    }

    /// The type for a signature of a module.
    pub(crate) fn type_of(&mut self, module: Id, signature: &TypeSig, with: &Arguments) -> Type {
        let mut boxed = |inner: &TypeSig| Box::new(self.type_of(module, inner, with));
        match signature {
            TypeSig::Element(element) => Type::Element(*element),
            TypeSig::Named { is_value, token } => self.named_type(module, *token, *is_value, Vec::new()),
            TypeSig::Ptr(inner) => Type::Pointer(boxed(inner)),
            TypeSig::ByRef(inner) => Type::ByRef(boxed(inner)),
            TypeSig::SzArray(inner) => Type::Array(boxed(inner), 1),
            TypeSig::Array(inner, shape) => Type::Array(boxed(inner), shape.rank.max(1)),
            TypeSig::Pinned(inner) | TypeSig::Modified { inner, .. } => *boxed(inner),
            TypeSig::Var(number) => parameter(&with.of_type, *number, "!"),
            TypeSig::MVar(number) => parameter(&with.of_method, *number, "!!"),
            TypeSig::GenericInst { is_value, token, arguments } => {
                let arguments = arguments.iter().map(|argument| self.type_of(module, argument, with)).collect();
                self.named_type(module, *token, *is_value, arguments)
            }
            TypeSig::FnPtr(method) => {
                let MethodSig { params, return_type, .. } = &**method;
                Type::Function(params.iter().chain([return_type]).map(|each| self.type_of(module, each, with)).collect())
            }
        }
    }

    /// The type of a runtime class.
    pub(crate) fn type_of_class(&mut self, class: Id) -> Type {
        self.type_of_class_within(class, 0)
    }

    fn type_of_class_within(&mut self, class: Id, depth: usize) -> Type {
        let unknown = || Type::Unknown("?".into());
        if class == 0 || depth > MAX_DEPTH {
            return unknown();
        }
        if let Some((element, element_class, rank)) = self.runtime.array_class(class) {
            // For an enum, the element is its underlying type. The class is more exact, if there is one.
            let element = match Type::of_element(element).filter(|_| element_class == 0) {
                Some(element) => element,
                None => self.type_of_class_within(element_class, depth + 1),
            };
            return Type::Array(Box::new(element), rank.max(1));
        }
        let Some(place) = self.runtime.class(class) else { return unknown() };
        let Some(loaded) = self.get(place.module) else { return unknown() };
        let Some(rid) = Token(place.token).rid_in::<TypeDef>() else { return unknown() };
        let Ok(name) = loaded.metadata.full_names().name_of(rid) else { return unknown() };
        let arguments = place.arguments.iter().map(|class| self.type_of_class_within(*class, depth + 1)).collect();
        let is_value = loaded.metadata.is_value_type(rid).unwrap_or_default();
        Type::named(NamedType { name, is_value, definition: Some((place.module, rid)), arguments })
    }
}

fn parameter(arguments: &[Type], number: u32, mark: &str) -> Type {
    arguments.get(number as usize).cloned().unwrap_or_else(|| Type::Unknown(format!("{mark}{number}")))
}
