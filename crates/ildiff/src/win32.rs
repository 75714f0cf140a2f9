//! Win32 resources: a tree of types, names and languages, whose leaves are bytes (the PE format's). The positions of
//! leaves are not compared.

use ecma335::{
    Cursor, FileOffset, Image, Result, Rva,
    image::{Directory, DirectoryKind},
};

use disasm::ilasm::Ilasm;

/// The levels: types, names, languages.
const DEPTH: usize = 3;
/// The maximum number of visited entries. Real trees have some hundreds; a hostile one could be a cycle.
const MOST_ENTRIES: usize = 8192;
/// The flag of an entry that refers to a name, or to another directory.
const HIGH: u32 = 0x8000_0000;

/// The leaves: path and bytes. The list is truncated where the tree breaks the format.
pub(crate) fn leaves<'a>(image: &Image<'a>) -> Vec<(String, &'a [u8])> {
    let directory = image.directory(DirectoryKind::Resource);
    let Ok(tree) = image.cursor_at(directory.rva) else { return Vec::new() };
    let mut walk = Walk { image, tree: tree.rest(), entries: 0, leaves: Vec::new() };
    if directory.size > 0 {
        let _ = walk.directory(0, "", DEPTH);
    }
    walk.leaves
}

struct Walk<'a, 'i> {
    image: &'i Image<'a>,
    tree: &'a [u8],
    /// The number of visited entries.
    entries: usize,
    leaves: Vec<(String, &'a [u8])>,
}

impl Walk<'_, '_> {
    fn directory(&mut self, at: u32, way: &str, depth: usize) -> Result<()> {
        let mut cursor = cursor_at(self.tree, at);
        cursor.bytes(12)?;
        let count = u32::from(cursor.u16()?) + u32::from(cursor.u16()?);
        for _ in 0..count {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                break;
            }
            let (name, place) = (cursor.u32()?, cursor.u32()?);
            let name = if name & HIGH == 0 { name.to_string() } else { text(self.tree, name & !HIGH)? };
            let way = format!("{way}/{name}");
            if place & HIGH == 0 {
                let mut leaf = cursor_at(self.tree, place);
                let directory = Directory { rva: Rva(leaf.u32()?), size: leaf.u32()? };
                self.leaves.push((way, self.image.bytes_at(directory)));
            } else if depth > 1 {
                self.directory(place & !HIGH, &way, depth - 1)?;
            }
        }
        Ok(())
    }
}

fn cursor_at(tree: &[u8], at: u32) -> Cursor<'_> {
    Cursor::new(tree.get(at as usize..).unwrap_or_default(), FileOffset(at.into()))
}

/// A name: the number of UTF-16 units, then the units.
fn text(tree: &[u8], at: u32) -> Result<String> {
    let mut cursor = cursor_at(tree, at);
    let count = cursor.u16()?;
    let units: Vec<u16> = (0..count).map(|_| cursor.u16()).collect::<Result<_>>()?;
    Ok(disasm::quote::string(&units, Ilasm::Mono))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces the resource tree of `hello.exe`.
    fn leaves_of(tree: &[u8]) -> usize {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/hello/bin/hello.exe");
        let mut file = std::fs::read(path).expect("it is committed");
        let image = Image::parse(&file).expect("it is an assembly");
        let at = image.offset_of(image.directory(DirectoryKind::Resource).rva).expect("it has resources").0 as usize;
        file[at..at + tree.len()].copy_from_slice(tree);
        leaves(&Image::parse(&file).expect("it is one still")).len()
    }

    #[test]
    fn leaves_are_found_and_circles_end() {
        // The version and the manifest.
        assert_eq!(leaves_of(&[]), 2);
        // A directory of 65535 entries that refer to itself.
        let mut tree = vec![0; 16];
        tree[14..16].fill(0xFF);
        tree.extend([1, 0, 0, 0, 0, 0, 0, 0x80].repeat(100));
        assert!(leaves_of(&tree) <= MOST_ENTRIES);
    }
}
