//! Which values may go where (III.1.8.1.2.3).

use std::{collections::HashSet, rc::Rc};

use ecma335::{element::ElementType, flags::generic_param_attributes as variance};

use crate::{
    context::type_token,
    model::TypeKind,
    types::store::{Named, Type, TypeId, Types},
};

/// Interfaces of vectors (I.8.9.1), each with the element type for its argument.
const OF_VECTORS: [&str; 5] = [
    "System.Collections.Generic.IList`1",
    "System.Collections.Generic.ICollection`1",
    "System.Collections.Generic.IEnumerable`1",
    "System.Collections.Generic.IReadOnlyList`1",
    "System.Collections.Generic.IReadOnlyCollection`1",
];

/// Types are looked into no deeper than this: variance can lead on and on.
pub(crate) const MAX_DEPTH: u32 = 16;
/// And one question takes no more steps than this: types can be made to lead ever further. What is left is assumed.
pub(crate) const MAX_STEPS: u32 = 20_000;

impl Types<'_> {
    /// Whether a value of one type may go where another is wanted; none if only an assembly that is not there tells.
    pub(crate) fn fits(&self, from: TypeId, to: TypeId) -> Option<bool> {
        if from == to {
            return Some(true);
        }
        if let Some(known) = self.judged.borrow().get(&(from, to)) {
            return *known;
        }
        self.fuel.set(MAX_STEPS);
        let verdict = self.judge(from, to, MAX_DEPTH);
        self.judged.borrow_mut().insert((from, to), verdict);
        verdict
    }

    /// Whether values of the type are references to objects.
    pub(crate) fn is_reference(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Null | Type::Array(..) | Type::Boxed(_) => true,
            Type::Named(Named::Known(_, kind), _) => !kind.is_value(),
            _ => false,
        }
    }

    /// Goes a step further; none if it has been too many.
    fn burn(&self) -> Option<()> {
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        Some(())
    }

    fn judge(&self, from: TypeId, to: TypeId, depth: u32) -> Option<bool> {
        if from == to {
            return Some(true);
        }
        let depth = depth.checked_sub(1)?;
        self.burn()?;
        match (self.get(from), self.get(to)) {
            (Type::Unknown, _) | (_, Type::Unknown) => None,
            (Type::Null, Type::Var(_) | Type::MVar(_) | Type::Named(Named::Missing(_), _)) => None,
            (Type::Null, _) => Some(self.is_reference(to)),
            (_, Type::Null) => Some(false),
            // Not all signatures tell that what they take is `in`.
            (Type::ByRef(from) | Type::In(from), Type::ByRef(to)) => self.is_same_target(from, to),
            (Type::ByRef(from) | Type::In(from) | Type::ReadOnly(from), Type::ReadOnly(to) | Type::In(to)) => {
                self.is_same_target(from, to)
            }
            (Type::Primitive(from), Type::Primitive(to)) => Some(is_same_number(from, to)),
            (Type::Primitive(_), Type::Named(Named::Known(_, TypeKind::Enum), _)) => Some(true),
            (Type::Named(Named::Known(_, TypeKind::Enum), _), Type::Primitive(_)) => Some(true),
            (Type::Named(Named::Known(_, TypeKind::Enum), _), Type::Named(Named::Known(_, TypeKind::Enum), _)) => Some(true),
            (Type::Named(Named::Missing(_), _), Type::Primitive(_)) => None,
            (Type::Primitive(_), Type::Named(Named::Missing(_), _)) => None,
            (Type::Pointer | Type::Method(_), Type::Pointer | Type::Primitive(_)) => Some(true),
            (Type::Primitive(_), Type::Pointer) => Some(true),
            (_, Type::Named(named, _)) if self.is_object(&named) && self.is_reference(from) => Some(true),
            (Type::Array(from, of), Type::Array(to, rank)) if of == rank => self.is_same_element(from, to, depth),
            (Type::Array(element, rank), Type::Named(..)) => self.array_fits(element, rank, to, depth),
            (Type::Boxed(inner), _) => self.boxed_fits(inner, to, depth),
            (Type::Named(..), Type::Named(..)) => self.extends(from, to, depth),
            (Type::Named(Named::Missing(_), _), Type::Array(..)) => Some(false),
            _ => Some(false),
        }
    }

    /// Whether it is the root of all classes: of whatever assembly, for frameworks may be mixed.
    fn is_object(&self, named: &Named) -> bool {
        match named {
            Named::Known(def, TypeKind::Class) => self.scope.is_some_and(|scope| {
                scope.library.row(*def).is_some_and(|row| row.extends.token().is_none_or(|token| token.rid() == 0))
            }),
            Named::Known(..) => false,
            Named::Missing(name) => &**name == "System.Object",
        }
    }

    /// Whether it is a pointer of controlled mutability where one to the same may be stored through.
    pub(crate) fn is_read_only(&self, from: TypeId, to: TypeId) -> bool {
        match (self.get(from), self.get(to)) {
            (Type::ReadOnly(from), Type::ByRef(to)) => self.is_same_target(from, to) != Some(false),
            _ => false,
        }
    }

    /// II.14.4.2: what references point to is the same type, but for the sign of integers.
    pub(crate) fn is_same_target(&self, from: TypeId, to: TypeId) -> Option<bool> {
        match (self.number(from), self.number(to)) {
            (Some(from), Some(to)) => Some(reduced(from) == reduced(to)),
            _ => self.is_same(from, to),
        }
    }

    /// What a number, an enumeration or a pointer is in memory.
    pub(crate) fn number(&self, id: TypeId) -> Option<ElementType> {
        match self.get(id) {
            Type::Primitive(element) => Some(element),
            Type::Named(Named::Known(def, TypeKind::Enum), _) => self.scope.and_then(|scope| scope.library.underlying(def)),
            Type::Pointer => Some(ElementType::I),
            _ => None,
        }
    }

    /// Whether two types are one, by their names where two copies of an assembly have it.
    pub(crate) fn is_same(&self, one: TypeId, other: TypeId) -> Option<bool> {
        if one == other {
            return Some(true);
        }
        let are_same = |ones: &[TypeId], others: &[TypeId]| {
            let each = ones.iter().zip(others).map(|(one, other)| self.is_same(*one, *other));
            all([Some(ones.len() == others.len())].into_iter().chain(each))
        };
        match (self.get(one), self.get(other)) {
            (Type::Unknown, _) | (_, Type::Unknown) => None,
            (Type::Named(named, ones), Type::Named(of, others)) => match self.is_same_definition(&named, &of) {
                Some(true) => are_same(&ones, &others),
                verdict => verdict,
            },
            (Type::Named(Named::Missing(_), _), Type::Primitive(_) | Type::Pointer) => None,
            (Type::Primitive(_) | Type::Pointer, Type::Named(Named::Missing(_), _)) => None,
            (Type::Array(one, rank), Type::Array(other, of)) if rank == of => self.is_same(one, other),
            (Type::ByRef(one), Type::ByRef(other)) | (Type::Boxed(one), Type::Boxed(other)) => self.is_same_target(one, other),
            (Type::Primitive(one), Type::Primitive(other)) => Some(one == other),
            _ => Some(false),
        }
    }

    fn is_same_definition(&self, one: &Named, other: &Named) -> Option<bool> {
        let name = |named: &Named| match named {
            Named::Known(def, _) => self.scope.map_or_else(Rc::default, |scope| Rc::from(scope.library.full_name(*def))),
            Named::Missing(name) => name.clone(),
        };
        if one == other {
            return Some(true);
        }
        match (one, other) {
            // Two of one assembly are two.
            (Named::Known(one, _), Named::Known(other, _)) if one.module == other.module => Some(false),
            (Named::Known(..), Named::Known(..)) => Some(name(one) == name(other)),
            _ if name(one) == name(other) => Some(true),
            // One might be a forwarder to the other's assembly, with the name of another type; or not.
            _ => None,
        }
    }

    /// I.8.7.1: whether what a signature has at a place may stand for what another has.
    pub(crate) fn stands_for(&self, from: TypeId, to: TypeId) -> Option<bool> {
        self.fuel.set(MAX_STEPS);
        match (self.get(from), self.get(to)) {
            (Type::ByRef(from) | Type::In(from), Type::ByRef(to) | Type::In(to)) => self.is_same_target(from, to),
            _ => self.is_same_element(from, to, MAX_DEPTH),
        }
    }

    /// I.8.7.1: elements of arrays are of one reduced type, or references that fit.
    fn is_same_element(&self, from: TypeId, to: TypeId, depth: u32) -> Option<bool> {
        if from == to || self.is_reference(from) {
            return self.judge(from, to, depth);
        }
        if self.is_parameter(from) && (self.is_reference(to) || self.is_parameter(to)) {
            // Its constraints say whether it is one.
            return None;
        }
        let sized = |id: TypeId| match self.get(id) {
            Type::Primitive(element) => Some(unsigned(element)),
            Type::Named(Named::Known(def, TypeKind::Enum), _) => {
                self.scope.and_then(|scope| scope.library.underlying(def)).map(unsigned)
            }
            Type::Pointer => Some(ElementType::U),
            _ => None,
        };
        match (sized(from), sized(to)) {
            (Some(from), Some(to)) => Some(from == to),
            _ => self.is_same(from, to),
        }
    }

    fn array_fits(&self, element: TypeId, rank: Option<u32>, to: TypeId, depth: u32) -> Option<bool> {
        if let (Type::Named(named, arguments), None) = (self.get(to), rank)
            && let [argument] = arguments[..]
        {
            let name = match named {
                Named::Known(def, _) => self.scope.map_or_else(String::new, |scope| scope.library.full_name(def)),
                Named::Missing(name) => name.to_string(),
            };
            if OF_VECTORS.contains(&name.as_str()) {
                return self.is_same_element(element, argument, depth);
            }
        }
        self.judge(self.system("Array"), to, depth)
    }

    /// A box is what its value type extends and implements; that of a parameter is what constraints say, which is assumed.
    fn boxed_fits(&self, inner: TypeId, to: TypeId, depth: u32) -> Option<bool> {
        match (self.get(inner), self.get(to)) {
            (_, Type::Boxed(to)) => self.is_same_target(inner, to),
            (Type::Primitive(element), Type::Named(..)) => self.extends(self.system(name_of(element)?), to, depth),
            (Type::Named(..), Type::Named(..)) => match self.extends(inner, to, depth) {
                Some(true) if self.may_be_boxed(to) => Some(false),
                verdict => verdict,
            },
            (Type::Var(_) | Type::MVar(_) | Type::Unknown, _) => None,
            _ => Some(false),
        }
    }

    /// Whether a type is another, or extends or implements it.
    fn extends(&self, from: TypeId, to: TypeId, depth: u32) -> Option<bool> {
        let mut work = vec![from];
        let mut seen: HashSet<TypeId> = HashSet::new();
        let mut verdict = Some(false);
        while let Some(id) = work.pop() {
            self.burn()?;
            if !seen.insert(id) {
                continue;
            }
            match self.is_variant(id, to, depth) {
                Some(true) => return Some(true),
                None => verdict = None,
                Some(false) => {}
            }
            match self.get(id) {
                Type::Named(Named::Known(def, _), arguments) => {
                    let parents = self.parents(def);
                    work.extend(parents.interfaces.iter().chain(&parents.base).map(|parent| self.with(*parent, &arguments)));
                }
                _ => verdict = None,
            }
        }
        verdict
    }

    /// Whether two instantiations are one, or differ as variance allows (II.9.9).
    fn is_variant(&self, from: TypeId, to: TypeId, depth: u32) -> Option<bool> {
        let (Type::Named(of, froms), Type::Named(named, tos)) = (self.get(from), self.get(to)) else { return None };
        match self.is_same_definition(&of, &named) {
            // What is missing might be anything, but not what a type of the library with all its parents is not.
            None => return if matches!(of, Named::Known(..)) { None } else { self.is_same(from, to) },
            Some(false) => return Some(false),
            Some(true) => {}
        }
        let bounds = match &of {
            Named::Known(def, _) => self.scope.map_or(&[][..], |scope| scope.library.bounds(def.module, type_token(def.rid))),
            Named::Missing(_) => &[],
        };
        let mut verdict = Some(froms.len() == tos.len() || froms.is_empty() || tos.is_empty());
        for (number, (from, to)) in froms.iter().zip(tos.iter()).enumerate() {
            let way = bounds.get(number).map_or(0, |bound| bound.param.variance());
            let same = self.is_same(*from, *to);
            let fits = match way {
                _ if same == Some(true) => same,
                variance::COVARIANT if self.is_reference(*from) => self.judge(*from, *to, depth),
                variance::CONTRAVARIANT if self.is_reference(*to) => self.judge(*to, *from, depth),
                // A parameter may be constrained to references.
                variance::COVARIANT | variance::CONTRAVARIANT => None,
                _ => same,
            };
            match fits {
                Some(true) => {}
                Some(false) => return Some(false),
                None => verdict = None,
            }
        }
        verdict
    }
}

