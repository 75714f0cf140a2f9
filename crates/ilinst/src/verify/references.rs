//! The assemblies that those under check refer to, and those that these refer to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ::verify::{Library, Scope, Version};
use ecma335::{FileKind, Metadata};

use ::instrument::Input;

/// Files whose references are still to be followed: number, path, and what each refers to.
type Work = Vec<(usize, PathBuf, BTreeMap<Vec<u8>, Version>)>;

/// Files, with the references between them.
#[derive(Default)]
pub(super) struct Files {
    inputs: Vec<Input>,
    versions: Vec<Option<Version>>,
    numbers: BTreeMap<PathBuf, Option<usize>>,
    /// A file, a name it refers to, and the file that is meant.
    links: Vec<(usize, Vec<u8>, usize)>,
    /// The same of modules of one assembly.
    modules: Vec<(usize, Vec<u8>, usize)>,
}

impl Files {
    /// Reads files and all that their references lead to: beside them, then in these folders. What cannot be read is
    /// not known; whoever checks it says so.
    pub(super) fn read<'p>(roots: impl Iterator<Item = &'p Path>, folders: &[PathBuf]) -> Self {
        let mut files = Self::default();
        let mut work: Work = Vec::new();
        for root in roots {
            files.add(root, &mut work);
        }
        while let Some((number, path, references)) = work.pop() {
            let beside = path.parent().unwrap_or(Path::new("."));
            let modules = files.inputs.get(number).and_then(|input| parse(input)).map(|metadata| Library::files(&metadata));
            for name in modules.unwrap_or_default() {
                let file = str::from_utf8(&name).ok().filter(|name| is_file_name(name)).map(|name| beside.join(name));
                if let Some(to) = file.and_then(|file| files.add(&file, &mut work)) {
                    files.modules.push((number, name, to));
                }
            }
            for (name, version) in references {
                let found = std::iter::once(beside).chain(folders.iter().map(PathBuf::as_path)).find_map(|folder| {
                    let to = files.add(&find(folder, &name)?, &mut work)?;
                    (files.versions.get(to).copied().flatten()? >= version).then_some(to)
                });
                files.links.extend(found.map(|to| (number, name, to)));
            }
        }
        files
    }

    /// A file's number; it is read if it is new.
    fn add(&mut self, path: &Path, work: &mut Work) -> Option<usize> {
        if let Some(known) = self.numbers.get(path) {
            return *known;
        }
        let read = Input::open(path).ok().and_then(|input| {
            let metadata = parse(&input)?;
            let (references, version) = (Library::references(&metadata), Library::version(&metadata));
            Some((input, references, version))
        });
        let number = read.map(|(input, references, version)| {
            self.inputs.push(input);
            self.versions.push(version);
            let number = self.inputs.len() - 1;
            work.push((number, path.to_owned(), references));
            number
        });
        self.numbers.insert(path.to_owned(), number);
        number
    }

    /// The library that they make.
    pub(super) fn library(&self) -> Library<'_> {
        let mut library = Library::new();
        for metadata in self.inputs.iter().filter_map(|input| parse(input)) {
            library.add(metadata);
        }
        for (module, name, to) in &self.links {
            library.link(*module, name, *to);
        }
        for (module, name, to) in &self.modules {
            library.link_file(*module, name, *to);
        }
        library
    }

    /// Where a file's types are found.
    pub(super) fn scope<'l>(&self, library: &'l Library<'l>, path: &Path) -> Option<Scope<'l>> {
        let module = self.numbers.get(path).copied().flatten()?;
        Some(Scope { library, module })
    }
}

fn parse(bytes: &[u8]) -> Option<Metadata<'_>> {
    ecma335::open(bytes).ok().map(|(_, metadata)| metadata)
}

/// An assembly by its name in a folder.
fn find(folder: &Path, name: &[u8]) -> Option<PathBuf> {
    let name = str::from_utf8(name).ok().filter(|name| is_file_name(name))?;
    FileKind::assemblies(&folder.join(name)).into_iter().find(|path| path.is_file())
}

/// Whether a name leads to no other folder.
fn is_file_name(name: &str) -> bool {
    !name.contains(['/', '\\', '\0'])
}
