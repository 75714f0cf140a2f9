//! The ids of functions in a profile of samples, and their names there.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ecma335::{Rid, Token, schema::MethodDef};
use names::MethodId;
use profile_format::NameKind;

use super::{maps::Mapping, symbols::Symbols};
use crate::{
    abi::runtime::{Id, ModuleInfo},
    file::write_name,
    modules::loaded::{Loaded, TOOL},
};

/// A module key has 40 bits.
const KEY_BITS: u32 = 40;

/// The function at a code address.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The id in the profile.
    pub(super) method_id: u64,
    /// The first address of the compiled method; `None` for native code, and for code by on-stack replacement, whose prologue sets up
    /// the frame of another method.
    pub(super) start: Option<usize>,
    /// Whether it stands for all functions of a library that have no symbols.
    pub(super) is_library: bool,
}

/// A module of the runtime.
struct Module {
    loaded: Loaded,
    key: u64,
}

/// A native library.
struct Library {
    key: u64,
    file: String,
    symbols: Symbols,
}

/// The ids so far.
#[derive(Default)]
pub(super) struct Ids {
    modules: HashMap<Id, Option<Module>>,
    libraries: HashMap<Arc<str>, Library>,
    /// Ids of native functions and dynamic methods, by module key and name.
    interned: HashMap<(u64, Box<str>), u64>,
    named: HashSet<u64>,
}

impl Ids {
    /// A module is about to be unloaded. Another one may get its number.
    pub(super) fn forget(&mut self, module: Id) {
        self.modules.remove(&module);
    }

    /// The id of a method by its token. `None` if the metadata of the module cannot be read. `place` says where a new module is.
    pub(super) fn method(&mut self, module: Id, token: u32, place: impl FnOnce() -> Option<ModuleInfo>) -> Option<u64> {
        let module = self.modules.entry(module).or_insert_with(|| {
            let loaded = Loaded::read(&place()?)?;
            let key = names::module_key(&loaded.metadata).ok()?;
            loaded.write_name(key);
            Some(Module { loaded, key })
        });
        let Module { loaded, key } = module.as_ref()?;
        let rid: Rid<MethodDef> = Token(token).rid_in()?;
        let id = MethodId::new(*key, rid.get());
        if self.named.insert(id.0) {
            loaded.write_method_name(id, rid);
        }
        Some(id.0)
    }

    /// A native function. Where its library names none, the library.
    pub(super) fn native(&mut self, mapping: &Mapping, address: usize) -> Place {
        let library = self.libraries.entry(Arc::clone(&mapping.path)).or_insert_with(|| {
            let deleted = mapping.path.strip_suffix(" (deleted)");
            let path = deleted.unwrap_or(&mapping.path);
            // In the place of a deleted library may be a newer one.
            let symbols = if deleted.is_some() { Symbols::default() } else { Symbols::read(path) };
            let file = path.rsplit('/').next().unwrap_or_default().to_owned();
            let key = key_of(path);
            write_module(key, &file, path);
            Library { key, symbols, file }
        });
        let offset = (address - mapping.range.start) as u64 + mapping.offset;
        let symbol = library.symbols.at(offset);
        let name = symbol.map_or_else(|| library.file.clone(), |symbol| format!("{}!{symbol}", library.file));
        let (key, is_library) = (library.key, symbol.is_none());
        Place { method_id: self.intern(key, &name), start: None, is_library }
    }

    /// The id of a function that has only a name.
    pub(super) fn intern(&mut self, key: u64, name: &str) -> u64 {
        if let Some(known) = self.interned.get(&(key, name.into())) {
            return *known;
        }
        if let Some((_, text)) = PSEUDO.iter().find(|(pseudo, _)| *pseudo == key).filter(|_| self.named.insert(key)) {
            write_module(key, text, "");
        }
        // The row is a hash of the name: profiles of several runs have the same ids, so that they can be merged.
        let rows = (hash(name) as u32..).map(|row| MethodId::new(key, (row & MOST_ROWS).max(1)).0);
        let id = rows.into_iter().find(|id| self.named.insert(*id)).unwrap_or_default();
        self.interned.insert((key, name.into()), id);
        write_name(NameKind::Method, &id.to_le_bytes(), &["", name]);
        id
    }
}

const MOST_ROWS: u32 = MethodId::MAX_METHOD;
/// Keys of modules that are no files.
pub(super) const RUNTIME: u64 = 1;
pub(super) const DYNAMIC: u64 = 2;
pub(super) const KERNEL: u64 = 3;
const PSEUDO: [(u64, &str); 3] = [(RUNTIME, "[runtime]"), (DYNAMIC, "[dynamic methods]"), (KERNEL, "[kernel]")];

fn write_module(key: u64, name: &str, path: &str) {
    let mut about = key.to_le_bytes().to_vec();
    about.extend([0; 16]);
    write_name(NameKind::Module, &about, &[name, name, TOOL, path]);
}

/// A key for a library.
fn key_of(path: &str) -> u64 {
    let hash = hash(path);
    (hash ^ hash >> KEY_BITS) & ((1 << KEY_BITS) - 1)
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_libraries_have_40_bits() {
        assert_ne!(key_of("/lib/a.so"), key_of("/lib/b.so"));
        assert!(["", "/lib/a.so", "/x"].iter().all(|path| key_of(path) < 1 << KEY_BITS && key_of(path) > 3));
    }
}
