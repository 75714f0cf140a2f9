//! Resolves member references by name and signature, in the named type or its base types (II.22.25).

use std::{cell::RefCell, rc::Rc};

use ecma335::{
    Rid,
    element::convention,
    schema::{Blob, Field, MethodDef, TypeDef},
    signature::{MethodSig, Signature, TypeSig},
};
use foldhash::HashMap;

use crate::{
    model::TypeKind,
    types::{
        assign, hierarchy,
        library::Def,
        method_type::is_void,
        resolve,
        store::{Arguments, Named, Type, TypeId, Types},
        verdict::{Verdict, all},
    },
};

/// The limit of base classes. A longer chain is a cycle.
const MAX_BASES: usize = 256;
/// The limit of methods of one type and name that are examined.
const MAX_OVERLOADS: usize = 1024;

#[derive(Default)]
struct Cache(RefCell<HashMap<Def, Rc<Members>>>);

/// The rows of a type's members, by name.
#[derive(Default, Debug)]
struct Members {
    methods: HashMap<Vec<u8>, Vec<(u32, MethodDef)>>,
    fields: HashMap<Vec<u8>, Vec<Field>>,
}

/// A method that another module refers to: its declaring type, row number and row.
pub(crate) fn find_method(types: &Types<'_>, owner: TypeId, name: &[u8], wanted: &MethodSig) -> Option<(Def, u32, MethodDef)> {
    let module = types.scope?.module;
    for (def, of_type) in bases(types, owner)? {
        let members = members(types, def);
        let fits = |(_, row): &(u32, MethodDef)| {
            let Some(Signature::Method(signature)) = signature(types, def, row.signature) else { return Some(false) };
            let shape = |of: &MethodSig| {
                let has_this = of.convention & convention::HAS_THIS;
                (of.generic_params, of.params.len(), has_this, is_void(&of.return_type))
            };
            if shape(&signature) != shape(wanted) {
                return Some(false);
            }
            let of = |signature: &MethodSig| {
                let returned = (!is_void(&signature.return_type)).then(|| signature.return_type.clone());
                signature.params.iter().cloned().chain(returned).collect::<Vec<_>>()
            };
            are_same(types, (def.module, &of_type), &of(&signature), module, &of(wanted))
        };
        let rows = members.methods.get(name).map_or(&[][..], Vec::as_slice);
        if let Some((rid, row)) = best(rows, fits, |(_, row)| row.access()) {
            return Some((def, *rid, *row));
        }
    }
    None
}

/// A field that another module refers to, and its declaring type.
pub(crate) fn find_field(types: &Types<'_>, owner: TypeId, name: &[u8], wanted: &TypeSig) -> Option<(Def, Field)> {
    let module = types.scope?.module;
    for (def, of_type) in bases(types, owner)? {
        let members = members(types, def);
        let fits = |row: &Field| match signature(types, def, row.signature) {
            Some(Signature::Field(signature)) => {
                let (one, other) = (std::slice::from_ref(&signature), std::slice::from_ref(wanted));
                are_same(types, (def.module, &of_type), one, module, other)
            }
            _ => Some(false),
        };
        let rows = members.fields.get(name).map_or(&[][..], Vec::as_slice);
        if let Some(row) = best(rows, fits, Field::access) {
            return Some((def, *row));
        }
    }
    None
}

/// Whether a method that a module's reference names is certain to be missing.
pub(crate) fn is_missing(types: &Types<'_>, owner: TypeId, name: &[u8], wanted: &MethodSig) -> bool {
    find_method(types, owner, name, wanted).is_none() && has_none_elsewhere(types, owner, name)
}

/// Whether a member that a type itself lacks is certain not to be inherited. Every type to inherit from has to be known.
pub(crate) fn has_none_elsewhere(types: &Types<'_>, owner: TypeId, name: &[u8]) -> bool {
    let Type::Named(Named::Known(def, kind), _) = types.get(owner) else { return false };
    if types.scope.is_some_and(|scope| scope.library.is_of_other_framework(scope.module, def)) {
        return false;
    }
    if kind != TypeKind::Interface {
        return hierarchy::is_rooted(types, def);
    }
    let has = |id: &TypeId| match types.get(*id) {
        Type::Named(Named::Known(def, _), _) => members(types, def).methods.contains_key(name),
        _ => true,
    };
    let parents = |id: &TypeId| match types.get(*id) {
        Type::Named(Named::Known(def, _), _) => hierarchy::parents(types, def).iter().collect(),
        _ => vec![TypeId::UNKNOWN],
    };
    let inherited = hierarchy::interfaces(types, owner).iter().flat_map(parents).collect::<Vec<_>>();
    !inherited.iter().chain([&resolve::system(types, "Object")]).any(has)
}

