//! Selects the methods to record by the user's rules, and writes their names.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use ecma335::{Rid, Token, schema::MethodDef};
use framework::Framework;
use names::MethodId;
use profile_format::NameKind;
use weave::{CallTarget, Options, Plan as Selection};

use super::loaded::Loaded;
use crate::{file, process::settings};

/// A module whose methods may be recorded.
pub(crate) struct Module {
    pub(crate) loaded: Arc<Loaded>,
    key: u64,
    selection: Selection,
}

/// The rules for the methods to record, in any module.
pub(crate) struct Rules {
    options: Options,
    all_assemblies: bool,
    /// The assembly that the user named; recorded even if a framework key signed it.
    program: Option<PathBuf>,
    /// The framework lists of the folders seen so far.
    frameworks: BTreeMap<PathBuf, Framework>,
}

impl Rules {
    pub(crate) fn new(options: Options, all_assemblies: bool) -> Self {
        Self { options, all_assemblies, program: settings::named_program(), frameworks: BTreeMap::new() }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a module is skipped because it belongs to the framework.
    pub(crate) fn is_of_framework(&mut self, loaded: &Loaded) -> bool {
        !self.all_assemblies && self.is_framework(loaded)
    }

    /// Whether a module belongs to the framework, and the user did not name it.
    pub(crate) fn is_framework(&mut self, loaded: &Loaded) -> bool {
        let path = Path::new(&loaded.path);
        let include = &self.options.selection.include;
        let is_named =
            self.program.as_ref().is_some_and(|program| std::fs::canonicalize(path).is_ok_and(|real| real == *program));
        !is_named && framework_of(&mut self.frameworks, path).has(path, &loaded.metadata, include)
    }

    /// Whether methods of a module are recorded.
    pub(crate) fn selects(&mut self, loaded: &Loaded) -> bool {
        !self.is_of_framework(loaded)
            && Selection::new(&loaded.image, &loaded.metadata, &self.options).is_ok_and(|selection| selection.selected() > 0)
    }

    /// A module, if its methods may be recorded.
    pub(crate) fn module(&mut self, loaded: Arc<Loaded>) -> Option<Module> {
        if self.is_of_framework(&loaded) {
            return None;
        }
        let selection = Selection::new(&loaded.image, &loaded.metadata, &self.options).ok()?;
        if selection.selected() == 0 {
            return None;
        }
        let key = names::module_key(&loaded.metadata).ok()?;
        let module = Module { loaded, key, selection };
        module.loaded.write_name(module.key);
        Some(module)
    }
}

fn framework_of<'f>(frameworks: &'f mut BTreeMap<PathBuf, Framework>, path: &Path) -> &'f Framework {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    frameworks.entry(folder).or_insert_with_key(|folder| {
        let files: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
        Framework::read(files.iter().map(PathBuf::as_path)).with_projects_alone(settings::projects_alone())
    })
}

impl Module {
    /// The id of a recorded method; `None` if it is skipped. Writes the name to the profile.
    pub(crate) fn method(&self, token: u32) -> Option<MethodId> {
        let rid: Rid<MethodDef> = Token(token).rid_in()?;
        let recorded = self.selection.recorded_as(&self.loaded.image, &self.loaded.metadata, rid)?;
        let id = MethodId::new(self.key, recorded.get()).with_own_bytes(self.selection.has_own_bytes(recorded));
        self.loaded.write_method_name(id, recorded);
        Some(id)
    }

    /// Writes the name of another assembly's method whose calls are recorded.
    pub(crate) fn write_call(&self, call: &CallTarget) {
        let (class, name) = call.names(&self.loaded.metadata).unwrap_or_default();
        file::write_name(NameKind::Method, &call.id.0.to_le_bytes(), &[&class, &name]);
    }

    /// Whether a method is recorded.
    pub(crate) fn selects(&self, token: u32) -> bool {
        let rid = Token(token).rid_in::<MethodDef>();
        rid.is_some_and(|rid| self.selection.recorded_as(&self.loaded.image, &self.loaded.metadata, rid).is_some())
    }

    /// Whether the runtime itself suspends a method (impl flag 0x2000). Hooks are called for each resumption, but for
    /// no suspension.
    pub(crate) fn is_suspended(&self, token: u32) -> bool {
        let row = Token(token).rid_in::<MethodDef>().map(|rid| self.loaded.metadata.row(rid));
        matches!(row, Some(Ok(row)) if row.is_async())
    }

    /// The number of selected methods that the runtime suspends.
    pub(crate) fn suspended(&self) -> usize {
        let Loaded { metadata, image, .. } = &*self.loaded;
        let rows = metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.is_async());
        rows.filter(|(rid, _)| self.selection.recorded_as(image, metadata, *rid).is_some()).count()
    }
}
