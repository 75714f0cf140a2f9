//! Errors on a terminal name the section of `docs/errors.md` about their number.

use std::{fs, process::Command};

use tests::{ilinst, root, said};

#[test]
fn an_error_on_a_terminal_names_its_page() {
    let tool = ilinst();
    let words = format!("'{}' list /dev/null", tool.get_program().to_string_lossy());
    let mut command = Command::new("script");
    command.args(["--quiet", "--flush", "--return", "--command", &words, "/dev/null"]);
    let (text, _, code) = said(&command.output().expect("`script` starts"));
    assert_eq!(code, Some(3), "{text}");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let [error, page] = lines[..] else { panic!("{text}") };
    assert!(error.starts_with("ilinst: error ILI0010: /dev/null: "), "{error}");
    assert_eq!(page, "https://github.com/ilinst/ilinst/blob/main/docs/errors.md#ili0010");
    // Elsewhere the number is enough.
    let (_, errors, _) = said(&ilinst().args(["list", "/dev/null"]).output().expect("it runs"));
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn each_section_of_the_page_has_its_anchor() {
    let page = fs::read_to_string(root().join("docs/errors.md")).expect("it is there");
    let numbers: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ILI")?.get(..4)).collect();
    assert!(numbers.len() > 20, "{numbers:?}");
    for number in numbers {
        assert!(page.contains(&format!("<a id=\"ili{number}\"></a>\n\n## ILI{number} ")), "{number}");
    }
}
