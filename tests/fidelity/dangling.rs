//! Dangling references dangle after instrumenting, too, although rows and heap items are added at their targets. Otherwise the
//! file is refused.

use std::{collections::BTreeMap, fs};

use ecma335::{
    Image, Metadata, MethodBody, Rva, Table, Token,
    element::ElementType,
    schema::{CodedIndex, ColumnKind, MethodDef, TypeDefOrRef},
};
use fuzz_harness::{Outcome, Target};
use tests::sample;
use weave::{Refusal, Tracker, Weave};

/// A change: description, offset in the file, new bytes.
type Change = (String, usize, Vec<u8>);

/// The tables that instrumenting appends to, with the least number of rows added.
const GROWING: [(Table, u32); 4] =
    [(Table::TypeRef, 2), (Table::MemberRef, 4), (Table::AssemblyRef, 1), (Table::StandAloneSig, 1)];

/// Outside the full tier, every n-th change is tried.
const EVERY: usize = if tests::is_full() { 1 } else { 3 };

#[test]
fn what_leads_nowhere_stays_so() {
    for (name, file) in [("orders", "orders.exe"), ("modern", "modern.dll"), ("endings", "endings.exe")] {
        let bytes = fs::read(sample(name).join(file)).expect("it is committed");
        let image = Image::parse(&bytes).expect("it is an assembly");
        let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
        let mut changes = cells(&metadata);
        changes.extend(heap_ends(&metadata));
        changes.extend(signatures(&metadata));
        changes.extend(bodies(&image, &metadata));
        changes.push(("entry point".into(), image.cli_header_offset().0 as usize + 20, token_beyond(&metadata, GROWING[1])));
        let (mut outcomes, mut failures) = (BTreeMap::<&str, usize>::new(), Vec::new());
        for (number, (what, at, with)) in changes.iter().enumerate().step_by(EVERY) {
            let mut changed = bytes.clone();
            changed[*at..at + with.len()].copy_from_slice(with);
            match Target::Weave.check(&changed, number as u64 & 3, None) {
                Ok(Outcome::Accepted) => *outcomes.entry("woven").or_default() += 1,
                Ok(Outcome::LeftAlone) => *outcomes.entry("left alone").or_default() += 1,
                Ok(Outcome::Refused) => {
                    let why = if is_refused_for_that(&changed) { "refused" } else { "unreadable" };
                    *outcomes.entry(why).or_default() += 1;
                }
                Err(why) => failures.push(format!("{what}: {why}")),
            }
        }
        println!("{name}: {outcomes:?}");
        assert!(failures.is_empty(), "{name}: {} of {}:\n{}", failures.len(), changes.len(), failures.join("\n"));
        assert!(outcomes["refused"] > changes.len() / EVERY / 4, "{outcomes:?}");
    }
}

