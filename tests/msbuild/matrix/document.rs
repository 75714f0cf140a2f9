//! docs/matrix.md has the matrix that is tested.

use std::{env, fs};

use tests::root;

use super::table::{PROGRAMS, Program, Published, Way};

const START: &str = "<!-- matrix -->\n";
const STOP: &str = "<!-- end of matrix -->";

#[test]
fn the_document_has_the_matrix() {
    let path = root().join("docs/matrix.md");
    let document = fs::read_to_string(&path).expect("it can be read");
    let (head, rest) = document.split_once(START).expect("it has a place for it");
    let (before, tail) = rest.split_once(STOP).expect("it has an end");
    let now = table();
    println!("{now}");
    if env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{head}{START}{now}{STOP}{tail}")).expect("it can be written");
    } else {
        assert_eq!(before, now, "BLESS=1 writes it");
    }
}

/// A row for each way to publish, and a column for each program.
fn table() -> String {
    let mut text = format!("| |{}\n|---|{}\n", cells(|program| program.name.to_owned()), cells(|_| "---".to_owned()));
    for published in Published::ALL {
        text += &format!("| {} |{}\n", published.name(), cells(|program| words(program, published)));
    }
    text
}

fn cells(cell: impl Fn(&Program) -> String) -> String {
    PROGRAMS.iter().map(|program| format!(" {} |", cell(program))).collect()
}

fn words(program: &Program, published: Published) -> String {
    if !program.published.contains(&published) {
        return String::new();
    }
    let ways = program.ways(published);
    if ways.len() == Way::ALL.len() {
        return "all".to_owned();
    }
    ways.iter().map(|way| way.name()).collect::<Vec<_>>().join(", ")
}
