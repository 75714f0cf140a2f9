//! The program's modules: which methods are recorded, by the rules of `instrument`, and what they are called.

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

use crate::{
    info::{FLAT_LAYOUT, ModulePlace},
    profile_file::write_name,
    settings,
};

/// Kinds of name records.
const METHOD: u8 = 2;
const MODULE: u8 = 4;

/// A module of which methods may be recorded.
pub(crate) struct Module {
    pub(crate) loaded: Arc<Loaded>,
    key: u64,
    plan: Plan,
}

/// A module as it was loaded.
pub(crate) struct Loaded {
    pub(crate) path: String,
    // These refer to the bytes, and are dropped before them.
    pub(crate) metadata: Metadata<'static>,
    pub(crate) image: Image<'static>,
    types: OnceLock<HashMap<String, Rid<TypeDef>>>,
    _bytes: Bytes,
}

impl Loaded {
    pub(crate) fn read(place: &ModulePlace) -> Option<Self> {
        let bytes = Bytes::read(place)?;
        // SAFETY: what refers to the bytes is dropped before them, and what is given to others borrows from this; a mapping
        // and a box stay where they are when what owns them moves.
        let all: &'static [u8] = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(bytes.bytes()) };
        let image = Image::parse(all).ok()?;
        let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
        Some(Self { path: place.path.clone(), metadata, image, types: OnceLock::new(), _bytes: bytes })
    }

    /// The simple name of the assembly whose manifest it has.
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

    /// The assembly that a type of this name is in, as the module says that passes it on (II.6.8).
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

/// A module's bytes, as a file has them.
enum Bytes {
    File(Mmap),
    Memory(Box<[u8]>),
}

impl Bytes {
    fn read(place: &ModulePlace) -> Option<Self> {
        if let Ok(file) = File::open(&place.path) {
            // SAFETY: the runtime has the same file mapped, and is harmed as we are by who changes it.
            return unsafe { Mmap::map(&file) }.ok().map(Self::File);
        }
        // It came from no file: from a bundle, or from bytes that the program had.
        (place.flags & FLAT_LAYOUT != 0 && !place.base.is_null()).then(|| Self::Memory(flat_image(place.base)))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::File(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}

/// A copy of what lies in memory as a file has it.
fn flat_image(base: *const u8) -> Box<[u8]> {
    const HEADERS: usize = 1024;
    // SAFETY: a PE image has more than headers of its least size (its sections are aligned to 512 behind those), and the
    // runtime has parsed it; what it says of its own length is as the runtime found it.
    unsafe {
        let headers = std::slice::from_raw_parts(base, HEADERS);
        std::slice::from_raw_parts(base, ecma335::image::flat_size(headers).unwrap_or(HEADERS)).into()
    }
}

/// What methods are to be recorded, in any module.
pub(crate) struct Rules {
    options: Options,
    all_assemblies: bool,
    /// The assembly that the user named, whoever has signed it.
    program: Option<PathBuf>,
    /// What the lists in a folder say of the assemblies there.
    frameworks: BTreeMap<PathBuf, Framework>,
}

impl Rules {
    pub(crate) fn new(options: Options, all_assemblies: bool) -> Self {
        Self { options, all_assemblies, program: settings::named_program(), frameworks: BTreeMap::new() }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Whether no method of a module is to be recorded, as it is the framework's.
    pub(crate) fn is_left_alone(&mut self, loaded: &Loaded) -> bool {
        let path = Path::new(&loaded.path);
        let include = &self.options.selection.include;
        let is_named =
            self.program.as_ref().is_some_and(|program| std::fs::canonicalize(path).is_ok_and(|real| real == *program));
        !self.all_assemblies && !is_named && framework_of(&mut self.frameworks, path).has(path, &loaded.metadata, include)
    }

    /// Whether methods of a module are to be recorded.
    pub(crate) fn selects(&mut self, loaded: &Loaded) -> bool {
        !self.is_left_alone(loaded)
            && Plan::new(&loaded.image, &loaded.metadata, &self.options).is_ok_and(|plan| plan.selected() > 0)
    }

    /// A module, if methods of it may be recorded.
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
    /// The id by which a method is recorded; none if it is left alone. Its name goes into the profile.
    pub(crate) fn method(&self, token: u32) -> Option<MethodId> {
        let rid: Rid<MethodDef> = Token(token).rid_in()?;
        let recorded = self.plan.recorded_as(&self.loaded.image, &self.loaded.metadata, rid)?;
        let id = MethodId::new(self.key, recorded.get());
        let metadata = &self.loaded.metadata;
        let name = metadata.row(recorded).and_then(|row| metadata.name(row.name)).unwrap_or_default();
        let owner = metadata.owner(recorded).and_then(|owner| metadata.full_names().of(owner).ok());
        write_name(METHOD, &id.0.to_le_bytes(), &[&owner.unwrap_or_default(), &name]);
        Some(id)
    }

    /// Whether the runtime suspends a method itself (impl flag 0x2000). It tells hooks of each time that one goes on, and of no
    /// suspension.
    pub(crate) fn is_suspended(&self, token: u32) -> bool {
        let row = Token(token).rid_in::<MethodDef>().map(|rid| self.loaded.metadata.row(rid));
        matches!(row, Some(Ok(row)) if row.is_async())
    }

    /// How many of these are chosen.
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
        write_name(MODULE, &about, &[&assembly, &name, concat!("ilinst ", env!("CARGO_PKG_VERSION")), path]);
    }
}
