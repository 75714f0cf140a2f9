//! The words of profiles (docs/profile-format.md).

use profile_format::header::CONTROL_AT;

use super::{Fields, Kind, row};

/// Adds all words of eight bytes that are not zero: a profile has unused room everywhere.
pub(super) fn add(bytes: &[u8], fields: &mut Fields) {
    let (mut header, mut others) = Default::default();
    let (words, _) = bytes.as_chunks::<8>();
    for (index, _) in words.iter().enumerate().filter(|(_, word)| **word != [0; 8]) {
        let group = if index < CONTROL_AT / 8 { &mut header } else { &mut others };
        row(index * 8, &[4, 4], Kind::Number, group);
    }
    fields.add(vec![header, others]);
}
