//! Resolves tokens in the IL: signatures of methods and fields, and types of locals. Each is resolved once.

use std::{cell::RefCell, rc::Rc};

use ecma335::{
    Rid, Table, Token,
    element::convention,
    flags::method_attributes,
    schema::{Blob, Field, MemberRef, MethodSpec, StandAloneSig, TypeDef, TypeDefOrRef, TypeSpec},
    signature::{MethodSig, Signature, TypeSig},
};
use foldhash::HashMap;

use crate::{
    assembly::Assembly,
    body::stack_value::{StackValue, kind_of, kind_of_token},
    model::{at, type_token},
    signatures,
    types::{
        library::Def,
        members, resolve,
        store::{Arguments, Named, Type, TypeId, Types},
        value_kind::ValueKind,
        verdict::Verdict,
    },
};

const UNKNOWN: StackValue = StackValue::of_kind(ValueKind::Unknown);

/// The callee of a MethodDef, MemberRef, MethodSpec or StandAloneSig token.
#[derive(Debug)]
pub(crate) struct MethodRef {
    pub(crate) has_this: bool,
    pub(crate) is_constructor: bool,
    /// Whether the method is declared by an abstract class.
    pub(crate) is_of_abstract: bool,
    /// The declaring type, the row number and the flags. `None` if only an absent assembly defines the method.
    pub(crate) definition: Option<(Def, u32, u16)>,
    pub(crate) params: Vec<StackValue>,
    pub(crate) returned: Option<StackValue>,
    /// The declaring type, and the type that `newobj` creates with the method.
    pub(crate) owner: StackValue,
}

/// The field of a Field or MemberRef token, for loads and stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRef {
    pub(crate) owner: TypeId,
    pub(crate) held: StackValue,
    /// The declaring type and the row. `None` if only an absent assembly defines the field.
    pub(crate) definition: Option<(Def, Field)>,
}

/// Resolves the tokens of the module under check.
pub(crate) struct TokenResolver<'m> {
    pub(crate) assembly: &'m Assembly<'m>,
    pub(crate) types: Types<'m>,
    methods: RefCell<HashMap<Token, Option<Rc<MethodRef>>>>,
    fields: RefCell<HashMap<Token, Option<FieldRef>>>,
    locals: RefCell<HashMap<Token, Option<Rc<[StackValue]>>>>,
    named: RefCell<HashMap<Token, StackValue>>,
    overridable: RefCell<HashMap<Token, Verdict>>,
}

impl<'m> TokenResolver<'m> {
    pub(crate) fn new(assembly: &'m Assembly<'m>) -> Self {
        let types = Types::new(assembly.scope);
        Self {
            assembly,
            types,
            methods: RefCell::default(),
            fields: RefCell::default(),
            locals: RefCell::default(),
            named: RefCell::default(),
            overridable: RefCell::default(),
        }
    }

    /// A value of the type in a signature of this module. `None` for void.
    pub(crate) fn value_of(&self, signature: &TypeSig, arguments: Arguments<'_>) -> Option<StackValue> {
        let kind = kind_of(self.assembly, signature)?;
        Some(self.typed(kind, |types, module| resolve::of_signature(types, module, signature, arguments)))
    }

    /// A value of the type that a token of this module names.
    pub(crate) fn value_of_token(&self, token: Token) -> StackValue {
        if let Some(known) = self.named.borrow().get(&token) {
            return *known;
        }
        let kind = kind_of_token(self.assembly, token);
        let value = self.typed(kind, |types, module| resolve::of_token(types, module, token, Arguments::default()));
        self.named.borrow_mut().insert(token, value);
        value
    }

    /// A value of the typical instantiation of a type of this module, as its own methods use it.
    pub(crate) fn typical_instantiation(&self, rid: u32) -> StackValue {
        self.typed(kind_of_token(self.assembly, type_token(rid)), |types, _| resolve::typical_instantiation(types, rid))
    }

