//! References to types and members in the assembler's syntax (II.7, II.14.2, II.15.3, II.16.1).

use std::{
    borrow::Cow,
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
};

use ecma335::{
    Error, ErrorKind, FullNames, Image, MAX_NESTING, Metadata, MethodBody, Result, Rid, Rva, Table, Token,
    element::ElementType,
    lists::ListOwners,
    metadata::join,
    names::nested,
    schema::{self, Field, MemberRef, MethodDef, MethodSpec, TypeDef, TypeRef},
    signature::{MethodSig, Signature, TypeSig, text::TypeNames},
};

use super::{ilasm::Ilasm, lines::listed, value_types::TypeKinds};
use crate::quote;
use crate::{attribute_values::AttributeValues, parent_index::ByParent};

/// The maximum size of the cached names, in bytes: more than any real module has.
const KEPT_NAMES: usize = 32 << 20;

/// A module's names, made on demand.
pub struct Names<'a, 'm> {
    /// The image of the module.
    pub image: &'m Image<'a>,
    /// The module's metadata.
    pub metadata: &'m Metadata<'a>,
    /// Rows by their owners.
    pub by_parent: ByParent,
    /// The values of attributes.
    pub attribute_values: AttributeValues<'a, 'm>,
    /// The kinds of types according to signatures.
    pub kinds: TypeKinds,
    full_names: FullNames<'a, 'm>,
    types: Kept,
    type_refs: Kept,
    with_scopes: bool,
    method_owners: ListOwners<TypeDef, MethodDef>,
    field_owners: ListOwners<TypeDef, Field>,
    /// The prefix for names of this module's own types: none, except within [`Names::with_scope`].
    scope: RefCell<Option<String>>,
    /// The aliases that replace the names of rows.
    pub aliases: RefCell<Aliases>,
    /// The names of generic parameters of the enclosing type and method.
    variables: RefCell<[Vec<String>; 2]>,
    /// The assembler that the text is for.
    pub(crate) ilasm: Ilasm,
    /// Whether equal meanings must give equal text, even if no assembler accepts it.
    pub for_comparison: bool,
    /// The hidden attributes, by the full names of their types.
    pub hidden: RefCell<Vec<&'static str>>,
    /// Whether `init` of local variables is hidden.
    pub hides_init: Cell<bool>,
}

impl<'a, 'm> Names<'a, 'm> {
    /// Reads the ownership of rows.
    pub fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Self {
        Self {
            image,
            metadata,
            by_parent: ByParent::new(metadata),
            attribute_values: AttributeValues::new(metadata),
            kinds: TypeKinds::new(metadata),
            full_names: metadata.full_names(),
            types: Kept::new(metadata.tables.count(Table::TypeDef)),
            type_refs: Kept::new(metadata.tables.count(Table::TypeRef)),
            with_scopes: true,
            method_owners: metadata.owners(),
            field_owners: metadata.owners(),
            scope: RefCell::default(),
            aliases: RefCell::default(),
            variables: RefCell::default(),
            ilasm: Ilasm::for_module(metadata),
            for_comparison: false,
            hidden: RefCell::default(),
            hides_init: Cell::default(),
        }
    }

    /// Makes texts for comparison.
    pub fn for_comparison(self) -> Self {
        Self { for_comparison: true, ilasm: Ilasm::Mono, ..self }
    }

    /// Whether an attribute is hidden.
    pub fn hides(&self, row: &schema::CustomAttribute) -> bool {
        let hidden = self.hidden.borrow();
        let is_hidden = || {
            let constructor = row.constructor.token()?;
            let name = match constructor.rid_in::<MethodDef>() {
                Some(method) => self.plain_type_name(self.method_owner(method)),
                None => {
                    let class = self.metadata.row(constructor.rid_in::<MemberRef>()?).ok()?.class.token()?;
                    self.metadata.type_name(class)
                }
            };
            Some(hidden.iter().any(|hidden| name == *hidden || name.ends_with(&format!("]{hidden}"))))
        };
        !hidden.is_empty() && is_hidden().unwrap_or_default()
    }

    /// Omits the scopes of types.
    pub fn without_scopes(self) -> Self {
        Self { with_scopes: false, ..self }
    }

