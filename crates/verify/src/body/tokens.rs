//! What a token in the IL stands for: what a call takes and gives, what a field holds. Each is found once.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use ecma335::{
    Rid, Table, Token,
    element::{ElementType, convention},
    flags::method_attributes,
    schema::{Blob, MemberRef, MethodSpec, StandAloneSig},
    signature::{MethodSig, Signature, TypeSig},
};

use crate::{
    body::{
        stack_value::{Kind, Value},
        token_use::Use,
    },
    context::{Context, type_token},
    model::at,
    signatures,
    types::{
        library::Def,
        store::{Arguments, Named, Type, TypeId, Types},
    },
};

const UNKNOWN: Value = Value::of(Kind::Unknown);

/// What a call does to the stack.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) has_this: bool,
    pub(crate) is_constructor: bool,
    pub(crate) params: Vec<Value>,
    pub(crate) returned: Option<Value>,
    /// What has the method, and what `newobj` makes by it.
    pub(crate) owner: Value,
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holding {
    pub(crate) owner: TypeId,
    pub(crate) held: Value,
    /// What declares it, if only that may store to it.
    pub(crate) init_only: Option<Def>,
}

/// Looks tokens up.
pub(crate) struct Callees<'a, 'm, 'c> {
    pub(crate) context: &'c Context<'a, 'm>,
    pub(crate) types: Types<'m>,
    calls: RefCell<HashMap<Token, Option<Rc<Call>>>>,
    fields: RefCell<HashMap<Token, Option<Holding>>>,
    locals: RefCell<HashMap<Token, Option<Rc<[Value]>>>>,
    named: RefCell<HashMap<Token, Value>>,
    overridable: RefCell<HashMap<Token, Option<bool>>>,
    pub(crate) uses: RefCell<HashMap<Token, Option<Rc<Use>>>>,
}

impl<'a, 'm, 'c> Callees<'a, 'm, 'c> {
    pub(crate) fn new(context: &'c Context<'a, 'm>) -> Self {
        let types = Types::new(context.scope);
        Self {
            context,
            types,
            calls: RefCell::default(),
            fields: RefCell::default(),
            locals: RefCell::default(),
            named: RefCell::default(),
            overridable: RefCell::default(),
            uses: RefCell::default(),
        }
    }

    /// A value of the type that a signature of this module says; none for void.
    pub(crate) fn value_of(&self, signature: &TypeSig, arguments: Arguments<'_>) -> Option<Value> {
        let kind = Kind::of(self.context, signature)?;
        Some(self.typed(kind, |types, module| types.of(module, signature, arguments)))
    }

    /// A value of the type that a token of this module names.
    pub(crate) fn value_of_token(&self, token: Token) -> Value {
        if let Some(known) = self.named.borrow().get(&token) {
            return *known;
        }
        let kind = Kind::of_token(self.context, token);
        let value = self.typed(kind, |types, module| types.of_token(module, token, Arguments::default()));
        self.named.borrow_mut().insert(token, value);
        value
    }

    /// A value of a type of this module, as its own methods have it.
    pub(crate) fn own(&self, rid: u32) -> Value {
        self.typed(Kind::of_token(self.context, type_token(rid)), |types, _| types.own(rid))
    }

