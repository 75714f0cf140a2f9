//! Names of types and members as the assembler wants them where they are referred to (II.7, II.14.2, II.15.3, II.16.1).

use std::cell::RefCell;

use ecma335::{
    Error, ErrorKind, Image, Metadata, MethodBody, Result, Rid, Rva, Table, Token,
    lists::ListOwners,
    metadata::join,
    schema::{self, Field, MemberRef, MethodDef, MethodSpec, TypeDef, TypeRef},
    signature::{MethodSig, Signature, TypeNames, TypeSig},
};

use super::value_types::TypeKinds;
use crate::quote;
use crate::{attribute_values::AttributeValues, parent_index::ByParent};

/// Real nesting is a few levels deep; a longer chain is a cycle.
pub(crate) const MAX_NESTING: usize = 64;

/// A module's names, each found once.
pub(crate) struct Names<'a, 'm> {
    /// The image.
    pub(crate) image: &'m Image<'a>,
    /// Its metadata.
    pub(crate) metadata: &'m Metadata<'a>,
    /// Rows by the rows they belong to.
    pub(crate) by_parent: ByParent,
    /// The values of attributes.
    pub(crate) attribute_values: AttributeValues<'a, 'm>,
    /// What signatures say of types.
    pub(crate) kinds: TypeKinds,
    types: Vec<String>,
    type_refs: Vec<String>,
    enclosing: Vec<Rid<TypeDef>>,
    method_owners: ListOwners<TypeDef, MethodDef>,
    field_owners: ListOwners<TypeDef, Field>,
    /// What stands before the names of this module's own types: nothing, but for [`Names::with_scope`].
    scope: RefCell<Option<String>>,
}

impl<'a, 'm> Names<'a, 'm> {
    /// Reads the names of all types, and who owns what.
    pub(crate) fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Self {
        let enclosing = metadata.enclosing_types();
        let types = 1..=metadata.tables.count(Table::TypeDef);
        let type_refs = 1..=metadata.tables.count(Table::TypeRef);
        Self {
            image,
            metadata,
            by_parent: ByParent::new(metadata),
            attribute_values: AttributeValues::new(metadata),
            kinds: TypeKinds::new(metadata),
            types: types.map(|rid| type_def_name(metadata, &enclosing, rid)).collect(),
            type_refs: type_refs.map(|rid| type_ref_name(metadata, rid).concat()).collect(),
            enclosing,
            method_owners: metadata.owners(),
            field_owners: metadata.owners(),
            scope: RefCell::default(),
        }
    }

    /// Says nothing of where types come from.
    pub(crate) fn without_scopes(mut self) -> Self {
        for (name, rid) in self.type_refs.iter_mut().zip(1..) {
            [_, *name] = type_ref_name(self.metadata, rid);
        }
        self
    }

    /// The type a method belongs to.
    pub(crate) fn method_owner(&self, method: Rid<MethodDef>) -> Rid<TypeDef> {
        self.method_owners.of(method).unwrap_or_default()
    }

    /// Does something while the module's own types are named as if they came from elsewhere.
    pub(crate) fn with_scope(&self, scope: Option<String>, work: impl FnOnce()) {
        self.scope.replace(scope);
        work();
        self.scope.take();
    }

    /// The types around a type, the outermost first.
    pub(crate) fn around(&self, rid: Rid<TypeDef>) -> Vec<Rid<TypeDef>> {
        let outer = |rid: Rid<TypeDef>| get(&self.enclosing, rid.get()).copied().filter(|outer| !outer.is_none());
        let mut around: Vec<_> = std::iter::successors(outer(rid), |rid| outer(*rid)).take(MAX_NESTING).collect();
        around.reverse();
        around
    }

    /// The types in a type, each in the one that its last row says.
    pub(crate) fn nested(&self, rid: Rid<TypeDef>) -> Vec<Rid<TypeDef>> {
        let rows = self.by_parent.nested.of::<schema::NestedClass>(rid.get()).filter_map(|row| self.metadata.row(row).ok());
        let is_here = |inner: &Rid<TypeDef>| get(&self.enclosing, inner.get()) == Some(&rid);
        let mut nested: Vec<Rid<TypeDef>> = rows.map(|row| row.nested_class).filter(is_here).collect();
        // A damaged table may say it twice.
        let mut seen = std::collections::BTreeSet::new();
        nested.retain(|inner| seen.insert(*inner));
        nested
    }

    /// A type as an operand has it. One of another assembly says that it is a value type, where that is known: Mono's
    /// ilasm goes by the first mention.
    pub(crate) fn type_operand(&self, token: Token) -> Result<String> {
        let name = self.type_ref(token)?;
        let is_value = token.table() == Some(Table::TypeRef) && self.kinds.values.contains(&token);
        // `[.module M]` cannot stand behind the word.
        Ok(if is_value && !name.starts_with("[.") { format!("valuetype {name}") } else { name })
    }