    /// Sets the names of a type's generic parameters. The method's are cleared.
    pub fn enter_type(&self, rid: Rid<TypeDef>) {
        self.variables.replace([self.variable_names(Token::from(rid)), Vec::new()]);
    }

    /// Sets the names of the generic parameters of a method, in the current type.
    pub fn enter_method(&self, rid: Rid<MethodDef>) {
        self.variables.borrow_mut()[1] = self.variable_names(Token::from(rid));
    }

    /// Clears the names of the method's generic parameters.
    pub fn leave_method(&self) {
        self.variables.borrow_mut()[1].clear();
    }

    /// The names of a row's generic parameters. None if they are not distinct.
    fn variable_names(&self, owner: Token) -> Vec<String> {
        if self.for_comparison {
            return Vec::new();
        }
        let rows = self.by_parent.generics.children::<schema::GenericParam>(owner.0);
        let names: Vec<String> = rows
            .map(|rid| self.metadata.row(rid).and_then(|row| self.metadata.name(row.name)).unwrap_or_default())
            .map(|name| quote::name(&name).into_owned())
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        if names.iter().all(|name| name != "''" && seen.insert(name)) { names } else { Vec::new() }
    }

    /// Runs work outside of the current generic type and method.
    pub fn without_variables<T>(&self, work: impl FnOnce() -> T) -> T {
        let variables = self.variables.take();
        let result = work();
        self.variables.replace(variables);
        result
    }

    /// A type's full name without quotes, for patterns. Empty if it cannot be read.
    pub fn plain_type_name(&self, rid: Rid<TypeDef>) -> String {
        self.full_names.name_of(rid).unwrap_or_default()
    }

    /// The type that declares a method.
    pub fn method_owner(&self, method: Rid<MethodDef>) -> Rid<TypeDef> {
        self.method_owners.owner_of(method).unwrap_or_default()
    }

    /// The type that declares a field.
    pub fn field_owner(&self, field: Rid<Field>) -> Rid<TypeDef> {
        self.field_owners.owner_of(field).unwrap_or_default()
    }

    /// Runs work in which the module's own types get a scope, like types of another assembly.
    pub fn with_scope(&self, scope: Option<String>, work: impl FnOnce()) {
        self.scope.replace(scope);
        work();
        self.scope.take();
    }

    /// The enclosing types of a type, the outermost first.
    pub fn around(&self, rid: Rid<TypeDef>) -> Vec<Rid<TypeDef>> {
        let mut around: Vec<_> = self.full_names.chain(rid).skip(1).collect();
        around.reverse();
        around
    }

    /// The nested types of a type. Each belongs to the type in its last row.
    pub fn nested(&self, rid: Rid<TypeDef>) -> Vec<Rid<TypeDef>> {
        let rows = self.by_parent.nested.children::<schema::NestedClass>(rid.get()).filter_map(|row| self.metadata.row(row).ok());
        let is_here = |inner: &Rid<TypeDef>| self.full_names.enclosing(*inner) == Some(rid);
        let mut nested: Vec<Rid<TypeDef>> = rows.map(|row| row.nested_class).filter(is_here).collect();
        // A damaged table may contain a row twice.
        let mut seen = std::collections::BTreeSet::new();
        nested.retain(|inner| seen.insert(*inner));
        nested
    }

    /// A type as an operand. For a type of another assembly, `valuetype` is added where that is known: Mono's ilasm
    /// relies on the first mention. .NET's would make it another token.
    pub fn type_operand(&self, token: Token) -> Result<String> {
        match self.for_comparison.then(|| self.builtin(token)).flatten() {
            Some(builtin) => Ok(builtin.text().to_owned()),
            None => self.scoped_type(token),
        }
    }

    /// The element type for a reference to the core library (I.8.2.2, II.23.2.16): both forms have the same meaning.
    fn builtin(&self, token: Token) -> Option<ElementType> {
        const CORE: [&str; 4] = ["mscorlib", "System.Runtime", "netstandard", "System.Private.CoreLib"];
        let row = self.metadata.row(token.rid_in::<TypeRef>()?).ok()?;
        let scope: Rid<schema::AssemblyRef> = row.resolution_scope.token()?.rid_in()?;
        let name = |index| self.metadata.name(index).unwrap_or_default();
        let is_core_library = !self.with_scopes || CORE.contains(&name(self.metadata.row(scope).ok()?.name).as_str());
        let is_core = name(row.namespace) == "System" && is_core_library;
        if is_core { ElementType::of_class(name(row.name).as_bytes()) } else { None }
    }

