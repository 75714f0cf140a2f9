//! Weaving undone gives the original back, and a woven body with another bit is not what weaving makes.

use std::{fs, path::Path};

use ecma335::{Cursor, FileOffset, Image, Metadata, MethodBody, Rid, Rva, schema::MethodDef};
use weave::{
    LeaveMode, Options, Shape, Tracker, Weave,
    tracker::TrackerRows,
    unweave::{self, Audit, Unweaver},
};

const SAMPLES: &[&str] = &["samples/hello/bin/hello.exe", "samples/orders/bin/orders.exe", "samples/shapes/bin/shapes.exe"];

fn read(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).expect("it is committed")
}

fn parse(bytes: &[u8]) -> (Image<'_>, Metadata<'_>) {
    let image = Image::parse(bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    (image, metadata)
}

/// A woven method: its row, the original's body, its own bytes.
type Method<'b> = (Rid<MethodDef>, MethodBody<'b>, &'b [u8]);

/// Weaves a sample and does something with what says that it is woven, and with its woven methods.
fn with_woven(sample: &str, leave: LeaveMode, work: impl FnOnce(&Metadata<'_>, &mut Audit<'_, '_>, &TrackerRows, &[Method<'_>])) {
    let tracker = Tracker::read(&read("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is an assembly");
    let bytes = read(sample);
    let (image, metadata) = parse(&bytes);
    let options = Options { leave, ..Options::default() };
    let how = Weave { options: &options, tool: "tool", ..Weave::new(&tracker) };
    let woven = weave::weave(&image, &metadata, &how).expect("it can be woven");
    let file = woven.file.to_vec();
    let (_, new) = parse(&file);
    let rows = unweave::rows(&tracker, &new).expect("it is woven");
    let mut audit = Audit::new((&image, &metadata), &new, &rows).expect("it is woven of this one");
    assert_eq!(audit.mvid(), new.mvid().ok(), "{sample}");
    let original = |rid: Rid<MethodDef>| {
        let row = metadata.row(rid).expect("it is there");
        MethodBody::parse(image.cursor_at(Rva(row.rva)).expect("it has a body")).expect("it can be read")
    };
    let methods: Vec<Method<'_>> = woven.bodies.iter().map(|(rid, range)| (*rid, original(*rid), &file[range.clone()])).collect();
    assert!(!methods.is_empty(), "{sample}");
    work(&new, &mut audit, &rows, &methods);
}

fn body(bytes: &[u8]) -> Result<MethodBody<'_>, ecma335::Error> {
    MethodBody::parse(Cursor::new(bytes, FileOffset(0)))
}

#[test]
fn what_was_woven_is_unwoven() {
    for (sample, mode) in SAMPLES.iter().flat_map(|sample| [(sample, LeaveMode::Finally), (sample, LeaveMode::Return)]) {
        with_woven(sample, mode, |metadata, audit, rows, methods| {
            let (mut unweaver, mut shapes) = (Unweaver::default(), [0, 0]);
            for (rid, original, bytes) in methods {
                let woven = body(bytes).expect("it can be read");
                let unwoven = unweaver.unweave(metadata, rows, *rid, &woven, Some(original));
                let unwoven = unwoven.unwrap_or_else(|| panic!("{sample} {mode:?} {rid:?} is not recognised"));
                assert_eq!(unwoven.il, original.il, "{sample} {mode:?} {rid:?}");
                assert_eq!(unwoven.clauses, original.clauses, "{sample} {mode:?} {rid:?}");
                assert!(audit.is_exact(*rid, unwoven.shape, bytes), "{sample} {mode:?} {rid:?}");
                // Without the original the shape is seen all the same.
                let alone = unweaver.unweave(metadata, rows, *rid, &woven, None).expect("it is recognised");
                assert_eq!((alone.shape, alone.locals), (unwoven.shape, unwoven.locals));
                shapes[usize::from(unwoven.shape == Shape::Return)] += 1;
                // The original itself is not woven.
                assert_eq!(unweaver.unweave(metadata, rows, *rid, original, None), None);
            }
            assert_eq!(audit.other_rows(), [], "{sample} {mode:?}");
            assert!(shapes[1] > 0 || mode == LeaveMode::Finally, "{shapes:?}");
        });
    }
}

#[test]
fn another_bit_is_not_what_weaving_makes() {
    let (mut unrecognised, mut inexact) = (0, 0);
    for (sample, mode) in SAMPLES.iter().flat_map(|sample| [(sample, LeaveMode::Finally), (sample, LeaveMode::Return)]) {
        with_woven(sample, mode, |metadata, audit, rows, methods| {
            let mut unweaver = Unweaver::default();
            for (rid, original, bytes) in methods {
                for bit in 0..bytes.len() * 8 {
                    let mut changed = bytes.to_vec();
                    changed[bit / 8] ^= 1 << (bit % 8);
                    let woven = body(&changed).ok();
                    let unwoven = woven.and_then(|woven| unweaver.unweave(metadata, rows, *rid, &woven, Some(original)));
                    match unwoven {
                        None => unrecognised += 1,
                        Some(unwoven) => {
                            assert!(!audit.is_exact(*rid, unwoven.shape, &changed), "{sample} {mode:?} {rid:?} bit {bit}");
                            inexact += 1;
                        }
                    }
                }
            }
        });
    }
    println!("{unrecognised} bodies were not recognised, {inexact} are not to the byte");
    assert!(unrecognised > 0 && inexact > 0);
}
