//! Tells assemblies of the framework from a program's own: a program's folder may contain both.

mod deps_json;

use std::{collections::BTreeMap, path::Path};

use ecma335::{Metadata, metadata::public_key_token};
use weave::Pattern;

pub use self::deps_json::{asset_name, is_deps_json, libraries, names, parse};

/// The public key tokens of Microsoft and Mono. These are ECMA's own, those of the Framework, its open parts, Silverlight,
/// ASP.NET Core and SQL Server, and Mono's.
const TOKENS: [[u8; 8]; 9] = [
    [0xb7, 0x7a, 0x5c, 0x56, 0x19, 0x34, 0xe0, 0x89],
    [0xb0, 0x3f, 0x5f, 0x7f, 0x11, 0xd5, 0x0a, 0x3a],
    [0x31, 0xbf, 0x38, 0x56, 0xad, 0x36, 0x4e, 0x35],
    [0xcc, 0x7b, 0x13, 0xff, 0xcd, 0x2d, 0xdd, 0x51],
    [0x7c, 0xec, 0x85, 0xd7, 0xbe, 0xa7, 0x79, 0x8e],
    [0xad, 0xb9, 0x79, 0x38, 0x29, 0xdd, 0xae, 0x60],
    [0x89, 0x84, 0x5d, 0xcd, 0x80, 0x80, 0xcc, 0x91],
    [0x07, 0x38, 0xeb, 0x9f, 0x13, 0x2e, 0xd7, 0x56],
    [0x84, 0xe0, 0x4f, 0xf9, 0xcf, 0xb7, 0x90, 0x65],
];
/// Kinds of libraries in `deps.json`: built with the program, and part of the .NET that the program brings along.
const PROJECT: &str = "project";
const RUNTIME_PACK: &str = "runtimepack";

/// The contents of a folder's `deps.json` files.
#[derive(Default)]
pub struct Framework {
    /// By file name: the kind of its library.
    kinds: BTreeMap<String, String>,
    /// Whether files of no project count as the framework's, if there are projects.
    projects_alone: bool,
}

impl Framework {
    /// Reads the `deps.json` files among some files; ignores those that cannot be parsed.
    pub fn read<'p>(files: impl Iterator<Item = &'p Path>) -> Self {
        let texts = files.filter(|file| is_deps_json(file)).filter_map(|file| std::fs::read(file).ok());
        let mut kinds = BTreeMap::new();
        for (file, kind) in texts.flat_map(|text| libraries(&text)) {
            // With two programs in a folder, one may have built an assembly that the other takes from a package.
            let known = kinds.entry(file).or_insert_with(|| kind.clone());
            if kind == PROJECT {
                *known = kind;
            }
        }
        Self { kinds, projects_alone: false }
    }

    /// The same, by which whatever is of no project counts as the framework's, if the lists name projects.
    #[must_use]
    pub fn with_projects_alone(self, projects_alone: bool) -> Self {
        let projects_alone = projects_alone && self.kinds.values().any(|kind| kind == PROJECT);
        Self { projects_alone, ..self }
    }

    /// Returns whether an assembly is part of the framework. An assembly that a pattern names is not.
    pub fn has(&self, path: &Path, metadata: &Metadata<'_>, include: &[Pattern]) -> bool {
        let Some(assembly) = metadata.assembly() else { return false };
        let is_named = || {
            let name = metadata.name(assembly.name).unwrap_or_default();
            include.iter().any(|pattern| pattern.names_assembly(&name))
        };
        let is_framework = match self.kinds.get(&*path.file_name().unwrap_or_default().to_string_lossy()).map(String::as_str) {
            Some(PROJECT) => false,
            _ if self.projects_alone => true,
            Some(RUNTIME_PACK) => true,
            _ => is_signed_by_framework(metadata),
        };
        is_framework && !is_named()
    }
}

/// Returns whether an assembly has one of the framework's public keys.
pub fn is_signed_by_framework(metadata: &Metadata<'_>) -> bool {
    let key = metadata.assembly().and_then(|assembly| metadata.blob(assembly.public_key).ok());
    key.filter(|key| !key.is_empty()).is_some_and(|key| TOKENS.iter().any(|token| public_key_token(key) == token))
}
