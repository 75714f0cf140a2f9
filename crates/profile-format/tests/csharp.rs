//! The C# constants of the tracker are those of this crate.

use std::{fs, path::Path};

#[test]
fn the_trackers_constants_are_these() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tracker-runtime/File/Format.cs");
    let source = fs::read_to_string(&path).expect("it is checked in");
    assert!(source == profile_format::csharp(), "{} is not what this crate states; run `cargo xtask tracker`", path.display());
}
