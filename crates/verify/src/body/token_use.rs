//! What an instruction names: whether the code at hand may use it (I.8.5.3), and whether its generic arguments satisfy the
//! constraints (II.10.1.7). Each token is looked at once, and what is left to ask of each place is kept.

use std::{cell::RefCell, rc::Rc};

use ecma335::{
    OpCode, Table, Token,
    element::convention,
    opcode::Operand,
    schema::{MemberRef, MethodSpec, TypeDefOrRef, TypeSpec},
    signature::{MethodSig, Signature, outline},
};
use foldhash::HashMap;

use crate::{
    body::{code::Instruction, eval_stack::EvalStack, stack_value::StackValue, tokens::TokenResolver},
    model::at,
    rule::rule,
    signatures,
    types::{
        access::{self, AccessRequirement},
        constraints::{self, GenericContext, Instantiation},
        library::Def,
        members, resolve,
        store::TypeId,
    },
};

#[derive(Default)]
struct Cache(RefCell<HashMap<Token, Option<Rc<Requirements>>>>);

/// What has to be right for a type or member to be used.
#[derive(Default, Debug)]
struct Requirements {
    access: Vec<AccessRequirement>,
    /// The same of what a member's signature names, unless it is only the member's handle that is wanted.
    signature: Vec<AccessRequirement>,
    instantiations: Vec<Instantiation>,
    /// Whether a member is named that is not there.
    is_missing: bool,
    /// A type that is named and is not there.
    absent: Option<Token>,
}

/// Checks what an instruction names, before it takes its operands.
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
        // A new object is of the very class: that of a base class is not of the family.
        OpCode::Newobj => return Some(stack.tokens.method(token)?.owner.ty),
        OpCode::Call | OpCode::Callvirt if stack.prefixes.constrained.is_none() => stack.tokens.method(token)?.params.len(),
        _ => return None,
    };
    let index = stack.values.len().checked_sub(below + 1)?;
    Some(stack.values.get(index)?.ty)
}

/// What is to be asked of a token's use; none if it is right anywhere.
fn requirements(tokens: &TokenResolver<'_>, token: Token) -> Option<Rc<Requirements>> {
    let cache = tokens.types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&token) {
        return known.clone();
    }
    let mut found = Requirements::default();
    let _ = find(tokens, token, &mut found);
    found.absent = absent(tokens, token).filter(|_| !is_of_another_framework(tokens));
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

/// Whether what is at hand is of another .NET: not all that .NET Framework has, which what is made for that need not use.
fn is_of_another_framework(tokens: &TokenResolver<'_>) -> bool {
    tokens.types.is_retargeted()
}

/// The first type that a token of this module names, by itself, as an owner or in a signature, that is not there.
fn absent(tokens: &TokenResolver<'_>, token: Token) -> Option<Token> {
    let (metadata, scope) = (tokens.assembly.metadata, tokens.types.scope?);
    let is_absent = |of: &Token| of.table() == Some(Table::TypeRef) && scope.library.is_absent(scope.module, *of);
    let mut named = Vec::new();
    let mut visit = |index: TypeDefOrRef| named.extend(index.token());
    let mut member = token;
    if let Some(row) = token.rid_in::<MethodSpec>().and_then(|rid| metadata.row(rid).ok()) {
        let _ = outline::walk_signature(metadata.blobs.blob(row.instantiation).ok()?, &mut visit);
        member = row.method.token()?;
    }
    let mut owner = Some(member);
    if let Some(row) = member.rid_in::<MemberRef>().and_then(|rid| metadata.row(rid).ok()) {
        let _ = outline::walk_signature(metadata.blobs.blob(row.signature).ok()?, &mut visit);
        owner = row.class.token();
    }
    if let Some(row) = owner.and_then(|owner| metadata.row(owner.rid_in::<TypeSpec>()?).ok()) {
        let _ = outline::walk_type_spec(metadata.blobs.blob(row.signature).ok()?, &mut visit);
    }
    owner.into_iter().chain(named).find(is_absent)
}

/// Whether a member that was not found is nowhere else either.
fn is_missing(tokens: &TokenResolver<'_>, token: Token, owner: TypeId) -> bool {
    // What a call passes beyond the parameters is in the reference's signature alone.
    let is_vararg = |of: &MethodSig| of.convention & convention::MASK == convention::VARARG;
    let is_exact = !matches!(tokens.signature(token), Some(Signature::Method(of)) if is_vararg(&of));
    is_exact && !is_of_another_framework(tokens) && members::has_none_elsewhere(&tokens.types, owner, tokens.name(token))
}

/// The types that a member's signature is made of.
fn find_of_signature(tokens: &TokenResolver<'_>, token: Token, found: &mut Requirements) {
    let mut require = |value: &StackValue| access::require_type(&tokens.types, value.ty, &mut found.signature);
    if let Some(method) = tokens.method(token) {
        method.params.iter().chain(&method.returned).for_each(require);
    } else if let Some(field) = tokens.field(token) {
        // Of data in the file the type says the size alone; compilers keep it to themselves.
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
