//! Assignability of values (III.1.8.1.2.3).

use std::cell::{Cell, RefCell};

use ecma335::{element::ElementType, flags::generic_param_attributes as variance};
use foldhash::{HashMap, HashSet};

use crate::{
    model::{TypeKind, type_token},
    types::{
        hierarchy, parameters, resolve,
        store::{GenericContext, Named, Type, TypeId, Types},
        value_kind::ValueKind,
        verdict::{Limit, Verdict, all},
    },
};

/// The interfaces of vectors (I.8.9.1). Each has the element type as its argument.
const OF_VECTORS: [&str; 5] = [
    "System.Collections.Generic.IList`1",
    "System.Collections.Generic.ICollection`1",
    "System.Collections.Generic.IEnumerable`1",
    "System.Collections.Generic.IReadOnlyList`1",
    "System.Collections.Generic.IReadOnlyCollection`1",
];

/// The limit of depth for one question. Variance can lead to endless types.
const MAX_DEPTH: u32 = 16;
/// The limit of steps for one question.
const MAX_STEPS: u32 = 20_000;

/// The code whose constraints decide, and the two types.
type Question = (Option<GenericContext>, TypeId, TypeId);

#[derive(Default)]
struct Cache(RefCell<HashMap<Question, Verdict>>);

/// Whether a value of one type is verifier-assignable-to another.
pub(crate) fn assignable(types: &Types<'_>, from: TypeId, to: TypeId) -> Verdict {
    if from == to {
        return Some(true);
    }
    // The constraints of the code decide about its generic parameters.
    let within = types.within.get().filter(|_| types.is_open(from) && types.is_constructed(to));
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&(within, from, to)) {
        return *known;
    }
    let verdict = is_assignable(types, from, to, Limit::new(MAX_DEPTH, &Cell::new(MAX_STEPS)));
    cache.0.borrow_mut().insert((within, from, to), verdict);
    verdict
}

fn is_assignable(types: &Types<'_>, from: TypeId, to: TypeId, limit: Limit<'_>) -> Verdict {
    if from == to {
        return Some(true);
    }
    let limit = limit.deeper()?;
    match (types.get(from), types.get(to)) {
        (Type::Unknown, _) | (_, Type::Unknown) => None,
        (Type::Null, Type::Var(_) | Type::MVar(_) | Type::Named(Named::Missing(_), _)) => None,
        (Type::Null, _) => Some(types.is_reference(to)),
        (_, Type::Null) => Some(false),
        // Some signatures do not mark their `in` parameters.
        (Type::ByRef(from) | Type::In(from), Type::ByRef(to)) => pointer_element_compatible(types, from, to),
        (Type::ByRef(from) | Type::In(from) | Type::ReadOnly(from), Type::ReadOnly(to) | Type::In(to)) => {
            pointer_element_compatible(types, from, to)
        }
        (Type::Primitive(from), Type::Primitive(to)) => Some(is_same_number(from, to)),
        (Type::Primitive(_), Type::Named(Named::Known(_, TypeKind::Enum), _)) => Some(true),
        (Type::Named(Named::Known(_, TypeKind::Enum), _), Type::Primitive(_)) => Some(true),
        (Type::Named(Named::Known(_, TypeKind::Enum), _), Type::Named(Named::Known(_, TypeKind::Enum), _)) => Some(true),
        (Type::Named(Named::Missing(_), _), Type::Primitive(_)) => None,
        (Type::Primitive(_), Type::Named(Named::Missing(_), _)) => None,
        (Type::Pointer | Type::Method(_), Type::Pointer | Type::Primitive(_)) => Some(true),
        (Type::Primitive(_), Type::Pointer) => Some(true),
        (_, Type::Named(named, _)) if is_object(types, &named) && types.is_reference(from) => Some(true),
        (Type::Array(from, of), Type::Array(to, rank)) if of == rank => array_element_compatible(types, from, to, limit),
        (Type::Array(element, rank), Type::Named(..)) => array_assignable(types, element, rank, to, limit),
        (Type::Boxed(inner), _) => box_assignable(types, inner, to, limit),
        (Type::Named(..), Type::Named(..)) => is_subtype(types, from, to, limit),
        (Type::Named(Named::Missing(_), _), Type::Array(..)) => Some(false),
        _ => Some(false),
    }
}