    /// A value of a kind, with its type; the type tells the kind better where another assembly has it.
    fn typed(&self, kind: Kind, find: impl FnOnce(&Types<'m>, usize) -> TypeId) -> Value {
        let Some(scope) = self.types.scope else { return Value::of(kind) };
        let value = self.types.value(find(&self.types, scope.module));
        if value.kind == Kind::Unknown { Value { kind, ..value } } else { value }
    }

    /// What calling a method or a stand-alone signature does; none if the token names nothing that can be called.
    pub(crate) fn call(&self, token: Token) -> Option<Rc<Call>> {
        if let Some(known) = self.calls.borrow().get(&token) {
            return known.clone();
        }
        let found = self.find_call(token, &[]).map(Rc::new);
        self.calls.borrow_mut().insert(token, found.clone());
        found
    }

    /// What a field holds; none if the token names no field.
    pub(crate) fn field(&self, token: Token) -> Option<Holding> {
        *self.fields.borrow_mut().entry(token).or_insert_with(|| match self.signature(token)? {
            Signature::Field(signature) => {
                let owner = self.owner(token)?.ty;
                let of_type = self.arguments_of(owner);
                let held = self.value_of(&signature, Arguments { of_type: &of_type, of_method: &[] })?;
                Some(Holding { owner, held, init_only: self.init_only(token, owner, &signature) })
            }
            _ => None,
        })
    }

    /// II.16.1.2: what declares an initonly field.
    fn init_only(&self, token: Token, owner: TypeId, signature: &TypeSig) -> Option<Def> {
        let module = self.types.scope?.module;
        let (def, is_init_only) = match token.table()? {
            Table::Field => {
                let rid = at(&self.context.model.field_owners, token.rid())?;
                (Def { module, rid }, at(&self.context.model.fields, token.rid())?.is_init_only())
            }
            _ => self.types.find_field(owner, self.name(token), signature).map(|(def, row)| (def, row.is_init_only()))?,
        };
        is_init_only.then_some(def)
    }

    /// The local variables of a body; none if the token names no such signature.
    pub(crate) fn locals(&self, token: Token) -> Option<Rc<[Value]>> {
        if token == Token::default() {
            return Some(Rc::default());
        }
        let find = || match (token.table()?, self.signature(token)?) {
            (Table::StandAloneSig, Signature::Locals(types)) => {
                Some(types.iter().map(|each| self.value_of(each, Arguments::default()).unwrap_or(UNKNOWN)).collect())
            }
            _ => None,
        };
        self.locals.borrow_mut().entry(token).or_insert_with(find).clone()
    }

    fn find_call(&self, token: Token, of_method: &[TypeId]) -> Option<Call> {
        if token.table() == Some(Table::MethodSpec) {
            let row = self.context.metadata.row(token.rid_in::<MethodSpec>()?).ok()?;
            let of = row.method.token().filter(|of| of.table() != Some(Table::MethodSpec))?;
            let of_method = match signatures::parse(self.context, row.instantiation) {
                Ok(Signature::MethodSpec(list)) => self.ids(&list),
                _ => Vec::new(),
            };
            return self.find_call(of, &of_method);
        }
        let Signature::Method(signature) = self.signature(token)? else { return None };
        let owner = self.owner(token)?;
        let of_type = self.arguments_of(owner.ty);
        let call = Call::new(self, &signature, owner, Arguments { of_type: &of_type, of_method });
        Some(Call { is_constructor: call.has_this && self.name(token) == b".ctor", ..call })
    }

    /// The name of a method or field.
    pub(crate) fn name(&self, token: Token) -> &'a [u8] {
        let (context, metadata) = (self.context, self.context.metadata);
        let index = match token.table() {
            Some(Table::MethodDef) => at(&context.model.methods, token.rid()).map(|row| row.name),
            Some(Table::Field) => at(&context.model.fields, token.rid()).map(|row| row.name),
            Some(Table::MemberRef) => metadata.row(Rid::<MemberRef>::new(token.rid())).ok().map(|row| row.name),
            _ => None,
        };
        index.map_or(&[], |index| context.name(index))
    }

    /// What declares a method, its row number and its flags; none if only an assembly that is not there tells.
    pub(crate) fn method(&self, token: Token) -> Option<(Def, u32, u16)> {
        let model = self.context.model;
        let row = |token: Token| self.context.metadata.row(token.rid_in::<MemberRef>()?).ok();
        let def = match token.table()? {
            Table::MemberRef => row(token)?.class.token().filter(|class| class.table() == Some(Table::MethodDef)),
            Table::MethodDef => Some(token),
            _ => return None,
        };
        if let Some(def) = def {
            let owner = Def { module: self.types.scope?.module, rid: at(&model.method_owners, def.rid())? };
            return Some((owner, def.rid(), at(&model.methods, def.rid())?.flags));
        }
        let Signature::Method(signature) = self.signature(token)? else { return None };
        let found = self.types.find_method(self.owner(token)?.ty, self.name(token), &signature);
        found.map(|(def, rid, row)| (def, rid, row.flags))
    }

