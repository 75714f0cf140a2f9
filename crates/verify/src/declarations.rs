//! Checks of declarations that depend on other types, as a runtime makes them when it loads a class: types that are missing,
//! the types of fields (II.16), MethodImpls (II.22.27) and variance (II.9.7). Facts that only an absent assembly tells are
//! assumed to be right.

use ecma335::{
    Rid, Table, Token,
    schema::{
        Field, GenericParam, GenericParamConstraint, InterfaceImpl, MemberRef, MethodImpl, TypeDef, TypeDefOrRef, TypeSpec,
    },
    signature::{Signature, TypeSig},
};
use foldhash::HashSet;

use crate::{
    context::Context,
    model::{TypeKind, at, type_token},
    rule::rule,
    signatures,
    types::{
        absent, assign, constraints, hierarchy,
        library::Def,
        members, resolve,
        store::{Arguments, Named, Type, TypeId, Types},
        variance::{self, Direction},
    },
};

/// The limit of value types that a value type is made of.
const MAX_PARTS: usize = 10_000;

pub(crate) fn check(context: &Context<'_>) {
    let types = Types::new(Some(context.own));
    check_named(context);
    check_fields(context, &types);
    check_overrides(context, &types);
    check_variance(context);
    for rid in (1..=context.model.types.len() as u32).filter(|rid| context.model.kind(*rid) == TypeKind::Value) {
        if contains_itself(&types, resolve::typical_instantiation(&types, rid)) {
            context.report(rule!("II.13-a"), type_token(rid), "");
        }
    }
}

/// II.22.38: base types, interfaces and constraints are there.
fn check_named(context: &Context<'_>) {
    let require = |token: Token, named: TypeDefOrRef| {
        if let Some(absent) = named.token().and_then(|named| absent::in_token(context.own, named)) {
            context.report(rule!("II.22.38-a"), token, context.full_name(absent));
        }
    };
    for (row, rid) in context.model.types.iter().zip(1..) {
        require(type_token(rid), row.extends);
    }
    for (_, row) in context.rows::<InterfaceImpl>() {
        require(type_token(row.class.get()), row.interface);
    }
    for (_, row) in context.rows::<GenericParamConstraint>() {
        let owner = context.metadata.row(row.owner).ok().and_then(|param| param.owner.token());
        require(owner.unwrap_or_default(), row.constraint);
    }
}

/// The types of fields that a runtime looks up to lay out their class.
fn check_fields(context: &Context<'_>, types: &Types<'_>) {
    let library = context.own.library;
    for ((row, owner), rid) in context.model.fields.iter().zip(&context.model.field_owners).zip(1..) {
        let Ok(Signature::Field(signature)) = signatures::parse(context, row.signature) else { continue };
        let token = Token::new(Table::Field, rid);
        if let Some(absent) = absent::in_field(context.own, &signature) {
            context.report(rule!("II.22.38-a"), token, context.full_name(absent));
        }
        let is_bound = library.is_ref_struct(Def { module: context.own.module, rid: *owner }) && !row.is_static();
        if is_bound || matches!(signature, TypeSig::Element(of) if of.is_primitive()) {
            continue;
        }
        let id = resolve::of_signature(types, context.own.module, &signature, Arguments::default());
        if constraints::is_ref_struct(types, id) {
            context.report(rule!("II.22.15-a"), token, types.name(id));
        }
    }
}

/// II.22.27 rule 9: an overridden method is there, in a base type or an interface of the class.
fn check_overrides(context: &Context<'_>, types: &Types<'_>) {
    let mut of_class = (0, None);
    for (_, row) in context.rows::<MethodImpl>() {
        let token = type_token(row.class.get());
        let Some(declaration) = row.declaration.token() else { continue };
        let owner = match (declaration.rid_in::<MemberRef>(), declaration.table()) {
            (Some(rid), _) => {
                let Ok(member) = context.metadata.row(rid) else { continue };
                let Some(class) = member.class.token() else { continue };
                if class.table() == Some(Table::MethodDef) {
                    continue;
                }
                if let Some(absent) = absent::in_token(context.own, class) {
                    context.report(rule!("II.22.38-a"), token, context.full_name(absent));
                    continue;
                }
                let owner = resolve::of_token(types, context.own.module, class, Arguments::default());
                if let Ok(Signature::Method(signature)) = signatures::parse(context, member.signature)
                    && members::is_missing(types, owner, context.name(member.name), &signature)
                {
                    context.report(rule!("II.22.25-a"), token, context.full_name(declaration));
                    continue;
                }
                owner
            }
            (None, Some(Table::MethodDef)) => match at(&context.model.method_owners, declaration.rid()) {
                Some(owner) => resolve::of_token(types, context.own.module, type_token(owner), Arguments::default()),
                None => continue,
            },
            _ => continue,
        };
        if of_class.0 != row.class.get() {
            let class = resolve::typical_instantiation(types, row.class.get());
            of_class = (row.class.get(), hierarchy::ancestors(types, class));
        }
        let Some(ancestors) = &of_class.1 else { continue };
        if ancestors.iter().all(|id| is_other(types, owner, *id)) {
            context.report(rule!("II.22.27-9"), token, types.name(owner));
        }
    }
}

