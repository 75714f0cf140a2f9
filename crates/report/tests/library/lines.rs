//! Views of lines of source.

use profile::{
    Profile,
    lines::{LineMethod, Point, SourceFile},
};
use report::{
    TextOptions, document, head,
    html::{Page, Sources},
    views::{ViewOptions, Wanted, source_folder, view},
};

const SOURCE: &str =
    "class Order\n{\n\tint Add(int n)\n\t{\n\t\tif (n < 0) return 0;\n\t\treturn n;\n\t}\n\n\tvoid Clear()\n\t{\n\t}\n}\n";

fn point(line: u32, columns: (u32, u32), count: u64) -> Point {
    Point { start_line: line, start_column: columns.0, end_line: line, end_column: columns.1, count }
}

fn method(type_name: &str, name: &str, points: &[Point]) -> LineMethod {
    LineMethod { assembly: "shop".into(), type_name: type_name.into(), name: name.into(), points: points.to_vec() }
}

fn shop() -> Profile {
    let add = [(4, (2, 3), 5), (5, (3, 13), 5), (5, (14, 23), 0), (6, (3, 12), 5), (7, (2, 3), 5)];
    let add = method("Shop.Order", "Add", &add.map(|(line, columns, count)| point(line, columns, count)));
    let clear = method("Shop.Order", "Clear", &[point(10, (2, 3), 0), point(11, (2, 3), 0)]);
    let file = |path: &str, methods| SourceFile { path: path.into(), hash: None, methods };
    let main = method("Shop.Program", "Main", &[point(3, (5, 9), 1)]);
    let lines = vec![file("/shop/src/Order.cs", vec![add, clear]), file("/shop/src/app/Main.cs", vec![main])];
    Profile { program: "shop".into(), lines, ..Profile::default() }
}

fn text(wanted: &Wanted) -> String {
    let profile = shop();
    let (view, count) = view(&profile, wanted, &ViewOptions::default(), &[], &|_| true);
    view.text(&profile, count, &TextOptions::default())
}

#[test]
fn files_are_shown_with_their_sum() {
    let profile = shop();
    let folder = source_folder(&profile.lines, None);
    assert_eq!(folder, "/shop/src/");
    assert_eq!(source_folder(&profile.lines, Some("/shop".as_ref())), "/shop/");
    assert_eq!(source_folder(&profile.lines, Some("/sho".as_ref())), "/shop/src/");
    let expected = "   lines      ran      %  source file
       6        4   66.6  Order.cs
       1        1  100.0  app/Main.cs
       7        5   71.4  (2 files)
";
    assert_eq!(text(&Wanted::Files { folder }), expected);
    assert!(head(&profile).ends_with("lines: 5 of 7 ran, 71.4 % (--lines)\n"), "{}", head(&profile));
}

#[test]
fn lines_that_never_ran_are_shown_with_their_method() {
    let expected = "src/Order.cs:5  Shop.Order.Add  (in part)\nsrc/Order.cs:10-11  Shop.Order.Clear\n";
    assert_eq!(text(&Wanted::Uncovered { folder: "/shop/".into() }), expected);
}

#[test]
fn a_source_is_shown_with_counts() {
    let expected = "     count   line   source
                1 | class Order
                2 | {
                3 |     int Add(int n)
         5      4 |     {
         5~     5 |         if (n < 0) return 0;
         5      6 |         return n;
         5      7 |     }
                8 |
                9 |     void Clear()
         0     10 |     {
         0     11 |     }
               12 | }
";
    assert_eq!(text(&Wanted::Source { file: 0, text: Some(SOURCE.into()) }), expected);
    // A source that is not there, or that has become shorter.
    let short = text(&Wanted::Source { file: 0, text: Some("class Order\n".into()) });
    assert_eq!(short.lines().nth(2), Some("         5      4 |"), "{short}");
    assert_eq!(text(&Wanted::Source { file: 0, text: None }).lines().count(), 7);
}

#[test]
fn scripts_get_the_same() {
    let profile = shop();
    let shown = |wanted: &Wanted| {
        let (view, _) = view(&profile, wanted, &ViewOptions::default(), &[], &|_| true);
        let mut csv = Vec::new();
        view.csv(&mut csv).expect("memory takes it");
        let document = serde_json::to_value(document(&profile, &view)).expect("it is JSON");
        (document, String::from_utf8(csv).expect("it is text"))
    };
    let (document, csv) = shown(&Wanted::Files { folder: "/shop/".into() });
    assert_eq!(document["lines"], serde_json::json!({ "lines": 7, "covered": 5, "percent": 71.4 }));
    let first =
        serde_json::json!({ "file": "src/Order.cs", "lines": 6, "covered": 4, "percent": 66.6, "path": "/shop/src/Order.cs" });
    assert_eq!(document["files"][0], first);
    assert_eq!(csv.lines().nth(1), Some("src/Order.cs,6,4,66.6,/shop/src/Order.cs"));
    let (document, csv) = shown(&Wanted::Uncovered { folder: "/shop/".into() });
    assert_eq!(document["uncovered"][1]["firstLine"], 10);
    assert_eq!(csv.lines().nth(1), Some("src/Order.cs,5,5,true,Shop.Order.Add,shop"));
    let (document, csv) = shown(&Wanted::Source { file: 0, text: None });
    assert_eq!(document["source"][0], serde_json::json!({ "line": 4, "count": 5, "isPartial": false, "text": null }));
    assert_eq!(csv.lines().next(), Some("line,count,isPartial,text"));
}

#[test]
fn a_page_without_lines_has_no_data_of_them() {
    let page = |profile: &Profile| {
        let sources = Sources {
            folder: "/shop/".into(),
            texts: vec![Some(SOURCE.into()), None],
            links: vec![None, Some("https://shop/a.cs".into())],
        };
        let mut page = Vec::new();
        Page::report(profile, &[]).with_lines(profile, &sources).write(&mut page).expect("memory takes it");
        String::from_utf8(page).expect("it is text")
    };
    let with = page(&shop());
    assert!(
        with.contains("\"lines\":[{\"path\":\"src/Order.cs\",\"number\":[4,5,6,7,10,11],\"count\":[5,5,5,5,0,0],\"partial\":[5]")
    );
    assert!(with.contains("if (n \\u003c 0) return 0;"));
    assert!(with.contains("\"text\":null,\"link\":\"https://shop/a.cs\""));
    assert!(!page(&Profile::default()).contains("\"lines\":[{"));
}
