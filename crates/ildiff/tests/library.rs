//! Tests the library alone: models and printers from bytes, and errors from damaged ones. The tests write no file and
//! run no tool.

use std::{collections::BTreeMap, fs, io, path::Path};

use disasm::{
    DebugInfo, Disassembler,
    filter::Filter,
    list::{self, Listing, Methods, Sort},
};
use ecma335::{Image, Metadata, Result};
use ildiff::{self as diff, Change, Diff, Html, Json, Kind, Side, Status, Unified};
use weave::{Pattern, Tracker, Weave};

const SAMPLES: &[&str] = &["samples/hello/bin/hello.exe", "samples/orders/bin/orders.exe", "samples/shapes/bin/shapes.exe"];

fn read(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).expect("it is committed")
}

fn tracker() -> Tracker {
    Tracker::read(&read("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is an assembly")
}

/// Parses a module and runs work on it.
fn with<T>(bytes: &[u8], work: impl FnOnce(&Image<'_>, &Metadata<'_>) -> Result<T>) -> Result<T> {
    let image = Image::parse(bytes)?;
    let metadata = Metadata::parse(image.metadata()?)?;
    work(&image, &metadata)
}

fn disassembled(bytes: &[u8], filter: Filter) -> Result<Option<String>> {
    with(bytes, |image, metadata| {
        let mut text = Vec::new();
        let mut dis = Disassembler::new(image, metadata)?;
        dis.filter = filter;
        let found = dis.print(&mut text).expect("a vector takes it");
        Ok(found.then(|| String::from_utf8(text).expect("it is text")))
    })
}

fn compared(old: &[u8], new: &[u8], options: &diff::Options<'_>) -> Result<Diff> {
    with(old, |image, metadata| {
        let old = Side::new(image, metadata)?;
        with(new, |image, metadata| Ok(diff::compare(&old, &Side::new(image, metadata)?, options)))
    })
}

/// Compares two modules and passes the differences to a visitor.
fn visited(old: &[u8], new: &[u8], visitor: &mut dyn diff::Visitor) -> Result<io::Result<diff::Totals>> {
    with(old, |image, metadata| {
        let old = Side::new(image, metadata)?;
        with(new, |image, metadata| Ok(diff::visit(&old, &Side::new(image, metadata)?, &diff::Options::default(), visitor)))
    })
}

fn listed(bytes: &[u8], options: &list::Options) -> Result<serde_json::Value> {
    with(bytes, |image, metadata| list::to_json(&Listing::read(image, metadata, options, &tracker())?))
}

fn woven(bytes: &[u8]) -> Vec<u8> {
    let tracker = tracker();
    with(bytes, |image, metadata| Ok(weave::weave(image, metadata, &Weave::new(&tracker))?.file.to_vec())).expect("it is woven")
}

#[test]
fn a_filter_leaves_methods_of_a_module() {
    let bytes = read(SAMPLES[0]);
    let whole = disassembled(&bytes, Filter::default()).expect("it can be read").expect("it is not empty");
    assert!(whole.contains(".assembly extern") && whole.contains(".entrypoint"), "{whole}");
    let only = |name| Filter { methods: vec![Pattern::naming_methods(name).expect("a pattern")], ..Filter::default() };
    let main = disassembled(&bytes, only("Main")).expect("it can be read").expect("there is one");
    assert_eq!(main.matches(".method ").count(), 1, "{main}");
    assert!(main.contains(" Main (") && !main.contains(".assembly extern"), "{main}");
    assert_eq!(disassembled(&bytes, only("NoSuchMethod")).expect("it can be read"), None);
}

#[test]
fn source_lines_come_from_whom_is_asked() {
    let (bytes, pdb) = (read(SAMPLES[0]), read("samples/hello/bin/hello.pdb"));
    let asked = std::cell::RefCell::new(Vec::new());
    let text = with(&bytes, |image, metadata| {
        let mut dis = Disassembler::new(image, metadata)?;
        dis.debug = Some(DebugInfo::parse(&pdb)?.with_source(|path| {
            asked.borrow_mut().push(path.to_owned());
            Some("a line of source\n".repeat(100).into_bytes())
        }));
        let mut text = Vec::new();
        dis.print(&mut text).expect("a vector takes it");
        Ok(String::from_utf8(text).expect("it is text"))
    });
    assert!(text.expect("it can be read").contains("  a line of source\n"));
    // Each document is requested once.
    let asked = asked.into_inner();
    assert!(asked.iter().any(|path| path.ends_with(".cs")), "{asked:?}");
    assert_eq!(asked.iter().collect::<std::collections::BTreeSet<_>>().len(), asked.len(), "{asked:?}");
}

#[test]
fn weaving_changes_methods_and_adds_what_probes_need() {
    for (sample, probes) in SAMPLES.iter().zip([3, 8, 4]) {
        let original = read(sample);
        let woven = woven(&original);
        let tracker = tracker();
        let same = compared(&original, &original, &diff::Options::default()).expect("it can be read");
        assert!(same.changes.is_empty() && same.totals.is_same() && same.totals.compared > 0, "{sample}");

        let diff = compared(&original, &woven, &diff::Options::default()).expect("it can be read");
        let mut kinds: BTreeMap<(Kind, bool), usize> = BTreeMap::new();
        for change in &diff.changes {
            assert_ne!(change.status, Status::Removed, "{sample}: {}", change.name);
            *kinds.entry((change.kind, change.status == Status::Added)).or_default() += 1;
        }
        let keys: Vec<_> = kinds.keys().copied().collect();
        let expected = [(Kind::Method, false), (Kind::Reference, true), (Kind::Attribute, true), (Kind::Header, false)];
        assert_eq!(keys, expected, "{sample}: {kinds:?}");
        // One assembly, two types, the mark's constructor, and each probe in use.
        assert_eq!(kinds.get(&(Kind::Reference, true)), Some(&(4 + probes)), "{sample}");
        assert!(diff.totals.all.new_lines > diff.totals.all.old_lines, "{sample}");

        let again = with(&original, |image, metadata| {
            with(&woven, |_, woven| Ok(diff::WovenOriginal::new(image, metadata, woven, &tracker, None)))
        });
        let again = again.expect("both can be read").expect("it can be woven").expect("the other is woven");
        assert_eq!(again.file, woven, "{sample}");
        let left = with(&original, |image, _| {
            let options = diff::Options { original: Some(again.original(image)), ..Default::default() };
            compared(&again.file, &woven, &options)
        });
        assert!(left.expect("it can be read").changes.is_empty(), "{sample}");
    }
}

#[test]
fn printers_print_what_is_found() {
    let original = read(SAMPLES[1]);
    let woven = woven(&original);
    let files = ["old".to_owned(), "new".to_owned()];
    let model = compared(&original, &woven, &diff::Options::default()).expect("it can be read");
    let visit = |visitor: &mut dyn diff::Visitor| {
        let totals = visited(&original, &woven, visitor).expect("it can be read").expect("a vector takes it");
        assert_eq!(totals.compared, model.totals.compared);
    };

    let mut text = Vec::new();
    visit(&mut Unified::new(&mut text, files.clone()));
    let text = String::from_utf8(text).expect("it is text");
    assert!(text.starts_with("--- old\n+++ new\n"), "{text}");
    assert!(model.changes.iter().all(|change| text.contains(&change.name)), "{text}");

    let mut json = Vec::new();
    visit(&mut Json::new(&mut json, &files).expect("a vector takes it"));
    let json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    assert_eq!(json["changes"].as_array().map(Vec::len), Some(model.changes.len()));
    assert_eq!(json["totals"]["addedLines"], model.totals.all.new_lines);

    let mut html = Vec::new();
    visit(&mut Html::new(&mut html, &files).expect("a vector takes it"));
    let html = String::from_utf8(html).expect("it is text");
    let data = html.split_once("application/json\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("it has data").0;
    let data: serde_json::Value = serde_json::from_str(data).expect("it is JSON");
    assert_eq!(data["changes"].as_array().map(Vec::len), Some(model.changes.len()));
}

/// A printer that cannot write ends the comparison immediately.
#[test]
fn an_error_of_the_visitor_is_the_callers() {
    struct Full(usize);
    impl diff::Visitor for Full {
        fn change(&mut self, _: &Change) -> io::Result<()> {
            self.0 += 1;
            Err(io::ErrorKind::StorageFull.into())
        }
        fn finish(&mut self, _: &diff::Totals) -> io::Result<()> {
            Ok(())
        }
    }
    let original = read(SAMPLES[1]);
    let woven = woven(&original);
    let mut full = Full(0);
    let outcome = visited(&original, &woven, &mut full).expect("it can be read");
    assert_eq!(outcome.err().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    assert_eq!(full.0, 1);
}

#[test]
fn a_listing_is_in_the_order_asked_for() {
    let methods = Some(Methods { as_tree: false, weave: weave::Options::default(), pdb: None });
    let names = |sort| {
        let options = list::Options { methods: methods.clone(), sort, ..list::Options::default() };
        let value = listed(&read(SAMPLES[1]), &options).expect("it can be read");
        let methods = value["methods"].as_array().cloned().unwrap_or_default();
        let text = |method: &serde_json::Value, key: &str| method[key].as_str().unwrap_or_default().to_owned();
        let row = |method: &serde_json::Value| {
            let name = format!("{}::{}", text(method, "type"), text(method, "name"));
            (text(method, "token"), name, method["ilSize"].as_u64().unwrap_or(0))
        };
        methods.iter().map(row).collect::<Vec<_>>()
    };
    let (by_token, by_name, by_size) = (names(Sort::Token), names(Sort::Name), names(Sort::Size));
    assert!(by_token.is_sorted() && !by_token.is_empty());
    assert!(by_name.is_sorted_by_key(|(_, name, _)| name.clone()));
    assert!(by_size.is_sorted_by_key(|(.., size)| std::cmp::Reverse(*size)));
    assert_eq!(by_name.len(), by_token.len());
}

/// Flips bytes of the headers and the metadata one by one. Unreadable parts give an error, never a panic.
#[test]
fn damage_is_an_error_or_a_comment() {
    let original = read(SAMPLES[0]);
    let (start, size) = with(&original, |image, _| {
        let root = image.metadata()?;
        Ok((root.offset().0 as usize, root.rest().len()))
    })
    .expect("it can be read");
    let all = list::Options { references: true, members: true, strings: true, attributes: true, ..list::Options::default() };
    let (mut errors, mut placed) = (0, 0);
    for at in (0..0x200).chain(start..start + size).step_by(3) {
        let mut damaged = original.clone();
        damaged[at] ^= 0xFF;
        let outcomes = [
            disassembled(&damaged, Filter::default()).err(),
            compared(&original, &damaged, &diff::Options::default()).err(),
            listed(&damaged, &all).err(),
        ];
        for error in outcomes.into_iter().flatten() {
            errors += 1;
            placed += usize::from(error.offset().is_some());
        }
    }
    assert!(errors > 0 && placed > errors / 2, "{placed} of {errors} errors say where");
}
