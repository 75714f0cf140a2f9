//! Damaged cells: one number in a table of a real file is changed, and one rule must report it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use ecma335::Table;
use tests::{ABOVE, require, root, set_cell};

use crate::{PEDANTIC, read, verify_bytes};

/// A file, a table, a row, a column, its new value, and the broken rule.
type Case = (&'static str, Table, u32, &'static str, u32, &'static str);

const HELLO: &str = "samples/hello/bin/hello.exe";
const ORDERS: &str = "samples/orders/bin/orders.exe";
const MODERN: &str = "samples/modern/bin/modern.dll";
const TRACKER: &str = "tracker-runtime/bin/Ilinst.Tracker.dll";
/// Mono's.
const MSCORLIB: &str = "mscorlib";

/// The row of an enumeration in orders.exe.
const ORDERS_STATUS: u32 = 4;

#[rustfmt::skip]
const CASES: &[Case] = &[
    (HELLO, Table::Module, 1, "name", 0, "II.22.30-2"),
    (HELLO, Table::Module, 1, "mvid", 0, "II.22.30-3"),
    (HELLO, Table::Module, 1, "mvid", 99, "II.24.2.5-b"),
    (HELLO, Table::Module, 1, "generation", 1, "II.22.30-a"),
    (HELLO, Table::TypeRef, 1, "name", 0, "II.22.38-2"),
    (HELLO, Table::TypeRef, 1, "name", 0xFFFF, "II.24.2.3-c"),
    (HELLO, Table::TypeRef, 1, "resolution_scope", 0, "II.22.38-1a"),
    (HELLO, Table::TypeRef, 1, "resolution_scope", 1 << 2 | 3, "II.22.38-1b"),
    (HELLO, Table::TypeRef, 1, "resolution_scope", 1 << 2, "II.22.38-1d"),
    (HELLO, Table::TypeRef, 1, "resolution_scope", 99 << 2 | 2, "II.22-b"),
    (HELLO, Table::TypeDef, 2, "flags", 0x8000_0000, "II.22.37-2a"),
    (HELLO, Table::TypeDef, 2, "flags", 0x0010_0198, "II.22.37-2b"),
    (HELLO, Table::TypeDef, 2, "flags", 0x0014_0180, "II.22.37-2d"),
    (HELLO, Table::TypeDef, 2, "flags", 0x0010_0182, "II.22.37-34"),
    (HELLO, Table::TypeDef, 2, "flags", 0xA1, "II.22.37-13"),
    (HELLO, Table::TypeDef, 2, "flags", 0x21, "II.22.37-23"),
    (HELLO, Table::TypeDef, 2, "flags", 0x1A1, "II.22.37-27"),
    (HELLO, Table::TypeDef, 2, "flags", 0xA1, "II.22.37-28"),
    (HELLO, Table::TypeDef, 2, "name", 0, "II.22.37-3"),
    (HELLO, Table::TypeDef, 2, "extends", 0, "II.22.37-8"),
    (HELLO, Table::TypeDef, 2, "extends", 77 << 2 | 1, "II.22.37-11"),
    (HELLO, Table::TypeDef, 3, "extends", 2 << 2, "II.22.37-11"),
    (HELLO, Table::TypeDef, 3, "extends", 3 << 2, "II.22.37-12"),
    (HELLO, Table::TypeDef, 2, "extends", 3, "II.22-c"),
    (HELLO, Table::TypeDef, 2, "field_list", 500, "II.22.37-17"),
    (HELLO, Table::TypeDef, 2, "method_list", 500, "II.22.37-21"),
    (HELLO, Table::TypeDef, 1, "method_list", 3, "II.22.26-2"),
    (HELLO, Table::TypeDef, 1, "field_list", 3, "II.22.15-2"),
    (HELLO, Table::Field, 1, "flags", 0x4011, "II.22.15-4"),
    (HELLO, Table::Field, 1, "flags", 0x17, "II.22.15-5"),
    (HELLO, Table::Field, 1, "flags", 0x71, "II.22.15-6"),
    (HELLO, Table::Field, 1, "flags", 0x41, "II.22.15-7"),
    (HELLO, Table::Field, 1, "flags", 0x411, "II.22.15-8"),
    (HELLO, Table::Field, 1, "flags", 0x1011, "II.22.15-9"),
    (HELLO, Table::Field, 1, "flags", 0x8011, "II.22.15-10"),
    (HELLO, Table::Field, 1, "flags", 0x111, "II.22.15-11"),
    (HELLO, Table::Field, 1, "name", 0, "II.22.15-12"),
    (HELLO, Table::Field, 1, "signature", 0, "II.22.15-14"),
    (HELLO, Table::Field, 1, "signature", 0xFFF0, "II.24.2.4-b"),
    (HELLO, Table::MethodDef, 1, "impl_flags", 0x4000, "II.22.26-3"),
    (HELLO, Table::MethodDef, 1, "impl_flags", 0x100, "II.22.26-3/clr"),
    (HELLO, Table::MethodDef, 1, "impl_flags", 2, "II.22.26-34b"),
    (HELLO, Table::MethodDef, 1, "flags", 0x97, "II.22.26-6"),
    (HELLO, Table::MethodDef, 1, "flags", 0xB6, "II.22.26-7a"),
    (HELLO, Table::MethodDef, 1, "flags", 0xD6, "II.22.26-7b"),
    (HELLO, Table::MethodDef, 1, "flags", 0x196, "II.22.26-7c"),
    (HELLO, Table::MethodDef, 1, "flags", 0x4E6, "II.22.26-7d"),
    (HELLO, Table::MethodDef, 1, "flags", 0x24C6, "II.22.26-7e"),
    (HELLO, Table::MethodDef, 1, "flags", 0x890, "II.22.26-7f"),
    (HELLO, Table::MethodDef, 1, "flags", 0x486, "II.22.26-8"),
    (HELLO, Table::MethodDef, 1, "flags", 0x1096, "II.22.26-9"),
    (HELLO, Table::MethodDef, 1, "flags", 0x4096, "II.22.26-10"),
    (HELLO, Table::MethodDef, 1, "flags", 0x1A6, "II.22.26-23"),
    (HELLO, Table::MethodDef, 1, "flags", 0x20C6, "II.22.26-24"),
    (HELLO, Table::MethodDef, 1, "flags", 0x86, "II.22.26-29"),
    (HELLO, Table::MethodDef, 1, "flags", 0x4C6, "II.22.26-34a"),
    (HELLO, Table::MethodDef, 12, "flags", 0x4C6, "II.22.37-22"),
    (HELLO, Table::MethodDef, 1, "flags", 0x2096, "II.22.26-35"),
    (HELLO, Table::MethodDef, 1, "flags", 0x1896, "II.22.26-36"),
    (HELLO, Table::MethodDef, 1, "rva", 0, "II.22.26-33/clr"),
    (HELLO, Table::MethodDef, 12, "rva", 0, "II.22.26-33"),
    (HELLO, Table::MethodDef, 1, "rva", 0x00FF_0000, "II.22.26-34c"),
    (HELLO, Table::MethodDef, 1, "name", 0, "II.22.26-14"),
    (HELLO, Table::MethodDef, 1, "signature", 0, "II.22.26-17"),
    (HELLO, Table::MethodDef, 13, "flags", 0x96, "II.22.26-30"),
    (HELLO, Table::MethodDef, 16, "rva", 0, "II.25.3.3-c"),
    (HELLO, Table::MethodDef, 16, "flags", 0x86, "II.25.3.3-d"),
    (HELLO, Table::MethodDef, 18, "flags", 0x86, "II.22.26-37"),
    (HELLO, Table::MethodDef, 18, "flags", 0x1896, "II.22.26-38b"),
    (HELLO, Table::MethodDef, 18, "flags", 0x18C6, "II.22.26-38c"),
    (HELLO, Table::MethodDef, 17, "flags", 0x1881, "II.22.26-39"),
    (HELLO, Table::MethodDef, 17, "flags", 0x18D1, "II.22.26-39e"),
    (HELLO, Table::Param, 1, "flags", 0x8000, "II.22.33-3"),
    (HELLO, Table::Param, 1, "flags", 0x1000, "II.22.33-6"),
    (HELLO, Table::Param, 1, "flags", 0x2000, "II.22.33-8"),
    (HELLO, Table::Param, 1, "sequence", 9, "II.22.33-4"),
    (HELLO, Table::Param, 3, "sequence", 1, "II.22.33-5"),
    (HELLO, Table::MethodDef, 1, "param_list", 2, "II.22.33-2"),
    (HELLO, Table::MemberRef, 1, "class", 0, "II.22.25-2"),
    (HELLO, Table::MemberRef, 1, "class", 1 << 3 | 3, "II.22.25-1"),
    (HELLO, Table::MemberRef, 1, "class", 7, "II.22-c"),
    (HELLO, Table::MemberRef, 1, "name", 0, "II.22.25-3"),
    (HELLO, Table::MemberRef, 1, "signature", 0, "II.22.25-5"),
    (HELLO, Table::CustomAttribute, 1, "constructor", 1 << 3 | 2, "II.22.10-3"),
    (HELLO, Table::CustomAttribute, 1, "value", 1, "II.22.10-6"),
    (HELLO, Table::CustomAttribute, 1, "parent", 0x7FFF, "II.22-c"),
    (HELLO, Table::CustomAttribute, 1, "parent", 18 << 5, "II.22-a"),
    (HELLO, Table::DeclSecurity, 1, "action", 99, "II.22.11-1"),
    (HELLO, Table::DeclSecurity, 1, "parent", 2 << 2, "II.22.11-4"),
    (HELLO, Table::DeclSecurity, 1, "parent", 1 << 2 | 1, "II.22.11-5"),
    (HELLO, Table::DeclSecurity, 1, "permission_set", 0, "II.22.11-6"),
    (HELLO, Table::DeclSecurity, 1, "permission_set", 1, "II.22.11-7"),
    (HELLO, Table::StandAloneSig, 1, "signature", 0, "II.22.36-3"),
    (HELLO, Table::PropertyMap, 1, "property_list", 2, "II.22.34-2"),
    (HELLO, Table::Property, 1, "flags", 1, "II.22.34-3"),
    (HELLO, Table::Property, 1, "name", 0, "II.22.34-4"),
    (HELLO, Table::Property, 1, "signature", 0, "II.22.34-7"),
    (HELLO, Table::MethodSemantics, 1, "semantics", 0x40, "II.22.28-2"),
    (HELLO, Table::MethodSemantics, 1, "semantics", 3, "II.22.28-5"),
    (HELLO, Table::MethodSemantics, 1, "method", 1, "II.22.28-3"),
    (HELLO, Table::TypeSpec, 1, "signature", 0, "II.22.39-2"),
    (HELLO, Table::Assembly, 1, "hash_algorithm", 7, "II.22.2-2"),
    (HELLO, Table::Assembly, 1, "flags", 0x10_0000, "II.22.2-4"),
    (HELLO, Table::Assembly, 1, "flags", 0x10, "II.22.2-4/clr"),
    (HELLO, Table::Assembly, 1, "name", 0, "II.22.2-6"),
    (HELLO, Table::AssemblyRef, 1, "flags", 0x10_0000, "II.22.5-2"),
    (HELLO, Table::AssemblyRef, 1, "flags", 0x100, "II.22.5-2/clr"),
    (HELLO, Table::AssemblyRef, 1, "name", 0, "II.22.5-5"),
    (HELLO, Table::NestedClass, 1, "enclosing_class", 5, "II.22.32-a"),
    (HELLO, Table::NestedClass, 1, "enclosing_class", 50, "II.22-b"),
    (HELLO, Table::NestedClass, 1, "nested_class", 3, "II.22.37-34"),
    (ORDERS, Table::InterfaceImpl, 1, "interface", 2 << 2, "II.22.23-3c"),
    (ORDERS, Table::Constant, 1, "kind", 0x14, "II.22.9-1"),
    (ORDERS, Table::Constant, 1, "kind", 0x0A, "II.22.9-a"),
    (ORDERS, Table::Constant, 1, "padding", 1, "II.22.9-b"),
    (ORDERS, Table::Event, 1, "flags", 1, "II.22.13-3"),
    (ORDERS, Table::Event, 1, "name", 0, "II.22.13-4"),
    (ORDERS, Table::Event, 1, "event_type", 11 << 2, "II.22.13-8"),
    (ORDERS, Table::EventMap, 1, "event_list", 2, "II.22.13-2"),
    (ORDERS, Table::MethodSemantics, 1, "semantics", 0x20, "II.22.13-9"),
    (ORDERS, Table::PropertyMap, 2, "parent", 6, "II.22.35-2"),
    (ORDERS, Table::PropertyMap, 2, "property_list", 1, "II.22.35-3"),
    (ORDERS, Table::MethodImpl, 1, "declaration", 1 << 1, "II.22.27-4"),
    (ORDERS, Table::MethodImpl, 1, "body", 1 << 1, "II.22.27-6"),
    (ORDERS, Table::GenericParam, 1, "number", 1, "II.22.20-10"),
    (ORDERS, Table::GenericParam, 1, "number", 9, "II.22.20-9"),
    (ORDERS, Table::GenericParam, 1, "flags", 0x80, "II.22.20-a"),
    (ORDERS, Table::GenericParam, 1, "flags", 1, "II.22.20-6"),
    (ORDERS, Table::GenericParam, 1, "name", 0, "II.22.20-11"),
    (ORDERS, Table::MethodSpec, 1, "instantiation", 0, "II.22.29-3"),
    (MODERN, Table::ClassLayout, 1, "packing_size", 3, "II.22.8-4"),
    (MODERN, Table::ClassLayout, 1, "class_size", 0x20_0000, "II.22.8-4a"),
    (MODERN, Table::ClassLayout, 1, "parent", 2, "II.22.8-3"),
    (MODERN, Table::FieldRva, 1, "rva", 0, "II.22.18-1"),
    (MODERN, Table::FieldRva, 1, "rva", 0xFF_0000, "II.22.18-2"),
    (MODERN, Table::FieldRva, 1, "field", 1, "II.22.18-a"),
    (HELLO, Table::TypeDef, 3, "flags", 0x10_0011, "II.22.16-9"),
    (HELLO, Table::TypeDef, 3, "flags", 0xA1, "II.22.26-15"),
    (HELLO, Table::TypeDef, 3, "flags", 0xA1, "II.22.37-26"),
    (HELLO, Table::MethodDef, 18, "name", ABOVE, "II.22.26-40"),
    (HELLO, Table::TypeSpec, 2, "signature", ABOVE, "II.22.39-3"),
    (ORDERS, Table::Constant, 2, "parent", ABOVE, "II.22.9-4"),
    (ORDERS, Table::NestedClass, 2, "nested_class", ABOVE, "II.22.32-5"),
    (ORDERS, Table::TypeDef, ORDERS_STATUS, "flags", 1, "II.22.37-33a"),
    (ORDERS, Table::TypeDef, ORDERS_STATUS, "flags", 1, "II.22.37-35"),
    (ORDERS, Table::TypeDef, ORDERS_STATUS, "field_list", 1, "II.22.37-33h"),
    (MODERN, Table::ClassLayout, 2, "parent", ABOVE, "II.22.8-a"),
    (MODERN, Table::FieldRva, 2, "field", ABOVE, "II.22.18-b"),
    (MSCORLIB, Table::EventMap, 2, "parent", ABOVE, "II.22.12-2"),
    (MSCORLIB, Table::EventMap, 2, "event_list", ABOVE, "II.22.12-3"),
    (MSCORLIB, Table::FieldLayout, 2, "field", ABOVE, "II.22.16-6"),
    (MSCORLIB, Table::FieldMarshal, 2, "parent", ABOVE, "II.22.17-4"),
    (MSCORLIB, Table::ImplMap, 2, "member_forwarded", ABOVE, "II.22.22-a"),
    (TRACKER, Table::AssemblyRef, 1, "hash_value", 0xFFFF, "II.24.2.4-b"),
    (MSCORLIB, Table::FieldLayout, 1, "field", 1, "II.22.16-2"),
    (MSCORLIB, Table::FieldLayout, 1, "offset", 0xFFFF_FFFF, "II.22.16-3"),
    (MSCORLIB, Table::FieldMarshal, 1, "native_type", 0, "II.22.17-3"),
    (MSCORLIB, Table::ImplMap, 1, "flags", 0x8000, "II.22.22-2"),
    (MSCORLIB, Table::ImplMap, 1, "flags", 0x700, "II.22.22-2a"),
    (MSCORLIB, Table::ImplMap, 1, "member_forwarded", 1 << 1, "II.22.22-3"),
    (MSCORLIB, Table::ImplMap, 1, "member_forwarded", 1 << 1 | 1, "II.22.22-7"),
    (MSCORLIB, Table::ImplMap, 1, "import_name", 0, "II.22.22-5"),
    (MSCORLIB, Table::ManifestResource, 1, "offset", 0x7FFF_FFFF, "II.22.24-2"),
    (MSCORLIB, Table::ManifestResource, 1, "flags", 8, "II.22.24-3"),
    (MSCORLIB, Table::ManifestResource, 1, "flags", 0, "II.22.24-4"),
    (MSCORLIB, Table::ManifestResource, 1, "name", 0, "II.22.24-5"),
    (MSCORLIB, Table::ManifestResource, 1, "implementation", 1 << 2 | 2, "II.22-b"),
];

#[test]
fn each_damage_breaks_its_rule() {
    check(|file| (file != MSCORLIB).then(|| root().join(file)));
}

#[test]
#[ignore = "needs Mono"]
fn each_damage_of_monos_core_library_breaks_its_rule() {
    let Some(mono) = require("ILINST_MONO_LIB") else { return };
    check(|file| (file == MSCORLIB).then(|| mono.join("4.5/mscorlib.dll")));
}

/// Tries the cases of files for which `place` returns a path.
fn check(place: impl Fn(&str) -> Option<PathBuf>) {
    let broken = |bytes: &[u8]| -> BTreeSet<&'static str> {
        let report = verify_bytes(bytes, &PEDANTIC).expect("it can be read");
        report.findings.iter().map(|finding| finding.rule.number).collect()
    };
    let mut sound: BTreeMap<&str, (Vec<u8>, BTreeSet<&str>)> = BTreeMap::new();
    let (mut cases, mut failures) = (0, Vec::new());
    for (file, table, rid, column, value, rule) in CASES {
        let Some(path) = place(file) else { continue };
        let (bytes, before) = sound.entry(file).or_insert_with(|| {
            let bytes = read(&path);
            let before = broken(&bytes);
            (bytes, before)
        });
        let after = broken(&set_cell(bytes, *table, *rid, column, *value));
        if before.contains(rule) || !after.contains(rule) {
            failures.push(format!("{file} {table} {rid} {column} = {value:#x}: {before:?} before, {after:?} after"));
        }
        cases += 1;
    }
    println!("{cases} cases");
    assert!(cases > 0 && failures.is_empty(), "{}", failures.join("\n"));
}
