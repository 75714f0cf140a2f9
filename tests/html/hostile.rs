//! Hostile names: any name is shown as text, and completely.

use std::fs::File;

use names::Visible;
use profile::{
    Profile,
    model::{MethodName, ThreadName},
};
use report::html::Page;
use tests::{Browser, scratch};

use crate::{SHOP, Shown, builder};

const NAMES: [(&str, &str); 8] = [
    ("</script><script>window.broken=1</script>", "A"),
    ("<!--<script>", "B <!--"),
    ("<img src=x onerror=window.broken=2>", "C"),
    ("\"'`&amp;&lt;\\", "D"),
    ("right\u{202e}left\u{2066}", "E"),
    ("bell\u{7}escape\u{1b}[31m\u{0}\r\n\u{2028}", "F"),
    ("{script}{data}${window.broken=3}", "G"),
    ("__proto__", "constructor"),
];

#[test]
#[ignore = "needs Chromium"]
fn names_are_text() {
    let mut profile = Profile::parse(&builder::build(SHOP)).expect("it is a profile");
    let phase = ("<u>phase</u>".to_owned(), profile.clone());
    profile.program = "</title><b>shop</b>".into();
    profile.runtime = "<i>.NET</i>".into();
    profile.modules[0].assembly = "<i>Shop</i>, Version=1".into();
    profile.trees[0].names = vec![ThreadName { managed_id: 1, name: "<i>Main</i></script>".into() }];
    for (function, (type_name, method)) in profile.functions.iter_mut().zip(NAMES) {
        function.name = Some(MethodName { type_name: type_name.into(), method: method.into() });
    }
    let page = scratch("html-hostile").join("report.html");
    Page::report(&profile, &[phase]).write(&mut File::create(&page).expect("it can be made")).expect("it can be written");
    let Some(browser) = Browser::start("hostile", 1200, 800) else { return };
    let mut shown = Shown { browser, profile, file: page.clone(), page };
    for view in ["flame", "table", "tree", "callers", "phases"] {
        for search in ["", "&search=%3Cscript%3E"] {
            shown.open(&format!("view={view}{search}"));
            let found = "[typeof window.broken, document.scripts.length,
               document.querySelectorAll('img, u, h1 *, #facts *').length].join()";
            assert_eq!(shown.browser.eval(found), "undefined,2,0", "{view}");
        }
    }
    assert_eq!(shown.text("#title"), "</title><b>shop</b>");
    assert_eq!(shown.browser.eval("document.title"), "</title><b>shop</b>");
    shown.open("view=table&sort=name");
    let mut expected: Vec<String> = shown.profile.display_names().iter().map(|name| Visible(name).to_string()).collect();
    let mut found = shown.texts(".rows .method");
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert!(found.contains(&"right\\u{202e}left\\u{2066}.E".to_owned()), "{found:?}");
    assert!(found.contains(&"bell\\u{7}escape\\u{1b}[31m\\u{0}\\u{d}\\u{a}\\u{2028}.F".to_owned()), "{found:?}");
}

#[test]
#[ignore = "needs Chromium"]
fn addresses_that_make_no_sense_show_the_profile_all_the_same() {
    let Some(mut shown) = Shown::of("addresses", SHOP) else { return };
    for hash in
        ["view=__proto__&metric=toString", "phase=-1&threads=99&zoom=9.9.x&method=1e9&sort=-nothing", "%", "search=re%3A("]
    {
        shown.open(hash);
        assert_eq!(shown.text("#title"), "shop", "{hash}");
        assert_eq!(shown.browser.eval("document.querySelectorAll('main canvas').length"), 1, "{hash}");
    }
}
