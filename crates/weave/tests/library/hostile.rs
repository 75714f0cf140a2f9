//! Tests with malformed files. No number in them causes an allocation much larger than the file, and no arithmetic wraps.
//! Each written file passes the output check. These tests are built with overflow checks.

use std::{fs, path::Path};

use little_endian::{ByteOrder, LE};

use ecma335::{
    Image, ImageWriter, Metadata, MetadataBuilder, MethodBody, OutputFile, Rid, Segments, Table, Token,
    body::{Clause, ClauseKind},
    image::DirectoryKind,
    schema::{MethodDef, TypeDef},
};
use weave::{LeaveMode, Options, Reason, Tracker, Weave, Woven, WovenBodies, output_check};

fn read(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).expect("it is committed")
}

fn tracker() -> Tracker {
    Tracker::read(&read("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is an assembly")
}

/// Weaves a file and reads the result. `None` if the file is refused.
fn weave(file: &[u8], options: &Options) -> Option<(usize, Vec<Result<weave::Shape, Reason>>)> {
    let tracker = tracker();
    let image = Image::parse(file).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    let woven: Woven<'_> = weave::weave(&image, &metadata, &Weave { options, ..Weave::new(&tracker) }).ok()?;
    let length = woven.file.len();
    assert!(length <= 64 * file.len(), "{length} bytes of {}", file.len());
    if !woven.bodies.is_empty() {
        let fault = output_check::check(&woven.file.to_vec(), &woven, (&image, &metadata)).err();
        assert_eq!(fault.map(|fault| fault.what), None);
    }
    Some((length, woven.methods))
}

fn in_both_layouts(file: &[u8]) -> [Option<usize>; 2] {
    [false, true].map(|keep_layout| {
        let options = Options { keep_layout, leave: LeaveMode::Finally, ..Options::default() };
        weave(file, &options).map(|(length, _)| length)
    })
}

/// The offsets of numbers in a file's headers: PE, CLI, metadata root and table stream, debug directory.
fn header_numbers(file: &[u8]) -> Vec<usize> {
    let image = Image::parse(file).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let pe = LE::read_u32(&file[0x3C..]) as usize;
    let section_table_end = pe + 24 + usize::from(file[pe + 20]) + image.sections().len() * 40;
    let cli = image.cli_header_offset().0 as usize;
    let root = metadata.root.offset().0 as usize;
    let tables = metadata.tables.offset::<ecma335::schema::Module>(Rid::new(1)).0 as usize;
    let debug = image.directory(DirectoryKind::Debug);
    let debug_at = image.offset_of(debug.rva).map_or(0, |offset| offset.0 as usize);
    let methods = (1..=metadata.tables.count(Table::MethodDef)).map(|rid| metadata.tables.offset(Rid::<MethodDef>::new(rid)).0);
    let ranges =
        [0x3C..0x40, pe + 4..section_table_end, cli..cli + 72, root + 12..tables, debug_at..debug_at + debug.size as usize];
    ranges.into_iter().flat_map(|range| range.step_by(4)).chain(methods.map(|at| at as usize)).collect()
}

#[test]
fn no_number_of_a_header_makes_a_large_file_or_a_faulty_one() {
    const NUMBERS: [u32; 11] =
        [0, 1, 0x60, 0x1_0001, 0x1FFF_FFFF, 0x7000_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_C000, 0xFFFF_FFF0, u32::MAX];
    for path in ["shapes/bin/shapes.exe", "hello/bin/hello.exe", "orders/bin/orders.exe", "traces/bin/embedded.exe"] {
        let path = &format!("samples/{path}");
        let original = read(path);
        assert!(in_both_layouts(&original).iter().all(Option::is_some), "{path}");
        for at in header_numbers(&original) {
            for number in NUMBERS {
                let mut file = original.clone();
                LE::write_u32(&mut file[at..], number);
                println!("{path}: {number:#x} at {at:#x}");
                in_both_layouts(&file);
            }
        }
    }
}

#[test]
fn sections_are_aligned_as_loaders_want_them_or_the_file_is_refused() {
    let original = read("samples/hello/bin/hello.exe");
    let optional = LE::read_u32(&original[0x3C..]) as usize + 24;
    for (section, file, is_woven) in [
        (0x2000_u32, 0x200_u32, true),
        (0x2000, 0x1000, true),
        (0x1000, 0x1000, true),
        (0x2000, 0x10, true),
        (0x2000, 0, false),
        (0x2000, 0x300, false),
        (0x2_0000, 0x2_0000, false),
        (0x1000, 0x2000, false),
        (0x3000, 0x200, false),
        (0x2000, 0x7000_0000, false),
    ] {
        let mut bytes = original.clone();
        LE::write_u32(&mut bytes[optional + 32..], section);
        LE::write_u32(&mut bytes[optional + 36..], file);
        let [anew, kept] = in_both_layouts(&bytes);
        assert_eq!((anew.is_some(), kept.is_some()), (true, is_woven), "{section:#x}, {file:#x}");
        // Listing does not lay out the image.
        let image = Image::parse(&bytes).expect("it is an assembly");
        let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
        let (tracker, options) = (tracker(), Options { keep_layout: true, all: true, ..Options::default() });
        let weaving = Weave { options: &options, ..Weave::new(&tracker) };
        let methods = WovenBodies::new(&image, &metadata, &weaving).expect("it can be woven").into_decisions();
        assert_eq!(methods.iter().filter(|method| method.outcome.is_ok()).count(), 19);
    }
}

/// `hello.exe` with more methods, which all have the same body.
fn with_shared_body(body: &MethodBody<'_>, count: u32) -> Vec<u8> {
    let original = read("samples/hello/bin/hello.exe");
    let image = Image::parse(&original).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let writer = ImageWriter::new(&image, &metadata, true);
    let mut builder = MetadataBuilder::new(&metadata);
    let name = builder.string("Shared").expect("room");
    // `void ()`
    let signature = builder.blob(&[0, 0, 1]).expect("room");
    let param_list = Rid::new(metadata.tables.count(Table::Param) + 1);
    let rva = writer.code_rva().expect("there is room").0;
    for _ in 0..count {
        builder.add(&MethodDef { rva, impl_flags: 0, flags: 0x16, name, signature, param_list }).expect("room");
    }
    let (mut bytes, mut code) = (Vec::new(), Segments::default());
    assert_eq!(body.write_fat(&mut bytes), 0);
    code.push(bytes);
    let file: OutputFile<'_> = writer.finish(code, builder).expect("it can be written");
    file.into_segments().to_vec()
}

fn body(il: &[u8], clauses: Vec<Clause>) -> MethodBody<'_> {
    let (local_var_sig, il_offset) = (Token::default(), ecma335::FileOffset(0));
    MethodBody { is_tiny: false, max_stack: 8, init_locals: false, local_var_sig, il, il_offset, clauses }
}