/// Whether a type is the root of all classes, in any assembly. Frameworks may be mixed.
fn is_object(types: &Types<'_>, named: &Named) -> bool {
    match named {
        Named::Known(def, TypeKind::Class) => types.scope.is_some_and(|scope| {
            scope.library.row(*def).is_some_and(|row| row.extends.token().is_none_or(|token| token.rid() == 0))
        }),
        Named::Known(..) => false,
        Named::Missing(name) => &**name == "System.Object",
    }
}

/// Whether a controlled-mutability pointer is used as a mutable one to the same type.
pub(crate) fn is_read_only(types: &Types<'_>, from: TypeId, to: TypeId) -> bool {
    match (types.get(from), types.get(to)) {
        (Type::ReadOnly(from), Type::ByRef(to)) => pointer_element_compatible(types, from, to) != Some(false),
        _ => false,
    }
}

/// II.14.4.2: managed pointers are compatible if their target types are the same, except for the sign of integers.
pub(crate) fn pointer_element_compatible(types: &Types<'_>, from: TypeId, to: TypeId) -> Verdict {
    match (number(types, from), number(types, to)) {
        (Some(from), Some(to)) => Some(verification_type(from) == verification_type(to)),
        _ => is_same(types, from, to),
    }
}

/// The element type in memory of a number, an enumeration or a pointer.
pub(crate) fn number(types: &Types<'_>, id: TypeId) -> Option<ElementType> {
    match types.get(id) {
        Type::Primitive(element) => Some(element),
        Type::Named(Named::Known(def, TypeKind::Enum), _) => types.scope.and_then(|scope| scope.library.underlying(def)),
        Type::Pointer => Some(ElementType::I),
        _ => None,
    }
}

/// Whether two types are the same. Types from two copies of an assembly are compared by name.
pub(crate) fn is_same(types: &Types<'_>, one: TypeId, other: TypeId) -> Verdict {
    if one == other {
        return Some(true);
    }
    let are_same = |ones: &[TypeId], others: &[TypeId]| {
        let each = ones.iter().zip(others).map(|(one, other)| is_same(types, *one, *other));
        all([Some(ones.len() == others.len())].into_iter().chain(each))
    };
    match (types.get(one), types.get(other)) {
        (Type::Unknown, _) | (_, Type::Unknown) => None,
        (Type::Named(named, ones), Type::Named(of, others)) => match is_same_definition(types, &named, &of) {
            Some(true) => are_same(&ones, &others),
            verdict => verdict,
        },
        (Type::Named(Named::Missing(_), _), Type::Primitive(_) | Type::Pointer) => None,
        (Type::Primitive(_) | Type::Pointer, Type::Named(Named::Missing(_), _)) => None,
        (Type::Array(one, rank), Type::Array(other, of)) if rank == of => is_same(types, one, other),
        (Type::ByRef(one), Type::ByRef(other)) | (Type::Boxed(one), Type::Boxed(other)) => {
            pointer_element_compatible(types, one, other)
        }
        (Type::Primitive(one), Type::Primitive(other)) => Some(one == other),
        _ => Some(false),
    }
}

fn is_same_definition(types: &Types<'_>, one: &Named, other: &Named) -> Verdict {
    if one == other {
        return Some(true);
    }
    match (one, other) {
        // Two definitions of one assembly are different types.
        (Named::Known(a, _), Named::Known(b, _)) if a.module == b.module => Some(false),
        (Named::Known(..), Named::Known(..)) => Some(types.definition_name(one) == types.definition_name(other)),
        _ if types.definition_name(one) == types.definition_name(other) => Some(true),
        // The missing type may be forwarded to the other's assembly, under another name. The answer is unknown.
        _ => None,
    }
}

