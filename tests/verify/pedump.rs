//! Agreement with Mono's own verifier: both report the same methods, apart from the exceptions listed with reasons.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use ecma335::{Table, schema::MethodDef};
use tests::{end_of, ilinst, in_tier, instrument, require, root, scratch, set_cell};

/// Messages of pedump about methods that ilinst accepts, with reasons.
const THEIRS: &[(&str, &str)] = &[
    ("Cannot load field from token", "a reference of the file that Mono does not find: its type is not loaded"),
    ("Could not load type", "the same"),
    ("Could not decode method", "the same"),
    ("Incompatible type 'object (Complex)' on stack cannot be stored to local", MERGED),
    ("Incompatible parameter value with constructor signature: System.Collections.Generic.IReadOnlyList", MERGED),
    ("Incompatible return value on stack with method signature, expected 'System.Linq.IPartition", MERGED),
    ("Could not merge stack at depth", "a box of a generic parameter and a class are both objects (III.1.8.1.3)"),
    ("byref types are safe byref incompatible", "Mono tells references that may be returned from others; the standard does not"),
    (
        "Invalid use of typedbyref",
        "a typed reference may be loaded and stored like any value; only what is in it may not be named",
    ),
];
const MERGED: &str = "classes meet that share an interface, which Mono's merge to object forgets";

/// Messages of ilinst about methods that pedump accepts, with reasons.
const OURS: &[(&str, &str)] =
    &[("an unmanaged pointer", "Mono lets a pointer pass that is only loaded from a field, or passed on")];

/// Messages about methods, by their names without parameters.
type Said = BTreeMap<String, Vec<String>>;

#[test]
#[ignore = "needs Mono"]
fn we_and_pedump_find_the_same_methods() {
    let (Some(pedump), Some(mono)) = (require("ILINST_PEDUMP"), require("ILINST_MONO_LIB")) else { return };
    let folder = scratch("verify-pedump");
    let (mut table, mut unexplained, mut used) = (String::new(), Vec::new(), BTreeSet::new());
    let mut total = [0; 3];
    for file in in_tier(files(&mono.join("4.5")), 4) {
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let theirs = of_pedump(&run(Command::new(&pedump).args(["--verify", "all"]).arg(&file), &folder));
        let ours = of_ilinst(&run(ilinst().args(["verify", "--types", "--limit", "0", "--json"]).arg(&file), &folder));
        let both = theirs.keys().filter(|method| ours.contains_key(*method)).count();
        let counts = [both, theirs.len() - both, ours.len() - both];
        if counts != [0; 3] {
            table.push_str(&format!("{name:<45} {:>6} {:>11} {:>9}\n", counts[0], counts[1], counts[2]));
        }
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        for (who, one, other, reasons) in [("pedump", &theirs, &ours, THEIRS), ("ilinst", &ours, &theirs, OURS)] {
            for (method, texts) in one.iter().filter(|(method, _)| !other.contains_key(*method)) {
                for text in texts {
                    match reasons.iter().find(|(pattern, _)| text.contains(pattern)) {
                        Some((pattern, _)) => drop(used.insert(*pattern)),
                        None => unexplained.push(format!("{name}: {who} alone: {method}: {text}")),
                    }
                }
            }
        }
    }
    println!("{:<45} {:>6} {:>11} {:>9}\n{table}", "methods of", "both", "pedump only", "ours only");
    println!("in all: {} both, {} pedump only, {} ours only", total[0], total[1], total[2]);
    for (pattern, reason) in THEIRS.iter().chain(OURS).filter(|(pattern, _)| used.contains(pattern)) {
        println!("  {pattern}: {reason}");
    }
    assert!(unexplained.is_empty(), "{} disagreements:\n{}", unexplained.len(), unexplained.join("\n"));
}

