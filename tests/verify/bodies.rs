//! Damaged bodies: IL, headers and clauses of real methods are overwritten, and one rule must report it.

use std::collections::BTreeSet;

use ecma335::{Image, Metadata, MethodBody, OpCode, Rid, Rva, Token, body::Clause, body::ClauseKind, schema::MethodDef};
use little_endian::{ByteOrder, LE};
use tests::{sample, set_cell};

use crate::{PEDANTIC, read, verify_bytes};

/// The replaced beginning of `TestClass::Print` in hello.exe, before `nop`s and a `ret`, and the broken rule.
#[rustfmt::skip]
const CODE: &[(&[u8], &str)] = &[
    (&[0x24], "III.1.2-a"),
    (&[0x2A, 0xFE, 0x70], "III.1.2-b"),
    (&[0x02, 0x16, 0x58, 0x26], "III.1.5-a"),
    (&[0x16, 0x7A], "III.1.5-b"),
    (&[0x2B, 0x7F], "III.1.7.2-a"),
    (&[0xDC], "III.1.7.3-d"),
    (&[0xFE, 0x1A], "III.1.7.3-e"),
    (&[0x16, 0x16, 0x16, 0x16, 0x16, 0x16, 0x16, 0x16, 0x16], "III.1.7.4-a"),
    (&[0x02, 0x2D, 0x01, 0x02], "III.1.7.5-a"),
    (&[0x26], "III.1.7.5-b"),
    (&[0x16], "III.1.7.5-c"),
    (&[0x02, 0x2D, 0x03, 0x16, 0x2B, 0x01, 0x14, 0x26], "III.1.8.1.3-a"),
    // A static method.
    (&[0x6F, 0x03, 0x00, 0x00, 0x06], "III.4.2-a"),
    (&[0x28, 0xFF, 0xFF, 0x00, 0x06], "III.1.9-a"),
    (&[0x72, 0xFF, 0xFF, 0xFF, 0x70], "III.1.9-b"),
    (&[0x11, 0x63], "III.1.9-c"),
    (&[0xFE, 0x14], "III.2-a"),
    (&[0x16, 0xFE, 0x0F, 0x26], "III.3-a"),
];
const PRINT: u32 = 12;

#[test]
fn damaged_code_breaks_its_rule() {
    let sound = read(&sample("hello").join("hello.exe"));
    let (start, length) = il(&sound, PRINT);
    for (code, rule) in CODE {
        let mut damaged = sound.clone();
        damaged[start..start + length].fill(0);
        damaged[start..start + code.len()].copy_from_slice(code);
        damaged[start + length - 1] = 0x2A;
        assert!(broken(&damaged).contains(rule), "{code:02x?}: {:?} instead of {rule}", broken(&damaged));
    }
    let mut damaged = sound.clone();
    damaged[start..start + length].fill(0);
    assert!(broken(&damaged).contains("III.1.7.1-a"), "control runs off the end");
}

/// Overwritten bytes of a body with clauses: the offset, the bytes, and the broken rule.
#[test]
fn damaged_clauses_break_their_rules() {
    let sound = read(&sample("orders").join("orders.exe"));
    let (rid, leave) = with_clauses(&sound);
    let (start, length) = il(&sound, rid);
    // A fat header of twelve bytes precedes the IL. An aligned section of small clauses follows it.
    let clauses = (start + length).next_multiple_of(4) + 4;
    let cases: &[(usize, &[u8], &str)] = &[
        (start - 12, &[0x01], "II.25.4-a"),
        (start - 4, &[0xFF, 0xFF, 0x00, 0x11], "II.25.4.4-a"),
        // A fat header with more sections, but without initialized locals.
        (start - 12, &[0x0B], "III.1.8.1.1-a"),
        (clauses + 4, &[0], "II.25.4.6-a"),
        (clauses, &[1, 0], "II.25.4.6-c"),
        (clauses + 8, &[1, 0, 0, 6], "II.25.4.6-b"),
        (start + leave, &[0x2B], "III.1.7.3-a"),
        (start + leave, &[0x2A], "III.1.7.3-c"),
    ];
    for (at, bytes, rule) in cases {
        let mut damaged = sound.clone();
        damaged[*at..*at + bytes.len()].copy_from_slice(bytes);
        assert!(broken(&damaged).contains(rule), "{bytes:02x?}: {:?} instead of {rule}", broken(&damaged));
    }
}

/// IL and a function that returns a clause by its number.
type Shape = (Vec<u8>, fn(u32) -> Clause);

