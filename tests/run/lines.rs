//! Counts of lines: each sequence point has the count that a comment in the program's source states, however the program ends.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use profile::{Profile, lines::Point};
use tests::{References, Runtime, compile_with, ilinst, instrument, profile_in, root, said, scratch, waiting};

/// The counts of the points that begin on each line, in the order of their columns.
type ByLine = BTreeMap<u32, Vec<u64>>;

/// Compiles the program. Returns `None` without a compiler.
fn compiled(folder: &Path, options: &[&str]) -> Option<PathBuf> {
    let program = folder.join("lines.exe");
    compile_with(&source(), &program, References::All, &[], options)?;
    Some(program)
}

fn source() -> PathBuf {
    root().join("tests/run/lines/lines.cs")
}

const DEBUG: [&str; 2] = ["-optimize-", "-debug:portable"];

/// The counts that the comments of the source state.
fn stated() -> ByLine {
    let text = fs::read_to_string(source()).expect("it is there");
    let counts = (1..).zip(text.lines()).filter_map(|(line, text)| {
        let (_, counts) = text.rsplit_once("// =")?;
        let counts = counts.split(',').filter(|count| !count.is_empty());
        Some((line, counts.map(|count| count.parse().expect("a count")).collect()))
    });
    counts.collect()
}

/// All points of the program's source, by their positions.
fn points(profile: &Profile) -> Vec<Point> {
    let [file] = &profile.lines[..] else { panic!("one file, not {:?}", profile.lines) };
    assert_eq!(Path::new(&file.path), source());
    let hash = file.hash.as_ref().expect("compilers state it");
    assert!(hash.bytes.len() >= 20, "{hash:?}");
    let mut points: Vec<Point> = file.methods.iter().flat_map(|method| method.points.iter().copied()).collect();
    points.sort_by_key(|point| (point.start_line, point.start_column));
    points
}

/// The counts of the lines that have a comment.
fn counted(profile: &Profile) -> ByLine {
    let mut lines: ByLine = stated().into_keys().map(|line| (line, Vec::new())).collect();
    for point in points(profile) {
        lines.get_mut(&point.start_line).into_iter().for_each(|counts| counts.push(point.count));
    }
    lines
}

/// Instruments the program, runs it, and compares what it prints with the original.
fn run(runtime: &Runtime, program: &Path, options: &[&str], arguments: &[&str]) -> Profile {
    let words = options.concat();
    let folder = scratch(&format!("lines-{}-{words}-{}", runtime.name.replace(' ', "-"), arguments.concat()));
    let woven = folder.join("woven/lines.exe");
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&program, &"-o", &woven, &"-q"];
    all.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
    instrument(&all);
    fs::copy(program.with_extension("runtimeconfig.json"), woven.with_extension("runtimeconfig.json")).expect("it is there");
    let run = |program: &Path| runtime.program(program, &folder).args(arguments).output().expect("it starts");
    let (before, after) = (run(program), run(&woven));
    let context = format!("{} {words}", runtime.name);
    assert_eq!(said(&before).0, said(&after).0, "{context}");
    assert_eq!(before.status, after.status, "{context}");
    profile_in(&folder)
}

