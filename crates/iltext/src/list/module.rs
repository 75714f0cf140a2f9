//! What the sections of a listing share: names, methods, and what becomes of each.

use ecma335::{
    Error, Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    schema::{MethodDef, TypeDef, TypeSpec},
    signature::{MethodSig, Signature, TypeNames, TypeSig},
};

use super::{decisions::Decisions, options::Sort};

/// A module with the names of its types.
pub(crate) struct Module<'a, 'm> {
    pub(crate) image: &'m Image<'a>,
    pub(crate) metadata: &'m Metadata<'a>,
    /// Full names by TypeDef row number less one.
    pub(crate) types: Vec<String>,
    /// By MethodDef row number less one.
    pub(crate) methods: Vec<Method>,
}

/// A method in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Method {
    /// The type it belongs to; none for one that no type lists.
    pub(crate) owner: Rid<TypeDef>,
    pub(crate) name: String,
    /// What stands before its name: `instance void `.
    head: String,
    /// What stands behind it: `(int32)`.
    params: String,
    /// The source name, if the compiler made it.
    pub(crate) source: Option<identity::SourceName>,
    /// The size of its IL in bytes; none if it has no body that can be read.
    pub(crate) il_size: Option<u32>,
}

impl Method {
    /// `instance void Add(int32)`
    pub(crate) fn signature(&self) -> String {
        format!("{}{}{}", self.head, self.name, self.params)
    }
}

impl<'a, 'm> Module<'a, 'm> {
    /// Reads the names.
    ///
    /// # Errors
    /// If a name cannot be read; a signature or body that cannot is none.
    pub(crate) fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>) -> Result<Self, Error> {
        let mut module = Self { image, metadata, types: metadata.type_names()?, methods: Vec::new() };
        let owners = metadata.owners::<TypeDef, MethodDef>();
        module.methods = metadata
            .tables
            .rows::<MethodDef>()
            .zip(owners.as_slice())
            .map(|((_, row), owner)| module.read_method(&row, *owner))
            .collect::<Result<_, Error>>()?;
        Ok(module)
    }

    fn read_method(&self, row: &MethodDef, owner: Rid<TypeDef>) -> Result<Method, Error> {
        let name = self.metadata.name(row.name)?;
        let (head, params) = match Signature::parse(self.metadata.blobs.blob(row.signature)?) {
            Ok(Signature::Method(signature)) => self.around_name(&signature),
            _ => Default::default(),
        };
        let source = identity::source_name(self.type_name_of(owner), &name);
        let il_size = self.body(row).map(|body| body.il.len() as u32);
        Ok(Method { owner, name, head, params, source, il_size })
    }

    /// What stands before and behind a method's name.
    pub(crate) fn around_name(&self, signature: &MethodSig) -> (String, String) {
        let params = signature.display_params(self);
        let shown = signature.display(self).to_string();
        (shown.strip_suffix(&params).unwrap_or_default().to_owned(), params)
    }

    /// A method's body, if it has one that can be read.
    pub(crate) fn body(&self, row: &MethodDef) -> Option<MethodBody<'a>> {
        let cursor = row.has_il_body().then(|| self.image.cursor_at(Rva(row.rva)).ok())??;
        MethodBody::parse(cursor).ok()
    }

    /// The bodies that can be read, with their methods.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = (Rid<MethodDef>, MethodBody<'a>)> + '_ {
        self.metadata.tables.rows::<MethodDef>().filter_map(|(rid, row)| Some((rid, self.body(&row)?)))
    }

    /// Methods in order: by name, or by the size of their IL.
    pub(crate) fn sorted(&self, methods: &[Rid<MethodDef>], sort: Sort) -> Vec<Rid<MethodDef>> {
        let size = |rid: Rid<MethodDef>| u64::from(self.method(rid).and_then(|method| method.il_size).unwrap_or(0));
        let mut methods: Vec<_> = methods.iter().map(|rid| (*rid, self.method_name(*rid), size(*rid))).collect();
        sort.apply(&mut methods, |(_, name, size)| (name, *size));
        methods.into_iter().map(|(rid, ..)| rid).collect()
    }

    /// All methods.
    pub(crate) fn all_methods(&self) -> Vec<Rid<MethodDef>> {
        (1..=self.metadata.tables.count(Table::MethodDef)).map(Rid::new).collect()
    }

    /// A method in words.
    pub(crate) fn method(&self, rid: Rid<MethodDef>) -> Option<&Method> {
        self.methods.get((rid.get() as usize).checked_sub(1)?)
    }

    /// A type's full name; nothing for no type.
    pub(crate) fn type_name_of(&self, rid: Rid<TypeDef>) -> &str {
        (rid.get() as usize).checked_sub(1).and_then(|index| self.types.get(index)).map_or("", String::as_str)
    }

    /// `Shop.Order::Add`
    pub(crate) fn method_name(&self, rid: Rid<MethodDef>) -> String {
        self.method(rid).map(|method| format!("{}::{}", self.type_name_of(method.owner), method.name)).unwrap_or_default()
    }

    /// `instance void Shop.Order::Add(int32)`
    pub(crate) fn full_signature(&self, method: &Method) -> String {
        format!("{}{}::{}{}", method.head, self.type_name_of(method.owner), method.name, method.params)
    }

    /// A type by its token: its name, or a TypeSpec written out.
    pub(crate) fn type_text(&self, token: Token) -> String {
        let spec = token.rid_in::<TypeSpec>().and_then(|rid| {
            let blob = self.metadata.blobs.blob(self.metadata.row(rid).ok()?.signature).ok()?;
            Some(TypeSig::parse(blob).ok()?.display(self).to_string())
        });
        spec.unwrap_or_else(|| self.type_name(token))
    }

    /// The columns before a method's signature, then the signature, then its source name.
    pub(crate) fn method_line(
        &self,
        rid: Rid<MethodDef>,
        decisions: &Decisions,
        il_size: bool,
        text: impl Fn(&Method) -> String,
    ) -> String {
        let Some(method) = self.method(rid) else { return String::new() };
        let token = Token::new(Table::MethodDef, rid.get());
        let size = match method.il_size {
            _ if !il_size => String::new(),
            Some(size) => format!("{size:>6}  "),
            None => format!("{:>6}  ", "-"),
        };
        let source = method.source.as_ref().map(|source| format!("  = {source}")).unwrap_or_default();
        format!("{token}  {:<12}  {size}{}{source}", decisions.of(rid), text(method))
    }
}

impl TypeNames for Module<'_, '_> {
    fn type_name(&self, token: Token) -> String {
        match token.rid_in::<TypeDef>().map(|rid| self.type_name_of(rid)) {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => self.metadata.type_name(token),
        }
    }
}
