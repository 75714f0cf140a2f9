//! Symbols of native libraries.

use std::fs::File;

use goblin::elf::{Elf, program_header::PT_LOAD, sym::STT_FUNC, sym::STT_GNU_IFUNC};
use memmap2::Mmap;

/// The functions of a library.
#[derive(Default, Debug)]
pub(super) struct Symbols {
    /// Loaded parts: offset in the file, size there, address.
    parts: Vec<(u64, u64, u64)>,
    /// By address: start, end, name.
    functions: Vec<(u64, u64, Box<str>)>,
}

impl Symbols {
    /// Reads the full symbol table of a file, or else the table of its exports. Nothing, if it is no ELF file.
    pub(super) fn read(path: &str) -> Self {
        let Ok(file) = File::open(path) else { return Self::default() };
        // SAFETY: the process has mapped this library already; who truncates it harms that mapping, too.
        let Ok(bytes) = (unsafe { Mmap::map(&file) }) else { return Self::default() };
        Self::parse(&bytes).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let elf = Elf::parse(bytes).ok()?;
        let loaded = elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
        let parts = loaded.map(|header| (header.p_offset, header.p_filesz, header.p_vaddr)).collect();
        let (symbols, names) = if elf.syms.is_empty() { (&elf.dynsyms, &elf.dynstrtab) } else { (&elf.syms, &elf.strtab) };
        let is_function = |kind| [STT_FUNC, STT_GNU_IFUNC].contains(&kind);
        let functions = symbols.iter().filter(|symbol| is_function(symbol.st_type()) && symbol.st_value != 0);
        let mut functions: Vec<(u64, u64, Box<str>)> = functions
            .filter_map(|symbol| {
                let name = names.get_at(symbol.st_name).filter(|name| !name.is_empty())?;
                Some((symbol.st_value, symbol.st_value.saturating_add(symbol.st_size), name.into()))
            })
            .collect();
        // Of several names, the shortest has the fewest underscores and versions.
        functions.sort_by(|(one, _, a), (other, _, b)| one.cmp(other).then(a.len().cmp(&b.len())).then(a.cmp(b)));
        functions.dedup_by_key(|(start, ..)| *start);
        Some(Self { parts, functions })
    }

    /// The name of the function at an offset in the file.
    pub(super) fn at(&self, offset: u64) -> Option<&str> {
        let (from, _, address) = self.parts.iter().find(|(from, size, _)| offset.wrapping_sub(*from) < *size)?;
        let address = address.wrapping_add(offset - from);
        let after = self.functions.partition_point(|(start, ..)| *start <= address);
        let (_, end, name) = self.functions.get(after.checked_sub(1)?)?;
        (address < *end).then_some(&**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::maps::Maps;

    #[test]
    fn functions_of_libc_are_named() {
        let address = libc::getpid as *const () as usize;
        let maps = Maps::read();
        let mapping = maps.at(address).expect("it is mapped");
        let symbols = Symbols::read(&mapping.path);
        let at = |address: usize| symbols.at((address - mapping.range.start) as u64 + mapping.offset);
        assert!(at(address).is_some_and(|name| name.ends_with("getpid")), "{:?}", at(address));
        assert_eq!(symbols.at(u64::MAX), None);
    }

    #[test]
    fn other_files_have_no_symbols() {
        assert_eq!(Symbols::read("/nonexistent").at(0), None);
        assert_eq!(Symbols::read("/proc/self/status").at(0), None);
        for length in 0..64 {
            assert!(Symbols::parse(&vec![0x7F; length]).is_none());
        }
    }
}
