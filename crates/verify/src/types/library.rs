//! The assemblies that references resolve to: their types by name, through forwarders, with their base types.
//!
//! The caller reads the files and decides which assembly a reference means ([`Library::link`]). Types of unlinked
//! references are unknown, and all that depends on them is assumed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use ecma335::{
    Metadata, Rid, Table, Token,
    element::ElementType,
    schema::{
        AssemblyRef, CustomAttribute, ExportedType, Field, File, GenericParam, GenericParamConstraint, InterfaceImpl, MemberRef,
        MethodDef, MethodDefOrRef, MethodImpl, ModuleRef, NestedClass, Param, Str, TypeDef, TypeDefOrRef, TypeRef,
    },
    signature::{Signature, TypeSig},
};
use foldhash::{HashMap, HashSet};

use crate::model::{self, TypeKind};

/// The limit on steps through forwarders and enclosing types.
const MAX_STEPS: usize = 32;

/// Assemblies, with the targets of their references.
#[derive(Default, Debug)]
pub struct Library<'a> {
    modules: Vec<Module<'a>>,
}

/// The four numbers of an assembly's version (II.6.2.1.4).
pub type Version = [u16; 4];

/// A library, and the assembly in it whose references are resolved.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'l> {
    /// The assemblies.
    pub library: &'l Library<'l>,
    /// The number of the assembly under check.
    pub module: usize,
}

/// A type definition of a library: the number of the module and of the row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Def {
    pub(crate) module: usize,
    pub(crate) rid: u32,
}

#[derive(Debug)]
struct Module<'a> {
    metadata: Metadata<'a>,
    links: BTreeMap<Vec<u8>, usize>,
    /// The other modules of the assembly, by file name.
    files: BTreeMap<Vec<u8>, usize>,
    /// The module with the manifest of the assembly: this one, unless another module lists it as a file.
    manifest: usize,
    index: OnceLock<Index>,
}

/// A generic parameter (II.22.20) and its constraints.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) param: GenericParam,
    pub(crate) constraints: Vec<TypeDefOrRef>,
}

impl Bound {
    /// Whether every type that is permitted as an argument satisfies the constraints.
    pub(crate) fn is_free(&self) -> bool {
        let param = &self.param;
        let is_special = param.is_reference_type() || param.is_not_nullable_value_type() || param.has_default_constructor();
        !is_special && self.constraints.is_empty()
    }
}

/// A type's key: the enclosing type (0 for none), the namespace and the name.
type Place = (u32, Vec<u8>, Vec<u8>);

/// The lookup tables of an assembly.
#[derive(Default, Debug)]
struct Index {
    types: HashMap<Place, u32>,
    enclosing: HashMap<u32, u32>,
    exported: HashMap<Place, u32>,
    interfaces: HashMap<u32, Vec<TypeDefOrRef>>,
    /// The methods that each type's MethodImpls override.
    overrides: HashMap<u32, Vec<MethodDefOrRef>>,
    /// The generic parameters of each type and method.
    bounds: HashMap<Token, Vec<Bound>>,
    ref_structs: HashSet<Token>,
    /// The parameters that are marked as `scoped`.
    scoped: HashSet<Token>,
}

impl<'a> Library<'a> {
    /// An empty library.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an assembly, and returns its number.
    pub fn add(&mut self, metadata: Metadata<'a>) -> usize {
        let number = self.modules.len();
        let (links, files) = (BTreeMap::new(), BTreeMap::new());
        self.modules.push(Module { metadata, links, files, manifest: number, index: OnceLock::new() });
        number
    }

    /// Links a module's references of this name to an assembly.
    pub fn link(&mut self, module: usize, name: &[u8], to: usize) {
        if let Some(module) = self.modules.get_mut(module) {
            module.links.insert(name.to_owned(), to);
        }
    }

