//! The sources that a portable PDB has: texts of documents, and Source Link's addresses for them.

use std::{collections::HashMap, io::Read as _};

use ecma335::{
    Cursor, Error, FileOffset, Metadata, Rid, Token,
    pdb::{
        custom_debug_information::{EMBEDDED_SOURCE, SOURCE_LINK},
        document_name,
    },
    schema::{CustomDebugInformation, Document},
};
use flate2::read::DeflateDecoder;
use serde::Deserialize;

use super::MAX_SOURCE;

/// The sources of one PDB.
#[derive(Default)]
pub(super) struct PdbSources {
    /// The values of the records, by the document's path.
    texts: HashMap<String, Vec<u8>>,
    links: SourceLink,
}

impl PdbSources {
    /// Reads a PDB. A record that cannot be read is none.
    pub(super) fn read(pdb: &[u8]) -> Result<Self, Error> {
        let metadata = Metadata::parse(Cursor::new(pdb, FileOffset(0)))?;
        let mut sources = Self::default();
        for (_, row) in metadata.tables.rows::<CustomDebugInformation>() {
            let (kind, value) = (metadata.guids.guid(row.kind)?, metadata.blob(row.value)?);
            let document = || -> Option<String> {
                let rid: Rid<Document> = row.parent.token().and_then(Token::rid_in)?;
                document_name(&metadata, &metadata.row(rid).ok()?).ok()
            };
            if kind == Some(SOURCE_LINK) {
                sources.links = serde_json::from_slice(value).unwrap_or_default();
            } else if let Some(path) = document().filter(|_| kind == Some(EMBEDDED_SOURCE)) {
                sources.texts.insert(path, value.to_vec());
            }
        }
        Ok(sources)
    }

    /// The bytes of a document.
    pub(super) fn text(&self, path: &str) -> Option<Vec<u8>> {
        let (size, content) = self.texts.get(path)?.split_first_chunk()?;
        match u32::from_le_bytes(*size) {
            0 => Some(content.to_vec()),
            size => {
                let mut text = Vec::new();
                DeflateDecoder::new(content).take(MAX_SOURCE.min(size.into())).read_to_end(&mut text).ok()?;
                Some(text)
            }
        }
    }

    /// The address of a document.
    pub(super) fn link(&self, path: &str) -> Option<String> {
        self.links.address_of(path)
    }
}

/// Source Link's map from paths to addresses. A path that ends with `*` holds for all that begin so.
#[derive(Default, Deserialize)]
struct SourceLink {
    #[serde(default)]
    documents: HashMap<String, String>,
}

impl SourceLink {
    /// The address of a path: the longest entry decides, regardless of case.
    fn address_of(&self, path: &str) -> Option<String> {
        let rest_of = |entry: &str| {
            let start = entry.strip_suffix('*').unwrap_or(entry);
            let (begin, rest) = path.split_at_checked(start.len())?;
            (begin.eq_ignore_ascii_case(start) && (entry.len() > start.len() || rest.is_empty())).then(|| escaped(rest))
        };
        let matching =
            self.documents.iter().filter_map(|(entry, address)| Some((entry.len(), address.replace('*', &rest_of(entry)?))));
        let is_address = |address: &String| ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
        Some(matching.max()?.1).filter(is_address)
    }
}

/// A path as a part of an address: RFC 3986's unreserved characters stay, and so do slashes.
fn escaped(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b'\\' => "/".into(),
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_the_longest_entry() {
        let links: SourceLink = serde_json::from_str(
            r#"{ "documents": { "/src/*": "https://a/*", "/src/shop/*": "https://b/*?raw=1", "/src/One.cs": "https://c/1",
                 "C:\\src\\*": "https://d/*", "/bad/*": "file:///*" } }"#,
        )
        .expect("it is JSON");
        for (path, expected) in [
            ("/src/Order.cs", Some("https://a/Order.cs")),
            ("/src/shop/A B#ä.cs", Some("https://b/A%20B%23%C3%A4.cs?raw=1")),
            ("/src/One.cs", Some("https://c/1")),
            (r"c:\SRC\x\Order.cs", Some("https://d/x/Order.cs")),
            ("/src/One.cs2", Some("https://a/One.cs2")),
            ("/bad/a.cs", None),
            ("/other/a.cs", None),
            ("/sr", None),
        ] {
            assert_eq!(links.address_of(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn texts_are_plain_or_deflated() {
        let mut deflated = vec![3, 0, 0, 0];
        flate2::read::DeflateEncoder::new(&b"abc"[..], flate2::Compression::best()).read_to_end(&mut deflated).expect("it fits");
        let texts =
            [("plain", b"\0\0\0\0abc".to_vec()), ("deflated", deflated), ("short", vec![0]), ("bad", vec![3, 0, 0, 0, 255])];
        let texts = texts.map(|(path, value)| (path.to_owned(), value)).into();
        let sources = PdbSources { texts, links: SourceLink::default() };
        for (path, expected) in
            [("plain", Some("abc")), ("deflated", Some("abc")), ("short", None), ("bad", None), ("none", None)]
        {
            assert_eq!(sources.text(path).as_deref(), expected.map(str::as_bytes), "{path}");
        }
    }
}
