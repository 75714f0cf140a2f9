//! Checks the types and members that an instruction names: access from the current code (I.8.5.3) and constraints of
//! generic arguments (II.10.1.7). Each token is examined once, and the checks that depend on the place are kept.

use std::{cell::RefCell, rc::Rc};

use ecma335::{
    OpCode, Table, Token,
    element::convention,
    opcode::Operand,
    schema::{MemberRef, MethodSpec},
    signature::{MethodSig, Signature},
};
use foldhash::HashMap;

use crate::{
    body::{code::Instruction, eval_stack::EvalStack, stack_value::StackValue, tokens::TokenResolver},
    model::at,
    rule::rule,
    signatures,
    types::{
        absent,
        access::{self, AccessRequirement},
        constraints::{self, Instantiation},
        library::Def,
        members, resolve,
        store::{GenericContext, TypeId},
    },
};

#[derive(Default)]
struct Cache(RefCell<HashMap<Token, Option<Rc<Requirements>>>>);

/// The requirements for using a type or member.
#[derive(Default, Debug)]
struct Requirements {
    access: Vec<AccessRequirement>,
    /// The requirements of the member's signature. They do not apply to loads of the member's handle.
    signature: Vec<AccessRequirement>,
    instantiations: Vec<Instantiation>,
    /// Whether the token names a missing member.
    is_missing: bool,
    /// A missing type that the token names.
    absent: Option<Token>,
}

/// Checks the token of an instruction, before its operands are popped.
pub(crate) fn check(stack: &mut EvalStack<'_>, instruction: &Instruction) {
    if !matches!(instruction.info.operand, Operand::Method | Operand::Field | Operand::Type | Operand::Token) {
        return;
    }
    let (tokens, types, token) = (stack.tokens, stack.types(), Token(instruction.operand));
    let Some(required) = requirements(tokens, token) else { return };
    if let Some(absent) = required.absent {
        stack.unverifiable(rule!("II.22.38-a"), || tokens.assembly.full_name(absent));
    }
    if required.is_missing {
        stack.unverifiable(rule!("II.22.25-a"), || tokens.assembly.full_name(token));
    }
    let is_handle = instruction.info.opcode == OpCode::Ldtoken;
    let named = required.access.iter().chain(required.signature.iter().filter(|_| !is_handle));
    let receiver = if required.access.is_empty() { None } else { receiver(stack, instruction.info.opcode, token) };
    if named.copied().any(|of| access::is_accessible(types, stack.owner, of, receiver) == Some(false)) {
        stack.unverifiable(rule!("I.8.5.3.2-a"), || tokens.assembly.full_name(token));
    }
    let within = GenericContext { owner: stack.owner, method: stack.token };
    if let Some(violated) = required.instantiations.iter().find_map(|of| constraints::violated(types, within, of)) {
        stack.unverifiable(rule!("II.10.1.7-a"), || violated);
    }
}

/// The type of the object that a member is used on.
fn receiver(stack: &EvalStack<'_>, opcode: OpCode, token: Token) -> Option<TypeId> {
    let below = match opcode {
        OpCode::Ldfld | OpCode::Ldflda | OpCode::Ldvirtftn => 0,
        OpCode::Stfld => 1,
        // A new object is of exactly this class. A family constructor of a base class may not be used for it.
        OpCode::Newobj => return Some(stack.tokens.method(token)?.owner.ty),
        OpCode::Call | OpCode::Callvirt if stack.prefixes.constrained.is_none() => stack.tokens.method(token)?.params.len(),
        _ => return None,
    };
    let index = stack.values.len().checked_sub(below + 1)?;
    Some(stack.values.get(index)?.ty)
}

/// The requirements of a token. `None` if its use is valid everywhere.
fn requirements(tokens: &TokenResolver<'_>, token: Token) -> Option<Rc<Requirements>> {
    let cache = tokens.types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&token) {
        return known.clone();
    }
    let mut found = Requirements::default();
    let _ = find(tokens, token, &mut found);
    found.absent = absent(tokens, token);
    let is_free = found.access.is_empty() && found.signature.is_empty() && found.instantiations.is_empty();
    let is_free = is_free && !found.is_missing && found.absent.is_none();
    let found = (!is_free).then(|| Rc::new(found));
    cache.0.borrow_mut().insert(token, found.clone());
    found
}