    /// A value of a kind, with its type. For a type of another assembly, the type determines the kind more precisely.
    fn typed(&self, kind: ValueKind, find: impl FnOnce(&Types<'m>, usize) -> TypeId) -> StackValue {
        let Some(scope) = self.types.scope else { return StackValue::of_kind(kind) };
        let value = StackValue::of_type(&self.types, find(&self.types, scope.module));
        if value.kind == ValueKind::Unknown { StackValue { kind, ..value } } else { value }
    }

    /// The callee of a method or stand-alone signature token. `None` if the token names nothing to call.
    pub(crate) fn method(&self, token: Token) -> Option<Rc<MethodRef>> {
        if let Some(known) = self.methods.borrow().get(&token) {
            return known.clone();
        }
        let found = self.find_method(token, &[]).map(Rc::new);
        self.methods.borrow_mut().insert(token, found.clone());
        found
    }

    /// The field of a token. `None` if the token does not name a field.
    pub(crate) fn field(&self, token: Token) -> Option<FieldRef> {
        *self.fields.borrow_mut().entry(token).or_insert_with(|| match self.signature(token)? {
            Signature::Field(signature) => {
                let owner = self.owner(token)?.ty;
                let of_type = self.arguments_of(owner);
                let held = self.value_of(&signature, Arguments { of_type: &of_type, of_method: &[] })?;
                Some(FieldRef { owner, held, definition: self.field_definition(token, owner, &signature) })
            }
            _ => None,
        })
    }

    fn field_definition(&self, token: Token, owner: TypeId, signature: &TypeSig) -> Option<(Def, Field)> {
        let model = self.assembly.model;
        if token.table()? == Table::Field {
            return Some((self.own(at(&model.field_owners, token.rid())?), at(&model.fields, token.rid())?));
        }
        members::find_field(&self.types, owner, self.name(token), signature)
    }

    /// A type of this module.
    fn own(&self, rid: u32) -> Def {
        Def { module: self.types.scope.map_or(0, |scope| scope.module), rid }
    }

    /// The local variables of a body. `None` if the token does not name such a signature.
    pub(crate) fn locals(&self, token: Token) -> Option<Rc<[StackValue]>> {
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

    fn find_method(&self, token: Token, of_method: &[TypeId]) -> Option<MethodRef> {
        if token.table() == Some(Table::MethodSpec) {
            let row = self.assembly.metadata.row(token.rid_in::<MethodSpec>()?).ok()?;
            let of = row.method.token().filter(|of| of.table() != Some(Table::MethodSpec))?;
            let of_method = match signatures::parse(self.assembly, row.instantiation) {
                Ok(Signature::MethodSpec(list)) => self.ids(&list),
                _ => Vec::new(),
            };
            return self.find_method(of, &of_method);
        }
        let Signature::Method(signature) = self.signature(token)? else { return None };
        let owner = self.owner(token)?;
        let of_type = self.arguments_of(owner.ty);
        let method = MethodRef::new(self, &signature, owner, Arguments { of_type: &of_type, of_method });
        let is_constructor = method.has_this && self.name(token) == b".ctor";
        let is_of_abstract = is_constructor && self.class_row(token, owner).is_some_and(|row| row.is_abstract());
        let definition = self.method_definition(token, owner.ty, &signature);
        Some(MethodRef { is_constructor, is_of_abstract, definition, ..method })
    }

    /// The TypeDef row of a method's declaring type.
    fn class_row(&self, token: Token, owner: StackValue) -> Option<TypeDef> {
        if let Some(scope) = self.types.scope {
            let Type::Named(Named::Known(def, _), _) = self.types.get(owner.ty) else { return None };
            return scope.library.row(def);
        }
        let (metadata, model) = (self.assembly.metadata, self.assembly.model);
        let rid = match token.table()? {
            Table::MethodDef => at(&model.method_owners, token.rid())?,
            _ => model.definition(metadata, metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token()?)?.get(),
        };
        at(&model.types, rid)
    }

    /// Whether a method is `Address` of an array, which returns an element's address (II.14.2).
    pub(crate) fn is_array_address(&self, token: Token) -> bool {
        let metadata = self.assembly.metadata;
        let class = || metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token()?.rid_in::<TypeSpec>();
        let signature = || TypeSig::parse(metadata.blobs.blob(metadata.row(class()?).ok()?.signature).ok()?).ok();
        self.name(token) == b"Address" && matches!(signature(), Some(TypeSig::Array(..) | TypeSig::SzArray(_)))
    }

    /// The name of a method or field.
    pub(crate) fn name(&self, token: Token) -> &'m [u8] {
        let (assembly, metadata) = (self.assembly, self.assembly.metadata);
        let index = match token.table() {
            Some(Table::MethodDef) => at(&assembly.model.methods, token.rid()).map(|row| row.name),
            Some(Table::Field) => at(&assembly.model.fields, token.rid()).map(|row| row.name),
            Some(Table::MemberRef) => metadata.row(Rid::<MemberRef>::new(token.rid())).ok().map(|row| row.name),
            _ => None,
        };
        index.map_or(&[], |index| assembly.name(index))
    }

    fn method_definition(&self, token: Token, owner: TypeId, signature: &MethodSig) -> Option<(Def, u32, u16)> {
        let model = self.assembly.model;
        let row = |token: Token| self.assembly.metadata.row(token.rid_in::<MemberRef>()?).ok();
        let def = match token.table()? {
            Table::MemberRef => row(token)?.class.token().filter(|class| class.table() == Some(Table::MethodDef)),
            Table::MethodDef => Some(token),
            _ => return None,
        };
        if let Some(def) = def {
            let owner = self.own(at(&model.method_owners, def.rid())?);
            return Some((owner, def.rid(), at(&model.methods, def.rid())?.flags));
        }
        let found = members::find_method(&self.types, owner, self.name(token), signature);
        found.map(|(def, rid, row)| (def, rid, row.flags))
    }

    /// Whether an object's class may override a method. `None` if only an absent assembly tells.
    pub(crate) fn is_overridable(&self, token: Token) -> Verdict {
        if let Some(known) = self.overridable.borrow().get(&token) {
            return *known;
        }
        let found = self.find_overridable(token);
        self.overridable.borrow_mut().insert(token, found);
        found
    }

    fn find_overridable(&self, token: Token) -> Verdict {
        let of = match token.rid_in::<MethodSpec>() {
            Some(rid) => self.assembly.metadata.row(rid).ok()?.method.token()?,
            None => token,
        };
        let library = self.types.scope?.library;
        let is_sealed = |def: Def| library.row(def).is_some_and(|row| row.is_sealed());
        let owner = match self.types.get(self.owner(of)?.ty) {
            Type::Named(Named::Known(def, _), _) => def,
            Type::Array(..) => return Some(false),
            _ => return None,
        };
        let (_, _, flags) = self.method(of)?.definition?;
        const KINDS: u16 = method_attributes::VIRTUAL | method_attributes::FINAL | method_attributes::STATIC;
        Some(flags & KINDS == method_attributes::VIRTUAL && !is_sealed(owner))
    }

    /// The declaring type of a member.
    pub(crate) fn owner(&self, token: Token) -> Option<StackValue> {
        let model = self.assembly.model;
        Some(match token.table()? {
            Table::MethodDef => self.typical_instantiation(at(&model.method_owners, token.rid())?),
            Table::Field => self.typical_instantiation(at(&model.field_owners, token.rid())?),
            Table::MemberRef => match self.assembly.metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token() {
                Some(class) if class.table() == Some(Table::MethodDef) => self.owner(class)?,
                Some(class) if class.table() == Some(Table::TypeDef) => self.typical_instantiation(class.rid()),
                Some(class) => self.value_of_token(class),
                None => UNKNOWN,
            },
            _ => UNKNOWN,
        })
    }

    pub(crate) fn ids(&self, list: &[TypeSig]) -> Vec<TypeId> {
        let Some(scope) = self.types.scope else { return Vec::new() };
        list.iter().map(|each| resolve::of_signature(&self.types, scope.module, each, Arguments::default())).collect()
    }

    pub(crate) fn arguments_of(&self, owner: TypeId) -> Rc<[TypeId]> {
        match self.types.get(owner) {
            Type::Named(_, arguments) => arguments,
            _ => Rc::default(),
        }
    }

    pub(crate) fn signature(&self, token: Token) -> Option<Signature> {
        let (assembly, metadata) = (self.assembly, self.assembly.metadata);
        let blob: Blob = match token.table()? {
            Table::MethodDef => at(&assembly.model.methods, token.rid())?.signature,
            Table::Field => at(&assembly.model.fields, token.rid())?.signature,
            Table::MemberRef => metadata.row(Rid::<MemberRef>::new(token.rid())).ok()?.signature,
            Table::StandAloneSig => metadata.row(Rid::<StandAloneSig>::new(token.rid())).ok()?.signature,
            _ => return None,
        };
        signatures::parse(assembly, blob).ok()
    }
}

impl MethodRef {
    /// Whether the method has no body.
    pub(crate) fn is_abstract(&self) -> bool {
        self.definition.is_some_and(|(.., flags)| flags & method_attributes::ABSTRACT != 0)
    }

