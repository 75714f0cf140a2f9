//! Checks of delegates that `newobj` creates from a method's address and a target object (III.4.21, II.14.6.1).

use ecma335::{OpCode, Token};

use crate::{
    body::{
        boxing,
        code::Code,
        eval_stack::{EvalStack, Outcome},
        stack_value::StackValue,
        this_init,
        tokens::MethodRef,
    },
    rule::rule,
    types::{
        assign, delegate,
        method_type::MethodType,
        store::{Type, TypeId, Types},
        value_kind::ValueKind,
        verdict::{Verdict, all},
    },
};

/// `ldftn` and `ldvirtftn`: pushes the address of a method. `object` is the operand of `ldvirtftn`.
pub(crate) fn push_method(stack: &mut EvalStack<'_>, opcode: OpCode, token: Token, object: Option<StackValue>) -> Outcome {
    let (types, context) = (stack.types(), stack.context);
    if let Some(method) = stack.tokens.method(token) {
        if opcode == OpCode::Ldvirtftn && !method.has_this {
            return Err(stack.error(rule!("III.4.2-a"), context.full_name(token)));
        }
        let constrained = stack.prefixes.constrained.filter(|_| opcode == OpCode::Ldftn);
        if opcode == OpCode::Ldftn && method.is_abstract() && (method.has_this || constrained.is_none()) {
            return Err(stack.error(rule!("III.3.41-b"), context.full_name(token)));
        }
        if let Some(constrained) = constrained {
            boxing::require_constrained(stack, constrained, method.owner.ty);
        }
        if method.is_constructor {
            stack.unverifiable(rule!("III.3.41-a"), || context.full_name(token));
        }
        if let Some(object) = object.filter(|object| object.kind.assignable_to(ValueKind::Object)) {
            let ty = boxing::boxed(stack, method.owner.ty);
            stack.require_assignable(object, StackValue::new(ValueKind::Object, ty));
        }
    }
    stack.push_type(ValueKind::Native, types.intern(Type::Method(token)));
    Ok(())
}

/// Checks the creation of a delegate.
pub(crate) fn check(stack: &mut EvalStack<'_>, code: &Code, index: usize, ty: TypeId) {
    let types = stack.types();
    let [.., target, address] = &mut stack.values[..] else { return };
    let named = if let Type::Method(token) = types.get(address.ty) { Some(token) } else { None };
    let method = named.and_then(|token| stack.tokens.method(token));
    // Compilers bind lambdas of field initializers to `this` before it is initialized.
    if let (Some(_), Type::Uninitialized(class)) = (&method, types.get(target.ty)) {
        target.ty = class;
    }
    let target = *target;
    if !types.is_delegate(ty) {
        return;
    }
    // No branch leads into the sequence.
    let back = |steps: usize| {
        let next = code.instructions.get((index + 1).checked_sub(steps)?)?;
        let before = code.before((index + 1).checked_sub(steps)?)?;
        (!code.is_target(next.offset)).then_some(before.info.opcode)
    };
    let is_sequence = match back(1) {
        Some(OpCode::Ldftn) => true,
        Some(OpCode::Ldvirtftn) => back(2) == Some(OpCode::Dup),
        _ => false,
    };
    let (Some(named), Some(method), true) = (named, method, is_sequence) else {
        return stack.unverifiable(rule!("III.4.21-a"), || types.name(ty));
    };
    if method.has_this && back(1) == Some(OpCode::Ldftn) {
        this_init::require_nonvirtual_receiver(stack, rule!("III.4.21-c"), target, named);
    }
    let Some(invoke) = delegate::invoke(types, ty) else { return stack.assumed += 1 };
    match target_fits(types, &method, &invoke, target) {
        Some((verdict, skipped)) => {
            if verdict == Some(false) {
                stack.unverifiable(rule!("III.4.21-b"), || format!("{} for {}", types.name(target.ty), types.name(ty)));
            }
            let signature = signature_fits(types, &method, &invoke, skipped);
            match signature {
                Some(false) => stack.unverifiable(rule!("II.14.6.1-a"), || types.name(ty)),
                _ => stack.assumed += usize::from(verdict.is_none() || signature.is_none()),
            }
        }
        None => stack.unverifiable(rule!("II.14.6.1-a"), || format!("{}: another number of parameters", types.name(ty))),
    }
}

/// The number of first parameters to leave out: of the method, bound to the target, and of Invoke, passed as `this`.
#[derive(Clone, Copy, Debug)]
struct Skipped {
    of_method: usize,
    of_invoke: usize,
}

/// Whether the target fits the method, and the parameters to leave out. `None` if the counts of parameters do not match.
fn target_fits(types: &Types<'_>, method: &MethodRef, invoke: &MethodType, target: StackValue) -> Option<(Verdict, Skipped)> {
    let owner = method.owner.ty;
    let (of_method, of_invoke) = (method.params.len(), invoke.params.len());
    if method.has_this {
        if of_method == of_invoke {
            let this = if types.may_be_boxed(owner) { types.intern(Type::Boxed(owner)) } else { owner };
            return Some((assign::assignable(types, target.ty, this), Skipped { of_method: 0, of_invoke: 0 }));
        }
        // An open delegate: `this` is the first argument of each call.
        let this = if types.may_be_boxed(owner) { types.intern(Type::ByRef(owner)) } else { owner };
        let first = invoke.params.first().filter(|_| of_method + 1 == of_invoke && target.ty == TypeId::NULL)?;
        return Some((assign::assignable(types, *first, this), Skipped { of_method: 0, of_invoke: 1 }));
    }
    if of_method == of_invoke {
        return Some((assign::assignable(types, target.ty, TypeId::NULL), Skipped { of_method: 0, of_invoke: 0 }));
    }
    // A closed delegate: its target is the first argument of each call.
    let first = method.params.first().filter(|_| of_method == of_invoke + 1)?;
    Some((assign::assignable(types, target.ty, first.ty), Skipped { of_method: 1, of_invoke: 0 }))
}

/// II.14.6.1: whether the method's signature is compatible with that of Invoke.
fn signature_fits(types: &Types<'_>, method: &MethodRef, invoke: &MethodType, skipped: Skipped) -> Verdict {
    let takes = method.params.iter().skip(skipped.of_method).map(|param| param.ty);
    let pairs = invoke.params.iter().skip(skipped.of_invoke).copied().zip(takes);
    let returned = match (method.returned, invoke.returned) {
        (None, None) => Some(true),
        (Some(from), Some(to)) => assign::signature_compatible(types, from.ty, to),
        _ => Some(false),
    };
    all(pairs.map(|(from, to)| assign::signature_compatible(types, from, to)).chain([returned]))
}