    fn scoped_type(&self, token: Token) -> Result<String> {
        let name = self.type_ref(token)?;
        let is_of_other = token.table() == Some(Table::TypeRef) && self.ilasm == Ilasm::Mono;
        let is_value = is_of_other && self.kinds.values.contains(&token);
        // `[.module M]` is invalid after that word.
        Ok(if is_value && !name.starts_with("[.") { format!("valuetype {name}") } else { name })
    }

    /// A type where the syntax requires a class: just the name, or a TypeSpec.
    pub fn type_ref(&self, token: Token) -> Result<String> {
        match token.table() {
            Some(Table::TypeDef) => {
                if let Some(alias) = self.aliases.borrow().types.get(&token.rid()) {
                    return Ok(alias.clone());
                }
                let name = self.types.get(token, || self.type_def_name(Rid::new(token.rid())))?;
                Ok(self.scope.borrow().as_ref().map_or_else(|| name.to_string(), |scope| format!("{scope}{name}")))
            }
            Some(Table::TypeRef) => Ok(self.type_refs.get(token, || self.type_ref_name(Rid::new(token.rid())))?.into_owned()),
            Some(Table::TypeSpec) => {
                let row: schema::TypeSpec = self.metadata.row(Rid::new(token.rid()))?;
                let spec = self.metadata.blobs.blob(row.signature).and_then(TypeSig::parse);
                spec.map(|spec| self.type_text(&spec))
            }
            _ => Err(no_such(token, "type")),
        }
    }

    /// The generic type of a TypeSpec's instantiation.
    fn generic_type(&self, spec: Rid<schema::TypeSpec>) -> Option<Token> {
        let row = self.metadata.row(spec).ok()?;
        match TypeSig::parse(self.metadata.blobs.blob(row.signature).ok()?).ok()? {
            TypeSig::GenericInst { token, .. } | TypeSig::Named { token, .. } => token.token(),
            _ => None,
        }
    }

    /// The alias of a member, if any. A MemberRef to a member of this module counts as that member.
    pub fn alias(&self, token: Token) -> Option<String> {
        let aliases = self.aliases.borrow();
        if aliases.members.is_empty() {
            return None;
        }
        let Some(rid) = token.rid_in::<MemberRef>() else { return aliases.members.get(&token).cloned() };
        let row = self.metadata.row(rid).ok()?;
        let owner = self.own_type(row.class.token()?)?;
        let name = self.metadata.name(row.name).ok()?;
        aliases.references.get(&(owner, name, self.metadata.blob(row.signature).ok()?.to_vec())).cloned()
    }

    /// The type of this module in a TypeDef or an instantiation.
    pub fn own_type(&self, token: Token) -> Option<Rid<TypeDef>> {
        match token.rid_in() {
            Some(spec) => self.generic_type(spec)?.rid_in(),
            None => token.rid_in(),
        }
    }

    /// A type's name, without its enclosing types.
    pub fn own_type_name(&self, rid: Rid<TypeDef>, row: &TypeDef) -> String {
        let alias = self.aliases.borrow().own_types.get(&rid.get()).cloned();
        alias.unwrap_or_else(|| full_name(self.metadata, row.namespace, row.name))
    }

    /// A type in a signature.
    pub fn type_text(&self, signature: &TypeSig) -> String {
        signature.display(self).to_string()
    }

    /// A field: `int32 Shop.Order::count`.
    pub fn field(&self, token: Token) -> Result<String> {
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
        let name = self.alias(token).map_or_else(|| quote::name(&name), Cow::Owned);
        match Signature::parse(self.metadata.blobs.blob(signature)?)? {
            Signature::Field(field) => {
                let kind = self.without_variables(|| self.type_text(&field));
                Ok(format!("{kind} {}{name}", self.parent(parent)?))
            }
            _ => Err(Error::new(ErrorKind::Malformed("not a field's signature"))),
        }
    }

