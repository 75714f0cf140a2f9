//! Constraints of generic parameters: what stands for them satisfies them (II.10.1.7).

use std::rc::Rc;

use ecma335::{
    Table, Token,
    schema::MethodDef,
    signature::{Signature, TypeSig},
};

use crate::{
    body::{stack_value::Value, tokens::Callees},
    context::{Context, type_token},
    model::TypeKind,
    rule::rule,
    signatures,
    types::{
        assign::all,
        library::{Bound, Def},
        store::{Arguments, Named, Type, TypeId, Types},
    },
};

/// Constraints lead to further ones no deeper than this.
const MAX_DEPTH: u32 = 16;
/// And one question takes no more steps than this.
const MAX_STEPS: u32 = 1000;

/// An instantiation of a constrained type or method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Instance {
    module: usize,
    /// The TypeDef or MethodDef with the parameters.
    generic: Token,
    of_type: Rc<[TypeId]>,
    of_method: Rc<[TypeId]>,
}

/// Whose generic parameters stand open in a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    pub(crate) owner: u32,
    pub(crate) method: Token,
}

/// Checks the types of fields, and of what types extend and implement.
pub(crate) fn check_declarations(callees: &Callees<'_, '_, '_>, context: &Context<'_, '_>) {
    let Some(scope) = context.scope else { return };
    for ((row, owner), rid) in context.model.fields.iter().zip(&context.model.field_owners).zip(1..) {
        let Ok(Signature::Field(signature)) = signatures::parse(context, row.signature) else { continue };
        if may_be_generic(&signature) {
            let id = callees.types.of(scope.module, &signature, Arguments::default());
            expect(callees, context, Token::new(Table::Field, rid), Within { owner: *owner, method: Token::default() }, id);
        }
    }
    for rid in 1..=context.model.types.len() as u32 {
        let parents = callees.types.parents(Def { module: scope.module, rid });
        for id in parents.interfaces.iter().chain(&parents.base) {
            expect(callees, context, type_token(rid), Within { owner: rid, method: Token::default() }, *id);
        }
    }
}

/// Checks the types of a method's arguments and local variables.
pub(crate) fn check_values<'v>(
    callees: &Callees<'_, '_, '_>,
    context: &Context<'_, '_>,
    within: Within,
    values: impl Iterator<Item = &'v Value>,
) {
    let mut last = TypeId::UNKNOWN;
    for value in values.filter(|value| value.ty != TypeId::UNKNOWN) {
        if value.ty != last && callees.types.is_constructed(value.ty) {
            expect(callees, context, within.method, within, value.ty);
        }
        last = value.ty;
    }
}

fn may_be_generic(signature: &TypeSig) -> bool {
    !matches!(signature, TypeSig::Element(_) | TypeSig::Named { .. } | TypeSig::Var(_) | TypeSig::MVar(_))
}

fn expect(callees: &Callees<'_, '_, '_>, context: &Context<'_, '_>, token: Token, within: Within, id: TypeId) {
    let types = &callees.types;
    if let Some(broken) = types.instances(id).iter().find_map(|instance| types.broken(within, instance)) {
        context.find(rule!("II.10.1.7-a"), token, broken);
    }
}

