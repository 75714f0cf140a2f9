//! A method in the view of its body.

use std::rc::Rc;

use ecma335::{MethodBody, Token, element::convention, schema::MethodDef, signature::Signature};

use crate::{
    body::{
        code::Code,
        stack_value::StackValue,
        tokens::{MethodRef, TokenResolver},
    },
    model::at,
    signatures,
    types::{
        hierarchy,
        store::{Arguments, Type, TypeId},
        value_kind::ValueKind,
    },
};

/// The arguments and the return value.
type Taken = (Vec<StackValue>, Option<StackValue>);

/// A method in the view of its body.
pub(crate) struct Method<'b> {
    pub(crate) token: Token,
    /// The declaring type.
    pub(crate) owner: u32,
    pub(crate) args: Vec<StackValue>,
    pub(crate) locals: Rc<[StackValue]>,
    pub(crate) returned: Option<StackValue>,
    /// The class of a constructor, if the constructor must call another one.
    pub(crate) constructs: Option<TypeId>,
    pub(crate) body: &'b MethodBody<'b>,
}

impl<'b> Method<'b> {
    /// A method with its decoded body and local variables. `None` if its signature cannot be read.
    pub(crate) fn new(
        tokens: &TokenResolver<'_>,
        (token, row): (Token, &MethodDef),
        (body, code): (&'b MethodBody<'b>, &Code),
        locals: Rc<[StackValue]>,
    ) -> Option<Self> {
        let (args, returned) = arguments(tokens, token, row, code)?;
        let owner = at(&tokens.assembly.model.method_owners, token.rid()).unwrap_or(0);
        Some(Self { token, owner, args, locals, returned, constructs: constructed(tokens, token, row), body })
    }
}

/// The arguments of a method, with `this`, and the operand of its `ret`. `None` if the signature cannot be read.
fn arguments(tokens: &TokenResolver<'_>, token: Token, row: &MethodDef, code: &Code) -> Option<Taken> {
    let assembly = tokens.assembly;
    let Ok(Signature::Method(signature)) = signatures::parse(assembly, row.signature) else { return None };
    let rid = at(&assembly.model.method_owners, token.rid())?;
    let owner = tokens.typical_instantiation(rid);
    let method = MethodRef::new(tokens, &signature, owner, Arguments::default());
    let mut args = method.params;
    if signature.convention & (convention::HAS_THIS | convention::EXPLICIT_THIS) == convention::HAS_THIS {
        let is_value = assembly.model.kind(rid).is_value();
        let by_ref = || StackValue::new(ValueKind::Ref, tokens.types.intern(Type::ByRef(owner.ty)));
        let this = if is_value { by_ref() } else { StackValue { kind: ValueKind::Object, ..owner } };
        args.insert(0, StackValue { is_this: assembly.scope.is_some() && !code.overwrites_this(), ..this });
    }
    Some((args, if row.is_async() { MethodRef::async_return(tokens, &signature.return_type) } else { method.returned }))
}

/// III.1.8.1.4: the class of a constructor. `None` for value types and the root of all classes.
fn constructed(tokens: &TokenResolver<'_>, token: Token, row: &MethodDef) -> Option<TypeId> {
    let assembly = tokens.assembly;
    let is_constructor = assembly.scope.is_some() && !row.is_static() && assembly.name(row.name) == b".ctor";
    let rid = at(&assembly.model.method_owners, token.rid()).filter(|_| is_constructor)?;
    let ty = tokens.typical_instantiation(rid).ty;
    (!assembly.model.kind(rid).is_value() && hierarchy::base(&tokens.types, ty).is_some()).then_some(ty)
}
