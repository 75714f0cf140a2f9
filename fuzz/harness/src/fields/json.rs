//! JSON: the bytes of its structure, and the text between them.

use super::{Field, Fields, Kind};

pub(super) fn add(bytes: &[u8], fields: &mut Fields) {
    let field = |(at, _)| Field { at, width: 1, kind: Kind::Text };
    let is_shape = |byte: u8| b"{}[]:,\"\\".contains(&byte);
    let group = |wanted: bool| bytes.iter().enumerate().filter(|(_, byte)| is_shape(**byte) == wanted).map(field).collect();
    fields.add(vec![group(true), group(false)]);
}
