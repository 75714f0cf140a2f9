//! The assemblies, modules and native libraries that a module references, and the members used from each.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Write},
};

use ecma335::{
    Error, MAX_NESTING, Rid, Token,
    schema::{AssemblyRef, File, ImplMap, MemberRef, ModuleRef, TypeRef, TypeSpec},
    signature::{Signature, TypeSig},
};
use names::Visible;
use serde::Serialize;

use super::{
    module::Module,
    options::Sort,
    outline::{self, Node},
};

/// A reference of the module.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// `assembly`, `module` or `native`.
    pub kind: &'static str,
    /// The name. For a native library, its file name, which is empty for the module's own native code.
    pub name: String,
    /// The version of an assembly.
    pub version: Option<String>,
    /// The culture of an assembly, if it has one.
    pub culture: Option<String>,
    /// The public key token of an assembly, if it has one: 16 hex digits.
    pub public_key_token: Option<String>,
    /// The types used from it, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<UsedType>>,
    /// The functions called in it, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<String>>,
}

/// A type and its used members.
#[derive(Serialize, Debug)]
pub struct UsedType {
    /// Its full name.
    pub name: String,
    /// Members with their signatures.
    pub members: Vec<String>,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // C++/CLI calls its own native code through a reference without a name.
        if self.kind == "native" && self.name.is_empty() {
            return f.write_str("its own native code");
        }
        f.write_str(&self.name)?;
        if let Some(version) = &self.version {
            let culture = self.culture.as_deref().unwrap_or("neutral");
            let token = self.public_key_token.as_deref().unwrap_or("null");
            return write!(f, ", Version={version}, Culture={culture}, PublicKeyToken={token}");
        }
        write!(f, "  ({})", if self.kind == "native" { "native library" } else { "module" })
    }
}

/// Reads the references, with the used types and members if `members`.
///
/// # Errors
/// If a name or signature cannot be read.
pub(crate) fn read(module: &Module<'_, '_>, members: bool, sort: Sort) -> Result<Vec<Reference>, Error> {
    let metadata = module.metadata;
    let mut used = if members { uses(module, sort)? } else { BTreeMap::new() };
    let mut types = |token: Token| members.then(|| used.remove(&token).unwrap_or_default());
    let mut references = Vec::new();
    for (rid, row) in metadata.tables.rows::<AssemblyRef>() {
        let culture = metadata.name(row.culture)?;
        let key = metadata.blob(row.public_key_or_token)?;
        let key = if row.has_public_key() { ecma335::metadata::public_key_token(key) } else { key.to_vec() };
        references.push(Reference {
            kind: "assembly",
            name: metadata.name(row.name)?,
            version: Some(format!("{}.{}.{}.{}", row.major, row.minor, row.build, row.revision)),
            culture: (!culture.is_empty()).then_some(culture),
            public_key_token: (!key.is_empty()).then(|| hex::encode(&key)),
            types: types(Token::new(ecma335::Table::AssemblyRef, rid.get())),
            functions: None,
        });
    }
    let files = metadata.tables.rows::<File>().map(|(_, row)| metadata.name(row.name)).collect::<Result<Vec<_>, _>>()?;
    for (rid, row) in metadata.tables.rows::<ModuleRef>() {
        let name = metadata.name(row.name)?;
        let functions = functions(module, rid, sort)?;
        let is_module = functions.is_empty() && files.contains(&name);
        references.push(Reference {
            kind: if is_module { "module" } else { "native" },
            name,
            version: None,
            culture: None,
            public_key_token: None,
            types: is_module.then(|| types(Token::new(ecma335::Table::ModuleRef, rid.get()))).flatten(),
            functions: (!is_module && members).then_some(functions),
        });
    }
    let size = |reference: &Reference| {
        let members = reference.types.iter().flatten().map(|each| each.members.len() + 1).sum::<usize>();
        (members + reference.functions.as_ref().map_or(0, Vec::len)) as u64
    };
    sort.apply(&mut references, |reference| (&reference.name, size(reference)));
    Ok(references)
}

