//! Mutations: a few fields get other values, each chosen to break a reader. Sometimes bytes are changed blindly.

use ecma335::{Token, opcode::OpCode};

use crate::{
    fields::{Field, Fields, Kind},
    random::Random,
};

/// The largest number of mutations, beside truncation.
const MOST: usize = 5;
/// Texts that have a meaning for readers of text, names or JSON.
const TEXTS: &[&[u8]] = &[
    b"\0",
    b"\x1b[31m",
    b"\xFF\xFE",
    b"..",
    b"/",
    b"{",
    b"[",
    b"\"",
    b"\\u0000",
    b"1e999",
    b"-0",
    b"//",
    b"/*",
    b"null",
    b"<",
    b"`1",
];
/// Depths of nested JSON.
const DEPTHS: [usize; 3] = [100, 1000, 20_000];

/// Returns a copy of a seed's bytes with some changed.
pub fn mutate(seed: &[u8], fields: &Fields, random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let count = 1 + random.below(MOST);
    for _ in 0..count {
        if fields.areas().is_empty() || random.once_in(6) {
            change_blindly(&mut bytes, random);
        } else {
            let area = random.pick(fields.areas());
            let group = random.pick(area);
            change(&mut bytes, group, fields, random);
        }
    }
    if random.once_in(24) {
        bytes.truncate(random.below(bytes.len()));
    }
    bytes
}

/// Gives a field of a group another value.
fn change(bytes: &mut [u8], group: &[Field], fields: &Fields, random: &mut Random) {
    let field = random.pick(group);
    let Some(now) = read(bytes, field) else { return };
    // A value that is valid in another field is often wrong in this one.
    if random.once_in(5)
        && let Some(other) = read(bytes, random.pick(group))
    {
        return write(bytes, field, other);
    }
    if matches!(field.kind, Kind::Text) && random.once_in(2) {
        return put_text(bytes, field.at, random);
    }
    let value = match field.kind {
        Kind::Number | Kind::Text => number(now, field.width, random),
        Kind::UpTo(most) => index(now, most, random),
        Kind::Coded(coded) => {
            let (tag, table) = *random.pick(coded.tables);
            let (tag, table) = match coded.decode(now as u32).and_then(Token::table) {
                Some(own) if !random.once_in(3) => (now as u8 & ((1 << coded.tag_bits) - 1), own),
                _ => (tag, table),
            };
            let rid = index(now >> coded.tag_bits, fields.counts.0[table as usize], random);
            // Includes tags that no table has.
            let tag = if random.once_in(8) { random.number() as u8 & ((1 << coded.tag_bits) - 1) } else { tag };
            rid << coded.tag_bits | u64::from(tag)
        }
        Kind::Token => token(now, fields, random),
        Kind::OpCode(size) => opcode(size, random),
        Kind::Signature => u64::from(*random.pick(&SIGNATURE)),
    };
    write(bytes, field, value);
}

/// Element types, calling conventions and lengths (II.23.1.16).
const SIGNATURE: [u8; 40] = [
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0A, 0x0E, 0x0F, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x18, 0x1B,
    0x1C, 0x1D, 0x1E, 0x1F, 0x20, 0x21, 0x30, 0x40, 0x41, 0x45, 0x50, 0x51, 0x53, 0x54, 0x55, 0x7F, 0x80, 0xC0, 0xFF,
];

fn number(now: u64, width: usize, random: &mut Random) -> u64 {
    let all = u64::MAX >> (64 - 8 * width.clamp(1, 8));
    match random.below(10) {
        0 => 0,
        1 => 1,
        2 => all,
        3 => all >> 1,
        4 => (all >> 1) + 1,
        5 => now.wrapping_add(1),
        6 => now.wrapping_sub(1),
        7 => now ^ 1 << random.below(8 * width),
        8 => 1 << random.below(8 * width),
        _ => random.number(),
    }
}

/// Returns an index into `most` items: 0, the first, the last, one of them, or the one just behind, where new items are added.
fn index(now: u64, most: u32, random: &mut Random) -> u64 {
    let most = u64::from(most);
    match random.below(10) {
        0 => 0,
        1 => 1,
        2 => most,
        3 | 4 => most + 1,
        5 => most + 2 + random.number() % 8,
        6 => most.wrapping_add(random.number() % 256),
        7 => u64::MAX,
        8 => now ^ 1 << random.below(16),
        _ => random.number() % (most + 1),
    }
}

/// Returns a token of the same table, or of another.
fn token(now: u64, fields: &Fields, random: &mut Random) -> u64 {
    let table = if random.once_in(4) { random.below(0x2D) as u64 } else { now >> 24 & 0xFF };
    let rows = fields.counts.0.get(table as usize).copied().unwrap_or(0x100);
    table << 24 | index(now & 0xFF_FFFF, rows, random) & 0xFF_FFFF
}

/// Returns an opcode, mostly with the same operand size, so that later instructions keep their meaning.
fn opcode(size: u8, random: &mut Random) -> u64 {
    for _ in 0..16 {
        let info = random.pick(OpCode::ALL).info();
        if info.size == 1 && info.operand_size == size {
            return info.opcode as u64;
        }
    }
    random.number()
}

fn read(bytes: &[u8], field: &Field) -> Option<u64> {
    let bytes = bytes.get(field.at..)?.get(..field.width)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn write(bytes: &mut [u8], field: &Field, value: u64) {
    if let Some(place) = bytes.get_mut(field.at..).and_then(|rest| rest.get_mut(..field.width)) {
        place.copy_from_slice(&value.to_le_bytes()[..field.width]);
    }
}

/// Overwrites bytes with text.
fn put_text(bytes: &mut [u8], at: usize, random: &mut Random) {
    let text = random.pick(TEXTS);
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..text.len())) {
        place.copy_from_slice(text);
    }
}

/// Changes bytes of any kind.
fn change_blindly(bytes: &mut Vec<u8>, random: &mut Random) {
    let (length, at) = (bytes.len(), random.below(bytes.len()));
    let most = *random.pick(&[8, 256]);
    let size = 1 + random.below(most);
    match random.below(8) {
        0 | 1 if length > 0 => bytes[at] ^= 1 << random.below(8),
        2 if length > 0 => bytes[at] = random.number() as u8,
        3 => bytes.iter_mut().skip(at).take(size).for_each(|byte| *byte = 0),
        // Copies a piece from elsewhere, over the bytes here or between them.
        4 if length > size => {
            let from = random.below(length - size);
            bytes.copy_within(from..from + size, at.min(length - size));
        }
        5 if length > size => {
            let from = random.below(length - size);
            let piece = bytes[from..from + size].to_vec();
            bytes.splice(at..at, piece);
        }
        6 if length > size => drop(bytes.drain(at.min(length - size)..at.min(length - size) + size)),
        7 if bytes.first() == Some(&b'{') => {
            let depth = *random.pick(&DEPTHS);
            let text: &[u8] = random.pick::<&[u8]>(&[b"[", b"{\"a\":", b"/*", b"\""]);
            bytes.splice(at..at, text.repeat(depth));
        }
        _ => write(bytes, &Field { at, width: 4, kind: Kind::Number }, number(0, 4, random)),
    }
}
