//! The page of a real program; its picture is the README's. `BLESS=1` takes the picture again.

use std::fs;

use base64ct::{Base64, Encoding as _};
use tests::{Runtime, instrument, root, sample, scratch};

use crate::Shown;

/// The picture's size in pixels.
const SIZE: (u32, u32) = (1280, 560);

#[test]
#[ignore = "needs Chromium and .NET 8"]
fn a_program_that_ran_is_shown() {
    let Some(dotnet) = Runtime::find(".NET 8") else { return };
    let folder = scratch("html-real");
    instrument(&[&sample("orders").join("orders.exe"), &"-o", &folder.join("orders.exe"), &"--exclude", &"Count"]);
    let ran = dotnet.program(&folder.join("orders.exe"), &folder).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(3), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut files = fs::read_dir(&folder).expect("it is there").flatten().map(|entry| entry.path());
    let file = files.find(|path| path.extension().is_some_and(|extension| extension == "ilprof")).expect("a profile");
    let Some(mut shown) = Shown::of_file("real", file, &[]) else { return };
    let report = shown.report(&[]);
    let calls: f64 = report["methods"].as_array().expect("a list").iter().filter_map(|row| row["calls"].as_f64()).sum();
    assert!(shown.text("#tiles").contains(&crate::count(calls)), "{}", shown.text("#tiles"));
    shown.browser.key("3");
    // The method may not come first: others may have run for longer.
    assert!(
        shown.texts(".rows .row .method").contains(&"Orders.Program.Main".to_owned()),
        "{:?}",
        shown.texts(".rows .row .method")
    );
    // The place of its source, on demand.
    shown.open("view=callers&search=Fibonacci");
    shown.browser.key("2");
    shown.browser.click(".rows .row");
    shown.browser.key("c");
    assert!(shown.text("[data-fact=Source]").contains("Program.cs:"), "{}", shown.text("[data-fact=Source]"));
    if std::env::var_os("BLESS").is_some() {
        shown.browser.resize(SIZE.0, SIZE.1);
        shown.browser.prefer("light");
        shown.open("");
        for key in ["2", "1", "ArrowDown", "ArrowDown"] {
            shown.browser.key(key);
        }
        let picture = Base64::decode_vec(&shown.browser.picture()).expect("it is Base64");
        fs::write(root().join("docs/report.png"), picture).expect("it can be written");
    }
}
