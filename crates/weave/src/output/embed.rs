//! Embeds the tracker's types in the woven assembly: rows after the assembly's own, with all that they refer to. Their row
//! numbers are known before any row is added, so that probes can refer to them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use ecma335::{
    Clause, ClauseKind, Cursor, Error, ErrorKind, Image, Metadata, MetadataBuilder, MethodBody, Rid, Rva, Table, Token,
    flags::type_attributes,
    schema::{
        AssemblyRef, ClassLayout, Column, ColumnKind, Constant, CustomAttribute, CustomAttributeType, DeclSecurity, Event,
        EventMap, EventPtr, Field, FieldLayout, FieldMarshal, FieldPtr, FieldRva, GenericParam, GenericParamConstraint,
        HasCustomAttribute, ImplMap, InterfaceImpl, MemberRef, MethodDef, MethodImpl, MethodPtr, MethodSemantics, MethodSpec,
        ModuleRef, NestedClass, Param, ParamPtr, Property, PropertyMap, PropertyPtr, Row, StandAloneSig, TypeDef, TypeDefOrRef,
        TypeRef, TypeSpec,
    },
    signature::outline::map_types,
    tables::RowCounts,
};
use ilrewrite::{AssemblyName, MethodName, TokenProvider, TypeName};
use little_endian::{ByteOrder, LE};
use names::EMBEDDED_NAMESPACE;

use super::local_sigs::LocalSigs;
use crate::probes::tracker::ModuleTokens;

/// An assembly to embed in another.
pub(crate) struct Embedded<'s> {
    image: Image<'s>,
    metadata: Metadata<'s>,
    name: AssemblyName,
    /// The row counts of the receiving assembly.
    before: RowCounts,
    /// The types and their TypeDef rows, by namespace and name.
    types: BTreeMap<(String, String), Rid<TypeDef>>,
}

impl<'s> Embedded<'s> {
    /// Reads an assembly to embed in another.
    ///
    /// # Errors
    /// If it cannot be read, or contains metadata that cannot be embedded.
    pub(crate) fn read(bytes: &'s [u8], into: &Metadata<'_>) -> Result<Self, Error> {
        let (image, metadata) = ecma335::open(bytes)?;
        let is_there = |table| metadata.tables.count(table) > 0;
        let global = metadata.children::<TypeDef, MethodDef>(Rid::new(1)).count()
            + metadata.children::<TypeDef, Field>(Rid::new(1)).count();
        if global > 0 || POINTERS.iter().any(|table| is_there(*table)) || is_there(FieldRva::TABLE) {
            return unsupported("embedding global members, members found through pointers, or data of fields");
        }
        if POINTERS.iter().any(|table| into.tables.count(*table) > 0) {
            return unsupported("embedding where members are found through pointers");
        }
        let mut types = BTreeMap::new();
        for (rid, row) in metadata.tables.rows::<TypeDef>() {
            types.entry((metadata.name(row.namespace)?, metadata.name(row.name)?)).or_insert(rid);
        }
        let name = AssemblyName::own(&metadata)?;
        Ok(Self { before: *into.tables.counts(), image, metadata, name, types })
    }

    /// The TypeDef row of a top-level type in the embedded assembly, if it has this type.
    fn type_of(&self, name: &TypeName) -> Option<Rid<TypeDef>> {
        (name.assembly == self.name).then(|| self.types.get(&(name.namespace.clone(), name.name.clone())).copied()).flatten()
    }

    fn method_of(&self, method: &MethodName) -> Option<Rid<MethodDef>> {
        let is_it = |rid: &Rid<MethodDef>| {
            self.metadata.row(*rid).is_ok_and(|row| {
                self.metadata.strings.string_bytes(row.name) == Ok(method.name.as_bytes())
                    && self.metadata.blob(row.signature) == Ok(&method.signature)
            })
        };
        self.metadata.children(self.type_of(&method.class)?).find(is_it)
    }