/// III.4.29: whether a value stored as one type may be held in a place of another.
pub(crate) fn held_compatible(types: &Types<'_>, from: TypeId, to: TypeId) -> Verdict {
    match pointer_element_compatible(types, from, to) {
        Some(false) if types.is_reference(from) => assignable(types, from, to),
        verdict => verdict,
    }
}

/// I.8.7.1: whether a type in a signature is compatible with the one in another signature.
pub(crate) fn signature_compatible(types: &Types<'_>, from: TypeId, to: TypeId) -> Verdict {
    match (types.get(from), types.get(to)) {
        (Type::ByRef(from) | Type::In(from), Type::ByRef(to) | Type::In(to)) => pointer_element_compatible(types, from, to),
        _ => element_compatible(types, from, to),
    }
}

/// I.8.7.1: whether elements of one type are compatible with those of another.
pub(crate) fn element_compatible(types: &Types<'_>, from: TypeId, to: TypeId) -> Verdict {
    array_element_compatible(types, from, to, Limit::new(MAX_DEPTH, &Cell::new(MAX_STEPS)))
}

/// I.8.7.1: array elements are of one reduced type, or compatible references.
fn array_element_compatible(types: &Types<'_>, from: TypeId, to: TypeId, limit: Limit<'_>) -> Verdict {
    if from == to || types.is_reference(from) {
        return is_assignable(types, from, to, limit);
    }
    if types.is_parameter(from) && (types.is_reference(to) || types.is_parameter(to)) {
        // The constraints tell whether it is a reference type.
        return None;
    }
    let sized = |id: TypeId| match types.get(id) {
        Type::Primitive(element) => Some(reduced_type(element)),
        Type::Named(Named::Known(def, TypeKind::Enum), _) => {
            types.scope.and_then(|scope| scope.library.underlying(def)).map(reduced_type)
        }
        Type::Pointer => Some(ElementType::U),
        _ => None,
    };
    match (sized(from), sized(to)) {
        (Some(from), Some(to)) => Some(from == to),
        _ => is_same(types, from, to),
    }
}

fn array_assignable(types: &Types<'_>, element: TypeId, rank: Option<u32>, to: TypeId, limit: Limit<'_>) -> Verdict {
    if let (Type::Named(named, arguments), None) = (types.get(to), rank)
        && let [argument] = arguments[..]
        && OF_VECTORS.contains(&types.definition_name(&named).as_str())
    {
        return array_element_compatible(types, element, argument, limit);
    }
    is_assignable(types, resolve::system(types, "Array"), to, limit)
}

/// A box has the base types and interfaces of its value type. Those of a generic parameter depend on constraints, and are
/// assumed.
fn box_assignable(types: &Types<'_>, inner: TypeId, to: TypeId, limit: Limit<'_>) -> Verdict {
    match (types.get(inner), types.get(to)) {
        (_, Type::Boxed(to)) => pointer_element_compatible(types, inner, to),
        (Type::Primitive(element), Type::Named(..)) if element.is_primitive() => {
            is_subtype(types, resolve::system(types, element.class()), to, limit)
        }
        (Type::Primitive(_), Type::Named(..)) => None,
        (Type::Named(..), Type::Named(..)) => match is_subtype(types, inner, to, limit) {
            Some(true) if types.may_be_boxed(to) => Some(false),
            verdict => verdict,
        },
        (Type::Var(_) | Type::MVar(_) | Type::Unknown, _) => None,
        _ => Some(false),
    }
}

/// Whether a type is another, or extends or implements it.
fn is_subtype(types: &Types<'_>, from: TypeId, to: TypeId, limit: Limit<'_>) -> Verdict {
    let mut work = vec![from];
    let mut seen: HashSet<TypeId> = HashSet::default();
    let mut verdict = Some(false);
    while let Some(id) = work.pop() {
        limit.step()?;
        if !seen.insert(id) {
            continue;
        }
        match variance_compatible(types, id, to, limit) {
            Some(true) => return Some(true),
            None => verdict = None,
            Some(false) => {}
        }
        match types.get(id) {
            Type::Named(Named::Known(def, _), arguments) => {
                work.extend(hierarchy::parents(types, def).iter().map(|parent| types.substitute(parent, &arguments)));
            }
            _ => verdict = None,
        }
    }
    verdict
}