    /// Links a module's file of this name to a module of the same assembly (II.22.19, II.22.31).
    pub fn link_file(&mut self, module: usize, name: &[u8], to: usize) {
        if let Some(module) = self.modules.get_mut(module) {
            module.files.insert(name.to_owned(), to);
        }
        let has_manifest = |of: &Module<'_>| of.metadata.assembly().is_some();
        if self.modules.get(module).is_some_and(has_manifest)
            && let Some(file) = self.modules.get_mut(to).filter(|file| !has_manifest(file))
        {
            file.manifest = module;
        }
    }

    /// The names of the files with other modules of the assembly that a module refers to.
    pub fn files(metadata: &Metadata<'_>) -> BTreeSet<Vec<u8>> {
        let tables = &metadata.tables;
        let files = tables.rows::<File>().filter(|(_, row)| !row.contains_no_metadata()).map(|(_, row)| row.name);
        let scopes = tables.rows::<TypeRef>().filter_map(|(_, row)| row.resolution_scope.token()?.rid_in::<ModuleRef>());
        let modules = scopes.filter_map(|rid| Some(metadata.row(rid).ok()?.name));
        files.chain(modules).filter_map(|index| name(metadata, index)).collect()
    }

    /// The module with the manifest of a module's assembly.
    pub(crate) fn manifest(&self, module: usize) -> usize {
        self.modules.get(module).map_or(module, |module| module.manifest)
    }

    /// The assemblies that a module refers to, by name, with the requested version. Runtimes accept no earlier version.
    pub fn references(metadata: &Metadata<'_>) -> BTreeMap<Vec<u8>, Version> {
        let mut found = BTreeMap::new();
        for (_, row) in metadata.tables.rows::<AssemblyRef>() {
            if let Some(name) = name(metadata, row.name) {
                let version: &mut Version = found.entry(name).or_default();
                *version = (*version).max([row.major, row.minor, row.build, row.revision]);
            }
        }
        found
    }

    /// The version of an assembly. `None` for a module without a manifest.
    pub fn version(metadata: &Metadata<'_>) -> Option<Version> {
        metadata.assembly().map(|row| [row.major, row.minor, row.build, row.revision])
    }