impl Types<'_> {
    /// The constrained instantiations that a type is made of, but for those that are right anywhere.
    pub(crate) fn instances(&self, id: TypeId) -> Rc<[Instance]> {
        if let Some(known) = self.instances.borrow().get(&id) {
            return known.clone();
        }
        let mut found = Vec::new();
        self.collect(id, &mut found);
        let found: Rc<[Instance]> = found.into();
        self.instances.borrow_mut().insert(id, found.clone());
        found
    }

    fn collect(&self, id: TypeId, found: &mut Vec<Instance>) {
        match self.get(id) {
            Type::Named(Named::Known(def, _), of_type) if !of_type.is_empty() => {
                of_type.iter().for_each(|argument| self.collect(*argument, found));
                let generic = type_token(def.rid);
                self.put_instance(Instance { module: def.module, generic, of_type, of_method: Rc::default() }, found);
            }
            Type::Array(inner, _) | Type::ByRef(inner) | Type::In(inner) | Type::Boxed(inner) => self.collect(inner, found),
            _ => {}
        }
    }

    /// Adds an instantiation, unless it satisfies all constraints anywhere.
    pub(crate) fn put_instance(&self, instance: Instance, found: &mut Vec<Instance>) {
        let arguments = instance.arguments();
        let is_open = arguments.iter().any(|argument| self.is_open(*argument));
        let is_kept = self.bounds(&instance).iter().zip(arguments.iter()).any(|(bound, argument)| {
            let is_free = bound.is_free();
            match (is_free, is_open) {
                (true, _) => !bound.param.allows_by_ref_like() && (self.is_open(*argument) || self.is_ref_struct(*argument)),
                (false, true) => true,
                (false, false) => self.satisfies(None, *argument, bound, &instance) == Some(false),
            }
        });
        if is_kept && !found.contains(&instance) {
            found.push(instance);
        }
    }

    fn bounds(&self, instance: &Instance) -> &[Bound] {
        self.scope.map_or(&[], |scope| scope.library.bounds(instance.module, instance.generic))
    }

    /// What does not satisfy its constraints there, and of what.
    pub(crate) fn broken(&self, within: Within, instance: &Instance) -> Option<String> {
        let pairs = self.bounds(instance).iter().zip(instance.arguments().iter());
        for (bound, argument) in pairs {
            if self.satisfies(Some(within), *argument, bound, instance) == Some(false) {
                return Some(format!("{} for a parameter of {}", self.name(*argument), self.name_of_generic(instance)?));
            }
        }
        None
    }

    fn name_of_generic(&self, instance: &Instance) -> Option<String> {
        let library = self.scope?.library;
        let Some(rid) = instance.generic.rid_in::<MethodDef>() else {
            return Some(library.full_name(Def { module: instance.module, rid: instance.generic.rid() }));
        };
        let metadata = library.metadata(instance.module)?;
        metadata.name(metadata.row(rid).ok()?.name).ok()
    }

    /// Whether a type satisfies all constraints; none if only an assembly that is not there tells.
    fn satisfies(&self, within: Option<Within>, argument: TypeId, bound: &Bound, instance: &Instance) -> Option<bool> {
        let arguments = Arguments { of_type: &instance.of_type, of_method: &instance.of_method };
        self.budget.set(MAX_STEPS);
        let checks = [
            (bound.param.is_reference_type()).then(|| self.is_class(within, argument, MAX_DEPTH)),
            (bound.param.is_not_nullable_value_type()).then(|| self.is_value(within, argument)),
            (bound.param.has_default_constructor()).then(|| self.can_be_made(within, argument)),
            (!bound.param.allows_by_ref_like()).then(|| self.can_be_boxed(within, argument)),
        ];
        let constraints = bound.constraints.iter().map(|constraint| {
            let wanted = self.of_token(instance.module, constraint.token()?, arguments);
            self.meets(within, argument, wanted, MAX_DEPTH)
        });
        all(checks.into_iter().flatten().chain(constraints))
    }

    /// Goes a step further; none if it has been too many.
    fn pay(&self) -> Option<()> {
        self.budget.set(self.budget.get().checked_sub(1)?);
        Some(())
    }

    /// The constraints of a generic parameter of the code at hand.
    fn bound_of(&self, within: Option<Within>, id: TypeId) -> Option<&Bound> {
        let (scope, within) = (self.scope?, within?);
        let (owner, number) = match self.get(id) {
            Type::Var(number) => (type_token(within.owner), number),
            Type::MVar(number) => (within.method, number),
            _ => return None,
        };
        scope.library.bounds(scope.module, owner).get(number as usize)
    }

    /// What a generic parameter of the code at hand is constrained to.
    fn constraints_of(&self, bound: &Bound) -> Vec<TypeId> {
        let Some(scope) = self.scope else { return Vec::new() };
        let types = bound.constraints.iter().filter_map(|constraint| constraint.token());
        types.map(|token| self.of_token(scope.module, token, Arguments::default())).collect()
    }

    fn is_class(&self, within: Option<Within>, id: TypeId, depth: u32) -> Option<bool> {
        if self.is_parameter(id) {
            let bound = self.bound_of(within, id)?;
            let depth = depth.checked_sub(1)?;
            self.pay()?;
            // An interface may be a value type's.
            let is_class = |id: &TypeId| match self.get(*id) {
                Type::Named(Named::Known(def, kind), _) => {
                    let names = ["System.Object", "System.ValueType", "System.Enum"];
                    kind != TypeKind::Interface && !self.scope.is_some_and(|of| names.contains(&&*of.library.full_name(def)))
                }
                Type::Array(..) => true,
                _ => self.is_class(within, *id, depth) != Some(false),
            };
            return Some(bound.param.is_reference_type() || self.constraints_of(bound).iter().any(is_class));
        }
        match self.get(id) {
            Type::Unknown | Type::Named(Named::Missing(_), _) => None,
            _ => Some(self.is_reference(id)),
        }
    }

    fn is_value(&self, within: Option<Within>, id: TypeId) -> Option<bool> {
        match self.get(id) {
            Type::Var(_) | Type::MVar(_) => Some(self.bound_of(within, id)?.param.is_not_nullable_value_type()),
            Type::Unknown | Type::Pointer | Type::Named(Named::Missing(_), _) => None,
            Type::Named(Named::Known(_, TypeKind::Value), of) if of.len() == 1 => {
                Some(!self.name(id).starts_with("System.Nullable`1<"))
            }
            _ => Some(self.may_be_boxed(id)),
        }
    }

    /// Whether it has a public constructor that takes nothing, as all value types do.
    fn can_be_made(&self, within: Option<Within>, id: TypeId) -> Option<bool> {
        match self.get(id) {
            Type::Var(_) | Type::MVar(_) => {
                let param = &self.bound_of(within, id)?.param;
                Some(param.has_default_constructor() || param.is_not_nullable_value_type())
            }
            Type::Unknown | Type::Pointer | Type::Named(Named::Missing(_), _) => None,
            Type::Named(Named::Known(def, TypeKind::Class), _) => {
                let is_abstract = self.scope?.library.row(def)?.is_abstract();
                Some(!is_abstract && self.has_default_constructor(def))
            }
            _ => Some(self.may_be_boxed(id)),
        }
    }

    /// Whether it may stand for a parameter that is not for ref structs.
    fn can_be_boxed(&self, within: Option<Within>, id: TypeId) -> Option<bool> {
        match self.bound_of(within, id) {
            Some(bound) => Some(!bound.param.allows_by_ref_like()),
            None => Some(!self.is_ref_struct(id)),
        }
    }

    fn is_ref_struct(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Named(Named::Known(def, TypeKind::Value), _) => {
                self.scope.is_some_and(|scope| scope.library.is_ref_struct(def))
            }
            _ => false,
        }
    }

    /// Whether a type is what a constraint names, or converts to it.
    fn meets(&self, within: Option<Within>, id: TypeId, wanted: TypeId, depth: u32) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        self.pay()?;
        if id == wanted || wanted == self.system("Object") {
            return Some(true);
        }
        if self.is_parameter(id) {
            let bound = self.bound_of(within, id)?;
            if bound.param.is_not_nullable_value_type() && wanted == self.system("ValueType") {
                return Some(true);
            }
            let mut verdict = Some(false);
            for constraint in self.constraints_of(bound) {
                match self.meets(within, constraint, wanted, depth) {
                    Some(true) => return Some(true),
                    None => verdict = None,
                    Some(false) => {}
                }
            }
            return verdict;
        }
        match self.get(id) {
            Type::Pointer => None,
            _ if self.may_be_boxed(id) => self.fits(self.put(Type::Boxed(id)), wanted),
            _ => self.fits(id, wanted),
        }
    }

    /// Whether a type mentions generic parameters of the code at hand.
    fn is_open(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Var(_) | Type::MVar(_) => true,
            Type::Named(_, arguments) => arguments.iter().any(|argument| self.is_open(*argument)),
            Type::Array(inner, _) | Type::ByRef(inner) | Type::In(inner) | Type::Boxed(inner) => self.is_open(inner),
            _ => false,
        }
    }
}

impl Instance {
    /// An instantiation of a method.
    pub(crate) fn of_method(module: usize, rid: u32, of_type: Rc<[TypeId]>, of_method: Rc<[TypeId]>) -> Self {
        Self { module, generic: Token::new(Table::MethodDef, rid), of_type, of_method }
    }

    fn arguments(&self) -> &[TypeId] {
        if self.generic.table() == Some(Table::MethodDef) { &self.of_method } else { &self.of_type }
    }
}
