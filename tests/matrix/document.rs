//! The matrix in docs/reliability.md is this one.

use std::{env, fs};

use tests::root;

use crate::causes::{CAUSES, End, HOSTED};

const START: &str = "<!-- causes of death -->\n";
const STOP: &str = "<!-- end of causes of death -->";

#[test]
fn the_document_has_the_matrix() {
    let path = root().join("docs/reliability.md");
    let document = fs::read_to_string(&path).expect("it can be read");
    let (head, rest) = document.split_once(START).expect("it has a place for it");
    let (before, tail) = rest.split_once(STOP).expect("it has an end");
    let now = table();
    if env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{head}{START}{now}{STOP}{tail}")).expect("it can be written");
    } else {
        assert_eq!(before, now, "BLESS=1 writes it");
    }
}

fn table() -> String {
    let mut text =
        String::from("| cause of death | Mono | .NET 8 | .NET Core 3.1 | .NET 8 on Windows (Wine) |\n|---|---|---|---|---|\n");
    for cause in CAUSES {
        text += &format!("| {} |", cause.name);
        for end in cause.ends {
            text += &format!(" {} |", end.map_or("", word));
        }
        text.push('\n');
    }
    text.push_str("\n| host | .NET | how the host ends | |\n|---|---|---|---|\n");
    for (host, runtime, how, end) in HOSTED {
        text += &format!("| {host} | {runtime} | {how} | {} |\n", word(*end));
    }
    text
}

fn word(end: End) -> &'static str {
    match end {
        End::Clean => "all, clean",
        End::Unhandled => "all, unhandled",
        End::CutOff => "all, cut off",
        End::Running => "all, still running",
    }
}
