//! Profiles with contents that real programs rarely have, read by the same consumers: hostile names, several processes in one
//! profile, phases.

use serde_json::Value;

use crate::{
    builder,
    folded::assert_drawn,
    pprof,
    program::{Profiled, assert_same},
    speedscope::{self, assert_stretches},
    tables::{self, assert_all_read},
};

/// Names of methods as bytes, since some are invalid UTF-8.
const NAMES: [&[u8]; 14] = [
    b"line\nfeed",
    b"return\r\nand feed",
    b"\"quotes\" and 'others'",
    b"nothing\0behind",
    b"half \xED\xA0\x80 a pair",
    b"no \xFF\xFE text",
    b"\xE2\x80\xAEright to left\xE2\x81\xA6",
    b"\x1B[31mred\x1B]0;title\x07",
    b"=cmd|'/c calc'!A1",
    b"a<script>alert(1)</script>&amp;",
    b"a;b;c 7 x",
    b"{\"x\": [1, 2], \\u0041",
    b"tab\tand,comma",
    b"\xF0\x9F\x98\x80",
];
/// The length of the last name, in bytes, beyond the limit of names.
const LONG: usize = 100 << 10;

/// Returns a profile whose methods, with these names, call each other in a row. The last one has a very long name.
fn hostile() -> Vec<u8> {
    let count = NAMES.len() + 1;
    let methods: String = (1..=count).map(|row| format!("method {row} N::M{row}\n")).collect();
    let nodes: String = (1..=count)
        .map(|row| {
            format!("{}M{row} calls={row} total={} first=1 exceptions={}\n", " ".repeat(row), (count - row + 1) * 10_000, row % 2)
        })
        .collect();
    let mut bytes = builder::build(&format!("profile end=900000\nmodule assembly=A name=a.dll\n{methods}tree\n{nodes}"));
    // Later names of a method replace earlier ones.
    let long = vec![b'x'; LONG];
    let names = NAMES.iter().copied().chain([&long[..]]);
    bytes.extend(builder::names(names.enumerate().map(|(index, name)| (index as u64 + 1, name))));
    bytes
}

/// Checks the profile with all readers; a missing one is reported.
fn assert_read_by_all(profiled: &Profiled, least: usize) {
    let found = [pprof::assert_read(profiled), assert_all_read(profiled), speedscope::assert_read(profiled)];
    for (reader, found) in ["pprof", "tables", "speedscope"].iter().zip(found) {
        assert!(found.is_none_or(|found| found >= least), "{reader}: {found:?}");
    }
    let (drawn, _) = assert_drawn(profiled);
    assert!(drawn >= least.min(20), "{drawn}");
    let stretches = assert_stretches(profiled);
    assert!(stretches.is_none_or(|found| found >= least.min(5)), "{stretches:?}");
    let Some(document) = tables::json(profiled) else { return };
    let calls = document["values"].as_array().and_then(|values| values.iter().position(|value| value["name"] == "calls"));
    let threads = document["threads"].as_array().expect("a list").iter();
    let of_threads = threads.flat_map(|thread| thread["values"][calls.expect("it counts")].as_array().expect("a list"));
    let reported = profiled.rows().map(|(_, row)| row["calls"].as_f64().expect("a number"));
    assert_same("calls", of_threads.filter_map(Value::as_f64).sum(), reported.sum());
}

#[test]
#[ignore = "needs Chromium, Go and Python's packages"]
fn names_are_names_whatever_they_are() {
    let profiled = Profiled::made("hostile", &hostile(), &[]);
    assert_eq!(profiled.rows().count(), NAMES.len() + 1);
    let long = profiled.rows().map(|(name, _)| name.len()).max();
    assert!(long < Some(LONG / 10), "a name that long is cut");
    assert_read_by_all(&profiled, NAMES.len() + 1);
}

#[test]
#[ignore = "needs .NET, Chromium, Go and Python's packages"]
fn several_processes_are_exported_as_one_is() {
    let Some(merged) = Profiled::merged("merged") else { return };
    assert_eq!(merged.report.document["processes"], 2);
    assert_read_by_all(&merged, 30);
}

#[test]
#[ignore = "needs Chromium, Go and Python's packages"]
fn a_phase_is_exported_as_it_is_reported() {
    let text = "
profile end=600000
module assembly=A name=a.dll
method 1 T::Main
method 2 T::Load
method 3 T::Parse
method 4 System.Threading.Thread::Sleep waits
tree
 Main label=main calls=1 total=600000
  Load label=load calls=50 total=300000
   Sleep label=sleep calls=50 total=200000
  Parse label=parse calls=5 total=100000
phase mark warm clock=100000 main:0:100000 load:10:50000 sleep:10:10000 parse:0:0
phase mark busy clock=400000 main:0:400000 load:35:220000 sleep:35:150000 parse:5:100000
";
    for (name, options) in [("warm", &["--phase", "warm"]), ("busy", &["--phase", "busy"])] {
        let profiled = Profiled::made(&format!("phase-{name}"), &builder::build(text), options);
        let calls = profiled.report.calls("T::Load");
        assert_eq!(calls, if name == "warm" { 25 } else { 15 });
        assert_read_by_all(&profiled, 1);
    }
}
