//! The metadata root and its streams (II.24.2.1, II.24.2.2), and lookups across tables.

use sha1::{Digest as _, Sha1};

use crate::{
    cursor::Cursor,
    error::{Error, ErrorKind, Result, malformed},
    heap::Heap,
    list_cache::ListCache,
    pdb_stream::{self, PdbStream},
    schema::{self, Blob, CustomAttribute, MethodDef, Row, Str, Table},
    signature::text::TypeNames,
    tables::Tables,
    token::{FileOffset, Rid, Token},
};

/// A metadata root as a view of its bytes.
#[derive(Clone, Debug)]
pub struct Metadata<'a> {
    /// The root's bytes, with their offset.
    pub root: Cursor<'a>,
    /// The version string, including its padding zeros.
    pub version: &'a [u8],
    /// All streams, in file order, including unknown ones.
    pub streams: Vec<Stream<'a>>,
    /// The #Strings heap: names.
    pub strings: Heap<'a>,
    /// The #US heap: string literals.
    pub user_strings: Heap<'a>,
    /// The #Blob heap: signatures and other blobs.
    pub blobs: Heap<'a>,
    /// The #GUID heap.
    pub guids: Heap<'a>,
    /// The tables.
    pub tables: Tables<'a>,
    /// The #Pdb stream, if this is a portable PDB.
    pub pdb: Option<PdbStream>,
    /// By the number of the table that lists rows.
    pub(crate) lists: Box<[ListCache; 64]>,
}

/// One stream of a metadata root (II.24.2.2).
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// The name, without its padding zeros.
    pub name: &'a [u8],
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The file offset of the bytes.
    pub offset: FileOffset,
}

/// The first four bytes of a metadata root: "BSJB".
pub(crate) const SIGNATURE: u32 = 0x424A_5342;

impl<'a> Metadata<'a> {
    /// Reads the root, the stream headers and the header of the table stream.
    ///
    /// # Errors
    /// If a header is truncated or breaks the format, or a stream lies outside of the root.
    pub fn parse(root: Cursor<'a>) -> Result<Self> {
        let mut cursor = root;
        let start = cursor.position();
        if cursor.u32()? != SIGNATURE {
            return malformed(root.offset(), "the metadata root does not start with BSJB");
        }
        cursor.u32()?;
        cursor.u32()?;
        let version_length = cursor.u32()?;
        let version = cursor.bytes(version_length as usize)?;
        cursor.u16()?;
        let count = cursor.u16()?;
        let mut streams = Vec::new();
        for _ in 0..count {
            let offset = cursor.u32()?;
            let size = cursor.u32()?;
            let name = read_stream_name(&mut cursor, start)?;
            let mut window = root;
            let bytes = window.bytes(offset as usize).and_then(|_| Ok((window.offset(), window.bytes(size as usize)?)));
            let (offset, bytes) = bytes.map_err(|error| error.in_cell(String::from_utf8_lossy(name)))?;
            streams.push(Stream { name, bytes, offset });
        }
        // If a name occurs twice, runtimes take the first.
        let find = |name: &[u8]| streams.iter().find(|stream| stream.name == name);
        let heap = |name: &[u8]| match find(name) {
            Some(stream) => Heap { bytes: stream.bytes, offset: stream.offset },
            None => Heap::ABSENT,
        };
        let Some(tables) = find(b"#~").or_else(|| find(b"#-")) else {
            return malformed(root.offset(), "no table stream (#~ or #-)");
        };
        let pdb = find(pdb_stream::NAME).map(|stream| PdbStream::parse(Cursor::new(stream.bytes, stream.offset)));
        let pdb = pdb.transpose().map_err(|error| error.in_cell("#Pdb"))?;
        let external = pdb.as_ref().map_or([0; 64], |pdb| pdb.assembly);
        let tables = Tables::parse(Cursor::new(tables.bytes, tables.offset), &external)
            .map_err(|error| error.in_cell(String::from_utf8_lossy(tables.name)))?;
        Ok(Self {
            root,
            version,
            strings: heap(b"#Strings"),
            user_strings: heap(b"#US"),
            blobs: heap(b"#Blob"),
            guids: heap(b"#GUID"),
            streams,
            tables,
            pdb,
            lists: Box::new(std::array::from_fn(|_| ListCache::default())),
        })
    }