    /// The numbers of types, fields and methods that the receiving assembly will have.
    pub(crate) fn counts_after(&self) -> [u32; 3] {
        [Table::TypeDef, Table::Field, Table::MethodDef].map(|table| {
            let own = self.metadata.tables.count(table);
            self.before[table as usize] + if table == Table::TypeDef { own - 1 } else { own }
        })
    }

    /// The token that a definition will have in the receiving assembly.
    fn defined(&self, token: Token) -> Option<Token> {
        let table = token.table()?;
        // The receiving assembly keeps its own `<Module>`.
        let first = u32::from(table == Table::TypeDef);
        Some(Token::new(table, self.before[table as usize] + token.rid() - first))
    }

    /// Adds all rows, and returns the bodies. The bodies will start at `start`, which is a multiple of 4.
    ///
    /// # Errors
    /// If a table or heap is full, or rows that tokens refer to would have to be placed among the other assembly's.
    pub(crate) fn add_to(&self, builder: &mut MetadataBuilder<'_, '_>, start: Rva) -> Result<Vec<u8>, Error> {
        let mut import = Import { embedded: self, builder, known: HashMap::new(), start, code: Vec::new() };
        import.add_all()?;
        Ok(import.code)
    }
}

/// The tables through which `#-` streams find members.
pub(crate) const POINTERS: [Table; 5] = [FieldPtr::TABLE, MethodPtr::TABLE, ParamPtr::TABLE, EventPtr::TABLE, PropertyPtr::TABLE];

fn unsupported<T>(what: &'static str) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Unsupported(what)))
}

/// The provider of tokens: those of embedded rows, and those that the assembly has or gets.
pub(crate) struct Tokens<'a, 'm> {
    pub(crate) builder: MetadataBuilder<'a, 'm>,
    pub(crate) embedded: Option<Arc<Embedded<'m>>>,
    /// The signatures of locals for bodies. They get rows when all are known.
    pub(crate) local_sigs: LocalSigs,
}

impl ModuleTokens for Tokens<'_, '_> {
    fn mark(&mut self, constructor: Token, value: &[u8]) -> Result<(), Error> {
        let attribute = CustomAttribute {
            parent: HasCustomAttribute::new(Token::new(Table::Module, 1)).unwrap_or_default(),
            constructor: CustomAttributeType::new(constructor).unwrap_or_default(),
            value: self.builder.blob(value)?,
        };
        self.builder.insert(&attribute)
    }
}

impl TokenProvider for Tokens<'_, '_> {
    type Error = Error;

    fn named_type(&mut self, name: &TypeName) -> Result<Token, Error> {
        let own = |embedded: &Embedded<'_>| embedded.defined(Token::new(Table::TypeDef, embedded.type_of(name)?.get()));
        let own = self.embedded.as_deref().and_then(own);
        own.map_or_else(|| self.builder.named_type(name), Ok)
    }

    fn named_method(&mut self, method: &MethodName) -> Result<Token, Error> {
        let own = |embedded: &Embedded<'_>| embedded.defined(Token::new(Table::MethodDef, embedded.method_of(method)?.get()));
        if let Some(own) = self.embedded.as_deref().and_then(own) {
            return Ok(own);
        }
        let class = self.named_type(&method.class)?;
        let signature = self.signature(&method.signature, &method.types)?;
        self.member_ref(class, &method.name, &signature)
    }

    fn assembly_ref(&mut self, assembly: &AssemblyName) -> Result<Token, Error> {
        self.builder.assembly_ref(assembly)
    }

    fn type_ref(&mut self, scope: Token, namespace: &str, name: &str) -> Result<Token, Error> {
        self.builder.type_ref(scope, namespace, name)
    }

    fn member_ref(&mut self, class: Token, name: &str, signature: &[u8]) -> Result<Token, Error> {
        self.builder.member_ref(class, name, signature)
    }

    fn method_spec(&mut self, method: Token, instantiation: &[u8]) -> Result<Token, Error> {
        self.builder.method_spec(method, instantiation)
    }

    fn type_spec(&mut self, signature: &[u8]) -> Result<Token, Error> {
        self.builder.type_spec(signature)
    }

    fn standalone_sig(&mut self, signature: &[u8]) -> Result<Token, Error> {
        Ok(self.local_sigs.ask(signature))
    }