/// Local variables without initialization, in the output of ilasm and in the instrumented version.
#[test]
#[ignore = "needs Mono"]
fn we_and_pedump_find_the_same_locals() {
    let (Some(pedump), Some(ilasm)) = (require("ILINST_PEDUMP"), require("ILINST_ILASM")) else { return };
    let folder = scratch("verify-pedump-locals");
    let assembled = |source: &str| {
        let source = root().join(source);
        let file = folder.join(source.file_name().expect("a file has a name")).with_extension("exe");
        let text = run(Command::new(&ilasm).arg(format!("/output:{}", file.display())).arg(&source), &folder);
        assert!(text.contains("Operation completed successfully"), "{text}");
        file
    };
    let locals = assembled("tests/verify/locals.il");
    let files = [locals.clone(), assembled("tests/run/paths/passed.il"), assembled("samples/shapes/shapes.il")];
    let found = |file: &Path| {
        let only = |said: Said, text: &str| -> BTreeSet<String> {
            said.into_iter()
                .filter(|(_, texts)| texts.iter().any(|found| found.contains(text)))
                .map(|(method, _)| method)
                .collect()
        };
        let theirs = run(Command::new(&pedump).args(["--verify", "all"]).arg(file), &folder);
        let ours = run(ilinst().args(["verify", "--types", "--pedantic", "--limit", "0", "--json"]).arg(file), &folder);
        let ours = only(of_ilinst(&ours), "III.1.8.1.1-a ");
        assert_eq!(ours, only(of_pedump(&theirs), "without init locals set"), "{}", file.display());
        ours
    };
    for file in files {
        let before = found(&file);
        for mode in ["finally", "return"] {
            let woven = folder.join(mode).join(file.file_name().expect("a file has a name"));
            instrument(&[&file, &"-o", &woven, &"--leave", &mode, &"--all", &"-q"]);
            forget_optimization(&woven.with_file_name("Ilinst.Tracker.dll"));
            let new: Vec<String> = found(&woven).difference(&before).cloned().collect();
            // The locals of its probe stay uninitialized: initializing them would also clear memory that it allocates on the
            // stack.
            assert_eq!(new, if file == locals { vec!["Locals::Alloc"] } else { vec![] }, "{} by {mode}", file.display());
        }
    }
    assert_eq!(found(&locals).len(), 4);
}

/// Removes AggressiveOptimization (II.23.1.11): pedump loads referenced assemblies, but none with an unknown flag.
fn forget_optimization(tracker: &Path) {
    const AGGRESSIVE_OPTIMIZATION: u16 = 0x200;
    let mut bytes = fs::read(tracker).expect("it is there");
    let image = ecma335::Image::parse(&bytes).expect("it is an assembly");
    let metadata = ecma335::Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let rows: Vec<(u32, u16)> = metadata.tables.rows::<MethodDef>().map(|(rid, row)| (rid.get(), row.impl_flags)).collect();
    for (rid, flags) in rows.into_iter().filter(|(_, flags)| flags & AGGRESSIVE_OPTIMIZATION != 0) {
        bytes = set_cell(&bytes, Table::MethodDef, rid, "impl_flags", u32::from(flags & !AGGRESSIVE_OPTIMIZATION));
    }
    fs::write(tracker, bytes).expect("it can be written");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "dll" || extension == "exe"));
    files.sort();
    files
}

/// Returns the output of a program.
fn run(command: &mut Command, folder: &Path) -> String {
    let path = folder.join("output.txt");
    let output = fs::File::create(&path).expect("it can be written");
    let mut child = command.stdout(output).stderr(Stdio::null()).spawn().expect("it starts");
    end_of(&mut child, &format!("{command:?}"));
    String::from_utf8_lossy(&fs::read(&path).expect("it can be read")).into_owned()
}

/// Parses `In method: Type::Name(parameters)`, with the lines of messages behind it.
fn of_pedump(text: &str) -> Said {
    let mut said = Said::new();
    let mut method = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("In method: ") {
            method = full_name(name.split('(').next().unwrap_or(name));
        } else if line.starts_with("Not Verifiable: ") || line.starts_with("Error: ") {
            said.entry(method.clone()).or_default().push(line.into());
        }
    }
    said
}

/// Converts primitive types, which Mono writes as C# does.
fn full_name(method: &str) -> String {
    #[rustfmt::skip]
    const KEYWORDS: &[(&str, &str)] = &[
        ("bool", "Boolean"), ("char", "Char"), ("sbyte", "SByte"), ("byte", "Byte"), ("int16", "Int16"), ("uint16", "UInt16"),
        ("int", "Int32"), ("uint", "UInt32"), ("long", "Int64"), ("ulong", "UInt64"), ("single", "Single"), ("double", "Double"),
        ("intptr", "IntPtr"), ("uintptr", "UIntPtr"), ("string", "String"), ("object", "Object"), ("typedbyref", "TypedReference"),
    ];
    let (of, name) = method.rsplit_once("::").unwrap_or(("", method));
    match KEYWORDS.iter().find(|(keyword, _)| *keyword == of) {
        Some((_, of)) => format!("System.{of}::{name}"),
        None => method.into(),
    }
}

fn of_ilinst(json: &str) -> Said {
    let value: serde_json::Value = serde_json::from_str(json).expect("it is JSON");
    let mut said = Said::new();
    let findings =
        value["files"].as_array().into_iter().flatten().flat_map(|file| file["findings"].as_array().into_iter().flatten());
    for finding in findings {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        if text("token").starts_with("0x06") && text("level") != "warning" {
            said.entry(text("member")).or_default().push(format!("{} {}", text("rule"), text("message")));
        }
    }
    said
}
