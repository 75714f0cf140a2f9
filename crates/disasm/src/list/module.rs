//! The data shared by a listing's sections: names, methods, and the decisions on them.

use std::borrow::Cow;

use ecma335::{
    Error, FullNames, Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    schema::{Blob, MethodDef, TypeDef, TypeSpec},
    signature::{MethodSig, Signature, TypeSig, text::TypeNames},
};

use names::SourceName;

use super::{decisions::Decisions, options::Sort};

/// A module, with names made on demand.
pub(crate) struct Module<'a, 'm> {
    pub(crate) image: &'m Image<'a>,
    pub(crate) metadata: &'m Metadata<'a>,
    pub(crate) types: FullNames<'a, 'm>,
    /// By MethodDef row number less one.
    pub(crate) methods: Vec<Method<'a>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Method<'a> {
    /// The owner. None for a method that no type lists.
    pub(crate) owner: Rid<TypeDef>,
    pub(crate) name: Cow<'a, str>,
    signature: Blob,
    /// The size of its IL in bytes. None without a readable body.
    pub(crate) il_size: Option<u32>,
}

impl<'a, 'm> Module<'a, 'm> {
    /// Reads the names of methods.
    ///
    /// # Errors
    /// If a name cannot be read. An unreadable signature or body counts as missing.
    pub(crate) fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Result<Self, Error> {
        metadata.check_type_names()?;
        let mut module = Self { image, metadata, types: metadata.full_names(), methods: Vec::new() };
        let owners = metadata.owners::<TypeDef, MethodDef>();
        module.methods = metadata
            .tables
            .rows::<MethodDef>()
            .zip(owners.as_slice())
            .map(|((_, row), owner)| module.read_method(&row, *owner))
            .collect::<Result<_, Error>>()?;
        Ok(module)
    }

    fn read_method(&self, row: &MethodDef, owner: Rid<TypeDef>) -> Result<Method<'a>, Error> {
        self.metadata.blobs.blob(row.signature)?;
        let name = self.metadata.strings.string(row.name)?;
        let il_size = self.body(row).map(|body| body.il.len() as u32);
        Ok(Method { owner, name, signature: row.signature, il_size })
    }

    /// The text before and after a method's name: `instance void `, `(int32)`.
    pub(crate) fn around_name(&self, signature: &MethodSig) -> (String, String) {
        (signature.display_head(self), signature.display_params(self))
    }

    /// The source name of a compiler-generated method.
    pub(crate) fn source(&self, method: &Method<'_>) -> Option<SourceName> {
        // Other methods do not need their full names.
        let is_made = method.name.starts_with('<') || method.name.starts_with("MoveNext");
        is_made.then(|| names::source_name(&self.type_name_of(method.owner), &method.name)).flatten()
    }

    /// A method's body. None if it has no readable one.
    pub(crate) fn body(&self, row: &MethodDef) -> Option<MethodBody<'a>> {
        let cursor = row.has_il_body().then(|| self.image.cursor_at(Rva(row.rva)).ok())??;
        MethodBody::parse(cursor).ok()
    }

    /// The readable bodies, with their methods.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = (Rid<MethodDef>, MethodBody<'a>)> + '_ {
        self.metadata.tables.rows::<MethodDef>().filter_map(|(rid, row)| Some((rid, self.body(&row)?)))
    }

    /// Sorts methods by name, or by the size of their IL.
    pub(crate) fn sorted(&self, methods: &[Rid<MethodDef>], sort: Sort) -> Vec<Rid<MethodDef>> {
        let size = |rid: &Rid<MethodDef>| u64::from(self.method(*rid).and_then(|method| method.il_size).unwrap_or(0));
        let name = |rid: &Rid<MethodDef>| if sort == Sort::Name { self.method_name(*rid) } else { String::new() };
        let mut methods: Vec<_> = methods.iter().map(|rid| (*rid, name(rid), size(rid))).collect();
        sort.apply(&mut methods, |(_, name, size)| (name, *size));
        methods.into_iter().map(|(rid, ..)| rid).collect()
    }

    pub(crate) fn all_methods(&self) -> Vec<Rid<MethodDef>> {
        (1..=self.metadata.tables.count(Table::MethodDef)).map(Rid::new).collect()
    }

    pub(crate) fn method(&self, rid: Rid<MethodDef>) -> Option<&Method<'a>> {
        self.methods.get((rid.get() as usize).checked_sub(1)?)
    }

    /// A type's full name. Empty for no type.
    pub(crate) fn type_name_of(&self, rid: Rid<TypeDef>) -> String {
        self.types.name_of(rid).unwrap_or_default()
    }

    /// `Shop.Order::Add`
    pub(crate) fn method_name(&self, rid: Rid<MethodDef>) -> String {
        self.method(rid).map(|method| format!("{}::{}", self.type_name_of(method.owner), method.name)).unwrap_or_default()
    }

    /// `instance void Add(int32)`
    pub(crate) fn signature(&self, method: &Method<'_>) -> String {
        self.named_signature(method, &method.name)
    }

    /// `instance void Shop.Order::Add(int32)`
    pub(crate) fn full_signature(&self, method: &Method<'_>) -> String {
        self.named_signature(method, &format!("{}::{}", self.type_name_of(method.owner), method.name))
    }

    fn named_signature(&self, method: &Method<'_>, name: &str) -> String {
        match self.metadata.blobs.blob(method.signature).and_then(Signature::parse) {
            Ok(Signature::Method(signature)) => {
                let (head, params) = self.around_name(&signature);
                format!("{head}{name}{params}")
            }
            _ => name.to_owned(),
        }
    }

    /// A type by its token: its name, or the type of a TypeSpec.
    pub(crate) fn type_text(&self, token: Token) -> String {
        let spec = token.rid_in::<TypeSpec>().and_then(|rid| {
            let blob = self.metadata.blobs.blob(self.metadata.row(rid).ok()?.signature).ok()?;
            Some(TypeSig::parse(blob).ok()?.display(self).to_string())
        });
        spec.unwrap_or_else(|| self.type_name(token))
    }

    /// The columns before a method's signature, the signature, and its source name.
    pub(crate) fn method_line(
        &self,
        rid: Rid<MethodDef>,
        decisions: &Decisions,
        il_size: bool,
        text: impl Fn(&Method<'_>) -> String,
    ) -> String {
        let Some(method) = self.method(rid) else { return String::new() };
        let token = Token::new(Table::MethodDef, rid.get());
        let size = match method.il_size {
            _ if !il_size => String::new(),
            Some(size) => format!("{size:>6}  "),
            None => format!("{:>6}  ", "-"),
        };
        let source = self.source(method).map(|source| format!("  = {source}")).unwrap_or_default();
        format!("{token}  {:<12}  {size}{}{source}", decisions.shown(rid), text(method))
    }
}

impl TypeNames for Module<'_, '_> {
    fn type_name(&self, token: Token) -> String {
        match token.rid_in::<TypeDef>().map(|rid| self.type_name_of(rid)) {
            Some(name) if !name.is_empty() => name,
            _ => self.metadata.type_name(token),
        }
    }
}