    fn user_string(&mut self, text: &str) -> Result<Token, Error> {
        TokenProvider::user_string(&mut self.builder, text)
    }
}

/// The import of rows into another assembly.
struct Import<'i, 'a, 'm> {
    embedded: &'i Embedded<'i>,
    builder: &'i mut MetadataBuilder<'a, 'm>,
    /// The new tokens of imported references.
    known: HashMap<Token, Token>,
    /// The address of the bodies.
    start: Rva,
    code: Vec<u8>,
}

impl<'i> Import<'i, '_, '_> {
    fn source(&self) -> &'i Metadata<'i> {
        &self.embedded.metadata
    }

    fn add_all(&mut self) -> Result<(), Error> {
        self.add_types()?;
        self.add_rows::<Field>()?;
        self.add_methods()?;
        self.add_rows::<Param>()?;
        self.add_rows::<InterfaceImpl>()?;
        self.add_rows::<Constant>()?;
        self.add_rows::<FieldMarshal>()?;
        self.add_rows::<ClassLayout>()?;
        self.add_rows::<FieldLayout>()?;
        self.add_rows::<EventMap>()?;
        self.add_rows::<Event>()?;
        self.add_rows::<PropertyMap>()?;
        self.add_rows::<Property>()?;
        self.add_rows::<MethodSemantics>()?;
        self.add_rows::<MethodImpl>()?;
        self.add_rows::<ImplMap>()?;
        self.add_rows::<NestedClass>()?;
        self.add_rows::<GenericParam>()?;
        self.add_rows::<GenericParamConstraint>()?;
        // Attributes and security declarations of the assembly or its module do not apply to the other.
        let is_whole =
            |token: Option<Token>| token.is_none_or(|token| matches!(token.table(), Some(Table::Assembly | Table::Module)));
        self.add_rows_if::<DeclSecurity>(|row| !is_whole(row.parent.token()))?;
        self.add_rows_if::<CustomAttribute>(|row| !is_whole(row.parent.token()))
    }

    /// Adds the types except `<Module>`. They get the namespace [`EMBEDDED_NAMESPACE`] and are visible only in this assembly.
    fn add_types(&mut self) -> Result<(), Error> {
        let namespace = self.builder.string(EMBEDDED_NAMESPACE)?;
        for (_, row) in self.source().tables.rows::<TypeDef>().skip(1) {
            let is_nested = row.flags & type_attributes::VISIBILITY_MASK > type_attributes::PUBLIC;
            let row = self.mapped(&row)?;
            self.builder.add(&if is_nested {
                row
            } else {
                TypeDef { flags: row.flags & !type_attributes::VISIBILITY_MASK, namespace, ..row }
            })?;
        }
        Ok(())
    }

    fn add_methods(&mut self) -> Result<(), Error> {
        for (_, row) in self.source().tables.rows::<MethodDef>() {
            let rva = if row.has_il_body() { self.add_body(Rva(row.rva))? } else { 0 };
            let row = MethodDef { rva, ..self.mapped(&row)? };
            self.builder.add(&row)?;
        }
        Ok(())
    }

    /// Copies a body, and returns its address.
    fn add_body(&mut self, rva: Rva) -> Result<u32, Error> {
        let body = MethodBody::parse(self.embedded.image.cursor_at(rva)?)?;
        let mut il = body.il.to_vec();
        for instruction in body.instructions() {
            let instruction = instruction?;
            if instruction.info.operand.is_token() {
                let token = self.token(instruction.token())?;
                let at = instruction.offset as usize + usize::from(instruction.info.size);
                LE::write_u32(&mut il[at..], token.0);
            }
        }
        let mut clauses = body.clauses.clone();
        for clause in &mut clauses {
            if let Clause { kind: ClauseKind::Catch(class), .. } = clause {
                *class = self.token(*class)?;
            }
        }
        let local_var_sig = self.token(body.local_var_sig)?;
        let is_tiny = body.is_tiny;
        let body = MethodBody { il: &il, clauses, local_var_sig, ..body };
        let at = if is_tiny { body.write(&mut self.code) } else { body.write_fat(&mut self.code) };
        let rva = u32::try_from(at).ok().and_then(|at| self.start.0.checked_add(at));
        rva.ok_or_else(|| Error::new(ErrorKind::Limit("an image of 4 GiB")))
    }

