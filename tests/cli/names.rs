//! Files whose full names are far longer than the files: types nested a thousand levels deep or in a cycle, long names and
//! signatures shared by thousands of rows. Each command ends, within a limit of memory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use ecma335::{
    Image, ImageWriter, Metadata, MetadataBuilder, Rid, Segments, Table, Token,
    schema::{MethodDef, NestedClass, ResolutionScope, TypeDef, TypeDefOrRef, TypeRef},
};
use tests::{first_in_tier, ilinst, in_parallel, sample, scratch};

/// The limit of memory in KiB. Reading a sample takes a tenth of it; most is address space of threads.
const MEMORY: &str = "700000";
/// The limit of CPU time in seconds: only an endless run reaches it.
const TIME: &str = "120";

/// The additions to the sample.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    types: u32,
    /// The distance between the row of each type and that of its enclosing type.
    nesting: Option<i64>,
    name_length: usize,
    /// The number of parameters of each method; all have these types.
    params: usize,
}

const SHAPES: &[Shape] = &[
    Shape { name: "deep", types: 2_400, nesting: Some(1), name_length: 1, params: 1 },
    Shape { name: "deeper", types: 4_000, nesting: Some(1), name_length: 30, params: 1 },
    Shape { name: "inside-out", types: 2_400, nesting: Some(-1), name_length: 500, params: 1 },
    Shape { name: "ring", types: 1_000, nesting: Some(999), name_length: 200, params: 0 },
    Shape { name: "long", types: 3_000, nesting: None, name_length: 60_000, params: 1 },
    Shape { name: "long-and-deep", types: 3_000, nesting: Some(1), name_length: 20_000, params: 1 },
    Shape { name: "signatures", types: 300, nesting: Some(1), name_length: 900, params: 1_000 },
];

