//! Modules that the runtime has loaded, parsed.

use std::{collections::HashMap, fs::File, sync::OnceLock};

use ecma335::{
    Image, Metadata, Rid, Table, Token, schema,
    schema::{AssemblyRef, ExportedType, GenericParam, MethodDef, TypeDef},
};
use memmap2::Mmap;
use names::MethodId;
use profile_format::NameKind;

use crate::{
    abi::runtime::{FLAT_LAYOUT, ModuleInfo},
    file,
};

/// The tool and its version, as in the marks of modules.
pub(crate) const TOOL: &str = concat!("ilinst ", env!("CARGO_PKG_VERSION"));

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
    /// Reads a module from its file, or from memory. `None` if neither is that module: its file may have been replaced since.
    pub(crate) fn read(place: &ModuleInfo) -> Option<Self> {
        let sources = [Bytes::of_file, Bytes::of_memory];
        let mut all = sources.into_iter().filter_map(|source| Self::parse(place, source(place)?));
        all.find(|loaded| place.mvid.is_none_or(|mvid| loaded.metadata.mvid().is_ok_and(|own| own == mvid)))
    }

    fn parse(place: &ModuleInfo, bytes: Bytes) -> Option<Self> {
        // SAFETY: borrowers of the bytes are dropped before them, and references given out borrow from `self`. A
        // mapping and a box keep their address when their owner moves.
        let all: &'static [u8] = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(bytes.bytes()) };
        let (image, metadata) = ecma335::open(all).ok()?;
        Some(Self { path: place.path.clone(), metadata, image, types: OnceLock::new(), _bytes: bytes })
    }

    /// Writes the module's name to the profile, by its key.
    pub(crate) fn write_name(&self, key: u64) {
        let mut about = key.to_le_bytes().to_vec();
        about.extend(self.metadata.mvid().unwrap_or_default());
        let row = self.metadata.row(Rid::<schema::Module>::new(1));
        let name = row.and_then(|row| self.metadata.name(row.name)).unwrap_or_default();
        file::write_name(NameKind::Module, &about, &[&self.metadata.display_name(), &name, TOOL, &self.path]);
    }

    /// Writes a method's name to the profile, by its id.
    pub(crate) fn write_method_name(&self, id: MethodId, method: Rid<MethodDef>) {
        let name = self.metadata.row(method).and_then(|row| self.metadata.name(row.name)).unwrap_or_default();
        let owner = self.metadata.owner(method).and_then(|owner| self.metadata.full_names().name_of(owner).ok());
        file::write_name(NameKind::Method, &id.0.to_le_bytes(), &[&owner.unwrap_or_default(), &name]);
    }

    /// The simple name of the assembly, if the module has its manifest.
    pub(crate) fn assembly_name(&self) -> Option<String> {
        self.metadata.name(self.metadata.assembly()?.name).ok()
    }

    /// A type by its full name: `Namespace.Outer/Inner`.
    pub(crate) fn type_named(&self, name: &str) -> Option<Rid<TypeDef>> {
        let types = self.types.get_or_init(|| {
            let names = self.metadata.full_names();
            names.types().filter_map(|rid| Some((names.name_of(rid).ok()?, rid))).collect()
        });
        types.get(name).copied()
    }

    /// Whether a method or its type has generic parameters.
    pub(crate) fn is_generic(&self, method: u32) -> bool {
        let Some(rid) = Token(method).rid_in::<MethodDef>() else { return false };
        let class = self.metadata.owner(rid).map(|owner: Rid<TypeDef>| Token::new(Table::TypeDef, owner.get()));
        let owners = [Some(Token(method)), class];
        self.metadata.tables.rows::<GenericParam>().any(|(_, row)| owners.contains(&row.owner.token()))
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
    fn of_file(place: &ModuleInfo) -> Option<Self> {
        let file = File::open(&place.path).ok()?;
        // SAFETY: the runtime maps the same file, and a change of the file harms both.
        unsafe { Mmap::map(&file) }.ok().map(Self::File)
    }

    /// The module comes from a bundle, or from a byte array of the program.
    fn of_memory(place: &ModuleInfo) -> Option<Self> {
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