    fn add_rows<R: Row>(&mut self) -> Result<(), Error> {
        self.add_rows_if::<R>(|_| true)
    }

    fn add_rows_if<R: Row>(&mut self, is_wanted: impl Fn(&R) -> bool) -> Result<(), Error> {
        for (_, row) in self.source().tables.rows::<R>().filter(|(_, row)| is_wanted(row)) {
            let row = self.mapped(&row)?;
            if R::TABLE.sort_keys().is_empty() {
                self.builder.add(&row)?;
            } else {
                self.builder.insert(&row)?;
            }
        }
        Ok(())
    }

    /// A row with the tokens and heap offsets of the other assembly.
    fn mapped<R: Row>(&mut self, row: &R) -> Result<R, Error> {
        let mut cells = Vec::new();
        row.for_each_cell(|cell| cells.push(cell));
        for (cell, column) in cells.iter_mut().zip(R::TABLE.columns()) {
            *cell = self.cell(column, *cell)?;
        }
        let mut cells = cells.into_iter();
        Ok(R::from_cells(|| cells.next().unwrap_or_default()))
    }

    fn cell(&mut self, column: &Column, cell: u32) -> Result<u32, Error> {
        Ok(match column.kind {
            ColumnKind::Fixed(_) => cell,
            ColumnKind::Str => self.builder.string(&self.source().name(ecma335::schema::Str(cell))?)?.0,
            ColumnKind::Guid => 0,
            ColumnKind::Blob => {
                let blob = self.source().blobs.blob(ecma335::schema::Blob(cell))?;
                let is_signature = matches!(column.name, "signature" | "instantiation");
                if is_signature { self.signature(blob)? } else { self.builder.blob(blob.rest())?.0 }
            }
            // The end of a list is mapped too.
            ColumnKind::Rid(of) => self.token(Token::new(of, cell))?.rid(),
            ColumnKind::Coded(index) => {
                let (tag, rid) = (cell & ((1 << index.tag_bits) - 1), cell >> index.tag_bits);
                let of = index.tables.iter().find(|(known, _)| u32::from(*known) == tag).map(|(_, of)| *of);
                let token = self.token(Token::new(of.unwrap_or(Table::Module), rid))?;
                let tag = index.tables.iter().find(|(_, of)| Some(*of) == token.table()).map_or(0, |(tag, _)| u32::from(*tag));
                token.rid() << index.tag_bits | tag
            }
        })
    }

    fn signature(&mut self, blob: Cursor<'_>) -> Result<u32, Error> {
        let blob = map_types(blob, false, |ty| self.named(ty))?;
        Ok(self.builder.blob(&blob)?.0)
    }

    fn named(&mut self, ty: TypeDefOrRef) -> Result<TypeDefOrRef, Error> {
        let token = self.token(ty.token().unwrap_or_default())?;
        Ok(TypeDefOrRef::new(token).unwrap_or_default())
    }

    /// The token in the other assembly for a token of the embedded one.
    fn token(&mut self, token: Token) -> Result<Token, Error> {
        if token.rid() == 0 {
            return Ok(token);
        }
        if let Some(known) = self.known.get(&token) {
            return Ok(*known);
        }
        let new = match token.table() {
            None => {
                let text = self.source().user_strings.user_string(token.rid())?;
                let text =
                    String::from_utf16(&text).map_err(|_| Error::new(ErrorKind::Unsupported("text that is not UTF-16")))?;
                self.builder.user_string(&text)?
            }
            Some(Table::AssemblyRef) => self.assembly_ref(Rid::new(token.rid()))?,
            Some(Table::TypeRef) => self.type_ref(Rid::new(token.rid()))?,
            Some(Table::ModuleRef) => self.module_ref(Rid::new(token.rid()))?,
            Some(Table::MemberRef) => self.member_ref(Rid::new(token.rid()))?,
            Some(Table::TypeSpec) => self.type_spec(Rid::new(token.rid()))?,
            Some(Table::MethodSpec) => self.referred::<MethodSpec>(token)?,
            Some(Table::StandAloneSig) => self.referred::<StandAloneSig>(token)?,
            Some(_) => self.embedded.defined(token).unwrap_or(token),
        };
        self.known.insert(token, new);
        Ok(new)
    }