    /// One row, by its number from 1.
    #[inline]
    pub fn row<R: Row>(&self, rid: Rid<R>) -> Result<R> {
        self.tables.row(rid)
    }

    /// A name, as text.
    pub fn name(&self, index: Str) -> Result<String> {
        self.strings.string(index).map(std::borrow::Cow::into_owned)
    }

    /// A blob's bytes.
    #[inline]
    pub fn blob(&self, index: Blob) -> Result<&'a [u8]> {
        Ok(self.blobs.blob(index)?.rest())
    }

    /// The module's version identifier; all zeros if it has none.
    pub fn mvid(&self) -> Result<[u8; 16]> {
        let module: schema::Module = self.row(Rid::new(1))?;
        if self.guids.bytes.is_empty() {
            return Ok([0; 16]);
        }
        Ok(self.guids.guid(module.mvid).map_err(|error| error.in_cell("Module.Mvid"))?.unwrap_or_default())
    }

    /// The Assembly row. None in a netmodule.
    pub fn assembly(&self) -> Option<schema::Assembly> {
        self.row(Rid::new(1)).ok()
    }

    /// The assembly's name and version, or the module's name if there is no assembly.
    pub fn display_name(&self) -> String {
        match self.assembly() {
            Some(schema::Assembly { major, minor, build, revision, name, .. }) => {
                format!("{}, Version={major}.{minor}.{build}.{revision}", self.name(name).unwrap_or_default())
            }
            None => self.row(Rid::<schema::Module>::new(1)).and_then(|module| self.name(module.name)).unwrap_or_default(),
        }
    }

    /// The full name of an attribute's type, which declares its constructor. None if the row is dangling.
    pub fn attribute_type_name(&self, attribute: &CustomAttribute) -> Option<String> {
        let constructor = attribute.constructor.token()?;
        if let Some(rid) = constructor.rid_in::<schema::MemberRef>() {
            let parent = self.row(rid).ok()?.class.token()?;
            return match parent.table()? {
                Table::TypeRef => self.type_ref_name(Rid::new(parent.rid())).ok(),
                Table::TypeDef => self.simple_type_name(Rid::new(parent.rid())).ok(),
                _ => None,
            };
        }
        let owner = self.owner(constructor.rid_in::<MethodDef>()?)?;
        self.simple_type_name(owner).ok()
    }
}

impl TypeNames for Metadata<'_> {
    fn type_name(&self, token: Token) -> String {
        let name = match token.table() {
            Some(Table::TypeDef) => self.type_def_name(Rid::new(token.rid())).ok(),
            Some(Table::TypeRef) => {
                let rid = Rid::new(token.rid());
                let name = self.type_ref_name(rid).ok();
                match self.assembly_of(rid) {
                    Some(scope) => name.map(|name| format!("[{scope}]{name}")),
                    None => name,
                }
            }
            _ => None,
        };
        name.unwrap_or_else(|| token.to_string())
    }
}

/// A public key token: the last eight bytes of the key's SHA-1, reversed (II.6.3).
pub fn public_key_token(public_key: &[u8]) -> Vec<u8> {
    Sha1::digest(public_key).iter().rev().take(8).copied().collect()
}

/// `Namespace.Name`, or just the name.
pub fn join(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

/// A stream's name: zero-terminated, padded to four bytes, at most 32 bytes.
fn read_stream_name<'a>(cursor: &mut Cursor<'a>, start: usize) -> Result<&'a [u8]> {
    let rest = cursor.rest();
    let Some(length) = rest.iter().take(32).position(|byte| *byte == 0) else {
        return malformed(cursor.offset(), "a stream name without end");
    };
    let padded = (cursor.position() - start + length + 1).next_multiple_of(4) - (cursor.position() - start);
    cursor.bytes(padded.min(rest.len()))?;
    rest.get(..length).ok_or_else(|| Error::new(ErrorKind::Truncated))
}