/// The functions of a library that methods import, by their names in the library.
fn functions(module: &Module<'_, '_>, library: Rid<ModuleRef>, sort: Sort) -> Result<Vec<String>, Error> {
    let metadata = module.metadata;
    let rows = metadata.tables.rows::<ImplMap>().filter(|(_, row)| row.import_scope == library);
    let mut functions = rows.map(|(_, row)| metadata.name(row.import_name)).collect::<Result<Vec<String>, _>>()?;
    sort.apply(&mut functions, |name| (name, 0));
    Ok(functions)
}

/// The used types and members, by their scope.
fn uses(module: &Module<'_, '_>, sort: Sort) -> Result<BTreeMap<Token, Vec<UsedType>>, Error> {
    let metadata = module.metadata;
    let mut members: BTreeMap<Rid<TypeRef>, Vec<String>> = BTreeMap::new();
    for (_, row) in metadata.tables.rows::<MemberRef>() {
        if let Some(owner) = row.class.token().and_then(|class| type_ref(module, class)) {
            members.entry(owner).or_default().push(member(module, &row)?);
        }
    }
    let mut used: BTreeMap<Token, Vec<UsedType>> = BTreeMap::new();
    for (rid, _) in metadata.tables.rows::<TypeRef>() {
        let Some(scope) = scope(module, rid) else { continue };
        let mut members = members.remove(&rid).unwrap_or_default();
        sort.apply(&mut members, |member| (member, 0));
        used.entry(scope).or_default().push(UsedType { name: metadata.type_ref_name(rid)?, members });
    }
    for types in used.values_mut() {
        sort.apply(types, |each| (&each.name, each.members.len() as u64));
    }
    Ok(used)
}

/// The TypeRef that owns a member. For an instantiation, the generic type.
fn type_ref(module: &Module<'_, '_>, class: Token) -> Option<Rid<TypeRef>> {
    let Some(spec) = class.rid_in::<TypeSpec>() else { return class.rid_in() };
    let blob = module.metadata.blobs.blob(module.metadata.row(spec).ok()?.signature).ok()?;
    match TypeSig::parse(blob).ok()? {
        TypeSig::GenericInst { token, .. } | TypeSig::Named { token, .. } => token.token()?.rid_in(),
        _ => None,
    }
}

/// `instance void Add(!0)`
fn member(module: &Module<'_, '_>, row: &MemberRef) -> Result<String, Error> {
    let name = module.metadata.name(row.name)?;
    Ok(match Signature::parse(module.metadata.blobs.blob(row.signature)?) {
        Ok(Signature::Method(signature)) => {
            let (head, params) = module.around_name(&signature);
            format!("{head}{name}{params}")
        }
        Ok(Signature::Field(signature)) => format!("{} {name}", signature.display(module)),
        _ => name,
    })
}

/// The scope of a type's outermost enclosing type.
fn scope(module: &Module<'_, '_>, rid: Rid<TypeRef>) -> Option<Token> {
    let mut scope = Token::new(ecma335::Table::TypeRef, rid.get());
    for _ in 0..MAX_NESTING {
        let Some(rid) = scope.rid_in::<TypeRef>() else { return Some(scope) };
        scope = module.metadata.row(rid).ok()?.resolution_scope.token()?;
    }
    None
}

/// Prints each reference, with its used members below.
pub(crate) fn print(references: &[Reference], out: &mut impl Write) -> io::Result<()> {
    let leaf = |line: &String| Node { line: line.clone(), ..Node::default() };
    for reference in references {
        writeln!(out, "{}", Visible(reference))?;
        let types = reference.types.iter().flatten();
        let types = types.map(|each| Node {
            line: each.name.clone(),
            children: each.members.iter().map(leaf).collect(),
            ..Node::default()
        });
        let nodes: Vec<Node> = types.chain(reference.functions.iter().flatten().map(leaf)).collect();
        outline::print(&nodes, "", out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_without_a_name_has_words() {
        let native = |name: &str| Reference {
            kind: "native",
            name: name.into(),
            version: None,
            culture: None,
            public_key_token: None,
            types: None,
            functions: None,
        };
        assert_eq!(native("kernel32").to_string(), "kernel32  (native library)");
        assert_eq!(native("").to_string(), "its own native code");
    }
}
