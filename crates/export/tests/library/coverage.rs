//! Lines by count as Cobertura and lcov. Cobertura's file is checked against the schema, and both against the model.

use std::collections::BTreeMap;

use export::{Export, Format, Measure, Origin};
use profile::{
    Profile,
    lines::{LineMethod, Point, SourceFile},
};
use quick_xml::{Reader, events::Event};

/// Cobertura's schema: elements, the attributes that each has to have, and those that it may have.
const SCHEMA: &[(&str, &[&str], &[&str])] = &[
    (
        "coverage",
        &[
            "line-rate",
            "branch-rate",
            "lines-covered",
            "lines-valid",
            "branches-covered",
            "branches-valid",
            "complexity",
            "version",
            "timestamp",
        ],
        &[],
    ),
    ("sources", &[], &[]),
    ("source", &[], &[]),
    ("packages", &[], &[]),
    ("package", &["name", "line-rate", "branch-rate", "complexity"], &[]),
    ("classes", &[], &[]),
    ("class", &["name", "filename", "line-rate", "branch-rate", "complexity"], &[]),
    ("methods", &[], &[]),
    ("method", &["name", "signature", "line-rate", "branch-rate", "complexity"], &[]),
    ("lines", &[], &[]),
    ("line", &["number", "hits"], &["branch", "condition-coverage"]),
];

/// The elements that an element may contain: each of them once, in this order, or one of them any number of times.
fn has_content(element: &str, content: &[String]) -> bool {
    let all_are = |name| content.iter().all(|child| child == name);
    match element {
        "coverage" => content == ["sources", "packages"] || content == ["packages"],
        "sources" => all_are("source"),
        "packages" => all_are("package"),
        "package" => content == ["classes"],
        "classes" => all_are("class"),
        "class" => content == ["methods", "lines"],
        "methods" => all_are("method"),
        "method" => content == ["lines"],
        "lines" => all_are("line"),
        _ => content.is_empty(),
    }
}

/// An element: its name, attributes, and the names of its children.
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<String>,
}

/// Reads a document whose elements all fit the schema. They are in the order of their ends.
fn checked(xml: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(xml);
    let (mut open, mut closed): (Vec<Element>, Vec<Element>) = (Vec::new(), Vec::new());
    let close = |element: Element, closed: &mut Vec<Element>| {
        let (_, wanted, others) = SCHEMA.iter().find(|(name, ..)| *name == element.name).expect("the schema has it");
        for name in *wanted {
            assert!(element.attributes.contains_key(*name), "{} without {name}", element.name);
        }
        for name in element.attributes.keys() {
            assert!(wanted.iter().chain(*others).any(|known| known == name), "{} with {name}", element.name);
        }
        assert!(has_content(&element.name, &element.children), "{} has {:?}", element.name, element.children);
        closed.push(element);
    };
    loop {
        let event = reader.read_event().expect("it is XML");
        let (Event::Start(start) | Event::Empty(start)) = &event else {
            match event {
                Event::End(_) => close(open.pop().expect("it is open"), &mut closed),
                Event::Eof => break,
                _ => {}
            }
            continue;
        };
        let attribute = |attribute: quick_xml::events::attributes::Attribute<'_>| {
            let value = std::str::from_utf8(&attribute.value).expect("it is UTF-8");
            let value = quick_xml::escape::unescape(value).expect("it is escaped").into_owned();
            (String::from_utf8_lossy(attribute.key.as_ref()).into_owned(), value)
        };
        let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
        open.iter_mut().last().into_iter().for_each(|outer| outer.children.push(name.clone()));
        let attributes = start.attributes().map(|found| attribute(found.expect("it is an attribute"))).collect();
        let element = Element { name, attributes, children: Vec::new() };
        if matches!(event, Event::Empty(_)) { close(element, &mut closed) } else { open.push(element) }
    }
    assert!(open.is_empty());
    closed
}

fn point(line: u32, count: u64) -> Point {
    Point { start_line: line, start_column: 9, end_line: line, end_column: 30, count }
}

fn method(assembly: &str, type_name: &str, name: &str, points: &[Point]) -> LineMethod {
    LineMethod { assembly: assembly.into(), type_name: type_name.into(), name: name.into(), points: points.to_vec() }
}

fn profile(lines: Vec<SourceFile>) -> Profile {
    // 2026-01-31, 12:00.
    Profile { program: "shop run".into(), start_time: 639_054_576_000_000_000, lines, ..Profile::default() }
}

