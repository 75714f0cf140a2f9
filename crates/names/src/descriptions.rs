//! The descriptions of captured methods, as the mark holds them: the names and types that the tracker copies to the profile.
//!
//! ```text
//! u32 count, count * text                      texts; the first is the module's name
//! u32 count, count * (u32 row, u32 offset)     MethodDef rows, ascending, and where the method's record begins
//! records of compressed numbers:
//!     class, name, returned, has `this`, count of parameters, count * (mode, type, name)
//! ```
//!
//! Classes, types and names are numbers of texts. A text is UTF-8 after its length. Lengths and the numbers of records are
//! compressed (II.23.2), other numbers are little-endian. The name of a method includes its type parameters. Types are in C#
//! syntax. The mode is the way that a parameter is passed: see docs/profile-format.md.

use ecma335::cursor::put_compressed_u32;
use indexmap::IndexSet;
use little_endian::PutNumbers;

/// The description of one method.
#[derive(Clone, Debug)]
pub struct Description {
    /// The type that declares the method.
    pub class: String,
    /// The name with its type parameters.
    pub name: String,
    /// The return type.
    pub returned: String,
    /// Whether the method has `this`.
    pub has_this: bool,
    /// The mode, type and name of each parameter.
    pub parameters: Vec<(u8, String, String)>,
}

/// Collects descriptions for a mark.
#[derive(Clone, Debug)]
pub struct Descriptions {
    texts: IndexSet<String>,
    /// The MethodDef row number, and the offset in `records`.
    methods: Vec<(u32, usize)>,
    records: Vec<u8>,
    /// The bytes that texts and records may still take.
    room: usize,
}

impl Descriptions {
    /// Starts without methods. `room` limits the bytes: small modules can ask for large ones, where many types have arguments
    /// with long names.
    pub fn new(module: &str, room: usize) -> Self {
        Self { texts: IndexSet::from([module.to_owned()]), methods: Vec::new(), records: Vec::new(), room }
    }

    /// Adds a method. Rows have to ascend. A method for which there is no room is left out.
    pub fn add(&mut self, row: u32, description: Description) {
        let Description { class, name, returned, has_this, parameters } = description;
        let parameter_texts: usize = parameters.iter().map(|(_, ty, name)| ty.len() + name.len() + 9).sum();
        let size = class.len() + name.len() + returned.len() + parameter_texts + 32;
        let Some(room) = self.room.checked_sub(size) else { return };
        let (texts_before, records_before) = (self.texts.len(), self.records.len());
        self.methods.push((row, records_before));
        for text in [class, name, returned] {
            self.text(text);
        }
        put_compressed_u32(&mut self.records, has_this.into());
        put_compressed_u32(&mut self.records, parameters.len() as u32);
        for (mode, ty, name) in parameters {
            put_compressed_u32(&mut self.records, mode.into());
            self.text(ty);
            self.text(name);
        }
        let new_texts: usize = self.texts.iter().skip(texts_before).map(String::len).sum();
        self.room = room + size - (self.records.len() - records_before + new_texts).min(size);
    }

    fn text(&mut self, text: String) {
        let (number, _) = self.texts.insert_full(text);
        put_compressed_u32(&mut self.records, number as u32);
    }

    /// The bytes for a mark. `None` without methods.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        if self.methods.is_empty() {
            return None;
        }
        let mut out = Vec::new();
        out.put_u32(self.texts.len() as u32);
        for text in &self.texts {
            put_compressed_u32(&mut out, text.len() as u32);
            out.extend_from_slice(text.as_bytes());
        }
        out.put_u32(self.methods.len() as u32);
        let first_record = out.len() + 8 * self.methods.len();
        for (row, at) in &self.methods {
            out.put_u32(*row);
            out.put_u32((first_record + at) as u32);
        }
        out.extend_from_slice(&self.records);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(name: &str) -> Description {
        let parameters = vec![(0, "int".to_owned(), "count".to_owned())];
        Description { class: "C".to_owned(), name: name.to_owned(), returned: "int".to_owned(), has_this: true, parameters }
    }

    #[test]
    fn texts_are_shared_and_records_found_by_row() {
        let mut descriptions = Descriptions::new("M.dll", 1 << 10);
        assert_eq!(descriptions.to_bytes(), None);
        descriptions.add(3, description("F"));
        descriptions.add(8, description("G"));
        let texts = b"\x06\0\0\0\x05M.dll\x01C\x01F\x03int\x05count\x01G";
        let first = texts.len() as u8 + 4 + 16;
        let mut expected = texts.to_vec();
        expected.extend([2, 0, 0, 0, 3, 0, 0, 0, first, 0, 0, 0, 8, 0, 0, 0, first + 8, 0, 0, 0]);
        expected.extend([1, 2, 3, 1, 1, 0, 3, 4]);
        expected.extend([1, 5, 3, 1, 1, 0, 3, 4]);
        assert_eq!(descriptions.to_bytes(), Some(expected));
    }

    #[test]
    fn methods_without_room_are_left_out() {
        let mut descriptions = Descriptions::new("M.dll", 120);
        descriptions.add(1, description(&"N".repeat(100)));
        assert_eq!(descriptions.to_bytes(), None);
        descriptions.add(2, description("F"));
        assert!(descriptions.to_bytes().is_some());
    }
}