    /// A type where only a class can be: the name alone, or a TypeSpec written out.
    pub(crate) fn type_ref(&self, token: Token) -> Result<String> {
        match token.table() {
            Some(Table::TypeDef) => {
                let name = found(&self.types, token)?;
                Ok(self.scope.borrow().as_ref().map_or(name.clone(), |scope| format!("{scope}{name}")))
            }
            Some(Table::TypeRef) => found(&self.type_refs, token),
            Some(Table::TypeSpec) => {
                let row: schema::TypeSpec = self.metadata.row(Rid::new(token.rid()))?;
                let spec = self.metadata.blobs.blob(row.signature).and_then(TypeSig::parse);
                spec.map(|spec| self.type_text(&spec))
            }
            _ => Err(no_such(token, "type")),
        }
    }

    /// The generic type that a TypeSpec is an instantiation of.
    fn generic_type(&self, spec: Rid<schema::TypeSpec>) -> Option<Token> {
        let row = self.metadata.row(spec).ok()?;
        match TypeSig::parse(self.metadata.blobs.blob(row.signature).ok()?).ok()? {
            TypeSig::GenericInst { token, .. } | TypeSig::Named { token, .. } => token.token(),
            _ => None,
        }
    }

    /// A type in a signature.
    pub(crate) fn type_text(&self, signature: &TypeSig) -> String {
        signature.display(self).to_string()
    }

    /// A field: `int32 Shop.Order::count`.
    pub(crate) fn field(&self, token: Token) -> Result<String> {
        let (parent, name, signature) = match token.table() {
            Some(Table::Field) => {
                let row: Field = self.metadata.row(Rid::new(token.rid()))?;
                (owner(&self.field_owners, token)?, row.name, row.signature)
            }
            Some(Table::MemberRef) => {
                let row: MemberRef = self.metadata.row(Rid::new(token.rid()))?;
                (row.class.token().ok_or_else(|| no_such(token, "parent"))?, row.name, row.signature)
            }
            _ => return Err(no_such(token, "field")),
        };
        let name = self.metadata.name(name)?;
        match Signature::parse(self.metadata.blobs.blob(signature)?)? {
            Signature::Field(field) => Ok(format!("{} {}{}", self.type_text(&field), self.parent(parent)?, quote::name(&name))),
            _ => Err(Error::new(ErrorKind::Malformed("not a field's signature"))),
        }
    }

    /// A method: `instance void Shop.Order::Add<int32>(int32)`.
    pub(crate) fn method(&self, token: Token) -> Result<String> {
        if let Some(rid) = token.rid_in::<MethodSpec>() {
            let row = self.metadata.row(rid)?;
            let method = row.method.token().ok_or_else(|| no_such(token, "method"))?;
            return match Signature::parse(self.metadata.blobs.blob(row.instantiation)?)? {
                Signature::MethodSpec(types) => {
                    let types: Vec<String> = types.iter().map(|each| self.type_text(each)).collect();
                    self.plain_method(method, &format!("<{}>", types.join(", ")))
                }
                _ => Err(Error::new(ErrorKind::Malformed("not an instantiation's signature"))),
            };
        }
        self.plain_method(token, "")
    }

    /// A method that is generic and not instantiated: `void Shop.Order::Add<[1]>(!!0)`.
    pub(crate) fn open_method(&self, token: Token) -> Result<String> {
        match self.method_signature(token)?.1.generic_params {
            0 => self.plain_method(token, ""),
            count => self.plain_method(token, &format!("<[{count}]>")),
        }
    }

    fn plain_method(&self, token: Token, generics: &str) -> Result<String> {
        let (name, signature) = self.method_signature(token)?;
        let parent = match token.rid_in::<MemberRef>() {
            Some(rid) => self.metadata.row(rid)?.class.token().ok_or_else(|| no_such(token, "parent"))?,
            None => owner(&self.method_owners, token)?,
        };
        let shown = signature.display(self).to_string();
        let params = signature.display_params(self);
        let head = shown.strip_suffix(params.as_str()).unwrap_or(&shown);
        Ok(format!("{head}{}{}{generics}{params}", self.parent(parent)?, quote::method(&name)))
    }

    /// A method's own name and its signature.
    pub(crate) fn method_signature(&self, token: Token) -> Result<(String, MethodSig)> {
        let (name, signature) = match token.table() {
            Some(Table::MethodDef) => {
                let row: MethodDef = self.metadata.row(Rid::new(token.rid()))?;
                (row.name, row.signature)
            }
            Some(Table::MemberRef) => {
                let row: MemberRef = self.metadata.row(Rid::new(token.rid()))?;
                (row.name, row.signature)
            }
            _ => return Err(no_such(token, "method")),
        };
        match Signature::parse(self.metadata.blobs.blob(signature)?)? {
            Signature::Method(method) => Ok((self.metadata.name(name)?, method)),
            _ => Err(Error::new(ErrorKind::Malformed("not a method's signature"))),
        }
    }