    /// The metadata of an assembly.
    pub fn metadata(&self, module: usize) -> Option<&Metadata<'a>> {
        self.modules.get(module).map(|module| &module.metadata)
    }

    fn module(&self, module: usize) -> Option<(&Module<'a>, &Index)> {
        let module = self.modules.get(module)?;
        Some((module, module.index.get_or_init(|| Index::new(&module.metadata))))
    }

    /// The definition of a TypeDef or TypeRef of a module.
    pub(crate) fn resolve(&self, module: usize, token: Token) -> Option<Def> {
        self.locate(module, token, MAX_STEPS)?
    }

    /// Whether a token's type is missing although the assembly that must define it is at hand. In a module that is built
    /// for another framework, types of the framework are not looked for.
    pub(crate) fn is_absent(&self, module: usize, token: Token) -> bool {
        let of_other = || self.is_retargeted(module) && self.scope_name(module, token).is_none_or(|name| is_of_framework(&name));
        self.locate(module, token, MAX_STEPS) == Some(None) && !of_other()
    }

    /// Whether a module is built for another framework than the one at hand, of which a type is.
    pub(crate) fn is_of_other_framework(&self, module: usize, def: Def) -> bool {
        let name_of = |module| {
            let metadata = self.metadata(module)?;
            name(metadata, metadata.assembly()?.name)
        };
        self.is_retargeted(module) && name_of(self.manifest(def.module)).is_none_or(|name| is_of_framework(&name))
    }

    /// The name of the assembly to which a TypeRef, or the outermost one around it, refers.
    fn scope_name(&self, module: usize, mut token: Token) -> Option<Vec<u8>> {
        let metadata = self.metadata(module)?;
        for _ in 0..MAX_STEPS {
            token = metadata.row(token.rid_in::<TypeRef>()?).ok()?.resolution_scope.token()?;
            if let Some(rid) = token.rid_in::<AssemblyRef>() {
                return name(metadata, metadata.row(rid).ok()?.name);
            }
        }
        None
    }

    /// The definition, if there is one. The outer `None` means that the defining assembly is absent.
    fn locate(&self, module: usize, token: Token, steps: usize) -> Option<Option<Def>> {
        let steps = steps.checked_sub(1)?;
        if token.table()? == Table::TypeDef {
            return Some(Some(Def { module, rid: token.rid() }));
        }
        let metadata = self.metadata(module)?;
        let row = metadata.row(token.rid_in::<TypeRef>()?).ok()?;
        let place = |enclosing: u32| Some((enclosing, name(metadata, row.namespace)?, name(metadata, row.name)?));
        let scope = row.resolution_scope.token();
        match scope.and_then(Token::table) {
            Some(Table::TypeRef) => {
                let Some(outer) = self.locate(module, scope?, steps)? else { return Some(None) };
                let (_, index) = self.module(outer.module)?;
                Some(index.types.get(&place(outer.rid)?).map(|rid| Def { module: outer.module, rid: *rid }))
            }
            Some(Table::AssemblyRef) => {
                let row = metadata.row(scope?.rid_in::<AssemblyRef>()?).ok()?;
                self.find(self.link_of(module, &name(metadata, row.name)?)?, &place(0)?, steps)
            }
            Some(Table::ModuleRef) => {
                let row = metadata.row(scope?.rid_in::<ModuleRef>()?).ok()?;
                self.find(self.file_of(module, row.name)?, &place(0)?, steps)
            }
            _ => self.find(module, &place(0)?, steps),
        }
    }

    /// Whether a module refers to .NET Framework's library, and the assembly at hand of that name forwards elsewhere.
    pub(crate) fn is_retargeted(&self, module: usize) -> bool {
        let facade = self.link_of(module, b"mscorlib").and_then(|library| self.module(library));
        facade.is_some_and(|(_, index)| !index.types.contains_key(&(0, b"System".to_vec(), b"Object".to_vec())))
    }

    fn link_of(&self, module: usize, name: &[u8]) -> Option<usize> {
        self.modules.get(module)?.links.get(name).copied()
    }

    /// The module of the same assembly with this file name.
    fn file_of(&self, module: usize, index: Str) -> Option<usize> {
        let of = self.modules.get(module)?;
        of.files.get(&name(&of.metadata, index)?).copied()
    }

    /// A type by its name, in this module, in another one, or where a forwarder leads (II.6.7, II.6.8).
    fn find(&self, module: usize, place: &Place, steps: usize) -> Option<Option<Def>> {
        let steps = steps.checked_sub(1)?;
        let (of, index) = self.module(module)?;
        if let Some(rid) = index.types.get(place) {
            return Some(Some(Def { module, rid: *rid }));
        }
        let Some(exported) = index.exported.get(place) else { return Some(None) };
        let row: ExportedType = of.metadata.row(Rid::new(*exported)).ok()?;
        if let Some(file) = row.implementation.token()?.rid_in::<File>() {
            return self.find(self.file_of(module, of.metadata.row(file).ok()?.name)?, place, steps);
        }
        let to = of.metadata.row(row.implementation.token()?.rid_in::<AssemblyRef>()?).ok()?;
        self.find(self.link_of(module, &name(&of.metadata, to.name)?)?, place, steps)
    }

    /// A type of the namespace `System`, in the assembly with `Object` that a module's references lead to.
    pub(crate) fn system(&self, module: usize, wanted: &[u8]) -> Option<Def> {
        let place = |name: &[u8]| (0, b"System".to_vec(), name.to_vec());
        let (object, wanted) = (place(b"Object"), place(wanted));
        let mut seen = vec![module];
        let mut next = 0;
        while let Some(module) = seen.get(next).copied() {
            next += 1;
            let (of, index) = self.module(module)?;
            if index.types.contains_key(&object) {
                return index.types.get(&wanted).map(|rid| Def { module, rid: *rid });
            }
            for link in of.links.values() {
                if !seen.contains(link) {
                    seen.push(*link);
                }
            }
        }
        None
    }

    pub(crate) fn row(&self, def: Def) -> Option<TypeDef> {
        self.metadata(def.module)?.row(Rid::new(def.rid)).ok()
    }

    pub(crate) fn kind(&self, def: Def) -> Option<TypeKind> {
        Some(model::kind(self.metadata(def.module)?, &self.row(def)?, def.rid))
    }

    /// The enclosing type of a nested type.
    pub(crate) fn enclosing(&self, def: Def) -> Option<Def> {
        let (_, index) = self.module(def.module)?;
        index.enclosing.get(&def.rid).map(|rid| Def { rid: *rid, ..def })
    }

    /// The interfaces that a type itself implements, as indices of its module.
    pub(crate) fn interfaces(&self, def: Def) -> &[TypeDefOrRef] {
        self.module(def.module).and_then(|(_, index)| index.interfaces.get(&def.rid)).map_or(&[], Vec::as_slice)
    }

    /// The methods that a type's MethodImpls override, as indices of its module.
    pub(crate) fn overrides(&self, def: Def) -> &[MethodDefOrRef] {
        self.module(def.module).and_then(|(_, index)| index.overrides.get(&def.rid)).map_or(&[], Vec::as_slice)
    }

    /// The generic parameters of a TypeDef or MethodDef.
    pub(crate) fn bounds(&self, module: usize, of: Token) -> &[Bound] {
        self.module(module).and_then(|(_, index)| index.bounds.get(&of)).map_or(&[], Vec::as_slice)
    }

    /// Whether values of the type live only on the stack.
    pub(crate) fn is_ref_struct(&self, def: Def) -> bool {
        self.module(def.module).is_some_and(|(_, index)| index.ref_structs.contains(&model::type_token(def.rid)))
    }

    /// Whether a parameter of a method is marked as `scoped`. Parameters are numbered from 1.
    pub(crate) fn is_scoped(&self, module: usize, method: u32, number: usize) -> bool {
        let Some((of, index)) = self.module(module) else { return false };
        let mut params = of.metadata.children::<_, Param>(Rid::<MethodDef>::new(method));
        params.any(|rid| {
            let is_it = of.metadata.row(rid).is_ok_and(|row: Param| usize::from(row.sequence) == number);
            is_it && index.scoped.contains(&Token::new(Table::Param, rid.get()))
        })
    }

    /// The underlying type of an enumeration.
    pub(crate) fn underlying(&self, def: Def) -> Option<ElementType> {
        let metadata = self.metadata(def.module)?;
        let fields = metadata.children::<_, Field>(Rid::<TypeDef>::new(def.rid));
        let value = fields.filter_map(|rid| metadata.row(rid).ok()).find(|field| !field.is_static())?;
        match Signature::parse(metadata.blobs.blob(value.signature).ok()?).ok()? {
            Signature::Field(TypeSig::Element(element)) => Some(element),
            _ => None,
        }
    }

    /// The full name of a type, with its enclosing types: `Namespace.Outer/Inner`.
    pub(crate) fn full_name(&self, mut def: Def) -> String {
        let mut full = String::new();
        for _ in 0..MAX_STEPS {
            let Some((of, index)) = self.module(def.module) else { break };
            let Some(row) = self.row(def) else { break };
            let text = |index: Str| of.metadata.strings.string(index).unwrap_or_default();
            let own = ecma335::metadata::join(&text(row.namespace), &text(row.name));
            full = if full.is_empty() { own } else { format!("{own}/{full}") };
            let Some(outer) = index.enclosing.get(&def.rid) else { break };
            def.rid = *outer;
        }
        full
    }
}

