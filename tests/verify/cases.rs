//! Valid and invalid methods and types in IL. Their names state the broken rules: `a branch behind a prefix [III.2-b]`. A rule
//! that needs referenced types is marked so: `[types III.4.21-e]`. A name without a rule breaks none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use tests::{require, root};
use verify::{Level, Library, Options, RULES, Report, Scope};

use crate::{
    faults::{assemble_text, parse},
    read, verify_bytes,
};

const HEAD: &str = "
.assembly extern mscorlib { .ver 4:0:0:0 .publickeytoken = (B7 7A 5C 56 19 34 E0 89) }
.assembly Cases { }
.module Cases.dll
";

/// The broken rules by member name.
type Broken = BTreeMap<String, BTreeSet<String>>;

#[test]
#[ignore = "needs Mono"]
fn cases_break_the_rules_that_they_say() {
    let (Some(ilasm), Some(mono)) = (require("ILINST_ILASM"), require("ILINST_MONO_LIB")) else { return };
    let mscorlib = read(&mono.join("4.5/mscorlib.dll"));
    let mut paths: Vec<_> = fs::read_dir(root().join("tests/verify/cases")).expect("it is there").flatten().collect();
    paths.sort_by_key(fs::DirEntry::path);
    let (mut cases, mut failures) = (0, Vec::new());
    for path in paths.into_iter().map(|entry| entry.path()) {
        let text = fs::read_to_string(&path).expect("it is text");
        let bytes = assemble_text(&ilasm, "verify-cases", &format!("{HEAD}{text}"));
        let image = ecma335::Image::parse(&bytes).expect("it is an assembly");
        let mut library = Library::new();
        let [module, system] = [&bytes, &mscorlib].map(|bytes| library.add(parse(bytes)));
        library.link(module, b"mscorlib", system);
        let types = broken(&verify::verify_types(&image, &Options::default(), Scope { library: &library, module }));
        let plain = broken(&verify_bytes(&bytes, &Options::default()).expect("it can be read"));
        for name in quoted(&text) {
            let (with_types, without) = (promised(name, true), promised(name, false));
            for (how, found, wanted) in [("with types", &types, with_types), ("without types", &plain, without)] {
                let found = found.get(name).cloned().unwrap_or_default();
                if found != wanted {
                    failures.push(format!("{}: {name} {how}: {found:?}", path.display()));
                }
            }
            cases += 1;
        }
        // Members around the cases are valid.
        let others = types.iter().chain(&plain).filter(|(name, _)| !text.contains(&format!("'{name}'")));
        failures.extend(others.map(|(name, found)| format!("{}: {name}: {found:?}", path.display())));
    }
    println!("{cases} cases");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Returns the names in quotes, each once.
fn quoted(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split('\'').skip(1).step_by(2)).collect()
}

/// Returns the rules that a name states.
fn promised(name: &str, has_types: bool) -> BTreeSet<String> {
    let rules = name.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    let rules = rules.map(|rule| rule.strip_prefix("types ").map_or((rule, false), |rule| (rule, true)));
    let is_found = |(rule, needs_types): &(&str, bool)| {
        let level = RULES.iter().find(|known| known.number == *rule).expect("there is such a rule").level;
        has_types || !needs_types && level == Level::Error
    };
    rules.filter(is_found).map(|(rule, _)| rule.to_owned()).collect()
}

fn broken(report: &Report) -> Broken {
    let mut broken = Broken::new();
    for finding in &report.findings {
        let name = finding.member.rsplit_once("::").map_or(&*finding.member, |(_, name)| name);
        broken.entry(name.to_owned()).or_default().insert(finding.rule.number.to_owned());
    }
    broken
}