    pub(crate) fn new(tokens: &TokenResolver<'_>, signature: &MethodSig, owner: StackValue, arguments: Arguments<'_>) -> Self {
        let value = |param| tokens.value_of(param, arguments);
        Self {
            has_this: signature.convention & (convention::HAS_THIS | convention::EXPLICIT_THIS) == convention::HAS_THIS,
            is_constructor: false,
            is_of_abstract: false,
            definition: None,
            params: signature.params.iter().map(|param| value(param).unwrap_or(UNKNOWN)).collect(),
            returned: value(&signature.return_type),
            owner,
        }
    }

    /// The return type of a runtime-async method's IL: `T` for a declared `Task<T>`, void for `Task`. Methods of the core
    /// library declare what their IL returns.
    pub(crate) fn async_return(tokens: &TokenResolver<'_>, declared: &TypeSig) -> Option<StackValue> {
        let is_task = |index: &TypeDefOrRef| {
            const TASKS: [&str; 4] = ["Task", "Task`1", "ValueTask", "ValueTask`1"];
            let name = index.token().map(|token| tokens.assembly.full_name(token)).unwrap_or_default();
            name.strip_prefix("System.Threading.Tasks.").is_some_and(|name| TASKS.contains(&name))
        };
        match declared {
            TypeSig::Modified { inner, .. } => Self::async_return(tokens, inner),
            TypeSig::Named { token, .. } if is_task(token) => None,
            TypeSig::GenericInst { token, arguments, .. } if is_task(token) => {
                tokens.value_of(arguments.first()?, Arguments::default())
            }
            _ => tokens.value_of(declared, Arguments::default()),
        }
    }
}