fn shop() -> Profile {
    let order = vec![
        method("shop", "Shop.Order", ".ctor", &[point(5, 3)]),
        method("shop", "Shop.Order", "Add", &[point(8, 7), point(9, 7), point(10, 0)]),
        method("shop", "Shop.Order", "Add", &[point(14, 0)]),
    ];
    let map = vec![method("lib", "Lib.Map<K, V>", "operator <", &[point(3, u64::MAX)])];
    let file = |path: &str, methods| SourceFile { path: path.into(), hash: None, methods };
    profile(vec![file("/home/a & b/shop/lib/Map.cs", map), file("/home/a & b/shop/src/Order.cs", order)])
}

fn written(profile: &Profile, format: Format) -> String {
    let origin = Origin::new(profile, "here");
    let (phases, measure) = (&[], Measure::SelfTime);
    let export = Export { profile, bytes: &[], phases, origin: &origin, measure, by_thread: false, max_depth: None };
    let mut out = Vec::new();
    export.write(format, &mut out).expect("it is written");
    String::from_utf8(out).expect("it is text")
}

#[test]
fn cobertura_fits_its_schema_and_has_all_lines() {
    let xml = written(&shop(), Format::Cobertura);
    let elements = checked(&xml);
    assert!(xml.contains("<source>/home/a &amp; b/shop/</source>"), "{xml}");
    let all = |name: &'static str, attributes: &'static [&'static str]| {
        let of = move |element: &Element| attributes.iter().map(|name| element.attributes[*name].clone()).collect::<Vec<_>>();
        elements.iter().filter(move |element| element.name == name).map(of).collect::<Vec<_>>()
    };
    assert_eq!(
        all("coverage", &["line-rate", "lines-covered", "lines-valid", "timestamp"]),
        [["0.6666", "4", "6", "1769860800"]]
    );
    assert_eq!(all("package", &["name", "line-rate"]), [["lib", "1"], ["shop", "0.6000"]]);
    assert_eq!(
        all("class", &["name", "filename", "line-rate"]),
        [["Lib.Map<K, V>", "lib/Map.cs", "1"], ["Shop.Order", "src/Order.cs", "0.6000"]]
    );
    assert_eq!(
        all("method", &["name", "signature"]),
        [["operator <", "(line 3)"], [".ctor", "(line 5)"], ["Add", "(line 8)"], ["Add", "(line 14)"]]
    );
    // Each line is in its method and in its class.
    let order = [["5", "3"], ["8", "7"], ["9", "7"], ["10", "0"], ["14", "0"]];
    let map = [["3", "18446744073709551615"]];
    assert_eq!(all("line", &["number", "hits"]), [&map[..], &map, &order, &order].concat());
}

#[test]
fn lcov_has_all_lines_and_methods() {
    let expected = "\
TN:shop_run
SF:/home/a & b/shop/lib/Map.cs
FN:3,Lib.Map<K, V>.operator <
FNDA:18446744073709551615,Lib.Map<K, V>.operator <
FNF:1
FNH:1
DA:3,18446744073709551615
LF:1
LH:1
end_of_record
TN:shop_run
SF:/home/a & b/shop/src/Order.cs
FN:5,Shop.Order..ctor
FN:8,Shop.Order.Add (line 8)
FN:14,Shop.Order.Add (line 14)
FNDA:3,Shop.Order..ctor
FNDA:7,Shop.Order.Add (line 8)
FNDA:0,Shop.Order.Add (line 14)
FNF:3
FNH:2
DA:5,3
DA:8,7
DA:9,7
DA:10,0
DA:14,0
LF:5
LH:3
end_of_record
";
    assert_eq!(written(&shop(), Format::Lcov), expected);
}

#[test]
fn names_are_names_whatever_they_are() {
    let name = "a\0b\n<c d=\"e\"> & \u{fffe}\u{ffff} \u{202e} ]]>";
    let path = format!("C:\\src\\{name}.cs");
    let profile = profile(vec![SourceFile { path, hash: None, methods: vec![method(name, name, name, &[point(1, 1)])] }]);
    let elements = checked(&written(&profile, Format::Cobertura));
    let shown = "a\\u{0}b\\u{a}<c d=\"e\"> & \u{fffd}\u{fffd} \\u{202e} ]]>";
    for (element, attribute) in [("package", "name"), ("class", "name"), ("method", "name")] {
        let found = elements.iter().find(|each| each.name == element).expect("it is there");
        assert_eq!(found.attributes[attribute], shown);
    }
    let lines = written(&profile, Format::Lcov);
    assert_eq!(lines.lines().count(), 10, "{lines}");
    // Without a line it is a document too.
    assert_eq!(checked(&written(&self::profile(Vec::new()), Format::Cobertura)).len(), 4);
}