/// Whether two types certainly differ. A MethodDef names a generic type without arguments.
fn is_other(types: &Types<'_>, owner: TypeId, id: TypeId) -> bool {
    match (types.get(owner), types.get(id)) {
        (Type::Named(Named::Known(one, _), arguments), Type::Named(Named::Known(other, _), _)) if arguments.is_empty() => {
            one != other && assign::is_same(types, owner, id) == Some(false)
        }
        _ => assign::is_same(types, owner, id) == Some(false),
    }
}

/// II.9.7, for the methods and interfaces of types with variant parameters.
fn check_variance(context: &Context<'_>) {
    let (library, module, model) = (context.own.library, context.own.module, context.model);
    let variant: Vec<_> = (1..=model.types.len() as u32)
        .map(|rid| variance::variance_of(library, Def { module, rid }))
        .map(|ways| if ways.iter().any(|way| *way != 0) { ways } else { Vec::new() })
        .collect();
    if variant.iter().all(Vec::is_empty) {
        return;
    }
    let of = |rid: u32| variant.get((rid as usize).wrapping_sub(1)).filter(|ways| !ways.is_empty());
    let report = |token: Token| context.report(rule!("II.9.7-a"), token, "");
    for ((row, owner), rid) in model.methods.iter().zip(&model.method_owners).zip(1..) {
        let Some(ways) = of(*owner) else { continue };
        let is_exempt = match model.kind(*owner) {
            TypeKind::Delegate => context.name(row.name) != b"Invoke",
            _ => row.is_static() && !row.is_virtual(),
        };
        if let (false, Ok(Signature::Method(signature))) = (is_exempt, signatures::parse(context, row.signature))
            && !variance::permits_method(library, module, ways, &signature)
        {
            report(Token::new(Table::MethodDef, rid));
        }
    }
    let instantiation = |index: TypeDefOrRef| {
        let row = context.metadata.row(index.token()?.rid_in::<TypeSpec>()?).ok()?;
        TypeSig::parse(context.metadata.blobs.blob(row.signature).ok()?).ok()
    };
    for (_, row) in context.rows::<InterfaceImpl>() {
        if let (Some(ways), Some(signature)) = (of(row.class.get()), instantiation(row.interface))
            && !variance::permits(library, module, ways, &signature, Direction::Out)
        {
            report(type_token(row.class.get()));
        }
    }
    for (_, row) in context.rows::<GenericParamConstraint>() {
        let param: Option<GenericParam> = context.metadata.row(row.owner).ok();
        let Some(method) = param.and_then(|param| param.owner.token()) else { continue };
        let owner = if method.table() == Some(Table::MethodDef) { at(&model.method_owners, method.rid()) } else { None };
        if let (Some(ways), Some(signature)) = (owner.and_then(of), instantiation(row.constraint))
            && !variance::permits(library, module, ways, &signature, Direction::In)
        {
            report(method);
        }
    }
}

/// Whether a value of a type has a field, or a field of a field, of that type.
fn contains_itself(types: &Types<'_>, start: TypeId) -> bool {
    let mut work = vec![start];
    let mut seen = HashSet::default();
    while let Some(id) = work.pop() {
        let Type::Named(Named::Known(def, TypeKind::Value), of_type) = types.get(id) else { continue };
        let Some(metadata) = types.scope.and_then(|scope| scope.library.metadata(def.module)) else { continue };
        let arguments = Arguments { of_type: &of_type, of_method: &[] };
        for rid in metadata.children::<_, Field>(Rid::<TypeDef>::new(def.rid)) {
            let Some(row) = metadata.row(rid).ok().filter(|row| !row.is_static()) else { continue };
            let Some(Signature::Field(signature)) = members::signature(types, def, row.signature) else { continue };
            let part = resolve::of_signature(types, def.module, &signature, arguments);
            if part == start {
                return true;
            }
            if seen.len() < MAX_PARTS && seen.insert(part) {
                work.push(part);
            }
        }
    }
    false
}