    /// A method: `instance void Shop.Order::Add<int32>(int32)`.
    pub fn method(&self, token: Token) -> Result<String> {
        if let Some(rid) = token.rid_in::<MethodSpec>() {
            let row = self.metadata.row(rid)?;
            let method = row.method.token().ok_or_else(|| no_such(token, "method"))?;
            return match Signature::parse(self.metadata.blobs.blob(row.instantiation)?)? {
                Signature::MethodSpec(types) => {
                    let types = listed(types.iter().map(|each| self.type_text(each)));
                    self.plain_method(method, &format!("<{}>", types.join(", ")))
                }
                _ => Err(Error::new(ErrorKind::Malformed("not an instantiation's signature"))),
            };
        }
        self.plain_method(token, "")
    }

    /// A generic method without type arguments: `void Shop.Order::Add<[1]>(!!0)`.
    pub fn open_method(&self, token: Token) -> Result<String> {
        match self.method_signature(token)?.1.generic_params {
            0 => self.plain_method(token, ""),
            count => self.plain_method(token, &format!("<[{count}]>")),
        }
    }

    fn plain_method(&self, token: Token, generics: &str) -> Result<String> {
        let alias = self.aliases.borrow().calls.get(&token).filter(|_| generics.is_empty()).cloned();
        if let Some(alias) = alias {
            return Ok(alias);
        }
        let (name, signature) = self.method_signature(token)?;
        let parent = match token.rid_in::<MemberRef>() {
            Some(rid) => self.metadata.row(rid)?.class.token().ok_or_else(|| no_such(token, "parent"))?,
            None => owner(&self.method_owners, token)?,
        };
        let (head, params) = self.without_variables(|| (signature.display_head(self), signature.display_params(self)));
        let name = self.alias(token).map_or_else(|| quote::method(&name), Cow::Owned);
        Ok(format!("{head}{}{name}{generics}{params}", self.parent(parent)?))
    }

    /// A method's name and its signature.
    pub fn method_signature(&self, token: Token) -> Result<(String, MethodSig)> {
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

    /// Whether a MemberRef refers to a field.
    pub fn is_field(&self, token: Token) -> bool {
        let Some(rid) = token.rid_in::<MemberRef>() else { return token.table() == Some(Table::Field) };
        let blob = self.metadata.row(rid).and_then(|row| self.metadata.blobs.blob(row.signature));
        blob.is_ok_and(|blob| blob.peek().is_some_and(|first| first & 0xF == ecma335::element::convention::FIELD))
    }

    /// The prefix of a member's name: `Shop.Order::`, or empty for a global one (II.15.3).
    fn parent(&self, parent: Token) -> Result<String> {
        match parent.table() {
            Some(Table::TypeDef) if self.is_module_type(Rid::new(parent.rid())) => Ok(String::new()),
            Some(Table::MethodDef) => self.parent(owner(&self.method_owners, parent)?),
            Some(Table::ModuleRef) => {
                let row: schema::ModuleRef = self.metadata.row(Rid::new(parent.rid()))?;
                Ok(format!("[.module {}]::", quote::dotted(&self.metadata.name(row.name)?)))
            }
            _ => Ok(format!("{}::", self.scoped_type(parent)?)),
        }
    }

    /// Whether a type is the owner of global members (II.10.8).
    pub fn is_module_type(&self, rid: Rid<TypeDef>) -> bool {
        rid.get() == 1
    }

    /// A method's body. None if it has none.
    pub fn body(&self, method: &MethodDef) -> Option<Result<MethodBody<'a>>> {
        method.has_il_body().then(|| MethodBody::parse(self.image.cursor_at(Rva(method.rva))?))
    }
}

impl TypeNames for Names<'_, '_> {
    fn type_variable(&self, number: u32) -> String {
        let name = self.variables.borrow()[0].get(number as usize).cloned();
        format!("!{}", name.unwrap_or_else(|| number.to_string()))
    }

    fn method_variable(&self, number: u32) -> String {
        let name = self.variables.borrow()[1].get(number as usize).cloned();
        format!("!!{}", name.unwrap_or_else(|| number.to_string()))
    }