impl Index {
    fn new(metadata: &Metadata<'_>) -> Self {
        let mut index = Self::default();
        for (_, row) in metadata.tables.rows::<NestedClass>() {
            index.enclosing.insert(row.nested_class.get(), row.enclosing_class.get());
        }
        for (rid, row) in metadata.tables.rows::<TypeDef>() {
            let enclosing = index.enclosing.get(&rid.get()).copied().unwrap_or(0);
            if let (Some(namespace), Some(name)) = (name(metadata, row.namespace), name(metadata, row.name)) {
                index.types.insert((enclosing, namespace, name), rid.get());
            }
        }
        for (rid, row) in metadata.tables.rows::<ExportedType>() {
            // An exported type in another exported type is nested.
            let is_outer = row.implementation.token().is_some_and(|token| token.table() != Some(Table::ExportedType));
            if let (true, Some(namespace), Some(name)) = (is_outer, name(metadata, row.namespace), name(metadata, row.name)) {
                index.exported.insert((0, namespace, name), rid.get());
            }
        }
        for (_, row) in metadata.tables.rows::<InterfaceImpl>() {
            index.interfaces.entry(row.class.get()).or_default().push(row.interface);
        }
        for (_, row) in metadata.tables.rows::<MethodImpl>() {
            index.overrides.entry(row.class.get()).or_default().push(row.declaration);
        }
        let mut constraints: HashMap<u32, Vec<TypeDefOrRef>> = HashMap::default();
        for (_, row) in metadata.tables.rows::<GenericParamConstraint>() {
            constraints.entry(row.owner.get()).or_default().push(row.constraint);
        }
        for (rid, row) in metadata.tables.rows::<GenericParam>() {
            if let Some(owner) = row.owner.token() {
                let constraints = constraints.remove(&rid.get()).unwrap_or_default();
                index.bounds.entry(owner).or_default().push(Bound { param: row, constraints });
            }
        }
        index.ref_structs = marked(metadata, b"IsByRefLikeAttribute");
        index.scoped = marked(metadata, b"ScopedRefAttribute");
        index
    }
}

