//! The tracker's references to the library of the program that loads it, and those that it can run without.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use ecma335::{
    ClauseKind, Cursor, Image, Metadata, MethodBody, Result, Rid, Rva, Table, Token,
    opcode::Operand,
    schema::{
        Blob, Field, InterfaceImpl, MemberRef, MethodDef, MethodImpl, MethodSpec, StandAloneSig, TypeDef, TypeRef, TypeSpec,
    },
    signature::{Signature, TypeSig, text::TypeNames},
};

/// Types and members that the tracker has a fallback for: a trimmed program may lack them. An entry without members is a whole
/// type. Each is used in a method of its own, whose failure is caught. All other references are essential.
pub const WITH_FALLBACK: &[(&str, &[&str])] = &[
    ("System.Action`1", &[]),
    ("System.Activator", &["CreateInstance"]),
    ("System.AppDomain", &["add_AssemblyLoad", "remove_AssemblyLoad"]),
    ("System.AssemblyLoadEventArgs", &["get_LoadedAssembly"]),
    ("System.Array", &["GetLength", "GetLowerBound", "GetValue", "get_Rank"]),
    ("System.Console", &[]),
    ("System.Converter`2", &[]),
    ("System.DateTime", &["get_Kind"]),
    ("System.Decimal", &[]),
    ("System.Delegate", &["CreateDelegate"]),
    ("System.Enum", &["GetNames", "GetUnderlyingType", "GetValues"]),
    ("System.FlagsAttribute", &[]),
    ("System.Guid", &[]),
    ("System.IO.Directory", &[]),
    ("System.IO.DirectoryInfo", &[]),
    ("System.IO.File", &[]),
    ("System.IO.FileInfo", &[]),
    ("System.IO.FileMode", &[]),
    ("System.IO.FileStream", &[]),
    ("System.IO.Stream", &[]),
    ("System.LocalDataStoreSlot", &[]),
    ("System.Reflection.Assembly", &["GetLoadedModules", "GetReferencedAssemblies"]),
    ("System.Reflection.CallingConventions", &[]),
    ("System.Reflection.Emit.DynamicMethod", &[]),
    ("System.Reflection.Emit.ILGenerator", &[]),
    ("System.Reflection.Emit.OpCode", &[]),
    ("System.Reflection.Emit.OpCodes", &[]),
    ("System.Reflection.EventInfo", &[]),
    ("System.Reflection.FieldInfo", &["GetValue"]),
    ("System.Reflection.MemberInfo", &["IsDefined"]),
    ("System.Reflection.MethodInfo", &["MakeGenericMethod"]),
    ("System.Reflection.Pointer", &[]),
    ("System.Reflection.Module", &["ResolveMethod", "get_FullyQualifiedName", "get_ModuleVersionId"]),
    ("System.Runtime.CompilerServices.RuntimeHelpers", &["GetHashCode"]),
    ("System.Runtime.InteropServices.Marshal", &["Copy"]),
    ("System.Text.Encoding", &[]),
    ("System.Threading.AsyncFlowControl", &[]),
    ("System.Threading.ExecutionContext", &[]),
    ("System.Threading.Thread", &["GetData", "GetNamedDataSlot", "SetData", "get_Name"]),
    ("System.Threading.Timer", &[]),
    ("System.Threading.TimerCallback", &[]),
    ("System.Threading.WaitHandle", &["WaitOne"]),
    ("System.TimeSpan", &["get_Ticks"]),
    (
        "System.Type",
        &[
            "GetArrayRank",
            "GetElementType",
            "GetFields",
            "GetGenericTypeDefinition",
            "get_BaseType",
            "get_IsArray",
            "get_IsEnum",
            "get_IsGenericType",
            "get_IsPointer",
            "get_IsValueType",
        ],
    ),
    ("System.UnhandledExceptionEventArgs", &["get_ExceptionObject"]),
];

/// A type that an assembly refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    /// The type's full name.
    pub(crate) name: String,
    /// The assembly that the reference names.
    pub(crate) assembly: String,
    /// The referenced members, in the form of [`member_text`].
    pub(crate) members: BTreeSet<String>,
    /// Whether the type is only used as an attribute, which the tracker runs without.
    pub(crate) is_attribute: bool,
}

/// Returns whether the tracker has a fallback for a type (`member` is `None`), or for a member.
pub(crate) fn has_fallback(name: &str, member: Option<&str>) -> bool {
    let of_type = WITH_FALLBACK.iter().find(|(type_name, _)| *type_name == name);
    let is_named = |members: &[&str]| member.is_some_and(|member| members.contains(&member_name(member)));
    of_type.is_some_and(|(_, members)| members.is_empty() || is_named(members))
}