/// Whether two instantiations are the same, or differ as variance permits (II.9.9).
fn variance_compatible(types: &Types<'_>, from: TypeId, to: TypeId, limit: Limit<'_>) -> Verdict {
    let (Type::Named(of, froms), Type::Named(named, tos)) = (types.get(from), types.get(to)) else { return None };
    match is_same_definition(types, &of, &named) {
        // A missing type may be anything. A type whose base types are all known is not.
        None => return if matches!(of, Named::Known(..)) { None } else { is_same(types, from, to) },
        Some(false) => return Some(false),
        Some(true) => {}
    }
    let bounds = match &of {
        Named::Known(def, _) => types.scope.map_or(&[][..], |scope| scope.library.bounds(def.module, type_token(def.rid))),
        Named::Missing(_) => &[],
    };
    let mut verdict = Some(froms.len() == tos.len() || froms.is_empty() || tos.is_empty());
    for (number, (from, to)) in froms.iter().zip(tos.iter()).enumerate() {
        let way = bounds.get(number).map_or(0, |bound| bound.param.variance());
        let same = is_same(types, *from, *to);
        let fits = match way {
            _ if same == Some(true) => same,
            variance::COVARIANT if types.is_reference(*from) => is_assignable(types, *from, *to, limit),
            variance::CONTRAVARIANT if types.is_reference(*to) => is_assignable(types, *to, *from, limit),
            // Value types are invariant.
            _ if [from, to].iter().any(|id| is_value(types, **id)) => same,
            variance::COVARIANT => parameter_assignable(types, *from, *to, limit),
            variance::CONTRAVARIANT => parameter_assignable(types, *to, *from, limit),
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

/// Whether a generic parameter of the current code is a reference type that is assignable to another type.
fn parameter_assignable(types: &Types<'_>, from: TypeId, to: TypeId, limit: Limit<'_>) -> Verdict {
    let within = types.within.get();
    if !parameters::is_reference(types, within, from)? {
        return Some(false);
    }
    if matches!(types.get(to), Type::Named(named, _) if is_object(types, &named)) {
        return Some(true);
    }
    let mut verdict = Some(false);
    for constraint in parameters::constraints_of(types, parameters::bound_of(types, within, from)?) {
        let fits = match types.is_parameter(constraint) {
            true if constraint == to => Some(true),
            true => parameter_assignable(types, constraint, to, limit.deeper()?),
            false => is_assignable(types, constraint, to, limit),
        };
        match fits {
            Some(true) => return Some(true),
            None => verdict = None,
            Some(false) => {}
        }
    }
    verdict
}

/// Whether a type is a value type, for any generic arguments.
fn is_value(types: &Types<'_>, id: TypeId) -> bool {
    types.may_be_boxed(id) && !types.is_parameter(id)
}

/// Whether numbers have one type on the stack (III.1.8.1.2.1).
fn is_same_number(one: ElementType, other: ElementType) -> bool {
    match (ValueKind::of_element(one), ValueKind::of_element(other)) {
        (Some(one), Some(other)) => one.assignable_to(other),
        _ => false,
    }
}

/// The verification type of a number (I.8.7).
pub(crate) fn verification_type(element: ElementType) -> ElementType {
    match element {
        ElementType::Boolean | ElementType::U1 => ElementType::I1,
        ElementType::Char | ElementType::U2 => ElementType::I2,
        ElementType::U4 => ElementType::I4,
        ElementType::U8 => ElementType::I8,
        ElementType::U => ElementType::I,
        _ => element,
    }
}

/// The reduced type of a number (I.8.7).
fn reduced_type(element: ElementType) -> ElementType {
    match element {
        ElementType::Boolean | ElementType::Char => element,
        _ => verification_type(element),
    }
}