/// Many clauses: consecutive, nested, or of one block. Work that grew with their square would take hours.
#[test]
fn clauses_cost_what_they_are() {
    const CLAUSES: u32 = 100_000;
    let nop_leave = [0x00, 0xDE, 0x01, 0xDC];
    let behind: Vec<u8> = nop_leave.repeat(CLAUSES as usize);
    // `leave` over the following `endfinally`, from within and from behind each inner clause.
    let within: Vec<u8> = [vec![0x00; CLAUSES as usize], [0xDE, 0x01, 0xDC].repeat(CLAUSES as usize)].concat();
    // `pop` and `rethrow`, behind a long `leave` over all of them.
    let caught = [vec![0xDD], (CLAUSES * 3).to_le_bytes().to_vec(), [0x26, 0xFE, 0x1A].repeat(CLAUSES as usize)].concat();
    let shapes: [Shape; 3] = [
        (behind, |number| clause(ClauseKind::Finally, number * 4, number * 4 + 3, 1)),
        (within, |number| clause(ClauseKind::Finally, CLAUSES - 1 - number, CLAUSES + 2 + number * 3, 1)),
        (caught, |number| Clause { try_length: 5, ..clause(ClauseKind::Catch(Token(0x0100_0001)), 0, 5 + number * 3, 3) }),
    ];
    let sound = read(&sample("hello").join("hello.exe"));
    for (number, (mut il, clause)) in shapes.into_iter().enumerate() {
        il.push(0x2A);
        let clauses: Vec<Clause> = (0..CLAUSES).map(clause).collect();
        let body = MethodBody { is_tiny: false, il: &il, clauses, ..tiny() };
        let found = broken(&put_body(&sound, PRINT, &body));
        assert!(found.is_empty(), "shape {number}: {found:?}");
    }
}

fn clause(kind: ClauseKind, try_offset: u32, handler_offset: u32, handler_length: u32) -> Clause {
    Clause { kind, try_offset, try_length: handler_offset - try_offset, handler_offset, handler_length }
}

fn tiny() -> MethodBody<'static> {
    MethodBody::parse(ecma335::Cursor::new(&[0x02], ecma335::FileOffset(0))).expect("an empty tiny body")
}

/// Returns the file with another body for a method, at the end of its last section.
fn put_body(bytes: &[u8], rid: u32, body: &MethodBody<'_>) -> Vec<u8> {
    let word = |at: usize| LE::read_u32(&bytes[at..]) as usize;
    let header = word(0x3C);
    let count = usize::from(bytes[header + 6]);
    let last = header + 24 + (word(header + 20) & 0xFFFF) + (count - 1) * 40;
    let (address, start) = (word(last + 12), word(last + 20));
    let mut rows = bytes.to_vec();
    rows.resize(bytes.len().next_multiple_of(4), 0);
    let rva = (address + rows.len() - start) as u32;
    let mut whole = set_cell(&rows, ecma335::Table::MethodDef, rid, "rva", rva);
    let mut out = Vec::new();
    body.write(&mut out);
    whole.extend(out);
    let size = ((whole.len() - start) as u32).to_le_bytes();
    whole[last + 8..last + 12].copy_from_slice(&size);
    whole[last + 16..last + 20].copy_from_slice(&size);
    whole
}

fn broken(bytes: &[u8]) -> BTreeSet<&'static str> {
    let report = verify_bytes(bytes, &PEDANTIC).expect("it can be read");
    report.findings.iter().map(|finding| finding.rule.number).collect()
}

/// Returns the place of a method's IL in the file.
fn il(bytes: &[u8], rid: u32) -> (usize, usize) {
    with_body(bytes, rid, |body| (body.il_offset.0 as usize, body.il.len()))
}

/// Returns the first method with one catch clause, and the offset of the short `leave` from its block.
fn with_clauses(bytes: &[u8]) -> (u32, usize) {
    let image = Image::parse(bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let leave = |body: &MethodBody<'_>| {
        let clause = body.clauses.first().filter(|clause| matches!(clause.kind, ClauseKind::Catch(_)))?;
        let mut leaves = body.instructions().flatten().filter(|each| each.opcode() == OpCode::LeaveS);
        leaves
            .find(|each| each.offset < clause.handler_offset && each.offset >= clause.try_offset)
            .map(|each| each.offset as usize)
    };
    let methods = 1..=metadata.tables.count(ecma335::Table::MethodDef);
    let found = methods.filter_map(|rid| Some((rid, with_body(bytes, rid, |body| leave(body))?))).next();
    found.expect("there is one")
}

fn with_body<T>(bytes: &[u8], rid: u32, get: impl FnOnce(&MethodBody<'_>) -> T) -> T {
    let image = Image::parse(bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let row: MethodDef = metadata.row(Rid::new(rid)).expect("it is there");
    let body = if row.rva == 0 { Ok(tiny()) } else { image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse) };
    get(&body.expect("it can be read"))
}