    fn referred<R: Row>(&mut self, token: Token) -> Result<Token, Error> {
        let row = self.source().row(Rid::<R>::new(token.rid()))?;
        let row = self.mapped(&row)?;
        self.builder.intern(&row)
    }

    fn module_ref(&mut self, rid: Rid<ModuleRef>) -> Result<Token, Error> {
        let name = self.source().name(self.source().row(rid)?.name)?;
        let is_it = |metadata: &Metadata<'_>, row: &ModuleRef| metadata.strings.string_bytes(row.name) == Ok(name.as_bytes());
        let known = self.builder.find(is_it);
        let name = self.builder.string(&name)?;
        known.map_or_else(|| self.builder.intern(&ModuleRef { name }), Ok)
    }

    fn type_spec(&mut self, rid: Rid<TypeSpec>) -> Result<Token, Error> {
        let blob = self.source().blobs.blob(self.source().row(rid)?.signature)?;
        let signature = map_types(blob, true, |ty| self.named(ty))?;
        self.builder.type_spec(&signature)
    }

    fn member_ref(&mut self, rid: Rid<MemberRef>) -> Result<Token, Error> {
        let row = self.source().row(rid)?;
        let class = self.token(row.class.token().unwrap_or_default())?;
        let signature = map_types(self.source().blobs.blob(row.signature)?, false, |ty| self.named(ty))?;
        self.builder.member_ref(class, &self.source().name(row.name)?, &signature)
    }

    /// The assembly's own reference of that name, in any version.
    fn assembly_ref(&mut self, rid: Rid<AssemblyRef>) -> Result<Token, Error> {
        let assembly = AssemblyName::referred(self.source(), rid).ok_or_else(|| Error::new(ErrorKind::Truncated))?;
        let is_it =
            |metadata: &Metadata<'_>, row: &AssemblyRef| metadata.strings.string_bytes(row.name) == Ok(assembly.name.as_bytes());
        self.builder.find(is_it).map_or_else(|| self.builder.assembly_ref(&assembly), Ok)
    }

    /// The assembly's own reference to the framework's type, if it has one.
    fn type_ref(&mut self, rid: Rid<TypeRef>) -> Result<Token, Error> {
        let row = self.source().row(rid)?;
        let (namespace, name) = (self.source().name(row.namespace)?, self.source().name(row.name)?);
        let scope = row.resolution_scope.token().unwrap_or_default();
        if scope.table() == Some(Table::AssemblyRef) {
            let is_it = |metadata: &Metadata<'_>, row: &TypeRef| {
                metadata.strings.string_bytes(row.name) == Ok(name.as_bytes())
                    && metadata.strings.string_bytes(row.namespace) == Ok(namespace.as_bytes())
                    && row.resolution_scope.token().and_then(Token::rid_in).is_some_and(|scope| is_framework(metadata, scope))
            };
            if let Some(known) = self.builder.find(is_it) {
                return Ok(known);
            }
        }
        let scope = self.token(scope)?;
        self.builder.type_ref(scope, &namespace, &name)
    }
}

/// The public key tokens of the framework's assemblies.
const FRAMEWORK: [u64; 4] = [0xB77A_5C56_1934_E089, 0xB03F_5F7F_11D5_0A3A, 0xCC7B_13FF_CD2D_DD51, 0x7CEC_85D7_BEA7_798E];

fn is_framework(metadata: &Metadata<'_>, rid: Rid<AssemblyRef>) -> bool {
    let token = AssemblyName::referred(metadata, rid).map(|assembly| assembly.public_key_token);
    token.is_some_and(|token| FRAMEWORK.iter().any(|known| known.to_be_bytes()[..] == token))
}