    fn type_name(&self, token: Token) -> String {
        // The modifier is an instantiated type. Mono's ilasm only knows modifiers by name. So no hostile file can
        // make one of itself.
        let token = match token.rid_in::<schema::TypeSpec>() {
            Some(spec) => self.generic_type(spec).unwrap_or(token),
            None => token,
        };
        let name = (token.table() != Some(Table::TypeSpec)).then(|| self.type_ref(token).ok());
        name.flatten().unwrap_or_else(|| format!("'bad type {token}'"))
    }
}

impl Names<'_, '_> {
    fn type_def_name(&self, rid: Rid<TypeDef>) -> String {
        let rows = self.full_names.chain(rid).map_while(|rid| self.metadata.row(rid).ok());
        unbroken(rows.map(|row| full_name(self.metadata, row.namespace, row.name)))
    }

    /// A TypeRef: its resolution scope, and its name.
    fn type_ref_name(&self, rid: Rid<TypeRef>) -> String {
        let rows = || self.metadata.type_ref_chain(rid).map_while(Result::ok);
        let name = unbroken(rows().map(|row| full_name(self.metadata, row.namespace, row.name)));
        let scope = rows().take(MAX_NESTING).last().filter(|_| self.with_scopes).and_then(|row| row.resolution_scope.token());
        scope.map_or_else(String::new, |scope| scope_name(self.metadata, scope)) + &name
    }
}

/// The aliases of types and members.
#[derive(Default)]
pub struct Aliases {
    /// Types with their enclosing types, by TypeDef.
    pub types: HashMap<u32, String>,
    /// Types without their enclosing types, by TypeDef.
    pub own_types: HashMap<u32, String>,
    /// Types by their reflection names.
    pub reflected: HashMap<String, String>,
    /// Fields and methods by their definitions.
    pub members: HashMap<Token, String>,
    /// The same members by the content of MemberRefs: owner, name, signature.
    pub references: HashMap<(Rid<TypeDef>, String, Vec<u8>), String>,
    /// The aliases of calls, by the definitions of the called methods.
    pub calls: HashMap<Token, String>,
}

/// Cached names by row number less one, within a size limit.
struct Kept {
    names: Vec<OnceCell<Box<str>>>,
    room: Cell<usize>,
}

impl Kept {
    fn new(rows: u32) -> Self {
        Self { names: vec![OnceCell::new(); rows as usize], room: Cell::new(KEPT_NAMES) }
    }

    /// A row's name, made unless it is cached.
    fn get(&self, token: Token, make: impl FnOnce() -> String) -> Result<Cow<'_, str>> {
        let slot = get(&self.names, token.rid()).ok_or_else(|| no_such(token, "type"))?;
        if let Some(name) = slot.get() {
            return Ok(Cow::Borrowed(name));
        }
        let name = make();
        match self.room.get().checked_sub(name.len()) {
            Some(room) => {
                self.room.set(room);
                Ok(Cow::Borrowed(slot.get_or_init(|| name.into())))
            }
            None => Ok(Cow::Owned(name)),
        }
    }
}

/// A nested type's name from its parts, the innermost first.
fn unbroken(parts: impl Iterator<Item = String>) -> String {
    nested(parts.map(Ok::<_, std::convert::Infallible>)).unwrap_or_default()
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
pub fn full_name(metadata: &Metadata<'_>, namespace: schema::Str, name: schema::Str) -> String {
    let text = |index| metadata.name(index).unwrap_or_default();
    quote::dotted(&join(&text(namespace), &text(name))).into_owned()
}

fn owner<C>(owners: &ListOwners<TypeDef, C>, token: Token) -> Result<Token> {
    match owners.owner_of(Rid::new(token.rid())) {
        Some(owner) => Ok(Token::new(Table::TypeDef, owner.get())),
        None => Err(no_such(token, "owner")),
    }
}

fn get<T>(values: &[T], rid: u32) -> Option<&T> {
    values.get((rid as usize).checked_sub(1)?)
}

fn no_such(token: Token, what: &str) -> Error {
    Error::new(ErrorKind::Malformed("leads nowhere")).in_cell(format_args!("{what} of {token}"))
}