/// The only method of a name in a type.
pub(crate) fn method_named(types: &Types<'_>, def: Def, name: &[u8]) -> Option<MethodDef> {
    members(types, def).methods.get(name)?.first().map(|(_, row)| *row)
}

/// Whether a class has a public constructor without parameters.
pub(crate) fn has_default_constructor(types: &Types<'_>, def: Def) -> bool {
    let members = members(types, def);
    let is_it = |(_, row): &(u32, MethodDef)| {
        let signature = signature(types, def, row.signature);
        let takes_nothing = matches!(signature, Some(Signature::Method(of)) if of.params.is_empty());
        row.is_public() && !row.is_static() && takes_nothing
    };
    members.methods.get(&b".ctor"[..]).is_some_and(|rows| rows.iter().any(is_it))
}

/// A signature in a definition's module.
pub(crate) fn signature(types: &Types<'_>, def: Def, blob: Blob) -> Option<Signature> {
    Signature::parse(types.scope?.library.metadata(def.module)?.blobs.blob(blob).ok()?).ok()
}

/// The definitions of a type and its base types, as far as they are known, with their arguments in the type's own generic
/// parameters.
fn bases(types: &Types<'_>, of: TypeId) -> Option<Vec<(Def, Rc<[TypeId]>)>> {
    let Type::Named(Named::Known(def, _), _) = types.get(of) else { return None };
    let known = |id: TypeId| match types.get(id) {
        Type::Named(Named::Known(def, _), arguments) => Some((def, arguments)),
        _ => None,
    };
    let open = resolve::typical_instantiation_of(types, def);
    let chain = std::iter::successors(Some(open), |id| hierarchy::base(types, *id));
    Some(chain.map_while(known).take(MAX_BASES).collect())
}

/// Whether types of two modules are the same: those of a definition with arguments, and those that name it with its own
/// generic parameters.
fn are_same(
    types: &Types<'_>,
    (one, of_type): (usize, &[TypeId]),
    ones: &[TypeSig],
    other: usize,
    others: &[TypeSig],
) -> Verdict {
    let of = |module: usize, of_type, signature: &TypeSig| {
        resolve::of_signature(types, module, signature, Arguments { of_type, of_method: &[] })
    };
    // One module may define a modifier to which the other refers.
    let is_same = |one: TypeId, other: TypeId| match (types.target(one), types.target(other)) {
        (Some(one), Some(other)) => assign::is_same(types, one, other),
        _ => assign::is_same(types, one, other),
    };
    all(ones.iter().zip(others).map(|(a, b)| is_same(of(one, of_type, a), of(other, &[], b))))
}

fn members(types: &Types<'_>, def: Def) -> Rc<Members> {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&def) {
        return known.clone();
    }
    let members = Rc::new(find_members(types, def).unwrap_or_default());
    cache.0.borrow_mut().insert(def, members.clone());
    members
}

fn find_members(types: &Types<'_>, def: Def) -> Option<Members> {
    let metadata = types.scope?.library.metadata(def.module)?;
    let mut members = Members::default();
    let owner = Rid::<TypeDef>::new(def.rid);
    for rid in metadata.children::<_, MethodDef>(owner) {
        let Ok(row) = metadata.row(rid) else { continue };
        let Ok(name) = metadata.strings.string_bytes(row.name) else { continue };
        members.methods.entry(name.to_owned()).or_default().push((rid.get(), row));
    }
    for row in metadata.children::<_, Field>(owner).filter_map(|rid| metadata.row(rid).ok()) {
        let Ok(name) = metadata.strings.string_bytes(row.name) else { continue };
        members.fields.entry(name.to_owned()).or_default().push(row);
    }
    Some(members)
}

/// The best match for a reference: a row that fits, or else one that may fit. Of several it takes the most accessible one,
/// since all pointers are alike here.
fn best<T>(rows: &[T], fits: impl Fn(&T) -> Verdict, access: impl Fn(&T) -> u16) -> Option<&T> {
    let judged = rows.iter().take(MAX_OVERLOADS).map(|row| (fits(row), row)).filter(|(verdict, _)| *verdict != Some(false));
    judged.max_by_key(|(verdict, row)| (verdict.is_some(), access(row))).map(|(_, row)| row)
}
