//! Past findings, reduced: a sample, and one cell of it with another value.

use std::fs;

use ecma335::Table::{self, ImportScope, Module, TypeDef};
use fuzz_harness::{Outcome, Target};
use tests::{ABOVE, root, set_cell};

const ODD: &str = "samples/odd/bin/odd.exe";
const ORDERS: &str = "samples/orders/bin/orders.exe";
const SHAPES: &str = "samples/shapes/bin/shapes.exe";

/// A file, a cell of it, its value, and the result of instrumenting it.
#[rustfmt::skip]
const FOUND: &[(&str, Table, u32, &str, u32, &str)] = &[
    (ODD, Module, 1, "mvid", 0, "the output check missed the new MVID of a module that has none"),
    (SHAPES, Module, 1, "generation", 0, "the first custom attribute of a module was in a table that did not say it is sorted"),
    (ORDERS, TypeDef, 3, "extends", ABOVE, "that locals are of a class, and not of a value type, was taken for new"),
];

#[test]
fn what_was_found_once_holds() {
    for (file, table, row, column, value, what) in FOUND {
        let bytes = set_cell(&fs::read(root().join(file)).expect("it is committed"), *table, *row, column, *value);
        for variant in 0..4 {
            let outcome = Target::Weave.check(&bytes, variant, None);
            assert_eq!(outcome, Ok(Outcome::Accepted), "{file}, {table} {row} {column} = {value:#x}: {what}");
        }
    }
}

/// A body that is neither tiny nor fat, with row 7 as its locals, which only the instrumented module has. It is skipped; the
/// check of skipped bodies once reported that row as changed.
#[test]
fn a_body_of_no_form_is_left_alone() {
    let body = [&[0x11, 0x30, 2, 0, 4, 0, 0, 0, 7, 0, 0, 0x11][..], &[0, 0, 0, 0x2A]].concat();
    for variant in 0..16 {
        assert_eq!(Target::Body.check(&body, variant, None), Ok(Outcome::Accepted), "variant {variant}");
    }
}

/// Scopes that contain themselves and import nothing: `diff` once followed them for ever.
#[test]
fn imports_around_themselves_come_to_an_end() {
    let pdb = fs::read(root().join("samples/orders/bin/orders.pdb")).expect("it is committed");
    let pdb = set_cell(&pdb, ImportScope, 1, "parent", 1);
    assert_eq!(Target::Pdb.check(&pdb, 0, None), Ok(Outcome::Accepted));
}

/// A list of methods that begins behind the end: the list of the type that holds counters of lines would begin before it.
#[test]
fn counters_of_lines_need_lists_in_order() {
    let read = |path: &str| fs::read(root().join(path)).expect("it is committed");
    let (bytes, pdb) = (read(ORDERS), read("samples/orders/bin/orders.pdb"));
    let (_, metadata) = ecma335::open(&bytes).expect("it is an assembly");
    let [types, methods] = [TypeDef, Table::MethodDef].map(|table| metadata.tables.count(table));
    let late = set_cell(&bytes, TypeDef, types, "method_list", methods + 9);
    for variant in 0..16 {
        let outcome = Target::Weave.check(&late, variant, Some(&pdb));
        assert!(outcome.is_ok(), "variant {variant}: {outcome:?}");
    }
}
