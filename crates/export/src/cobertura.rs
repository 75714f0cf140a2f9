//! Lines by count as Cobertura's XML (`coverage-04.dtd`), which CI systems and editors read. Its packages are assemblies; its classes
//! are types, once for each of their files. There are no branches: the rate of branches is 0 of 0.

use std::io::{self, Write};

use indexmap::IndexMap;
use names::Visible;
use profile::{
    coverage::{FileCoverage, Line, MethodCoverage, Totals, common_folder},
    lines::SourceFile,
};
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

use crate::{Error, Export, rows::started};

/// The decimals of a rate.
const RATE: u64 = 10_000;

/// A type in one of its files.
struct Class<'c, 'p> {
    name: &'p str,
    file: &'p str,
    methods: Vec<&'c MethodCoverage<'p>>,
    lines: Vec<Line>,
}

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let files: Vec<FileCoverage<'_>> = export.profile.lines.iter().map(FileCoverage::new).collect();
    let folder = common_folder(export.profile.lines.iter().map(|file| file.path.as_str()));
    let all = files.iter().fold(Totals::default(), |sum, file| sum.and(file.totals()));
    // Formatters and readers of both systems know `/`.
    let source = folder.replace('\\', "/");
    let mut packages: IndexMap<&str, Vec<Class<'_, '_>>> = IndexMap::new();
    for file in &files {
        for (assembly, class) in classes(file, folder) {
            packages.entry(assembly).or_default().push(class);
        }
    }
    packages.sort_keys();
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    let seconds = started(export.profile).map_or(0, |started| started.timestamp());
    let attributes = [
        ("line-rate", rate(all)),
        ("branch-rate", "0".into()),
        ("lines-covered", all.covered.to_string()),
        ("lines-valid", all.lines.to_string()),
        ("branches-covered", "0".into()),
        ("branches-valid", "0".into()),
        ("complexity", "0".into()),
        ("version", concat!("ilinst ", env!("CARGO_PKG_VERSION")).into()),
        ("timestamp", seconds.to_string()),
    ];
    element(&mut xml, "coverage", &attributes, |xml| {
        element(xml, "sources", &[], |xml| {
            let text = |xml: &mut Writer<_>| xml.write_event(Event::Text(BytesText::new(&shown(&source))));
            xml.create_element("source").write_inner_content(text).map(drop)
        })?;
        element(xml, "packages", &[], |xml| packages.iter().try_for_each(|(name, classes)| package(xml, name, classes)))
    })?;
    Ok(out.write_all(b"\n")?)
}

/// The types of a file, by assembly.
fn classes<'c, 'p>(file: &'c FileCoverage<'p>, folder: &str) -> Vec<(&'p str, Class<'c, 'p>)> {
    let SourceFile { path, .. } = file.file;
    let mut classes: IndexMap<(&str, &str), Class<'c, 'p>> = IndexMap::new();
    for (index, method) in file.methods.iter().enumerate() {
        let class = classes.entry((method.assembly, method.type_name)).or_insert_with(|| Class {
            name: method.type_name,
            file: path.strip_prefix(folder).unwrap_or(path),
            methods: Vec::new(),
            lines: Vec::new(),
        });
        class.methods.push(method);
        class.lines.extend(file.lines.iter().filter(|line| line.method == index));
    }
    classes
        .into_iter()
        .map(|((assembly, _), mut class)| {
            class.lines.sort_by_key(|line| line.number);
            (assembly, class)
        })
        .collect()
}

fn package<W: Write>(xml: &mut Writer<W>, name: &str, classes: &[Class<'_, '_>]) -> io::Result<()> {
    let totals = classes.iter().fold(Totals::default(), |sum, class| sum.and(Totals::count(&class.lines)));
    element(xml, "package", &rates(&[("name", name)], totals), |xml| {
        element(xml, "classes", &[], |xml| classes.iter().try_for_each(|one| class(xml, one)))
    })
}

fn class<W: Write>(xml: &mut Writer<W>, class: &Class<'_, '_>) -> io::Result<()> {
    let file = class.file.replace('\\', "/");
    let name = if class.name.is_empty() { "?" } else { class.name };
    element(xml, "class", &rates(&[("name", name), ("filename", &file)], Totals::count(&class.lines)), |xml| {
        element(xml, "methods", &[], |xml| {
            class.methods.iter().try_for_each(|method| {
                // Methods have no parameters here; the line tells overloads apart.
                let signature = format!("(line {})", method.first_line());
                let names = [("name", method.name), ("signature", &signature)];
                element(xml, "method", &rates(&names, Totals::count(&method.lines)), |xml| lines(xml, &method.lines))
            })
        })?;
        lines(xml, &class.lines)
    })
}

fn lines<W: Write>(xml: &mut Writer<W>, lines: &[Line]) -> io::Result<()> {
    element(xml, "lines", &[], |xml| {
        lines.iter().try_for_each(|line| {
            let (number, hits) = (line.number.to_string(), line.count.to_string());
            let attributes = [("number", number.as_str()), ("hits", &hits), ("branch", "false")];
            xml.create_element("line").with_attributes(attributes).write_empty().map(drop)
        })
    })
}

/// Names, and the rates that the schema wants behind them.
fn rates(names: &[(&'static str, &str)], totals: Totals) -> Vec<(&'static str, String)> {
    let mut attributes: Vec<_> = names.iter().map(|(name, value)| (*name, shown(value))).collect();
    attributes.push(("line-rate", rate(totals)));
    attributes.extend([("branch-rate", "0".into()), ("complexity", "0".into())]);
    attributes
}

fn rate(totals: Totals) -> String {
    let share = totals.share(RATE);
    match share {
        RATE => "1".into(),
        0 => "0".into(),
        _ => format!("0.{share:04}"),
    }
}

/// A text without the characters that XML cannot express.
fn shown(text: &str) -> String {
    Visible(text).to_string().replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn element<W: Write>(
    xml: &mut Writer<W>,
    name: &str,
    attributes: &[(&'static str, String)],
    content: impl FnOnce(&mut Writer<W>) -> io::Result<()>,
) -> io::Result<()> {
    let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
    xml.create_element(name).with_attributes(attributes).write_inner_content(content).map(drop)
}