    /// Whether an object may have another method in its place; none if only an assembly that is not there tells.
    pub(crate) fn is_overridable(&self, token: Token) -> Option<bool> {
        if let Some(known) = self.overridable.borrow().get(&token) {
            return *known;
        }
        let found = self.find_overridable(token);
        self.overridable.borrow_mut().insert(token, found);
        found
    }

    fn find_overridable(&self, token: Token) -> Option<bool> {
        let of = match token.rid_in::<MethodSpec>() {
            Some(rid) => self.context.metadata.row(rid).ok()?.method.token()?,
            None => token,
        };
        let library = self.types.scope?.library;
        let is_sealed = |def: Def| library.row(def).is_some_and(|row| row.is_sealed());
        let owner = match self.types.get(self.owner(of)?.ty) {
            Type::Named(Named::Known(def, _), _) => def,
            Type::Array(..) => return Some(false),
            _ => return None,
        };
        let (_, _, flags) = self.method(of)?;
        Some(
            flags & (method_attributes::VIRTUAL | method_attributes::FINAL | method_attributes::STATIC)
                == method_attributes::VIRTUAL
                && !is_sealed(owner),
        )
    }

    /// What has a member.
    pub(crate) fn owner(&self, token: Token) -> Option<Value> {
        let model = self.context.model;
        Some(match token.table()? {
            Table::MethodDef => self.own(at(&model.method_owners, token.rid())?),
            Table::Field => self.own(at(&model.field_owners, token.rid())?),
            Table::MemberRef => match self.context.metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token() {
                Some(class) if class.table() == Some(Table::MethodDef) => self.owner(class)?,
                Some(class) if class.table() == Some(Table::TypeDef) => self.own(class.rid()),
                Some(class) => self.value_of_token(class),
                None => UNKNOWN,
            },
            _ => UNKNOWN,
        })
    }

    pub(crate) fn ids(&self, list: &[TypeSig]) -> Vec<TypeId> {
        let Some(scope) = self.types.scope else { return Vec::new() };
        list.iter().map(|each| self.types.of(scope.module, each, Arguments::default())).collect()
    }

    pub(crate) fn arguments_of(&self, owner: TypeId) -> Rc<[TypeId]> {
        match self.types.get(owner) {
            Type::Named(_, arguments) => arguments,
            _ => Rc::default(),
        }
    }

    pub(crate) fn signature(&self, token: Token) -> Option<Signature> {
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
    pub(crate) fn new(callees: &Callees<'_, '_, '_>, signature: &MethodSig, owner: Value, arguments: Arguments<'_>) -> Self {
        let value = |param| callees.value_of(param, arguments);
        Self {
            has_this: signature.convention & (convention::HAS_THIS | convention::EXPLICIT_THIS) == convention::HAS_THIS,
            is_constructor: false,
            params: signature.params.iter().map(|param| value(param).unwrap_or(UNKNOWN)).collect(),
            returned: value(&signature.return_type),
            owner,
        }
    }

    /// A runtime-async method's IL returns what the declared task holds: `T` of `Task<T>`, else nothing.
    pub(crate) fn async_return(callees: &Callees<'_, '_, '_>, declared: &TypeSig) -> Option<Value> {
        match declared {
            TypeSig::GenericInst { arguments, .. } => callees.value_of(arguments.first()?, Arguments::default()),
            TypeSig::Modified { inner, .. } => Self::async_return(callees, inner),
            TypeSig::Element(ElementType::Void) => None,
            _ => None,
        }
    }
}
