//! The table of lines: the places of counted sequence points in the source, as the mark of an instrumented module and the
//! profile have it. The tracker copies it from the one to the other.
//!
//! ```text
//! count of texts, count * (length, UTF-8)
//! count of documents, count * (path, size of the hash, the hash and the GUID of its algorithm unless the size is 0)
//! count of methods, count * (assembly, type, name, document, first counter, count of points)
//!     count * (counter, start line, start column, end line, end column)
//! ```
//!
//! Numbers are compressed (II.23.2). Assemblies, types, names and paths are numbers of texts. A point's counter is the number
//! of counters between the last point's and its own; the start line is the difference to the last point's, with the sign in the
//! lowest bit, and so is the end line to the start line.

use ecma335::{Cursor, Error, ErrorKind, FileOffset, cursor::put_compressed_u32};
use indexmap::IndexSet;

/// Lines and columns are below this limit, so that a compressed number holds the difference of two and its sign.
const LIMIT: u32 = 1 << 28;
/// Longer texts are cut.
const MAX_TEXT: usize = 4096;
/// Many methods and files may have the same long name. So the names of all may have as many bytes for each byte of a table, and
/// some more.
const MAX_NAMES_PER_BYTE: usize = 32;
const MIN_NAMES: usize = 1 << 20;
const TOO_LONG: &str = "names that are longer than a table's";

/// The places of a module's counters in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineTable {
    /// The source files.
    pub documents: Vec<LineDocument>,
    /// The methods with counted points. A method with points in several files is here once for each.
    pub methods: Vec<TableMethod>,
}

/// A source file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LineDocument {
    /// The path, as the PDB states it.
    pub path: String,
    /// The GUID of the hash's algorithm, and the hash of the contents.
    pub hash: Option<([u8; 16], Vec<u8>)>,
}

/// The counted points of a method in one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableMethod {
    /// The simple name of the assembly.
    pub assembly: String,
    /// The type, in source form.
    pub type_name: String,
    /// The method, in source form.
    pub name: String,
    /// The file: an index into the table's documents.
    pub document: usize,
    /// The points, in the order of their counters.
    pub points: Vec<CountedPoint>,
}

/// A counted sequence point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedPoint {
    /// The number of its counter.
    pub counter: u32,
    /// The line and column of its start.
    pub start: (u32, u32),
    /// The line and column of its end.
    pub end: (u32, u32),
}

impl CountedPoint {
    /// Whether a table can hold it.
    pub fn is_within_limits(&self) -> bool {
        let Self { counter, start, end } = self;
        [*counter, start.0, start.1, end.0, end.1].iter().all(|number| *number < LIMIT)
    }
}

impl LineTable {
    /// The table as bytes. All points have to be [within limits](CountedPoint::is_within_limits).
    pub fn write(&self) -> Vec<u8> {
        let mut texts: IndexSet<&str> = IndexSet::new();
        let mut text = |text| texts.insert_full(text).0 as u32;
        let mut out = Vec::new();
        put_compressed_u32(&mut out, self.documents.len() as u32);
        for LineDocument { path, hash } in &self.documents {
            put_compressed_u32(&mut out, text(path));
            put_compressed_u32(&mut out, hash.as_ref().map_or(0, |(_, hash)| hash.len() as u32));
            for (algorithm, hash) in hash.iter().filter(|(_, hash)| !hash.is_empty()) {
                out.extend_from_slice(hash);
                out.extend_from_slice(algorithm);
            }
        }
        put_compressed_u32(&mut out, self.methods.len() as u32);
        for TableMethod { assembly, type_name, name, document, points } in &self.methods {
            [text(assembly), text(type_name), text(name)].iter().for_each(|number| put_compressed_u32(&mut out, *number));
            put_compressed_u32(&mut out, *document as u32);
            let first = points.first().map_or(0, |point| point.counter);
            put_compressed_u32(&mut out, first);
            put_compressed_u32(&mut out, points.len() as u32);
            let (mut next, mut line) = (first, 0);
            for CountedPoint { counter, start, end } in points {
                put_compressed_u32(&mut out, counter - next);
                put_difference(&mut out, start.0, line);
                put_compressed_u32(&mut out, start.1);
                put_difference(&mut out, end.0, start.0);
                put_compressed_u32(&mut out, end.1);
                (next, line) = (counter + 1, start.0);
            }
        }
        let mut all = Vec::new();
        put_compressed_u32(&mut all, texts.len() as u32);
        for text in texts {
            put_compressed_u32(&mut all, text.len() as u32);
            all.extend_from_slice(text.as_bytes());
        }
        all.append(&mut out);
        all
    }

