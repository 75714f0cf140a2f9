//! The file itself: `--html` never overwrites its input, and an error leaves no file.

use std::fs;

use tests::{ilinst, said, scratch};

use crate::{SHOP, builder};

#[test]
fn nothing_that_is_read_is_written_over() {
    let folder = scratch("html-refused");
    let file = folder.join("shop.ilprof");
    fs::write(&file, builder::build(SHOP)).expect("it can be written");
    let run =
        |html: &str| said(&ilinst().arg("report").arg(&file).arg("--html").arg(folder.join(html)).output().expect("it runs"));
    let (text, error, code) = run("shop.ilprof");
    assert_eq!((text.as_str(), code), ("", Some(2)), "{error}");
    assert!(error.contains("the output would overwrite the input"), "{error}");
    assert_eq!(run("shop.ilprof/a.html").2, Some(3), "a folder that is a file");
    fs::write(&file, b"no profile").expect("it can be written");
    assert_eq!(run("b.html").2, Some(3));
    assert!(!folder.join("b.html").exists());
}
