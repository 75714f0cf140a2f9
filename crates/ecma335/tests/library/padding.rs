//! The unreferenced bytes that an image may contain and still get a new layout.

use std::{fs, ops::Range, path::Path};

use ecma335::{
    Image, ImageWriter, Metadata, MethodBody, Rva,
    schema::MethodDef,
    writer::{Obstacle, Obstacle::UnaccountedBytes},
};

fn obstacle(bytes: &[u8]) -> Option<Obstacle> {
    let image = Image::parse(bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    ImageWriter::new(&image, &metadata, false).obstacle()
}

/// The bodies of an image in file order, and whether each is fat.
fn bodies(bytes: &[u8]) -> Vec<(Range<usize>, bool)> {
    let image = Image::parse(bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let body = |row: MethodDef| {
        let start = image.offset_of(Rva(row.rva)).expect("it is in the file").0 as usize;
        let size = MethodBody::measure(image.cursor_at(Rva(row.rva)).expect("it is in the file")).expect("it can be read");
        (start..start + size, bytes[start] & 3 == 3)
    };
    let mut bodies: Vec<_> =
        metadata.tables.rows().map(|(_, row)| row).filter(|row: &MethodDef| row.rva != 0).map(body).collect();
    bodies.sort_by_key(|(range, _)| range.start);
    bodies
}

/// Mono.Cecil aligns fat bodies, and leaves the remains of its buffer in the gaps.
#[test]
fn stale_bytes_that_align_a_fat_body_are_padding() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/orders/bin/orders.exe");
    let original = fs::read(path).expect("it is committed");
    let bodies = bodies(&original);
    let gaps = || bodies.windows(2).map(|pair| (pair[0].0.end..pair[1].0.start, pair[1].1)).filter(|(gap, _)| !gap.is_empty());
    let sizes = |size: usize| gaps().filter(|(gap, is_fat)| *is_fat && gap.len() == size).count();
    assert!([1, 2, 3].map(sizes).iter().all(|count| *count > 0), "each size is there");

    let mut stale = original.clone();
    gaps().filter(|(_, is_fat)| *is_fat).for_each(|(gap, _)| stale[gap].fill(0x2A));
    assert_eq!(obstacle(&stale), None);
}

/// The method before a fat one no longer has a body, so nothing refers to its bytes.
#[test]
fn a_body_that_nothing_refers_to_is_none() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/orders/bin/orders.exe");
    let original = fs::read(path).expect("it is committed");
    assert_eq!(obstacle(&original), None);
    let (body, rva) = {
        let image = Image::parse(&original).expect("it is an assembly");
        let bodies = bodies(&original);
        let tiny = bodies.windows(2).find(|pair| !pair[0].1 && pair[1].1 && pair[0].0.len() >= 4).expect("one before a fat one");
        let body = tiny[0].0.clone();
        let section = image.sections().iter().find(|section| (section.raw_offset as usize..).contains(&body.start));
        let section = section.expect("it is in one");
        (body.clone(), section.virtual_address.0 + (body.start - section.raw_offset as usize) as u32)
    };
    let mut orphaned = original.clone();
    let at = (0..original.len() - 4).filter(|at| original[*at..*at + 4] == rva.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(at.len(), 1, "its row alone says where {body:?} is");
    orphaned[at[0]..at[0] + 4].fill(0);
    assert_eq!(obstacle(&orphaned), Some(UnaccountedBytes));
}
