//! Real assemblies have no errors: what compilers emit and runtimes run is valid.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Instant};

use ecma335::{Image, Metadata};
use tests::{assemblies, ilinst, library_folders, root, said, scratch, skip, tool};
use verify::Level;
use weave::{LeaveMode, Plan, Tracker, Weave, plan::Selection};

use crate::{PEDANTIC, read, verify_bytes};

/// Errors that real files do have: a part of the path, the rule, and why.
const REAL: &[(&str, &str, &str)] = &[];

#[test]
fn real_assemblies_have_no_errors() {
    let files = assemblies(&library_folders());
    if files.is_empty() {
        return skip("neither the .NET SDK nor Mono was found");
    }
    let started = Instant::now();
    let (mut checked, mut bodies, mut assumed, mut errors) = (0, 0, 0, Vec::new());
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &files {
        let Some(report) = verify_bytes(&read(file), &PEDANTIC) else { continue };
        checked += 1;
        bodies += report.bodies;
        assumed += report.assumed;
        let path = file.display().to_string();
        for finding in report.findings {
            let is_known = REAL.iter().any(|(part, rule, _)| path.contains(part) && finding.rule.number == *rule);
            if finding.rule.level == Level::Error && !is_known {
                errors.push(format!("{path}: {finding}"));
            } else {
                *others.entry(finding.rule.number).or_default() += 1;
            }
        }
    }
    println!("{checked} files, {bodies} bodies, {assumed} values assumed, in {:?}", started.elapsed());
    println!("{others:#?}");
    assert!(errors.is_empty(), "{} errors:\n{}", errors.len(), errors[..errors.len().min(50)].join("\n"));
}

/// Weaving adds no finding, with types too: what is left alone keeps its own, and what is woven is as sound as before.
#[test]
fn woven_assemblies_have_no_new_findings() {
    let tracker = root().join("tracker-runtime/bin/Ilinst.Tracker.dll");
    let tracker = Tracker::read(&read(&tracker)).expect("it is an assembly");
    let samples = ["hello/hello.exe", "orders/orders.exe", "shapes/shapes.exe", "modern/modern.dll", "odd/odd.exe"];
    let mut files: Vec<PathBuf> = samples.map(crate::sample_file).to_vec();
    files.extend(assemblies(&library_folders()).into_iter().step_by(8));
    let folder = scratch("verify-woven");
    let (mut compared, mut failures) = (0, Vec::new());
    for file in files {
        for leave in [LeaveMode::Finally, LeaveMode::Return] {
            let Some(woven) = weave(&read(&file), &tracker, leave) else { continue };
            let output = folder.join(file.file_name().expect("a file has a name"));
            fs::write(&output, woven).expect("it can be written");
            let mut command = ilinst();
            command.args(["verify", "--types", "--limit", "0"]).arg(&output).arg("--compare").arg(&file);
            for framework in frameworks() {
                command.arg("--ref").arg(framework);
            }
            let (text, errors, code) = said(&command.output().expect("ilinst runs"));
            if code != Some(0) {
                failures.push(format!("{} {leave:?}:\n{text}{errors}", file.display()));
            }
            compared += 1;
            fs::remove_file(&output).expect("it can be removed");
        }
    }
    println!("{compared} woven files compared");
    assert!(failures.is_empty(), "{} files:\n{}", failures.len(), failures.join("\n"));
}

/// Where references lead to.
pub(crate) fn frameworks() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(core) = tool("ILINST_DOTNET31") {
        let versions = core.with_file_name("shared").join("Microsoft.NETCore.App");
        folders.extend(fs::read_dir(versions).into_iter().flatten().flatten().map(|version| version.path()));
    }
    folders.sort();
    folders.extend(tool("ILINST_MONO_LIB").map(|mono| mono.join("4.5")));
    folders
}

/// What code does that compilers emit for unsafe sources, and nothing else: a part of the finding, and why.
const UNSAFE: &[(&str, &str)] = &[
    ("& where", "a reference is read as one to something else, or as an address"),
    ("where & is needed", "an address is used as a reference"),
    ("(System.Object where !!0 is needed)", "`Unsafe.As<T>`, written in IL"),
    ("FSharp.Compiler.IncrementalBuild/Vector/BoxingDemultiplex", "F# forgets the arguments of closures in boxes"),
];

/// Types of values are in doubt only where the source was unsafe.
#[test]
fn real_assemblies_have_types_that_fit() {
    let files = assemblies(&library_folders());
    if files.is_empty() {
        return skip("neither the .NET SDK nor Mono was found");
    }
    let mut command = ilinst();
    command.args(["verify", "--types", "--limit", "0"]).args(&files);
    for framework in frameworks() {
        command.arg("--ref").arg(framework);
    }
    let (text, _, _) = said(&command.output().expect("ilinst runs"));
    println!("{}", text.lines().last().unwrap_or_default());
    let is_real = |line: &str| UNSAFE.iter().any(|(part, _)| line.contains(part));
    let of_types = text.lines().filter(|line| line.contains(" III.1.8.1."));
    let doubtful: Vec<&str> = of_types.filter(|line| !is_real(line)).collect();
    assert!(doubtful.is_empty(), "{}:\n{}", doubtful.len(), doubtful.join("\n"));
}

/// The woven file; none if it is refused.
fn weave(bytes: &[u8], tracker: &Tracker, leave: LeaveMode) -> Option<Vec<u8>> {
    let image = Image::parse(bytes).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    if weave::plan::refusal(&image, &metadata, tracker).is_some() {
        return None;
    }
    let plan = Plan::new(&image, &metadata, &Selection::default()).expect("it can be planned");
    let how = Weave { leave, ..Weave::new(tracker) };
    Some(weave::weave(&image, &metadata, plan, &how).expect("it can be woven").file.to_vec())
}
