//! The records of profiles (docs/profile-format.md).

use profile::layout::{CHUNK_HEADER, CONTROL_AT, STRINGS_AT, VERSION_AT};

use super::{Fields, Kind, row, u32_at};

const NODES: u32 = 1;
/// The offset of the first node in a chunk of version 1, behind the tree's header.
const FIRST_NODE: usize = 128;

pub(super) fn add(bytes: &[u8], fields: &mut Fields) {
    if u32_at(bytes, VERSION_AT) > 1 {
        return add_words(bytes, fields);
    }
    let (mut header, mut chunks, mut nodes, mut names) = Default::default();
    row(0, &[4; STRINGS_AT / 4], Kind::Number, &mut header);
    row(STRINGS_AT, &[4; 32], Kind::Number, &mut header);
    let mut at = CONTROL_AT;
    while at < bytes.len() {
        let (kind, size) = (u32_at(bytes, at), u32_at(bytes, at + 4) as usize);
        let end = at.saturating_add(size.max(CHUNK_HEADER)).min(bytes.len());
        row(at, &[4, 4, 8, 8, 8, 8], Kind::Number, &mut chunks);
        if kind == NODES {
            row(at + CHUNK_HEADER, &[8; 8], Kind::Number, &mut chunks);
            row(at + FIRST_NODE, &vec![8; (end - at).saturating_sub(FIRST_NODE) / 8], Kind::Number, &mut nodes);
        } else {
            row(at + CHUNK_HEADER, &vec![1; (end - at).saturating_sub(CHUNK_HEADER)], Kind::Number, &mut names);
        }
        at = end;
    }
    fields.add(vec![header, chunks, nodes, names]);
}

/// Adds all words of eight bytes that are not zero: version 2 has unused room everywhere.
fn add_words(bytes: &[u8], fields: &mut Fields) {
    let (mut header, mut others) = Default::default();
    let (words, _) = bytes.as_chunks::<8>();
    for (index, _) in words.iter().enumerate().filter(|(_, word)| **word != [0; 8]) {
        let group = if index < CONTROL_AT / 8 { &mut header } else { &mut others };
        row(index * 8, &[4, 4], Kind::Number, group);
    }
    fields.add(vec![header, others]);
}
