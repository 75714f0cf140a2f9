//! What `newobj` makes a delegate of: a method's address, and the object that it is called on (III.4.21, II.14.6.1).

use std::rc::Rc;

use ecma335::{
    OpCode, Token,
    element::ElementType,
    signature::{Signature, TypeSig},
};

use crate::{
    body::{
        Code,
        eval_stack::Machine,
        stack_value::{Kind, Value},
        this_init,
        tokens::Call,
    },
    model::TypeKind,
    rule::rule,
    types::{
        assign::all,
        store::{Arguments, Named, Type, TypeId, Types},
    },
};

/// What `Invoke` of a delegate takes and returns.
#[derive(Debug)]
pub(crate) struct Invoke {
    params: Vec<TypeId>,
    returned: Option<TypeId>,
}

/// `ldftn` and `ldvirtftn`: puts the address of a method on the stack.
pub(crate) fn push_method(machine: &mut Machine<'_, '_, '_>, token: Token) {
    let ty = machine.types().put(Type::Method(token));
    machine.push_type(Kind::Native, ty);
}

/// Checks a delegate that is about to be made.
pub(crate) fn check(machine: &mut Machine<'_, '_, '_>, code: &Code, index: usize, ty: TypeId) {
    let types = machine.types();
    let [.., target, address] = &mut machine.stack[..] else { return };
    let named = if let Type::Method(token) = types.get(address.ty) { Some(token) } else { None };
    let method = named.and_then(|token| machine.callees.call(token));
    // Compilers bind lambdas of field initializers to `this`, which may be before it is initialized.
    if let (Some(_), Type::Uninitialized(class)) = (&method, types.get(target.ty)) {
        target.ty = class;
    }
    let target = *target;
    if !types.is_delegate(ty) {
        return;
    }
    let back = |steps: usize| index.checked_sub(steps).and_then(|index| code.steps.get(index)).map(|step| step.info.opcode);
    let is_sequence = match back(1) {
        Some(OpCode::Ldftn) => true,
        Some(OpCode::Ldvirtftn) => back(2) == Some(OpCode::Dup),
        _ => false,
    };
    let (Some(named), Some(method), true) = (named, method, is_sequence) else {
        return machine.doubt(rule!("III.4.21-a"), || types.name(ty));
    };
    if method.has_this && back(1) == Some(OpCode::Ldftn) {
        this_init::expect_own(machine, rule!("III.4.21-c"), target, named);
    }
    let Some(invoke) = types.invoke(ty) else { return machine.assumed += 1 };
    match fits_target(types, &method, &invoke, target) {
        Some((verdict, given)) => {
            if verdict == Some(false) {
                machine.doubt(rule!("III.4.21-b"), || format!("{} for {}", types.name(target.ty), types.name(ty)));
            }
            let signature = fits_signature(types, &method, &invoke, given);
            match signature {
                Some(false) => machine.doubt(rule!("II.14.6.1-a"), || types.name(ty)),
                _ => machine.assumed += usize::from(verdict.is_none() || signature.is_none()),
            }
        }
        None => machine.doubt(rule!("II.14.6.1-a"), || format!("{}: another number of parameters", types.name(ty))),
    }
}

/// How many first parameters something else is given for: of the method by the target, of Invoke for `this`.
#[derive(Clone, Copy, Debug)]
struct Given {
    of_method: usize,
    of_invoke: usize,
}

/// Whether the target is right for the method, and what is left to be compared; none if there are too few or too many.
fn fits_target(types: &Types<'_>, method: &Call, invoke: &Invoke, target: Value) -> Option<(Option<bool>, Given)> {
    let owner = method.owner.ty;
    let (of_method, of_invoke) = (method.params.len(), invoke.params.len());
    if method.has_this {
        if of_method == of_invoke {
            let this = if types.may_be_boxed(owner) { types.put(Type::Boxed(owner)) } else { owner };
            return Some((types.fits(target.ty, this), Given { of_method: 0, of_invoke: 0 }));
        }
        // Open: `this` is the first argument of each call.
        let this = if types.may_be_boxed(owner) { types.put(Type::ByRef(owner)) } else { owner };
        let first = invoke.params.first().filter(|_| of_method + 1 == of_invoke && target.ty == TypeId::NULL)?;
        return Some((types.fits(*first, this), Given { of_method: 0, of_invoke: 1 }));
    }
    if of_method == of_invoke {
        return Some((types.fits(target.ty, TypeId::NULL), Given { of_method: 0, of_invoke: 0 }));
    }
    // Closed: its target is the first argument of each call.
    let first = method.params.first().filter(|_| of_method == of_invoke + 1)?;
    Some((types.fits(target.ty, first.ty), Given { of_method: 1, of_invoke: 0 }))
}

/// II.14.6.1: whether the method may be called as Invoke is; none if only an assembly that is not there tells.
fn fits_signature(types: &Types<'_>, method: &Call, invoke: &Invoke, given: Given) -> Option<bool> {
    let takes = method.params.iter().skip(given.of_method).map(|param| param.ty);
    let pairs = invoke.params.iter().skip(given.of_invoke).copied().zip(takes);
    let returned = match (method.returned, invoke.returned) {
        (None, None) => Some(true),
        (Some(from), Some(to)) => types.stands_for(from.ty, to),
        _ => Some(false),
    };
    all(pairs.map(|(from, to)| types.stands_for(from, to)).chain([returned]))
}

impl Types<'_> {
    pub(crate) fn is_delegate(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Named(Named::Known(_, TypeKind::Delegate), _))
    }

    /// What a delegate's Invoke takes and returns.
    fn invoke(&self, id: TypeId) -> Option<Rc<Invoke>> {
        if let Some(known) = self.invokes.borrow().get(&id) {
            return known.clone();
        }
        let found = self.find_invoke(id).map(Rc::new);
        self.invokes.borrow_mut().insert(id, found.clone());
        found
    }

    fn find_invoke(&self, id: TypeId) -> Option<Invoke> {
        let Type::Named(Named::Known(def, _), of_type) = self.get(id) else { return None };
        let Signature::Method(signature) = self.signature(def, self.method_named(def, b"Invoke")?.signature)? else {
            return None;
        };
        let of = |sig: &TypeSig| self.of(def.module, sig, Arguments { of_type: &of_type, of_method: &[] });
        let is_void = is_void(&signature.return_type);
        let returned = (!is_void).then(|| of(&signature.return_type));
        Some(Invoke { params: signature.params.iter().map(of).collect(), returned })
    }
}

fn is_void(signature: &TypeSig) -> bool {
    match signature {
        TypeSig::Modified { inner, .. } => is_void(inner),
        _ => *signature == TypeSig::Element(ElementType::Void),
    }
}
