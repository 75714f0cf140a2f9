//! Each form in which Windows accepts a path.

use std::{ffi::OsString, fs};

use crate::{Windows, copy, into, windows};

/// The outputs are the same for all forms.
#[test]
#[ignore = "needs Wine"]
fn a_path_is_taken_however_it_is_written() {
    let Some(wine) = Windows::new("paths") else { return };
    wine.sample("hello");
    let expected = wine.folder.join("expected.exe");
    tests::instrument(&[&wine.folder.join("hello/hello.exe"), &"-o", &expected]);
    let expected = fs::read(expected).expect("it is there");
    let rooted = windows(&wine.folder).into_string().expect("it is text");
    let inputs = [
        "hello\\hello.exe".to_owned(),
        ".\\hello\\..\\hello\\hello.exe".into(),
        "hello/hello.exe".into(),
        "HELLO\\Hello.EXE".into(),
        format!("{rooted}\\hello\\hello.exe"),
        format!("{}/hello/hello.exe", rooted.to_lowercase().replace('\\', "/")),
        format!("\\\\?\\{rooted}\\hello\\hello.exe"),
        format!("\\\\.\\{rooted}\\hello\\hello.exe"),
        format!("\\\\?\\unix{}\\hello\\hello.exe", &rooted[2..]),
        format!("{}\\hello\\hello.exe", &rooted[2..]),
    ];
    for (number, input) in inputs.iter().enumerate() {
        let output = wine.folder.join(format!("woven{number}"));
        wine.run(&[&"instrument", input, &"-o", &into(&output)]);
        let mut woven = fs::read_dir(&output).expect("it is a folder").flatten().map(|entry| entry.path());
        let woven = woven.find(|path| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe")));
        assert!(fs::read(woven.expect("it is there")).expect("it can be read") == expected, "{input}");
    }
    for (number, output) in
        ["out\\", ".\\out\\inner\\", &format!("{rooted}\\out2\\"), &format!("\\\\?\\{rooted}\\out3\\")].iter().enumerate()
    {
        wine.run(&[&"instrument", &"hello\\hello.exe", &"-o", output]);
        let folder = ["out", "out/inner", "out2", "out3"][number];
        assert!(fs::read(wine.folder.join(folder).join("hello.exe")).expect("it is there") == expected, "{output}");
    }
}

/// Names and arguments with characters of many code pages.
#[test]
#[ignore = "needs Wine"]
fn foreign_names() {
    let Some(wine) = Windows::new("names") else { return };
    let folder = wine.folder.join("Grüße 日本 🦀 пример/a b");
    copy(&tests::sample("orders"), &folder);
    let (here, there) = (folder.join("linux"), folder.join("windows"));
    let input = folder.join("orders.exe");
    tests::instrument(&[&input, &"-o", &format!("{}/", here.display())]);
    let text = wine.run(&[&"instrument", &windows(&input), &"-o", &into(&there)]);
    assert!(text.contains("instrumented"), "{text}");
    assert!(crate::files_below(&here) == crate::files_below(&there), "not the same");
    let missing: OsString = windows(&wine.folder.join("не здесь.dll"));
    wine.refuses(&[&"list", &missing], 3, &["не здесь.dll", "ILI0010"]);
}

/// Functions of Windows are limited to 260 characters, except for paths with `\\?\`.
#[test]
#[ignore = "needs Wine"]
fn long_paths() {
    let Some(wine) = Windows::new("long") else { return };
    let deep = ["a".repeat(100), "b".repeat(100), "c".repeat(100)].join("/");
    let (output, again) = (wine.folder.join(&deep), wine.folder.join("again"));
    let expected = wine.folder.join("expected");
    let input = wine.sample("hello");
    tests::instrument(&[&input, &"-o", &format!("{}/", expected.display())]);
    wine.run(&[&"instrument", &windows(&input), &"-o", &into(&output)]);
    assert!(crate::files_below(&output) == crate::files_below(&expected), "not the same");
    // Replaces the outputs, and reads from them.
    wine.run(&[&"instrument", &windows(&input), &"-o", &into(&output)]);
    assert!(crate::files_below(&output) == crate::files_below(&expected), "not the same");
    copy(&input, &output);
    wine.run(&[&"instrument", &windows(&output.join("hello.exe")), &"-o", &into(&again)]);
    assert!(
        fs::read(again.join("hello.exe")).expect("it is there") == fs::read(expected.join("hello.exe")).expect("it is there")
    );
}

/// A share is one of Wine's folders for them.
#[test]
#[ignore = "needs Wine"]
fn shares() {
    let Some(mut wine) = Windows::new("share") else { return };
    wine.sample("hello");
    let expected = wine.folder.join("expected");
    tests::instrument(&[&wine.folder.join("hello"), &"-o", &format!("{}/", expected.display())]);
    wine.has_share("work");
    let share = "\\\\localhost\\work";
    for (number, share) in [share, &share.replace('\\', "/"), "\\\\?\\UNC\\localhost\\work"].iter().enumerate() {
        wine.run(&[&"instrument", &format!("{share}\\hello"), &"-o", &format!("{share}\\woven{number}\\")]);
        let woven = wine.folder.join(format!("woven{number}"));
        assert!(crate::files_below(&woven) == crate::files_below(&expected), "{share}");
    }
    wine.refuses(&[&"list", &"\\\\localhost\\none\\a.dll"], 3, &["\\\\localhost\\none\\a.dll", "ILI0010"]);
}