    /// Reads a table.
    ///
    /// # Errors
    /// If it ends early or late, refers to a text or document that it does not have, or names more than files do.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(bytes, FileOffset(0));
        let mut texts = Vec::new();
        for _ in 0..cursor.compressed_u32()? {
            let length = cursor.compressed_u32()? as usize;
            let text = cursor.bytes(length)?;
            texts.push(String::from_utf8_lossy(text.get(..MAX_TEXT).unwrap_or(text)).into_owned());
        }
        let lost = |what| Error::new(ErrorKind::Malformed(what));
        let text = |cursor: &mut Cursor<'_>| {
            let number = cursor.compressed_u32()? as usize;
            texts.get(number).cloned().ok_or_else(|| lost("a text that is not there"))
        };
        let mut room = bytes.len().saturating_mul(MAX_NAMES_PER_BYTE).saturating_add(MIN_NAMES);
        let mut documents = Vec::new();
        for _ in 0..cursor.compressed_u32()? {
            let path = text(&mut cursor)?;
            room = room.checked_sub(path.len()).ok_or_else(|| lost(TOO_LONG))?;
            let size = cursor.compressed_u32()? as usize;
            let mut hash = None;
            if size > 0 {
                let bytes = cursor.bytes(size)?.to_vec();
                let algorithm = cursor.bytes(16)?.first_chunk().copied().unwrap_or_default();
                hash = Some((algorithm, bytes));
            }
            documents.push(LineDocument { path, hash });
        }
        let mut methods = Vec::new();
        for _ in 0..cursor.compressed_u32()? {
            let (assembly, type_name, name) = (text(&mut cursor)?, text(&mut cursor)?, text(&mut cursor)?);
            let size = assembly.len() + type_name.len() + name.len();
            room = room.checked_sub(size).ok_or_else(|| lost(TOO_LONG))?;
            let document = cursor.compressed_u32()? as usize;
            if document >= documents.len() {
                return Err(lost("a document that is not there"));
            }
            let (mut next, mut line) = (cursor.compressed_u32()?, 0);
            let mut points = Vec::new();
            for _ in 0..cursor.compressed_u32()? {
                let counter = next.saturating_add(cursor.compressed_u32()?);
                let start_line = difference(&mut cursor, line)?;
                let start = (start_line, cursor.compressed_u32()?);
                let end = (difference(&mut cursor, start_line)?, cursor.compressed_u32()?);
                points.push(CountedPoint { counter, start, end });
                (next, line) = (counter.saturating_add(1), start_line);
            }
            methods.push(TableMethod { assembly, type_name, name, document, points });
        }
        if cursor.is_empty() { Ok(Self { documents, methods }) } else { Err(lost("bytes behind the last method")) }
    }
}

fn put_difference(out: &mut Vec<u8>, number: u32, before: u32) {
    let sign = u32::from(number < before);
    put_compressed_u32(out, number.abs_diff(before) << 1 | sign);
}

fn difference(cursor: &mut Cursor<'_>, before: u32) -> Result<u32, Error> {
    let number = cursor.compressed_u32()?;
    let size = number >> 1;
    Ok(if number & 1 == 0 { before.saturating_add(size) } else { before.saturating_sub(size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LineTable {
        let point = |counter, line, end| CountedPoint { counter, start: (line, 9), end: (end, 30) };
        let method = |name: &str, document, points| TableMethod {
            assembly: "app".into(),
            type_name: "Shop.Order<T>".into(),
            name: name.into(),
            document,
            points,
        };
        LineTable {
            documents: vec![
                LineDocument { path: "/src/Order.cs".into(), hash: Some(([7; 16], vec![1, 2, 3])) },
                LineDocument { path: r"C:\src\Ä.cs".into(), hash: None },
            ],
            methods: vec![
                method("Load", 0, vec![point(0, 10, 12), point(1, 4, 4), point(5, 200_000_000, 3)]),
                method("Load", 1, Vec::new()),
                method("Load [lambda at Order.cs:7]", 1, vec![point(9, LIMIT - 1, LIMIT - 1)]),
            ],
        }
    }

    #[test]
    fn tables_are_read_as_they_were_written() {
        for table in [table(), LineTable::default()] {
            assert_eq!(LineTable::read(&table.write()), Ok(table));
        }
    }

    #[test]
    fn damaged_tables_are_errors() {
        let bytes = table().write();
        for length in 0..bytes.len() {
            assert!(LineTable::read(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(LineTable::read(&[&bytes[..], &[0]].concat()).is_err());
        for place in 0..bytes.len() {
            for value in [0, 0x7F, 0xBF, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[place] = value;
                let _ = LineTable::read(&damaged);
            }
        }
    }

    /// A small file must not become a large model.
    #[test]
    fn long_names_of_many_methods_are_an_error() {
        let method = TableMethod { name: "N".repeat(MAX_TEXT), points: Vec::new(), document: 0, ..table().methods[0].clone() };
        let table = |methods| LineTable { methods: vec![method.clone(); methods], ..table() };
        assert!(LineTable::read(&table(200).write()).is_ok());
        assert!(LineTable::read(&table(2000).write()).is_err());
        let document = LineDocument { path: "N".repeat(MAX_TEXT), hash: None };
        let files = LineTable { documents: vec![document; 2000], methods: Vec::new() };
        assert!(LineTable::read(&files.write()).is_err());
    }

    #[test]
    fn points_have_limits() {
        let point = CountedPoint { counter: 0, start: (1, 1), end: (1, 2) };
        assert!(point.is_within_limits());
        assert!(!CountedPoint { end: (LIMIT, 1), ..point }.is_within_limits());
    }
}