/// Whether an assembly of this name is one of .NET's library.
fn is_of_framework(name: &[u8]) -> bool {
    let families: [&[u8]; 3] = [b"System.", b"Microsoft.", b"Presentation"];
    matches!(name, b"mscorlib" | b"netstandard" | b"System" | b"WindowsBase")
        || families.iter().any(|family| name.starts_with(family))
}

/// What a compiler has marked with an attribute of this name.
fn marked(metadata: &Metadata<'_>, attribute: &[u8]) -> HashSet<Token> {
    let is_it = |namespace: Str, name: Str| {
        let is = |index: Str, wanted: &[u8]| metadata.strings.string_bytes(index) == Ok(wanted);
        is(name, attribute) && is(namespace, b"System.Runtime.CompilerServices")
    };
    let tables = &metadata.tables;
    let defs = tables.rows::<TypeDef>().filter(|(_, row)| is_it(row.namespace, row.name));
    let methods = defs.flat_map(|(rid, _)| metadata.children::<_, MethodDef>(rid));
    let mut constructors: HashSet<Token> = methods.map(|rid| Token::new(Table::MethodDef, rid.get())).collect();
    let refs = tables.rows::<TypeRef>().filter(|(_, row)| is_it(row.namespace, row.name));
    let refs: HashSet<Token> = refs.map(|(rid, _)| Token::new(Table::TypeRef, rid.get())).collect();
    if !refs.is_empty() {
        let members = tables.rows::<MemberRef>().filter(|(_, row)| row.class.token().is_some_and(|class| refs.contains(&class)));
        constructors.extend(members.map(|(rid, _)| Token::new(Table::MemberRef, rid.get())));
    }
    if constructors.is_empty() {
        return HashSet::default();
    }
    let rows = tables.rows::<CustomAttribute>().map(|(_, row)| row);
    let marked = rows.filter(|row| row.constructor.token().is_some_and(|of| constructors.contains(&of)));
    marked.filter_map(|row| row.parent.token()).collect()
}

fn name(metadata: &Metadata<'_>, index: Str) -> Option<Vec<u8>> {
    metadata.strings.string_bytes(index).ok().map(<[u8]>::to_owned)
}

