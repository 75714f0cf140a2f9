//! Real assemblies have no errors: what compilers emit and runtimes run is valid.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use ecma335::{Image, Metadata};
use tests::{root, sample, skip, tool};
use verify::{Level, Options};
use weave::{LeaveMode, Plan, Tracker, Weave, plan::Selection};

use crate::{PEDANTIC, read, verify_bytes};

/// Errors that real files do have: a part of the path, the rule, and why.
const REAL: &[(&str, &str, &str)] = &[];

#[test]
fn real_assemblies_have_no_errors() {
    let files = corpus();
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

/// Weaving adds no finding: what is left alone keeps its own, and what is woven is as sound as before.
#[test]
fn woven_assemblies_have_the_findings_of_their_input() {
    let tracker = root().join("tracker-runtime/bin/Ilinst.Tracker.dll");
    let tracker = Tracker::read(&read(&tracker)).expect("it is an assembly");
    let mut files: Vec<PathBuf> =
        ["hello/hello.exe", "orders/orders.exe", "shapes/shapes.exe", "modern/modern.dll", "odd/odd.exe"]
            .iter()
            .filter_map(|name| name.split_once('/').map(|(folder, file)| sample(folder).join(file)))
            .collect();
    files.extend(corpus().into_iter().step_by(16));
    for file in files {
        let bytes = read(&file);
        for leave in [LeaveMode::Finally, LeaveMode::Return] {
            let Some(woven) = weave(&bytes, &tracker, leave) else { continue };
            let (before, after) = (findings(&bytes), findings(&woven));
            let new: Vec<_> = after.difference(&before).collect();
            assert!(new.is_empty(), "{} {leave:?}: {new:#?}", file.display());
        }
    }
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

/// Errors, by rule and member: offsets move with weaving.
fn findings(bytes: &[u8]) -> BTreeSet<(&'static str, String)> {
    let report = verify_bytes(bytes, &Options { pedantic: false, limit: usize::MAX, every: false, threads: 1 })
        .expect("it is an assembly");
    report.findings.into_iter().map(|finding| (finding.rule.number, finding.member)).collect()
}

/// Every .dll and .exe of the SDK and of Mono, each content once.
fn corpus() -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(sdk) = tool("ILINST_SDK") {
        collect(&sdk, &mut files);
    }
    if let Some(mono) = tool("ILINST_MONO_LIB") {
        collect(&mono.join("4.5"), &mut files);
        collect(&mono.join("gac"), &mut files);
    }
    let mut seen = BTreeSet::new();
    files.retain(|file| file.canonicalize().is_ok_and(|real| seen.insert(real)));
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "dll" || extension == "exe") {
            files.push(path);
        }
    }
}