/// The options of each command; the first ones print or read the most.
type Options = &'static [&'static [&'static str]];
const LISTS: Options = &[
    &["--methods", "--json"],
    &["--refs", "-v"],
    &["--methods"],
    &["--attributes", "--strings"],
    &["--include", "*nn::*"],
    &[],
    &["--json"],
    &["--sort", "name"],
];
const LISTINGS: Options = &[&["--tokens", "--offsets"], &["--type", "*n"], &[], &["--method", "n*"]];
const COMPARISONS: Options = &[&["--json"], &["--stat"], &[], &["--ignore-scopes"]];
const CHECKS: Options = &[&["--types", "--pedantic"], &["--json", "--limit", "0"], &["--pedantic"]];
const WEAVINGS: Options = &[&["-v", "--json"], &["--include", "*nn::n"], &["-v"], &["--leave", "return"]];

/// Returns the options that this tier tries.
fn of_tier(options: Options) -> Options {
    first_in_tier(options, 1)
}

/// Returns a program with the additions, which instrumenting has to read.
fn crafted(shape: &Shape) -> Vec<u8> {
    let file = fs::read(sample("hello").join("hello.exe")).expect("the sample is there");
    let image = Image::parse(&file).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it is managed")).expect("it can be read");
    let mut builder = MetadataBuilder::new(&metadata);
    let next = |table| metadata.tables.count(table) + 1;
    let first = next(Table::TypeDef);
    let name = builder.string(&"n".repeat(shape.name_length)).expect("room");
    let namespace = builder.string(&"s".repeat(shape.name_length / 2)).expect("room");
    let rva = metadata.tables.rows::<MethodDef>().map(|(_, row)| row.rva).find(|rva| *rva != 0).expect("a body");
    let mut signature = vec![0];
    ecma335::cursor::put_compressed_u32(&mut signature, shape.params as u32);
    signature.push(1);
    for param in 0..shape.params as u32 {
        signature.push(0x12);
        // Types and references alternate.
        let rid = if param % 2 == 0 { (first + param % shape.types) << 2 } else { next(Table::TypeRef) << 2 | 1 };
        ecma335::cursor::put_compressed_u32(&mut signature, rid);
    }
    let signature = builder.blob(&signature).expect("room");
    for number in 0..shape.types {
        let type_ref = TypeRef { resolution_scope: scope(next(Table::TypeRef), number, shape), name, namespace };
        builder.add(&type_ref).expect("room");
        let (field_list, method_list) = (Rid::new(next(Table::Field)), Rid::new(next(Table::MethodDef) + number));
        builder
            .add(&TypeDef { flags: 2, name, namespace, extends: TypeDefOrRef::default(), field_list, method_list })
            .expect("room");
        let param_list = Rid::new(next(Table::Param));
        builder.add(&MethodDef { rva, impl_flags: 0, flags: 0x16, name, signature, param_list }).expect("room");
    }
    for number in 0..shape.types {
        let Some(step) = shape.nesting else { continue };
        let enclosing = (i64::from(number) - step).rem_euclid(i64::from(shape.types)) as u32;
        if shape.name == "ring" || enclosing.abs_diff(number) == 1 {
            let row = NestedClass { nested_class: Rid::new(first + number), enclosing_class: Rid::new(first + enclosing) };
            builder.insert(&row).expect("room");
        }
    }
    let writer = ImageWriter::new(&image, &metadata, true);
    let file = writer.finish(Segments::default(), builder).expect("it can be written");
    file.into_segments().to_vec()
}

/// Returns the scope of a reference: references are nested as types are.
fn scope(first: u32, number: u32, shape: &Shape) -> ResolutionScope {
    let token = match shape.nesting {
        Some(_) if number > 0 => Token::new(Table::TypeRef, first + number - 1),
        Some(_) if shape.name == "ring" => Token::new(Table::TypeRef, first + shape.types - 1),
        _ => Token::new(Table::AssemblyRef, 1),
    };
    ResolutionScope::new(token).expect("it can be one")
}

/// Runs the tool with little memory; its output is counted and discarded.
fn run(arguments: &[&str], files: &[&Path]) {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {MEMORY}; ulimit -t {TIME}; exec \"$@\" > /dev/null");
    command.args(["-c", &script, "sh"]).arg(ilinst().get_program()).args(arguments).args(files);
    let output = command.env("RUST_BACKTRACE", "0").stdin(Stdio::null()).output().expect("sh starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors: String = errors.chars().take(400).collect();
    assert!(matches!(output.status.code(), Some(0..=3)), "{arguments:?} {files:?}: {:?} {errors}", output.status);
}

#[test]
fn names_are_no_larger_than_they_have_to_be() {
    let folder = scratch("cli-names");
    let hello = sample("hello").join("hello.exe");
    in_parallel(SHAPES, |_, shape| {
        let file: PathBuf = folder.join(shape.name).with_extension("exe");
        fs::write(&file, crafted(shape)).expect("it can be written");
        for options in of_tier(LISTS) {
            run(&[&["list"], *options].concat(), &[&file]);
        }
        for options in of_tier(LISTINGS) {
            run(&[&["dis"], *options].concat(), &[&file]);
        }
        for options in of_tier(COMPARISONS) {
            run(&[&["diff"], *options].concat(), &[&hello, &file]);
            run(&[&["diff"], *options].concat(), &[&file, &file]);
        }
        for options in of_tier(CHECKS) {
            run(&[&["verify"], *options].concat(), &[&file]);
        }
        run(&["verify", "--compare", hello.to_str().expect("it is text")], &[&file]);
        let woven = folder.join("woven").join(shape.name).with_extension("exe");
        let output = woven.to_str().expect("it is text");
        for options in of_tier(WEAVINGS) {
            run(&[&["instrument", "-o", output], *options].concat(), &[&file]);
        }
        if woven.is_file() {
            run(&["diff", "--only-probes"], &[&file, &woven]);
            run(&["list"], &[&woven]);
        }
    });
}
