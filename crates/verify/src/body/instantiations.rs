//! Checks that the instantiations in fields, base types and variables satisfy their constraints (II.10.1.7).

use ecma335::{
    Table, Token,
    signature::{Signature, TypeSig},
};

use crate::{
    body::{stack_value::StackValue, tokens::TokenResolver},
    context::Context,
    model::type_token,
    rule::rule,
    signatures,
    types::{
        constraints, hierarchy,
        library::Def,
        resolve,
        store::{Arguments, GenericContext, TypeId},
    },
};

/// Checks the types of fields, base types and interfaces.
pub(crate) fn check_declarations(tokens: &TokenResolver<'_>, context: &Context<'_>) {
    let Some(scope) = context.scope else { return };
    for ((row, owner), rid) in context.model.fields.iter().zip(&context.model.field_owners).zip(1..) {
        let Ok(Signature::Field(signature)) = signatures::parse(context, row.signature) else { continue };
        if may_be_generic(&signature) {
            let id = resolve::of_signature(&tokens.types, scope.module, &signature, Arguments::default());
            require_satisfied(
                tokens,
                context,
                Token::new(Table::Field, rid),
                GenericContext { owner: *owner, method: Token::default() },
                id,
            );
        }
    }
    for rid in 1..=context.model.types.len() as u32 {
        for id in hierarchy::parents(&tokens.types, Def { module: scope.module, rid }).iter() {
            require_satisfied(tokens, context, type_token(rid), GenericContext { owner: rid, method: Token::default() }, id);
        }
    }
}

/// Checks the types of a method's arguments and local variables.
pub(crate) fn check_variables<'v>(
    tokens: &TokenResolver<'_>,
    context: &Context<'_>,
    within: GenericContext,
    values: impl Iterator<Item = &'v StackValue>,
) {
    let mut last = TypeId::UNKNOWN;
    for value in values.filter(|value| value.ty != TypeId::UNKNOWN) {
        if value.ty != last && tokens.types.is_constructed(value.ty) {
            require_satisfied(tokens, context, within.method, within, value.ty);
        }
        last = value.ty;
    }
}

fn may_be_generic(signature: &TypeSig) -> bool {
    !matches!(signature, TypeSig::Element(_) | TypeSig::Named { .. } | TypeSig::Var(_) | TypeSig::MVar(_))
}

fn require_satisfied(tokens: &TokenResolver<'_>, context: &Context<'_>, token: Token, within: GenericContext, id: TypeId) {
    let types = &tokens.types;
    if let Some(broken) = constraints::instantiations(types, id).iter().find_map(|of| constraints::violated(types, within, of)) {
        context.report(rule!("II.10.1.7-a"), token, broken);
    }
}