/// Returns all types of other assemblies that an assembly refers to, by TypeRef row number less one.
pub(crate) fn references(image: &Image<'_>, metadata: &Metadata<'_>) -> Result<Vec<Reference>> {
    let names = Names::new(metadata);
    names.note_definitions()?;
    names.note_code(image)?;
    let used = names.mentioned.borrow().clone();
    let mut members: BTreeMap<Token, BTreeSet<String>> = BTreeMap::new();
    for (rid, row) in metadata.tables.rows::<MemberRef>() {
        if used.contains(&Token::new(Table::MemberRef, rid.get())) {
            let member = member_text(metadata.name(row.name)?, &names.signature(row.signature)?);
            members.entry(names.class(&row)?).or_default().insert(member);
        }
    }
    let mentioned = names.mentioned.take();
    let reference = |(rid, _): (Rid<TypeRef>, TypeRef)| {
        let token = Token::new(Table::TypeRef, rid.get());
        Ok(Reference {
            name: metadata.type_ref_name(rid)?,
            assembly: metadata.assembly_of(rid).unwrap_or_default(),
            members: members.remove(&token).unwrap_or_default(),
            is_attribute: !mentioned.contains(&token),
        })
    };
    metadata.tables.rows::<TypeRef>().map(reference).collect()
}

/// Returns a member in a form common to references and definitions: its name, and the type names in its signature without
/// assemblies.
pub(crate) fn member_text(name: String, signature: &str) -> String {
    name + " " + signature
}

fn member_name(text: &str) -> &str {
    text.split_once(' ').map_or(text, |(name, _)| name)
}

/// Returns the names of types without their assemblies, and records which were asked for.
pub(crate) struct Names<'a, 'm> {
    metadata: &'m Metadata<'a>,
    mentioned: RefCell<BTreeSet<Token>>,
}

impl<'a, 'm> Names<'a, 'm> {
    pub(crate) fn new(metadata: &'m Metadata<'a>) -> Self {
        Self { metadata, mentioned: RefCell::default() }
    }

    /// Returns the text of a field's or a method's signature.
    pub(crate) fn signature(&self, blob: Blob) -> Result<String> {
        Ok(match Signature::parse(self.cursor(blob)?)? {
            Signature::Method(method) => method.display(self).to_string(),
            Signature::Field(field) => field.display(self).to_string(),
            Signature::Property(property) => property.property_type.display(self).to_string(),
            Signature::Locals(types) | Signature::MethodSpec(types) => {
                types.iter().map(|each| each.display(self).to_string()).collect()
            }
        })
    }

    fn cursor(&self, blob: Blob) -> Result<Cursor<'a>> {
        self.metadata.blobs.blob(blob)
    }

    fn note(&self, token: Token) {
        self.mentioned.borrow_mut().insert(token);
    }

    /// Returns the type that a member is looked up in; for an instance of a generic type, the generic type.
    fn class(&self, row: &MemberRef) -> Result<Token> {
        let class = row.class.token().unwrap_or_default();
        let Some(spec) = class.rid_in::<TypeSpec>() else {
            self.note(class);
            return Ok(class);
        };
        Ok(match self.type_spec(spec)? {
            TypeSig::GenericInst { token, .. } => token.token().unwrap_or_default(),
            _ => class,
        })
    }

    fn type_spec(&self, spec: Rid<TypeSpec>) -> Result<TypeSig> {
        let spec = TypeSig::parse(self.cursor(self.metadata.row(spec)?.signature)?)?;
        // Run only to record the types in it.
        let _ = spec.display(self).to_string();
        Ok(spec)
    }

    /// Records the types that definitions refer to, except attributes.
    fn note_definitions(&self) -> Result<()> {
        let tables = &self.metadata.tables;
        tables.rows::<TypeDef>().filter_map(|(_, row)| row.extends.token()).for_each(|token| self.note(token));
        tables.rows::<InterfaceImpl>().filter_map(|(_, row)| row.interface.token()).for_each(|token| self.note(token));
        tables.rows::<MethodImpl>().filter_map(|(_, row)| row.declaration.token()).for_each(|token| self.note(token));
        let fields = tables.rows::<Field>().map(|(_, row)| row.signature);
        let methods = tables.rows::<MethodDef>().map(|(_, row)| row.signature);
        let others = tables.rows::<StandAloneSig>().map(|(_, row)| row.signature);
        let instances = tables.rows::<MethodSpec>().map(|(_, row)| row.instantiation);
        fields.chain(methods).chain(others).chain(instances).try_for_each(|blob| self.signature(blob).map(drop))?;
        tables.rows::<TypeSpec>().try_for_each(|(rid, _)| self.type_spec(rid).map(drop))
    }

    /// Records the types that method bodies refer to.
    fn note_code(&self, image: &Image<'_>) -> Result<()> {
        for (_, row) in self.metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.has_il_body()) {
            let body = MethodBody::parse(image.cursor_at(Rva(row.rva))?)?;
            for clause in &body.clauses {
                if let ClauseKind::Catch(token) = clause.kind {
                    self.note(token);
                }
            }
            for instruction in body.instructions() {
                let instruction = instruction?;
                if matches!(instruction.info.operand, Operand::Method | Operand::Field | Operand::Type | Operand::Token) {
                    let token = instruction.token();
                    let generic = token.rid_in::<MethodSpec>().map(|spec| self.metadata.row(spec)).transpose()?;
                    self.note(generic.and_then(|spec| spec.method.token()).unwrap_or(token));
                }
            }
        }
        Ok(())
    }
}

impl TypeNames for Names<'_, '_> {
    fn type_name(&self, token: Token) -> String {
        self.note(token);
        let name = self.metadata.type_name(token);
        let without_assembly = name.strip_prefix('[').and_then(|name| name.split_once(']')).map(|(_, name)| name.to_owned());
        without_assembly.unwrap_or(name)
    }
}
