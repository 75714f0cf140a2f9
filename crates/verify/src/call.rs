//! What a token in the IL stands for: what a call takes and gives, what a field holds. Each is found once.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use ecma335::{
    Rid, Table, Token,
    element::{ElementType, convention},
    schema::{Blob, MemberRef, MethodSpec, StandAloneSig},
    signature::{MethodSig, Signature, TypeSig},
};

use crate::{
    context::{Context, type_token},
    kind::Kind,
    model::at,
    signatures,
};

/// What a call does to the stack.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) has_this: bool,
    pub(crate) params: Vec<Kind>,
    pub(crate) returned: Option<Kind>,
    /// What `newobj` makes by it.
    pub(crate) made: Kind,
}

/// Looks tokens up.
pub(crate) struct Callees<'a, 'm, 'c> {
    context: &'c Context<'a, 'm>,
    calls: RefCell<HashMap<Token, Option<Rc<Call>>>>,
    fields: RefCell<HashMap<Token, Option<Kind>>>,
    locals: RefCell<HashMap<Token, Option<Rc<[Kind]>>>>,
}

impl<'a, 'm, 'c> Callees<'a, 'm, 'c> {
    pub(crate) fn new(context: &'c Context<'a, 'm>) -> Self {
        Self { context, calls: RefCell::default(), fields: RefCell::default(), locals: RefCell::default() }
    }

    /// What calling a method or a stand-alone signature does; none if the token names nothing that can be called.
    pub(crate) fn call(&self, token: Token) -> Option<Rc<Call>> {
        if let Some(known) = self.calls.borrow().get(&token) {
            return known.clone();
        }
        let found = self.find_call(token).map(Rc::new);
        self.calls.borrow_mut().insert(token, found.clone());
        found
    }

    /// What a field holds; none if the token names no field.
    pub(crate) fn field(&self, token: Token) -> Option<Kind> {
        *self.fields.borrow_mut().entry(token).or_insert_with(|| match self.signature(token)? {
            Signature::Field(signature) => Kind::of(self.context, &signature),
            _ => None,
        })
    }

    /// The local variables of a body; none if the token names no such signature.
    pub(crate) fn locals(&self, token: Token) -> Option<Rc<[Kind]>> {
        if token == Token::default() {
            return Some(Rc::default());
        }
        let find = || match (token.table()?, self.signature(token)?) {
            (Table::StandAloneSig, Signature::Locals(types)) => {
                Some(types.iter().map(|each| Kind::of(self.context, each).unwrap_or(Kind::Unknown)).collect())
            }
            _ => None,
        };
        self.locals.borrow_mut().entry(token).or_insert_with(find).clone()
    }

    fn find_call(&self, token: Token) -> Option<Call> {
        if token.table() == Some(Table::MethodSpec) {
            let of = self.context.metadata.row(token.rid_in::<MethodSpec>()?).ok()?.method.token()?;
            return (of.table() != Some(Table::MethodSpec)).then(|| self.find_call(of)).flatten();
        }
        let Signature::Method(signature) = self.signature(token)? else { return None };
        let made = match token.table()? {
            Table::MethodDef => Kind::of_token(self.context, type_token(at(&self.context.model.method_owners, token.rid())?)),
            Table::MemberRef => match self.context.metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token() {
                Some(class) => Kind::of_token(self.context, class),
                None => Kind::Unknown,
            },
            _ => Kind::Unknown,
        };
        Some(Call::new(self.context, &signature, made))
    }

    fn signature(&self, token: Token) -> Option<Signature> {
        let (context, metadata) = (self.context, self.context.metadata);
        let blob: Blob = match token.table()? {
            Table::MethodDef => at(&context.model.methods, token.rid())?.signature,
            Table::Field => at(&context.model.fields, token.rid())?.signature,
            Table::MemberRef => metadata.row(Rid::<MemberRef>::new(token.rid())).ok()?.signature,
            Table::StandAloneSig => metadata.row(Rid::<StandAloneSig>::new(token.rid())).ok()?.signature,
            _ => return None,
        };
        signatures::parse(context, blob).ok()
    }
}

impl Call {
    pub(crate) fn new(context: &Context<'_, '_>, signature: &MethodSig, made: Kind) -> Self {
        Self {
            has_this: signature.convention & (convention::HAS_THIS | convention::EXPLICIT_THIS) == convention::HAS_THIS,
            params: signature.params.iter().map(|param| Kind::of(context, param).unwrap_or(Kind::Unknown)).collect(),
            returned: Kind::of(context, &signature.return_type),
            made,
        }
    }

    /// A runtime-async method's IL returns what the declared task holds: `T` of `Task<T>`, else nothing.
    pub(crate) fn async_return(context: &Context<'_, '_>, declared: &TypeSig) -> Option<Kind> {
        match declared {
            TypeSig::GenericInst { arguments, .. } => Kind::of(context, arguments.first()?),
            TypeSig::Modified { inner, .. } => Self::async_return(context, inner),
            TypeSig::Element(ElementType::Void) => None,
            _ => None,
        }
    }
}
