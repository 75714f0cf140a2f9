//! The program's modules: selects the methods to record by the rules of `instrument`, and writes their names.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use ecma335::{
    Image, Metadata, Rid, Token, schema,
    schema::{AssemblyRef, ExportedType, MethodDef, TypeDef},
};
use identity::MethodId;
use instrument::Framework;
use memmap2::Mmap;
use weave::{Options, Plan};

use profile_format::NameKind;

use crate::{
    info::{FLAT_LAYOUT, ModulePlace},
    profile_file::write_name,
    settings,
};

/// A module whose methods may be recorded.
pub(crate) struct Module {
    pub(crate) loaded: Arc<Loaded>,
    key: u64,
    plan: Plan,
}

/// A loaded module.
pub(crate) struct Loaded {
    pub(crate) path: String,
    // These borrow from the bytes and are dropped before them.
    pub(crate) metadata: Metadata<'static>,
    pub(crate) image: Image<'static>,
    types: OnceLock<HashMap<String, Rid<TypeDef>>>,
    _bytes: Bytes,
}

impl Loaded {
    pub(crate) fn read(place: &ModulePlace) -> Option<Self> {
        let bytes = Bytes::read(place)?;
        // SAFETY: borrowers of the bytes are dropped before them, and references given out borrow from `self`. A
        // mapping and a box keep their address when their owner moves.
        let all: &'static [u8] = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(bytes.bytes()) };
        let image = Image::parse(all).ok()?;
        let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
        Some(Self { path: place.path.clone(), metadata, image, types: OnceLock::new(), _bytes: bytes })
    }

    /// The simple name of the assembly, if the module has its manifest.
    pub(crate) fn assembly_name(&self) -> Option<String> {
        self.metadata.name(self.metadata.assembly()?.name).ok()
    }

    /// A type by its full name: `Namespace.Outer/Inner`.
    pub(crate) fn type_named(&self, name: &str) -> Option<Rid<TypeDef>> {
        let types = self.types.get_or_init(|| {
            let names = self.metadata.full_names();
            names.types().filter_map(|rid| Some((names.of(rid).ok()?, rid))).collect()
        });
        types.get(name).copied()
    }

    /// The name of the assembly to which the module forwards a type (II.6.8).
    pub(crate) fn forwarded(&self, name: &str) -> Option<String> {
        let outermost = name.split('/').next()?;
        let is_it = |row: &ExportedType| {
            let text = |at| self.metadata.name(at).unwrap_or_default();
            ecma335::metadata::join(&text(row.namespace), &text(row.name)) == outermost
        };
        let row = self.metadata.tables.rows::<ExportedType>().map(|(_, row)| row).find(is_it)?;
        let assembly: AssemblyRef = self.metadata.row(row.implementation.token()?.rid_in()?).ok()?;
        self.metadata.name(assembly.name).ok()
    }
}

/// A module's bytes, in the layout of a file.
enum Bytes {
    File(Mmap),
    Memory(Box<[u8]>),
}

impl Bytes {
    fn read(place: &ModulePlace) -> Option<Self> {
        if let Ok(file) = File::open(&place.path) {
            // SAFETY: the runtime maps the same file, and a change of the file harms both.
            return unsafe { Mmap::map(&file) }.ok().map(Self::File);
        }
        // The module has no file: it comes from a bundle, or from a byte array of the program.
        (place.flags & FLAT_LAYOUT != 0 && !place.base.is_null()).then(|| Self::Memory(flat_image(place.base)))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::File(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}

/// A copy of a module's memory that has the layout of a file.
fn flat_image(base: *const u8) -> Box<[u8]> {
    const HEADERS: usize = 1024;
    // SAFETY: a PE image is larger than its smallest headers, as its sections follow them, aligned to 512 bytes. The
    // runtime has parsed the image, so its lengths are valid.
    unsafe {
        let headers = std::slice::from_raw_parts(base, HEADERS);
        std::slice::from_raw_parts(base, ecma335::image::flat_size(headers).unwrap_or(HEADERS)).into()
    }
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
    pub(crate) fn is_left_alone(&mut self, loaded: &Loaded) -> bool {
        let path = Path::new(&loaded.path);
        let include = &self.options.selection.include;
        let is_named =
            self.program.as_ref().is_some_and(|program| std::fs::canonicalize(path).is_ok_and(|real| real == *program));
        !self.all_assemblies && !is_named && framework_of(&mut self.frameworks, path).has(path, &loaded.metadata, include)
    }

    /// Whether methods of a module are recorded.
    pub(crate) fn selects(&mut self, loaded: &Loaded) -> bool {
        !self.is_left_alone(loaded)
            && Plan::new(&loaded.image, &loaded.metadata, &self.options).is_ok_and(|plan| plan.selected() > 0)
    }

    /// A module, if its methods may be recorded.
    pub(crate) fn module(&mut self, loaded: Arc<Loaded>) -> Option<Module> {
        if self.is_left_alone(&loaded) {
            return None;
        }
        let plan = Plan::new(&loaded.image, &loaded.metadata, &self.options).ok()?;
        if plan.selected() == 0 {
            return None;
        }
        let key = weave::module::module_key(&loaded.metadata).ok()?;
        let module = Module { loaded, key, plan };
        module.write_name();
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
        let recorded = self.plan.recorded_as(&self.loaded.image, &self.loaded.metadata, rid)?;
        let id = MethodId::new(self.key, recorded.get());
        let metadata = &self.loaded.metadata;
        let name = metadata.row(recorded).and_then(|row| metadata.name(row.name)).unwrap_or_default();
        let owner = metadata.owner(recorded).and_then(|owner| metadata.full_names().of(owner).ok());
        write_name(NameKind::Method, &id.0.to_le_bytes(), &[&owner.unwrap_or_default(), &name]);
        Some(id)
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
        rows.filter(|(rid, _)| self.plan.recorded_as(image, metadata, *rid).is_some()).count()
    }

    fn write_name(&self) {
        let Loaded { path, metadata, .. } = &*self.loaded;
        let mut about = self.key.to_le_bytes().to_vec();
        about.extend(metadata.mvid().unwrap_or_default());
        let assembly = metadata.display_name();
        let name = metadata.row(Rid::<schema::Module>::new(1)).and_then(|row| metadata.name(row.name)).unwrap_or_default();
        write_name(NameKind::Module, &about, &[&assembly, &name, concat!("ilinst ", env!("CARGO_PKG_VERSION")), path]);
    }
}