#[cfg(test)]
mod tests {
    use ecma335::{
        Cursor, FileOffset, Image, MetadataBuilder,
        cursor::put_compressed_u32,
        flags::{field_attributes, type_attributes},
        schema::{CustomAttributeType, FieldPtr, HasCustomAttribute, MemberRefParent, ResolutionScope},
    };

    use super::*;

    /// Adds an enumeration of `int64` whose field is found through `FieldPtr`. The Field row of the same number is another
    /// type's.
    fn add_enumeration(metadata: &Metadata<'_>, builder: &mut MetadataBuilder<'_, '_>) -> Result<Token, ecma335::Error> {
        let (fields, methods) = (metadata.tables.count(Table::Field), metadata.tables.count(Table::MethodDef));
        for (name, element) in [("count", ElementType::I4), ("value__", ElementType::I8)] {
            let (name, signature) = (builder.string(name)?, builder.blob(&[6, element as u8])?);
            builder.add(&Field { flags: field_attributes::PUBLIC, name, signature })?;
        }
        for field in (1..=fields).chain([fields + 2, fields + 1]) {
            builder.add(&FieldPtr { field: Rid::new(field) })?;
        }
        let resolution_scope = ResolutionScope::new(Token::new(Table::AssemblyRef, 1)).unwrap();
        let (name, namespace) = (builder.string("Enum")?, builder.string("System")?);
        let base = builder.add(&TypeRef { resolution_scope, name, namespace })?;
        let mut add = |name, first_field, extends| {
            let (flags, name) = (type_attributes::SEALED, builder.string(name)?);
            let (field_list, method_list) = (Rid::new(first_field), Rid::new(methods + 1));
            builder.add(&TypeDef { flags, name, namespace: Str(0), extends, field_list, method_list })
        };
        let enumeration = add("Big", fields + 1, TypeDefOrRef::new(base).unwrap())?;
        add("Other", fields + 2, TypeDefOrRef::default())?;
        Ok(enumeration)
    }

    /// An attribute of the module whose argument is the enumeration's value 5, in a given number of bytes.
    fn add_attribute(builder: &mut MetadataBuilder<'_, '_>, of: Token, size: usize) -> Result<(), ecma335::Error> {
        let mut signature = vec![0x20, 1, ElementType::Void as u8, ElementType::ValueType as u8];
        put_compressed_u32(&mut signature, TypeDefOrRef::new(of).unwrap().0);
        let class = MemberRefParent::new(Token::new(Table::TypeRef, 1)).unwrap();
        let row = MemberRef { class, name: builder.string(".ctor")?, signature: builder.blob(&signature)? };
        let constructor = CustomAttributeType::new(builder.add(&row)?).unwrap();
        let parent = HasCustomAttribute::new(Token::new(Table::Module, 1)).unwrap();
        let value = builder.blob(&[&[1, 0][..], &5_u64.to_le_bytes()[..size], &[0, 0]].concat())?;
        builder.insert(&CustomAttribute { parent, constructor, value })
    }

    #[test]
    fn an_enumeration_is_what_its_field_is_through_field_ptr() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/hello/bin/hello.exe");
        let bytes = std::fs::read(path).unwrap();
        let image = Image::parse(&bytes).unwrap();
        let metadata = Metadata::parse(image.metadata().unwrap()).unwrap();
        for (size, breaks_rule) in [(8, false), (4, true)] {
            let mut builder = MetadataBuilder::new(&metadata);
            let enumeration = add_enumeration(&metadata, &mut builder).unwrap();
            add_attribute(&mut builder, enumeration, size).unwrap();
            let bytes = builder.finish().unwrap().to_vec();
            let metadata = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).unwrap();
            let report = crate::verify(&image, &metadata, &crate::Options::default());
            let broken = report.findings.iter().any(|finding| finding.rule.number == "II.22.10-6");
            assert_eq!(broken, breaks_rule, "{size} bytes");
            let mut library = Library::new();
            let module = library.add(metadata);
            assert_eq!(library.underlying(Def { module, rid: enumeration.rid() }), Some(ElementType::I8));
        }
    }
}