#[test]
#[ignore = "needs .NET and Mono"]
fn each_line_has_the_count_that_its_comment_states() {
    let Some(program) = compiled(&scratch("lines-debug"), &DEBUG) else { return };
    let Some(optimized) = compiled(&scratch("lines-optimized"), &["-debug:embedded"]) else { return };
    let stated = stated();
    assert!(stated.len() > 90, "{} lines", stated.len());
    for runtime in Runtime::all() {
        for options in [&["--lines-only"][..], &["--lines"], &["--lines", "--embed", "--all", "--leave", "return"]] {
            let profile = run(&runtime, &program, options, &[]);
            assert_eq!(counted(&profile), stated, "{} {options:?}", runtime.name);
            let has_calls = profile.trees.iter().any(|tree| !tree.nodes.is_empty());
            assert_eq!(has_calls, options != ["--lines-only"], "{} {options:?}", runtime.name);
            // A compiler that optimizes leaves points out, and counts of the others stay.
            let all = points(&profile);
            let fewer = points(&run(&runtime, &optimized, options, &["optimized"]));
            let same: Vec<&Point> = fewer.iter().filter(|point| all.contains(point)).collect();
            assert!(same.len() > 90 && same.len() + 4 > fewer.len(), "{} of {} on {}", same.len(), fewer.len(), runtime.name);
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn lines_have_the_names_of_the_methods_in_the_source() {
    let Some(program) = compiled(&scratch("lines-names"), &DEBUG) else { return };
    let Some(runtime) = Runtime::find(".NET 8") else { return };
    let profile = run(&runtime, &program, &["--lines-only"], &["names"]);
    let names = profile.lines.iter().flat_map(|file| &file.methods);
    let names: Vec<String> = names.map(|method| format!("{} {}::{}", method.assembly, method.type_name, method.name)).collect();
    for name in ["Program::Loops", "Program::Async", "Program::Iterator", "Program::Lambdas.Local", "Generic<T>::Twice"] {
        assert!(names.contains(&format!("lines {name}")), "{name} is not in {names:#?}");
    }
    assert!(names.iter().any(|name| name.starts_with("lines Program::Lambdas [lambda at lines.cs:")), "{names:#?}");
    assert!(!names.iter().any(|name| name.contains("NotCovered") || name.contains("Excluded")), "{names:#?}");
}

/// The counts of a method that runs once.
fn counts_of_loops() -> ByLine {
    let text = fs::read_to_string(source()).expect("it is there");
    let line = |text_of: &str| (1..).zip(text.lines()).find(|(_, text)| text.contains(text_of)).expect("it is there").0;
    let (first, end) = (line("void Loops("), line("void Branches("));
    let loops: ByLine = stated().into_iter().filter(|(line, _)| (first..end).contains(line)).collect();
    assert!(loops.len() > 8);
    loops
}

/// Each copy of a module has counters of its own, and the profile has their sums.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_module_that_is_loaded_twice_counts_for_both() {
    let Some(program) = compiled(&scratch("lines-twice"), &DEBUG) else { return };
    let loops = counts_of_loops();
    let twice: ByLine = loops.iter().map(|(line, counts)| (*line, counts.iter().map(|count| count * 2).collect())).collect();
    for runtime in Runtime::all() {
        let mut found = counted(&run(&runtime, &program, &["--lines"], &["twice"]));
        found.retain(|line, _| loops.contains_key(line));
        assert_eq!(found, twice, "{}", runtime.name);
    }
}

/// The counts up to there are in the file, whoever ends the program.
#[test]
#[ignore = "needs .NET and Mono"]
fn counts_survive_every_end() {
    let Some(program) = compiled(&scratch("lines-ends"), &DEBUG) else { return };
    let loops = counts_of_loops();
    for runtime in Runtime::all() {
        for how in ["wait", "fail", "overflow"] {
            for options in ["--lines-only", "--lines"] {
                let folder = scratch(&format!("lines-{how}-{options}-{}", runtime.name.replace(' ', "-")));
                let woven = folder.join("lines.exe");
                instrument(&[&program, &"-o", &woven, &"-q", &options]);
                fs::copy(program.with_extension("runtimeconfig.json"), woven.with_extension("runtimeconfig.json"))
                    .expect("it is there");
                let mut command = runtime.program(&woven, &folder);
                command.arg(how);
                if how == "wait" {
                    let mut child = waiting(&mut command);
                    child.kill().and_then(|()| child.wait()).expect("it can be killed");
                } else {
                    assert!(!command.output().expect("it starts").status.success(), "{how} on {}", runtime.name);
                }
                let found = counted(&profile_in(&folder));
                let found: ByLine = found.into_iter().filter(|(line, _)| loops.contains_key(line)).collect();
                assert_eq!(found, loops, "{how} {options} on {}", runtime.name);
            }
        }
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn merged_profiles_have_the_sums() {
    let Some(program) = compiled(&scratch("lines-merged"), &DEBUG) else { return };
    let Some(runtime) = Runtime::find(".NET 8") else { return };
    let folder = scratch("lines-merge");
    let woven = folder.join("lines.exe");
    instrument(&[&program, &"-o", &woven, &"-q", &"--lines"]);
    fs::copy(program.with_extension("runtimeconfig.json"), woven.with_extension("runtimeconfig.json")).expect("it is there");
    for output in ["a.ilprof", "b.ilprof"] {
        let status = runtime.program(&woven, &folder).env("ILINST_OUTPUT", output).output().expect("it starts").status;
        assert_eq!(status.code(), Some(9));
    }
    let merge = |arguments: &[&str]| {
        let output = ilinst().current_dir(&folder).arg("merge").args(arguments).output().expect("it starts");
        assert_eq!(said(&output).2, Some(0), "{}", said(&output).1);
    };
    merge(&["a.ilprof", "b.ilprof", "-o", "two.ilprof"]);
    merge(&["two.ilprof", "a.ilprof", "-o", "three.ilprof"]);
    let times = |times: u64| {
        let product = |(line, counts): (u32, Vec<u64>)| (line, counts.into_iter().map(|count| count * times).collect());
        stated().into_iter().map(product).collect::<ByLine>()
    };
    for (file, number) in [("a", 1), ("two", 2), ("three", 3)] {
        let bytes = fs::read(folder.join(file).with_extension("ilprof")).expect("it is there");
        let profile = Profile::parse(&bytes).expect("it is a profile");
        assert_eq!((counted(&profile), &profile.damage), (times(number), &None), "{file}");
    }
}

/// Nothing but counters was added, and the PDB is still right.
#[test]
#[ignore = "needs .NET"]
fn only_counters_are_added() {
    let Some(program) = compiled(&scratch("lines-added"), &DEBUG) else { return };
    for (number, options) in
        [&["--lines-only"][..], &["--lines"], &["--lines", "--embed"], &["--lines", "--keep-layout"]].iter().enumerate()
    {
        let folder = scratch(&format!("lines-added-{number}"));
        let woven = folder.join("lines.exe");
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&program, &"-o", &woven, &"-q"];
        all.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        instrument(&all);
        let runs = |arguments: &[&dyn AsRef<std::ffi::OsStr>]| {
            let output = ilinst().args(arguments).output().expect("it starts");
            assert_eq!(said(&output).2, Some(0), "{options:?}: {}{}", said(&output).0, said(&output).1);
        };
        runs(&[&"diff", &"--only-probes", &program, &woven]);
        runs(&[&"diff", &"--only-probes", &"--debug-info", &program, &woven]);
        runs(&[&"verify", &"--types", &woven, &"--compare", &program]);
    }
}
