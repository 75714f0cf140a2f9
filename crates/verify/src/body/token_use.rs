//! What an instruction names: whether the code at hand may use it (I.8.5.3), and whether its generic arguments satisfy the
//! constraints (II.10.1.7). Each token is looked at once, and what is left to ask of each place is kept.

use std::{cell::RefCell, rc::Rc};

use ecma335::{
    OpCode, Table, Token,
    opcode::Operand,
    schema::{MemberRef, MethodSpec},
    signature::Signature,
};
use foldhash::HashMap;

use crate::{
    body::{code::Instruction, eval_stack::EvalStack, tokens::TokenResolver},
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
    instantiations: Vec<Instantiation>,
}

/// Checks what an instruction names, before it takes its operands.
pub(crate) fn check(stack: &mut EvalStack<'_>, instruction: &Instruction) {
    if !matches!(instruction.info.operand, Operand::Method | Operand::Field | Operand::Type | Operand::Token) {
        return;
    }
    let (tokens, types, token) = (stack.tokens, stack.types(), Token(instruction.operand));
    let Some(required) = requirements(tokens, token) else { return };
    if !required.access.is_empty() {
        let receiver = receiver(stack, instruction.info.opcode, token);
        if required.access.iter().any(|of| access::is_accessible(types, stack.owner, *of, receiver) == Some(false)) {
            stack.unverifiable(rule!("I.8.5.3.2-a"), || tokens.assembly.full_name(token));
        }
    }
    let within = GenericContext { owner: stack.owner, method: stack.token };
    if let Some(violated) = required.instantiations.iter().find_map(|of| constraints::violated(types, within, of)) {
        stack.unverifiable(rule!("II.10.1.7-a"), || violated);
    }
}

/// The type of the object that a member is used on.
fn receiver(stack: &EvalStack<'_>, opcode: OpCode, token: Token) -> Option<TypeId> {
    let below = match opcode {
        OpCode::Ldfld | OpCode::Ldflda => 0,
        OpCode::Stfld => 1,
        // A new object is of the very class: that of a base class is not of the family.
        OpCode::Newobj => return Some(stack.tokens.method(token)?.owner.ty),
        OpCode::Call | OpCode::Callvirt if stack.constrained.is_none() => stack.tokens.method(token)?.params.len(),
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
    let is_free = found.access.is_empty() && found.instantiations.is_empty();
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
        }
        Table::MemberRef => {
            let class = tokens.assembly.metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token()?;
            if class.table() == Some(Table::MethodDef) {
                return find(tokens, class, found);
            }
            let owner = tokens.owner(token)?.ty;
            find_of_type(tokens, owner, found);
            let field = || match tokens.signature(token)? {
                Signature::Field(signature) => members::find_field(types, owner, tokens.name(token), &signature),
                _ => None,
            };
            let method = tokens.method_definition(token).map(|(def, _, flags)| (def, flags));
            let (def, flags) = method.or_else(|| field().map(|(def, row)| (def, row.flags)))?;
            access::require(types, AccessRequirement::of_member(def, flags), &mut found.access);
        }
        Table::MethodSpec => find_of_method_spec(tokens, token, found)?,
        _ => find_of_type(tokens, tokens.value_of_token(token).ty, found),
    }
    Some(())
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
    let (def, rid, _) = tokens.method_definition(of)?;
    let arguments = tokens.arguments_of(tokens.owner(of)?.ty);
    let instantiation = Instantiation::of_method(def.module, rid, arguments, ids.into());
    constraints::require(&tokens.types, instantiation, &mut found.instantiations);
    Some(())
}