fn find(tokens: &TokenResolver<'_>, token: Token, found: &mut Requirements) -> Option<()> {
    let (types, model) = (&tokens.types, tokens.assembly.model);
    match token.table()? {
        Table::MethodDef | Table::Field => {
            let (rid, flags) = match token.table()? {
                Table::MethodDef => (at(&model.method_owners, token.rid())?, at(&model.methods, token.rid())?.flags),
                _ => (at(&model.field_owners, token.rid())?, at(&model.fields, token.rid())?.flags),
            };
            let def = Def { module: types.scope?.module, rid };
            access::require(types, AccessRequirement::of_member(def, flags), &mut found.access);
            access::require_type(types, resolve::typical_instantiation(types, rid), &mut found.access);
            find_of_signature(tokens, token, found);
        }
        Table::MemberRef => {
            let class = tokens.assembly.metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token()?;
            if class.table() == Some(Table::MethodDef) {
                return find(tokens, class, found);
            }
            let owner = tokens.owner(token)?.ty;
            find_of_type(tokens, owner, found);
            let definition = match tokens.method(token) {
                Some(method) => method.definition.map(|(def, _, flags)| (def, flags)),
                None => tokens.field(token)?.definition.map(|(def, row)| (def, row.flags)),
            };
            let Some((def, flags)) = definition else {
                found.is_missing = is_missing(tokens, token, owner);
                return None;
            };
            access::require(types, AccessRequirement::of_member(def, flags), &mut found.access);
            find_of_signature(tokens, token, found);
        }
        Table::MethodSpec => find_of_method_spec(tokens, token, found)?,
        _ => find_of_type(tokens, tokens.value_of_token(token).ty, found),
    }
    Some(())
}

/// The first missing type that a token of this module names: as itself, as an owner or in a signature.
fn absent(tokens: &TokenResolver<'_>, token: Token) -> Option<Token> {
    let (metadata, scope) = (tokens.assembly.metadata, tokens.types.scope?);
    let in_signature = |signature: Signature| match signature {
        Signature::MethodSpec(list) => list.iter().find_map(|each| absent::in_type(scope, each)),
        Signature::Method(method) => absent::in_method(scope, &method),
        Signature::Field(field) => absent::in_type(scope, &field),
        _ => None,
    };
    let mut member = token;
    let mut found = None;
    if let Some(row) = token.rid_in::<MethodSpec>().and_then(|rid| metadata.row(rid).ok()) {
        found = signatures::parse(tokens.assembly, row.instantiation).ok().and_then(in_signature);
        member = row.method.token()?;
    }
    let owner = match member.rid_in::<MemberRef>() {
        Some(rid) => metadata.row(rid).ok()?.class.token(),
        None => Some(member),
    };
    let of_owner = || absent::in_token(scope, owner?);
    found.or_else(of_owner).or_else(|| tokens.signature(member).and_then(in_signature))
}

/// Whether an unresolved member is certain to be missing.
fn is_missing(tokens: &TokenResolver<'_>, token: Token, owner: TypeId) -> bool {
    // Arguments of a vararg call beyond the parameters are only in the reference's signature.
    let is_vararg = |of: &MethodSig| of.convention & convention::MASK == convention::VARARG;
    let is_exact = !matches!(tokens.signature(token), Some(Signature::Method(of)) if is_vararg(&of));
    is_exact && members::has_none_elsewhere(&tokens.types, owner, tokens.name(token))
}

/// The types in a member's signature.
fn find_of_signature(tokens: &TokenResolver<'_>, token: Token, found: &mut Requirements) {
    let mut require = |value: &StackValue| access::require_type(&tokens.types, value.ty, &mut found.signature);
    if let Some(method) = tokens.method(token) {
        method.params.iter().chain(&method.returned).for_each(require);
    } else if let Some(field) = tokens.field(token) {
        // The type of a field with an RVA only gives the size of its data. Compilers make this type private.
        if field.definition.is_none_or(|(_, row)| !row.has_field_rva()) {
            require(&field.held);
        }
    }
}

fn find_of_type(tokens: &TokenResolver<'_>, id: TypeId, found: &mut Requirements) {
    access::require_type(&tokens.types, id, &mut found.access);
    found.instantiations.extend(constraints::instantiations(&tokens.types, id).iter().cloned());
}

/// A generic method with its arguments.
fn find_of_method_spec(tokens: &TokenResolver<'_>, token: Token, found: &mut Requirements) -> Option<()> {
    let row = tokens.assembly.metadata.row(token.rid_in::<MethodSpec>()?).ok()?;
    let of = row.method.token().filter(|of| of.table() != Some(Table::MethodSpec))?;
    let Ok(Signature::MethodSpec(list)) = signatures::parse(tokens.assembly, row.instantiation) else { return None };
    let ids = tokens.ids(&list);
    ids.iter().for_each(|id| find_of_type(tokens, *id, found));
    find(tokens, of, found)?;
    let (def, rid, _) = tokens.method(of)?.definition?;
    let arguments = tokens.arguments_of(tokens.owner(of)?.ty);
    let instantiation = Instantiation::of_method(def.module, rid, arguments, ids.into());
    constraints::require(&tokens.types, instantiation, &mut found.instantiations);
    Some(())
}