#[test]
fn methods_that_share_a_large_body_are_left_alone_past_a_limit() {
    let mut il = vec![0; 200_000];
    il.push(0x2A);
    for (size, count, is_limited) in [(200_000, 8_000, true), (200_000, 3, false), (60, 8_000, false)] {
        let file = with_shared_body(&body(&il[il.len() - size..], Vec::new()), count);
        let results = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("there are threads");
            pool.install(|| weave(&file, &Options::default())).expect("it can be woven")
        });
        let left = results[0].1.iter().filter(|method| **method == Err(Reason::SharedBody)).count();
        assert_eq!(left > 0, is_limited, "{size} bytes, {count} methods");
        assert!(left < count as usize, "some are woven");
        assert_eq!(results[0], results[1], "whatever the number of threads");
    }
}

#[test]
fn a_body_of_very_many_clauses_takes_no_time_to_speak_of() {
    const COUNT: u32 = 150_000;
    // `nop; leave.s +1; endfinally` for each clause, and a `ret`.
    let mut il = [0, 0xDE, 1, 0xDC].repeat(COUNT as usize);
    il.push(0x2A);
    let clause = |number: u32| Clause {
        kind: ClauseKind::Finally,
        try_offset: number * 4,
        try_length: 3,
        handler_offset: number * 4 + 3,
        handler_length: 1,
    };
    let file = with_shared_body(&body(&il, (0..COUNT).map(clause).collect()), 1);
    let (_, methods) = weave(&file, &Options::default()).expect("it can be woven");
    assert_eq!(methods.last(), Some(&Ok(weave::Shape::Finally)));
}

#[test]
fn lists_that_go_back_and_forth_belong_to_few() {
    let original = read("samples/hello/bin/hello.exe");
    let image = Image::parse(&original).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let mut builder = MetadataBuilder::new(&metadata);
    let last = metadata.tables.count(Table::MethodDef);
    let template = metadata.row(Rid::<TypeDef>::new(2)).expect("it has types");
    for number in 0..1000 {
        builder.add(&TypeDef { method_list: Rid::new(if number % 2 == 0 { 1 } else { last }), ..template }).expect("room");
    }
    let bytes = builder.finish().expect("it can be written").to_vec();
    let metadata = Metadata::parse(ecma335::Cursor::new(&bytes, ecma335::FileOffset(0))).expect("it can be read");
    let types = (1..=metadata.tables.count(Table::TypeDef)).map(Rid::<TypeDef>::new);
    let members: usize = types.map(|owner| metadata.children::<TypeDef, MethodDef>(owner).count()).sum();
    assert!(members <= 8 * last as usize, "{members} members of {last}");
}

#[test]
fn no_code_is_found_at_address_0() {
    // Without headers in memory, address 0 would be a dangling one. It means no address at all.
    let mut file = read("samples/hello/bin/hello.exe");
    let image = Image::parse(&file).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let bodiless = metadata.tables.rows::<MethodDef>().next().map(|(rid, _)| metadata.tables.offset(rid).0 as usize);
    let at = bodiless.expect("it has methods");
    LE::write_u32(&mut file[at..], 0);
    let optional = LE::read_u32(&file[0x3C..]) as usize + 24;
    file[optional + 60..optional + 64].fill(0);
    assert!(in_both_layouts(&file).iter().all(Option::is_some));
}