fn is_refused_for_that(bytes: &[u8]) -> bool {
    let Ok(image) = Image::parse(bytes) else { return false };
    let Ok(metadata) = image.metadata().and_then(Metadata::parse) else { return false };
    let tracker = fs::read(tests::root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is committed");
    let tracker = Tracker::read(&tracker).expect("it is an assembly");
    let woven = weave::weave(&image, &metadata, &Weave::new(&tracker));
    woven.is_err_and(|error| matches!(Refusal::from_error(&error), Some(Refusal::Dangling(_))))
}

fn place(file: &Metadata<'_>, part: &[u8]) -> usize {
    // The metadata is a view on the file, and states its offset.
    let root = file.root.rest();
    file.root.offset().0 as usize + (part.as_ptr().addr() - root.as_ptr().addr())
}

/// Returns the token of the last row that a table is sure to gain.
fn token_beyond(metadata: &Metadata<'_>, (table, added): (Table, u32)) -> Vec<u8> {
    Token::new(table, metadata.tables.count(table) + added).0.to_le_bytes().into()
}

/// Sets each column of the first and last row to one past the end of its possible targets.
fn cells(metadata: &Metadata<'_>) -> Vec<Change> {
    let tables = &metadata.tables;
    let coded = |index: &CodedIndex, table: Table| index.encode(Token::new(table, tables.count(table) + 1));
    let mut changes = Vec::new();
    for table in Table::ALL.iter().copied().filter(|table| tables.count(*table) > 0) {
        let count = tables.count(table) as usize;
        let mut at = place(metadata, tables.bytes(table));
        for (column, width) in table.columns().iter().zip(tables.widths().columns(table)) {
            let values: Vec<u32> = match column.kind {
                ColumnKind::Fixed(_) => Vec::new(),
                ColumnKind::Str => (0..4).map(|beyond| metadata.strings.bytes.len() as u32 + beyond).collect(),
                ColumnKind::Blob => (0..4).map(|beyond| metadata.blobs.bytes.len() as u32 + beyond).collect(),
                ColumnKind::Guid => vec![metadata.guids.bytes.len() as u32 / 16 + 1],
                ColumnKind::Rid(of) => vec![tables.count(of) + 1],
                ColumnKind::Coded(index) => index.tables.iter().filter_map(|(_, of)| coded(index, *of)).collect(),
            };
            for row in [0, count - 1] {
                let at = at + row * tables.widths().row_size(table);
                changes.extend(values.iter().filter(|value| *width == 4 || **value <= 0xFFFF).map(|value| {
                    (
                        format!("{table}[{}].{} = {value:#x}", row + 1, column.name),
                        at,
                        value.to_le_bytes()[..usize::from(*width)].into(),
                    )
                }));
            }
            at += usize::from(*width);
        }
    }
    changes
}

/// Makes items extend beyond the end of their heap.
fn heap_ends(metadata: &Metadata<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for heap in [metadata.strings, metadata.blobs, metadata.user_strings] {
        let last = heap.bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        let end = heap.bytes.len() - last - 1;
        changes.push(("a heap that no zero ends".into(), place(metadata, heap.bytes) + last + 1, vec![1; end]));
    }
    // The last blob that a row refers to gets an excessive length.
    let blobs = metadata.tables.rows::<MethodDef>().map(|(_, row)| row.signature.0 as usize);
    let last = blobs.max().expect("there are methods");
    let left = metadata.blobs.bytes.len() - last - 1;
    if let Ok(length @ 0..=0x7A) = u8::try_from(left) {
        for length in length..length + 6 {
            changes.push((format!("a blob of {length} bytes"), place(metadata, metadata.blobs.bytes) + last, vec![length]));
        }
    }
    changes
}

/// Changes types in signatures, which take one byte in small files.
fn signatures(metadata: &Metadata<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let kinds = [ElementType::Class as u8, ElementType::ValueType as u8, ElementType::CModReqd as u8, ElementType::CModOpt as u8];
    let next = Token::new(Table::TypeRef, metadata.tables.count(Table::TypeRef) + 1);
    let next = TypeDefOrRef::new(next).expect("it is a type").0;
    for (at, pair) in metadata.blobs.bytes.windows(2).enumerate() {
        if kinds.contains(&pair[0]) && pair[1] < 0x80 && next < 0x80 {
            changes.push((
                format!("a type in #Blob at {at:#x}"),
                place(metadata, metadata.blobs.bytes) + at + 1,
                vec![next as u8],
            ));
        }
    }
    changes
}

/// Changes tokens in headers, instructions and clauses.
fn bodies(image: &Image<'_>, metadata: &Metadata<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (rid, method) in metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.has_il_body()) {
        let Ok(cursor) = image.cursor_at(Rva(method.rva)) else { continue };
        let Ok(body) = MethodBody::parse(cursor) else { continue };
        if !body.is_tiny {
            let at = cursor.offset().0 as usize + MethodBody::LOCAL_VAR_SIG_AT;
            changes.push((format!("locals of {rid:?}"), at, token_beyond(metadata, GROWING[3])));
        }
        let mut known = Vec::new();
        for instruction in body.instructions().map_while(Result::ok).filter(|instruction| instruction.info.operand.is_token()) {
            if known.contains(&instruction.info.operand) {
                continue;
            }
            known.push(instruction.info.operand);
            let at = (body.il_offset.0 as usize) + (instruction.offset + u32::from(instruction.info.size)) as usize;
            for target in GROWING {
                let what = format!("{} in {rid:?} to a {}", instruction.info.name, target.0);
                changes.push((what, at, token_beyond(metadata, target)));
            }
            let beyond = u32::from(Token::USER_STRING) << 24 | metadata.user_strings.bytes.len() as u32;
            changes.push((format!("{} in {rid:?} to a string", instruction.info.name), at, beyond.to_le_bytes().into()));
        }
    }
    changes
}