/// Whether all is well; none if only an assembly that is not there tells.
pub(crate) fn all(verdicts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut so_far = Some(true);
    for verdict in verdicts {
        match verdict {
            Some(false) => return Some(false),
            None => so_far = None,
            Some(true) => {}
        }
    }
    so_far
}

/// Whether numbers are of one type on the stack (III.1.8.1.2.1).
fn is_same_number(one: ElementType, other: ElementType) -> bool {
    use crate::body::stack_value::Kind;
    match (Kind::of_element(one), Kind::of_element(other)) {
        (Some(one), Some(other)) => one.fits(other),
        _ => false,
    }
}

/// I.8.7: the verification type, without sign.
pub(crate) fn reduced(element: ElementType) -> ElementType {
    match element {
        ElementType::Boolean | ElementType::U1 => ElementType::I1,
        ElementType::Char | ElementType::U2 => ElementType::I2,
        ElementType::U4 => ElementType::I4,
        ElementType::U8 => ElementType::I8,
        ElementType::U => ElementType::I,
        _ => element,
    }
}

/// I.8.7: the reduced type, without sign.
fn unsigned(element: ElementType) -> ElementType {
    match element {
        ElementType::Boolean | ElementType::Char => element,
        _ => reduced(element),
    }
}

fn name_of(element: ElementType) -> Option<&'static str> {
    Some(match element {
        ElementType::Boolean => "Boolean",
        ElementType::Char => "Char",
        ElementType::I1 => "SByte",
        ElementType::U1 => "Byte",
        ElementType::I2 => "Int16",
        ElementType::U2 => "UInt16",
        ElementType::I4 => "Int32",
        ElementType::U4 => "UInt32",
        ElementType::I8 => "Int64",
        ElementType::U8 => "UInt64",
        ElementType::R4 => "Single",
        ElementType::R8 => "Double",
        ElementType::I => "IntPtr",
        ElementType::U => "UIntPtr",
        _ => return None,
    })
}
