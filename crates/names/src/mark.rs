//! The mark of an instrumented module: an attribute with the module's key, the tool, the options, the names and
//! descriptions of methods, and the places of counted lines.

use ecma335::{
    Cursor, Error, FileOffset, Metadata, Rid, Token,
    metadata::join,
    schema::{CustomAttribute, MethodDef, TypeDef},
};
use little_endian::{NumbersAt, PutNumbers};
use sha2::{Digest as _, Sha256};

/// The namespace of the tracker's types.
pub const TRACKER_NAMESPACE: &str = "Ilinst";
/// The namespace of an embedded tracker's types. No language can produce its name.
pub const EMBEDDED_NAMESPACE: &str = "<Ilinst>";
/// The attribute that marks a module as instrumented.
pub const MARK_TYPE: &str = "WovenAttribute";
/// The type behind all others of an instrumented module that holds the address of its counters of lines.
pub const LINES_TYPE: &str = "<Ilinst.Lines>";
/// A property that is an array of bytes, up to the length of its name (II.23.3).
const BYTES_PROPERTY: [u8; 3] = [0x54, 0x1D, 0x05];

/// The contents of a woven module's mark.
#[derive(Clone, Debug)]
pub struct Mark<'s> {
    /// The module key, which is the first part of its method ids.
    pub module_key: u64,
    /// The name and version of the tool.
    pub tool: &'s str,
    /// The options of weaving.
    pub options: &'s str,
    /// The names of methods: see [`WovenNames`](crate::WovenNames). `None` in a loaded module, whose rows do not change.
    pub names: Option<&'s [u8]>,
    /// The descriptions of captured methods: see [`Descriptions`](crate::Descriptions).
    pub descriptions: Option<&'s [u8]>,
    /// The places of counted lines: see [`LineTable`](crate::LineTable).
    pub lines: Option<&'s [u8]>,
}

impl<'s> Mark<'s> {
    /// The mark of a woven module.
    pub fn read(metadata: &Metadata<'s>) -> Option<Self> {
        Self::parse(metadata.blob(Self::rows(metadata).next()?.value).ok()?)
    }

    /// Whether a module has a mark, even a damaged one.
    pub fn is_in(metadata: &Metadata<'s>) -> bool {
        Self::rows(metadata).next().is_some()
    }

    /// All marks of a module. A module merged from several may have a mark from each.
    pub fn read_all<'m>(metadata: &'m Metadata<'s>) -> impl Iterator<Item = Self> + use<'s, 'm> {
        Self::rows(metadata).filter_map(|row| Self::parse(metadata.blob(row.value).ok()?))
    }

    fn rows<'m>(metadata: &'m Metadata<'s>) -> impl Iterator<Item = CustomAttribute> + use<'s, 'm> {
        let is_mark = |row: &CustomAttribute| {
            let name = || metadata.attribute_type_name(row);
            let is_mark =
                |name: String| [TRACKER_NAMESPACE, EMBEDDED_NAMESPACE].iter().any(|namespace| name == join(namespace, MARK_TYPE));
            row.parent.token() == Some(Token(1)) && name().is_some_and(is_mark)
        };
        metadata.tables.rows::<CustomAttribute>().map(|(_, row)| row).filter(is_mark)
    }

    fn parse(blob: &'s [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(blob, FileOffset(0));
        cursor.bytes(2).ok()?;
        let module_key = cursor.u64().ok()?;
        let mut text = || {
            let length = cursor.compressed_u32().ok()?;
            std::str::from_utf8(cursor.bytes(length as usize).ok()?).ok()
        };
        let (tool, options) = (text()?, text()?);
        cursor.u16().ok()?;
        let [names, descriptions, lines] = ["Names", "Descriptions", "Lines"].map(|name| property(&mut cursor, name));
        let mark = Self { module_key, tool, options, names, descriptions, lines };
        (mark.to_blob() == blob).then_some(mark)
    }

    /// The value of the attribute (II.23.3).
    pub fn to_blob(&self) -> Vec<u8> {
        let mut blob = vec![1, 0];
        blob.put_u64(self.module_key);
        for text in [self.tool, self.options] {
            ecma335::cursor::put_compressed_u32(&mut blob, text.len() as u32);
            blob.extend_from_slice(text.as_bytes());
        }
        let properties = [("Names", self.names), ("Descriptions", self.descriptions), ("Lines", self.lines)];
        let properties = || properties.iter().filter_map(|(name, bytes)| Some((name, (*bytes)?)));
        blob.put_u16(properties().count() as u16);
        for (name, bytes) in properties() {
            blob.extend_from_slice(&BYTES_PROPERTY);
            blob.push(name.len() as u8);
            blob.extend_from_slice(name.as_bytes());
            blob.put_u32(bytes.len() as u32);
            blob.extend_from_slice(bytes);
        }
        blob
    }
}

/// The value of a property, if it comes next.
fn property<'s>(cursor: &mut Cursor<'s>, name: &str) -> Option<&'s [u8]> {
    let value = cursor.rest().strip_prefix(&BYTES_PROPERTY)?.strip_prefix(&[name.len() as u8])?.strip_prefix(name.as_bytes())?;
    let length = value.u32_at(0)? as usize;
    let bytes = value.get(size_of::<u32>()..)?.get(..length)?;
    cursor.bytes(BYTES_PROPERTY.len() + 1 + name.len() + size_of::<u32>() + length).ok()?;
    Some(bytes)
}

/// The first part of a module's method ids: 40 bits of a hash over all data that its row numbers depend on.
///
/// # Errors
/// If the module's version identifier cannot be read.
pub fn module_key(metadata: &Metadata<'_>) -> Result<u64, Error> {
    let mut hash = Sha256::new();
    hash.update(metadata.mvid()?);
    for stream in metadata.streams.iter().filter(|stream| stream.name == b"#~" || stream.name == b"#-") {
        hash.update(stream.bytes);
    }
    Ok(hash.finalize().iter().take(5).fold(0, |key, byte| key << 8 | u64::from(*byte)))
}

/// The first method of the embedded tracker in an instrumented module. All later methods are the tracker's too.
pub fn first_embedded(metadata: &Metadata<'_>) -> Option<Rid<MethodDef>> {
    let is_embedded = |row: &TypeDef| metadata.strings.string_bytes(row.namespace) == Ok(EMBEDDED_NAMESPACE.as_bytes());
    metadata.tables.rows::<TypeDef>().find(|(_, row)| is_embedded(row)).map(|(_, row)| row.method_list)
}