    /// Whether a member reference is one to a field.
    pub(crate) fn is_field(&self, token: Token) -> bool {
        let Some(rid) = token.rid_in::<MemberRef>() else { return token.table() == Some(Table::Field) };
        let blob = self.metadata.row(rid).and_then(|row| self.metadata.blobs.blob(row.signature));
        blob.is_ok_and(|blob| blob.peek().is_some_and(|first| first & 0xF == ecma335::element::convention::FIELD))
    }

    /// What stands before a member's name: `Shop.Order::`, or nothing for a global one (II.15.3).
    fn parent(&self, parent: Token) -> Result<String> {
        match parent.table() {
            Some(Table::TypeDef) if self.is_module_type(Rid::new(parent.rid())) => Ok(String::new()),
            Some(Table::MethodDef) => self.parent(owner(&self.method_owners, parent)?),
            Some(Table::ModuleRef) => {
                let row: schema::ModuleRef = self.metadata.row(Rid::new(parent.rid()))?;
                Ok(format!("[.module {}]::", quote::dotted(&self.metadata.name(row.name)?)))
            }
            _ => Ok(format!("{}::", self.type_operand(parent)?)),
        }
    }

    /// Whether a type is the one that owns what is global (II.10.8).
    pub(crate) fn is_module_type(&self, rid: Rid<TypeDef>) -> bool {
        rid.get() == 1
    }

    /// A method's body; none if it has none.
    pub(crate) fn body(&self, method: &MethodDef) -> Option<Result<MethodBody<'a>>> {
        method.has_il_body().then(|| MethodBody::parse(self.image.cursor_at(Rva(method.rva))?))
    }
}

impl TypeNames for Names<'_, '_> {
    fn type_name(&self, token: Token) -> String {
        // A modifier that is an instantiated type: Mono's ilasm knows modifiers by name alone, and so no hostile file can
        // make one of itself.
        let token = match token.rid_in::<schema::TypeSpec>() {
            Some(spec) => self.generic_type(spec).unwrap_or(token),
            None => token,
        };
        let name = (token.table() != Some(Table::TypeSpec)).then(|| self.type_ref(token).ok());
        name.flatten().unwrap_or_else(|| format!("'bad type {token}'"))
    }
}

fn type_def_name(metadata: &Metadata<'_>, enclosing: &[Rid<TypeDef>], rid: u32) -> String {
    let mut parts = Vec::new();
    let mut next = Rid::<TypeDef>::new(rid);
    while !next.is_none() && parts.len() < MAX_NESTING {
        let Ok(row) = metadata.row(next) else { break };
        parts.push(full_name(metadata, row.namespace, row.name));
        next = get(enclosing, next.get()).copied().unwrap_or_default();
    }
    slashed(parts)
}

/// A type of elsewhere: its resolution scope, and its name.
fn type_ref_name(metadata: &Metadata<'_>, rid: u32) -> [String; 2] {
    let mut parts = Vec::new();
    let mut next = Some(Rid::<TypeRef>::new(rid));
    let mut scope = String::new();
    while let Some(rid) = next.filter(|_| parts.len() < MAX_NESTING) {
        let Ok(row) = metadata.row(rid) else { break };
        parts.push(full_name(metadata, row.namespace, row.name));
        let token = row.resolution_scope.token().unwrap_or_default();
        next = token.rid_in();
        scope = scope_name(metadata, token);
    }
    [scope, slashed(parts)]
}

fn scope_name(metadata: &Metadata<'_>, scope: Token) -> String {
    let assembly = scope.rid_in::<schema::AssemblyRef>().and_then(|rid| metadata.row(rid).ok()).map(|row| ("", row.name));
    let module = scope.rid_in::<schema::ModuleRef>().and_then(|rid| metadata.row(rid).ok()).map(|row| (".module ", row.name));
    match assembly.or(module) {
        Some((kind, name)) => format!("[{kind}{}]", quote::dotted(&metadata.name(name).unwrap_or_default())),
        None => String::new(),
    }
}

/// A type's own name with its namespace, quoted as needed.
pub(crate) fn full_name(metadata: &Metadata<'_>, namespace: schema::Str, name: schema::Str) -> String {
    let text = |index| metadata.name(index).unwrap_or_default();
    quote::dotted(&join(&text(namespace), &text(name))).into_owned()
}

fn slashed(mut parts: Vec<String>) -> String {
    parts.reverse();
    parts.join("/")
}

fn owner<C>(owners: &ListOwners<TypeDef, C>, token: Token) -> Result<Token> {
    match owners.of(Rid::new(token.rid())) {
        Some(owner) => Ok(Token::new(Table::TypeDef, owner.get())),
        None => Err(no_such(token, "owner")),
    }
}

fn found(names: &[String], token: Token) -> Result<String> {
    get(names, token.rid()).cloned().ok_or_else(|| no_such(token, "type"))
}

fn get<T>(values: &[T], rid: u32) -> Option<&T> {
    values.get((rid as usize).checked_sub(1)?)
}

fn no_such(token: Token, what: &str) -> Error {
    Error::new(ErrorKind::Malformed("leads nowhere")).in_cell(format_args!("{what} of {token}"))
}
