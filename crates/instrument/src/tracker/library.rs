//! The library of a self-contained program, read from the program's own assemblies. A trimmed one may lack most types.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use ecma335::{
    FileKind, Metadata, Rid, Token,
    schema::{ExportedType, Field, MethodDef, TypeDef},
    signature::text::TypeNames as _,
};
use ilrewrite::AssemblyName;

use super::references::{Names, Reference, member_text};
use crate::{
    failure::Result,
    input::{Input, read_assembly},
};

/// The assembly that a program has beside it only if it brings its own .NET.
const CORE_LIBRARY: &str = "System.Private.CoreLib.dll";

/// A type definition.
struct Definition {
    /// The index of its assembly.
    assembly: usize,
    /// The name of its base type.
    base: Option<String>,
    /// Its accessible members, in the form of [`member_text`].
    members: BTreeSet<String>,
}

/// The types found in a library.
#[derive(Default)]
pub(crate) struct Library {
    /// The assemblies that define the types.
    pub(crate) assemblies: Vec<AssemblyName>,
    types: BTreeMap<String, Definition>,
}

/// Returns the folder of the .NET that a program brings along: the given folder or one above it, up to `up_to`.
pub(crate) fn folder_of_library(folder: &Path, up_to: Option<&Path>) -> Option<PathBuf> {
    let up_to = up_to.unwrap_or(folder);
    let mut folders = folder.ancestors().take_while(|folder| folder.starts_with(up_to));
    folders.find(|folder| folder.join(CORE_LIBRARY).is_file()).map(Path::to_owned)
}

/// Returns whether a folder has every type in the assembly that references name, defined or forwarded there.
pub(crate) fn has_as_referred<'r>(folder: &Path, references: impl Iterator<Item = &'r Reference>) -> bool {
    let mut by_assembly: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for reference in references {
        let outermost = reference.name.split('/').next().unwrap_or_default();
        by_assembly.entry(&reference.assembly).or_default().insert(outermost);
    }
    by_assembly.into_iter().all(|(assembly, mut names)| {
        let path = folder.join(format!("{assembly}.{}", FileKind::Library.extension()));
        let read = in_assembly(&path, |metadata| {
            let name =
                |namespace, name| Some(ecma335::metadata::join(&metadata.name(namespace).ok()?, &metadata.name(name).ok()?));
            let defined = metadata.tables.rows::<TypeDef>().filter_map(|(_, row)| name(row.namespace, row.name));
            let forwarded = metadata.tables.rows::<ExportedType>().filter_map(|(_, row)| name(row.namespace, row.name));
            let there: BTreeSet<String> = defined.chain(forwarded).collect();
            names.retain(|wanted| !there.contains(*wanted));
        });
        read.is_some() && names.is_empty()
    })
}

/// Returns the assemblies beside a library, in order.
pub(crate) fn assemblies(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| FileKind::by_name(path) == Some(FileKind::Library)).collect();
    paths.sort();
    paths
}

impl Library {
    /// Looks up types in the assemblies of a folder: in the core library first, then in the order of assembly names.
    ///
    /// # Errors
    /// If the core library cannot be read.
    pub(crate) fn find<'n>(folder: &Path, names: impl Iterator<Item = &'n str>) -> Result<Self> {
        let mut library = Self::default();
        let mut wanted: BTreeSet<String> = names.map(str::to_owned).collect();
        let core_library = folder.join(CORE_LIBRARY);
        read_assembly(&core_library, &Input::open(&core_library)?)?;
        let mut paths = assemblies(folder);
        paths.sort_by_key(|path| *path != core_library);
        // A base type may be in an assembly that was read before.
        loop {
            let known = library.types.len();
            for path in &paths {
                if wanted.is_empty() {
                    return Ok(library);
                }
                in_assembly(path, |metadata| library.take(metadata, &mut wanted));
            }
            let is_base = |name: &String| library.types.values().any(|definition| definition.base.as_ref() == Some(name));
            if library.types.len() == known || !wanted.iter().any(is_base) {
                return Ok(library);
            }
        }
    }

    /// Takes the wanted types that an assembly has, and adds their base types to the wanted ones.
    fn take(&mut self, metadata: &Metadata<'_>, wanted: &mut BTreeSet<String>) {
        let Ok(assembly) = AssemblyName::own(metadata) else { return };
        let (full_names, names) = (metadata.full_names(), Names::new(metadata));
        let is_reachable = |rid: &Rid<TypeDef>| metadata.row(*rid).is_ok_and(|row| row.is_public() || row.is_nested_public());
        let reachable = full_names.types().filter(is_reachable);
        let by_name: BTreeMap<String, Rid<TypeDef>> =
            reachable.filter_map(|rid| Some((full_names.name_of(rid).ok()?, rid))).collect();
        let index = self.assemblies.iter().position(|known| *known == assembly).unwrap_or(self.assemblies.len());
        while let Some((name, rid)) = wanted.iter().find_map(|name| by_name.get_key_value(name)) {
            wanted.remove(name);
            let base = metadata.row(*rid).ok().and_then(|row| row.extends.token()).filter(|base| *base != Token::default());
            let base = base.map(|base| names.type_name(base));
            wanted.extend(base.clone().filter(|base| !self.types.contains_key(base) && base != name));
            self.types.insert(name.clone(), Definition { assembly: index, base, members: members(metadata, &names, *rid) });
            if index == self.assemblies.len() {
                self.assemblies.push(assembly.clone());
            }
        }
    }

    /// Returns the index of the assembly that defines a type.
    pub(crate) fn assembly_of(&self, name: &str) -> Option<usize> {
        self.types.get(name).map(|definition| definition.assembly)
    }

    /// Returns whether a type has or inherits a member.
    pub(crate) fn has(&self, name: &str, member: &str) -> bool {
        let base = |definition: &&Definition| self.types.get(definition.base.as_ref()?);
        let mut chain = std::iter::successors(self.types.get(name), base).take(ecma335::MAX_NESTING);
        chain.any(|definition| definition.members.contains(member))
    }
}

fn members(metadata: &Metadata<'_>, names: &Names<'_, '_>, rid: Rid<TypeDef>) -> BTreeSet<String> {
    let text = |name, signature| Some(member_text(metadata.name(name).ok()?, &names.signature(signature).ok()?));
    let fields = metadata.children::<TypeDef, Field>(rid).filter_map(|rid| metadata.row(rid).ok());
    let fields = fields.filter(|row| row.is_public() || row.is_family());
    let methods = metadata.children::<TypeDef, MethodDef>(rid).filter_map(|rid| metadata.row(rid).ok());
    let methods = methods.filter(|row| row.is_public() || row.is_family());
    let fields = fields.filter_map(|row| text(row.name, row.signature));
    fields.chain(methods.filter_map(|row| text(row.name, row.signature))).collect()
}

/// Reads an assembly, if it exists.
fn in_assembly<T>(path: &Path, read: impl FnOnce(&Metadata<'_>) -> T) -> Option<T> {
    let input = Input::open(path).ok()?;
    let (_, metadata) = ecma335::open(&input).ok()?;
    Some(read(&metadata))
}
