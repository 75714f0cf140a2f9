//! `verify`: its rules find damage of each kind, real assemblies have no errors, and the number of threads changes no result.

mod bodies;
mod cases;
mod corpus;
mod damage;
mod faults;
mod pedump;
mod programs;
mod several;

use std::{
    fs,
    path::{Path, PathBuf},
};

use ecma335::{Image, Metadata};
use tests::{require, root, sample};
use verify::{Library, Options, RULES, Report, Scope};

/// All findings, without a limit for each rule.
const PEDANTIC: Options = Options { pedantic: true, limit: usize::MAX, every: false };

/// Checks bytes; returns `None` if they are no assembly at all.
fn verify_bytes(bytes: &[u8], options: &Options) -> Option<Report> {
    let image = Image::parse(bytes).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    Some(verify::verify(&image, &metadata, options))
}

/// Checks bytes with types, in a library where the assembly itself satisfies every reference.
fn verify_bytes_alone(bytes: &[u8], options: &Options) -> Option<Report> {
    let image = Image::parse(bytes).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    let mut library = Library::new();
    let names = Library::references(&metadata);
    let module = library.add(metadata);
    names.keys().for_each(|name| library.link(module, name, module));
    Some(verify::verify_types(&image, options, Scope { library: &library, module }))
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every rule of the table is used by a check.
#[test]
fn every_rule_is_checked() {
    let sources = sources(&root().join("crates/verify"));
    let unused: Vec<_> = RULES.iter().filter(|rule| !sources.contains(&format!("rule!(\"{}\")", rule.number))).collect();
    assert!(unused.is_empty(), "{unused:#?}");
}

/// Returns all Rust sources below a folder.
fn sources(folder: &Path) -> String {
    let paths = fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path());
    let texts = paths.filter_map(|path| match path.extension() {
        _ if path.is_dir() => Some(sources(&path)),
        Some(extension) if extension == "rs" => Some(fs::read_to_string(path).expect("it is text")),
        _ => None,
    });
    texts.collect()
}

/// Any number of threads gives the same findings in the same order, and the same number omitted by the limit.
#[test]
fn threads_do_not_show_in_the_report() {
    check_threads(&["orders/orders.exe", "modern/modern.dll", "odd/odd.exe"].map(sample_file));
}

#[test]
#[ignore = "needs Mono"]
fn threads_do_not_show_in_the_report_of_a_large_file() {
    let Some(mono) = require("ILINST_MONO_LIB") else { return };
    check_threads(&[mono.join("4.5/mscorlib.dll")]);
}

fn check_threads(files: &[PathBuf]) {
    for file in files {
        let bytes = read(file);
        for limit in [3, usize::MAX] {
            let options = Options { limit, ..PEDANTIC };
            let with = |threads: usize| pool(threads).install(|| verify_bytes(&bytes, &options));
            assert!(with(1) == with(2) && with(1) == with(7), "{}", file.display());
            let with = |threads: usize| pool(threads).install(|| verify_bytes_alone(&bytes, &options));
            assert!(with(1) == with(2) && with(1) == with(7), "{} with types", file.display());
        }
    }
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made")
}

fn sample_file(name: &str) -> PathBuf {
    let (folder, file) = name.split_once('/').expect("a folder and a file");
    sample(folder).join(file)
}

#[test]
fn samples_have_no_errors() {
    for name in ["hello/hello.exe", "orders/orders.exe", "endings/endings.exe", "shapes/shapes.exe", "modern/modern.dll"] {
        let report = verify_bytes(&read(&sample_file(name)), &Options::default()).expect("it is an assembly");
        // A method is runtime-async only after a test has set its flag.
        let errors: Vec<_> = report.findings.iter().filter(|finding| !finding.member.contains("RuntimeAsync")).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}
