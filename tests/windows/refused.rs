//! What Windows does not let anyone write: it is said, and nothing is left.

use std::fs;

use crate::{Windows, into, windows};

/// Windows has one word for what must not be written.
#[test]
#[ignore = "needs Wine"]
fn read_only_files() {
    let Some(wine) = Windows::new("read-only") else { return };
    let input = wine.sample("hello").join("hello.exe");
    let output = wine.folder.join("woven");
    wine.run(&[&"instrument", &windows(&input), &"-o", &into(&output)]);
    let program = output.join("hello.exe");
    let set_read_only = |is_read_only| {
        let mut permissions = program.metadata().expect("it is there").permissions();
        permissions.set_readonly(is_read_only);
        fs::set_permissions(&program, permissions).expect("it can be set");
    };
    set_read_only(true);
    wine.refuses(&[&"instrument", &windows(&input), &"-o", &into(&output)], 3, &["ILI0014", "read-only", "hello.exe"]);
    set_read_only(false);
    // An input may be read-only; what is made of it is not.
    let mut permissions = input.metadata().expect("it is there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&input, permissions).expect("it can be set");
    wine.run(&[&"instrument", &windows(&input), &"-o", &into(&wine.folder.join("again"))]);
    assert!(!wine.folder.join("again/hello.exe").metadata().expect("it is there").permissions().readonly());
}
