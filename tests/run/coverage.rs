//! Coverage by lines in reports and exports, of a program whose source states the count of each line.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;
use tests::{References, Runtime, compile_with, ilinst, instrument, root, said, scratch};

/// A program that was run, with its lines counted.
struct Counted {
    folder: PathBuf,
    source: PathBuf,
    profile: PathBuf,
}

impl Counted {
    /// Compiles and runs the program in a folder of its own; `None` without a compiler or a runtime.
    fn run(test: &str) -> Option<Self> {
        let runtime = Runtime::find(".NET 8")?;
        let folder = scratch(&format!("coverage-{test}"));
        let (source, program, woven) = (folder.join("src/lines.cs"), folder.join("lines.exe"), folder.join("woven/lines.exe"));
        fs::create_dir(folder.join("src")).expect("it can be made");
        fs::copy(root().join("tests/run/lines/lines.cs"), &source).expect("it can be copied");
        compile_with(&source, &program, References::All, &[], &["-optimize-", "-debug:portable"])?;
        instrument(&[&program, &"-o", &woven, &"-q", &"--lines"]);
        fs::copy(program.with_extension("runtimeconfig.json"), woven.with_extension("runtimeconfig.json")).expect("it is there");
        let profile = folder.join("runs/one.ilprof");
        fs::create_dir(folder.join("runs")).expect("it can be made");
        let output = runtime.program(&woven, &folder).env("ILINST_OUTPUT", &profile).output().expect("it starts");
        assert_eq!(output.status.code(), Some(9), "{:?}", said(&output));
        Some(Self { folder, source, profile })
    }

    /// The greatest of the counts that the source states of each line.
    fn stated(&self) -> BTreeMap<u32, u64> {
        let text = text_of(&self.source);
        let stated = (1..).zip(text.lines()).filter_map(|(line, text)| {
            let counts = text.rsplit_once("// =")?.1.split(',');
            Some((line, counts.filter_map(|count| count.parse().ok()).max()?))
        });
        stated.collect()
    }

    /// The output of `ilinst`, run in the folder.
    fn ilinst(&self, arguments: &[&str]) -> (String, String, Option<i32>) {
        said(&ilinst().current_dir(&self.folder).args(arguments).output().expect("ilinst runs"))
    }
}

/// The counts of the lines that the source states, multiplied.
fn assert_counts(counts: &BTreeMap<u32, u64>, stated: &BTreeMap<u32, u64>, times: u64) {
    assert!(stated.len() > 90, "{}", stated.len());
    for (line, count) in stated {
        assert_eq!(counts.get(line), Some(&(count * times)), "line {line}");
    }
}

/// The counts of a class's lines in a Cobertura file, for all classes of its only source.
fn of_cobertura(xml: &str) -> BTreeMap<u32, u64> {
    let line = Regex::new(r#"<line number="(\d+)" hits="(\d+)""#).expect("it is one");
    let classes = xml.split("<class ").skip(1).map(|class| class.split("</methods>").nth(1).expect("it has lines"));
    let lines = classes.flat_map(|lines| line.captures_iter(lines).map(|found| (found[1].to_owned(), found[2].to_owned())));
    let mut counts = BTreeMap::new();
    for (line, count) in lines {
        let before = counts.insert(line.parse().expect("a number"), count.parse().expect("a number"));
        assert_eq!(before, None, "each line belongs to one class");
    }
    counts
}

/// The counts of lines in an lcov file.
fn of_lcov(text: &str) -> BTreeMap<u32, u64> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("DA:")?.split_once(','));
    lines.map(|(line, count)| (line.parse().expect("a number"), count.parse().expect("a number"))).collect()
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).expect("it can be read")
}

/// The output of a program, which must succeed.
fn printed(command: &mut Command) -> String {
    let (text, errors, code) = said(&command.output().expect("it starts"));
    assert_eq!(code, Some(0), "{errors}{text}");
    text
}

fn text(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

#[test]
#[ignore = "needs .NET"]
fn exports_have_the_counts_that_the_source_states() {
    let Some(counted) = Counted::run("counts") else { return };
    let stated = counted.stated();
    let export = |profiles: &[&str], format: &str| {
        let (written, errors, code) = counted.ilinst(&[&["export"][..], profiles, &["--to", format, "-o", "-"]].concat());
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{written}");
        written
    };
    let one = export(&["runs"], "cobertura");
    assert_counts(&of_cobertura(&one), &stated, 1);
    assert!(one.contains(&format!("<source>{}/src/</source>", counted.folder.display())), "{one}");
    assert_eq!(of_lcov(&export(&["runs"], "lcov")), of_cobertura(&one));
    // Several runs are added up, in one command or by `merge`.
    fs::copy(&counted.profile, counted.folder.join("runs/two.ilprof")).expect("it can be copied");
    let both = export(&["runs"], "cobertura");
    assert_counts(&of_cobertura(&both), &stated, 2);
    assert_eq!(counted.ilinst(&["merge", "runs", "-o", "all.ilprof", "-q"]).2, Some(0));
    assert_eq!(export(&["all.ilprof"], "cobertura"), both);
    // In a file, whose name tells the format.
    let (said, errors, code) = counted.ilinst(&["export", "runs", "-o", "coverage.xml"]);
    assert_eq!((said.as_str(), errors.as_str(), code), ("coverage.xml: cobertura of lines\n", "", Some(0)));
    assert_eq!(text_of(&counted.folder.join("coverage.xml")), both);
    // Sources that have moved.
    fs::rename(counted.folder.join("src"), counted.folder.join("moved")).expect("it can be moved");
    let (moved, ..) = counted.ilinst(&["export", "runs", "--to", "lcov", "--source-root", "moved"]);
    assert!(moved.contains(&format!("SF:{}/moved/lines.cs\n", counted.folder.display())), "{moved}");
    // A phase has no lines of its own, and other profiles have none at all.
    let (_, errors, code) = counted.ilinst(&["export", "runs", "--to", "lcov", "--phase", "x"]);
    assert!(errors.contains("--phase x: lines are counted over the whole run") && code == Some(2), "{errors}");
    let golden = root().join("crates/profile/tests/golden/golden.ilprof");
    for arguments in [&["export", text(&golden), "--to", "lcov"][..], &["report", text(&golden), "--lines"]] {
        let (_, errors, code) = counted.ilinst(arguments);
        assert!(
            errors.contains("it has no counts of lines; record them with `ilinst run --lines`") && code == Some(2),
            "{errors}"
        );
    }
}

#[test]
#[ignore = "needs .NET"]
fn the_report_shows_lines_and_sources() {
    let Some(counted) = Counted::run("report") else { return };
    let run = text(&counted.profile);
    let (files, errors, code) = counted.ilinst(&["report", run, "--lines"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let row = files.lines().find(|line| line.ends_with("  src/lines.cs")).expect("the file is there");
    let numbers: Vec<f64> = row.split_whitespace().take(3).map(|number| number.parse().expect("a number")).collect();
    assert!(numbers[0] > numbers[1] && numbers[1] > 90.0 && numbers[2] < 100.0, "{row}");
    assert!(files.contains("% (--lines)\n"), "{files}");

    let (source, errors, code) = counted.ilinst(&["report", run, "--lines", "lines.cs"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let shown: BTreeMap<u32, u64> = source
        .lines()
        .filter_map(|line| {
            let (numbers, _) = line.split_once(" |")?;
            let (count, number) = numbers.trim_start().split_once([' ', '~'])?;
            Some((number.trim().parse().ok()?, count.parse().ok()?))
        })
        .collect();
    assert_counts(&shown, &counted.stated(), 1);

    let (uncovered, errors, code) = counted.ilinst(&["report", run, "--uncovered"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let text_of_source = text_of(&counted.source);
    let line = (1..).zip(text_of_source.lines()).find(|(_, line)| line.contains("\"ready\"")).expect("it is there").0;
    let covers = |row: &str| {
        let lines = row.strip_prefix("src/lines.cs:")?.split("  ").next()?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some((first.parse::<u32>().ok()?..=last.parse().ok()?).contains(&line) && row.ends_with("  Program.Main"))
    };
    assert!(uncovered.lines().any(|row| covers(row) == Some(true)), "line {line}: {uncovered}");

    // A page has the source as long as it is what was compiled.
    let page = |name: &str| {
        let (said, errors, code) = counted.ilinst(&["report", run, "--html", name]);
        assert_eq!((said.as_str(), errors.as_str(), code), ("", "", Some(0)));
        text_of(&counted.folder.join(name))
    };
    assert!(page("same.html").contains("Loops(3); // =1"));
    let changed = text_of(&counted.source).replace("Loops(3); // =1", "Loops(3); // =2");
    fs::write(&counted.source, changed).expect("it can be written");
    let page = page("changed.html");
    assert!(!page.contains("Loops(3); // =") && page.contains("\"path\":\"src/lines.cs\""));
    let (source, errors, code) = counted.ilinst(&["report", run, "--lines", "lines.cs"]);
    assert!(source.contains("Loops(3); // =2") && code == Some(0), "{source}");
    assert_eq!(errors, "ilinst: warning: src/lines.cs has changed since the build; counts may be at other lines\n");
    fs::remove_file(&counted.source).expect("it is there");
    let (_, errors, code) = counted.ilinst(&["report", run, "--lines", "lines.cs"]);
    assert!(errors.contains("src/lines.cs: the source is not there; name its folder: --source-root DIR"), "{errors}");
    assert_eq!(code, Some(3));
    let (_, errors, code) = counted.ilinst(&["report", run, "--lines", "Other.cs"]);
    assert!(
        errors.contains("--lines Other.cs: the profile has no such file; --lines alone lists all") && code == Some(2),
        "{errors}"
    );
    let (_, errors, code) = counted.ilinst(&["report", "--lines", "x.ilprof"]);
    assert!(errors.contains("write the profile first: ilinst report x.ilprof --lines") && code == Some(2), "{errors}");
}

/// Modules for two target frameworks: a line has the sum of both, and lines that one of them has alone are kept.
#[test]
#[ignore = "needs .NET"]
fn builds_for_two_target_frameworks_are_added_up() {
    let Some(runtime) = Runtime::find(".NET 8") else { return };
    let folder = scratch("coverage-targets");
    let source = root().join("tests/run/lines/targets.cs");
    for (target, references, define) in [("older", References::All, "OLDER"), ("newer", References::Core, "NEWER")] {
        let program = folder.join(target).join("targets.exe");
        let options = ["-optimize-", "-debug:portable", &format!("-define:{define}")];
        let Some(()) = compile_with(&source, &program, references, &[], &options) else { return };
        instrument(&[&program, &"-o", &folder.join(target).join("woven/"), &"-q", &"--lines"]);
        let mut command = runtime.program(&folder.join(target).join("woven/targets.exe"), &folder);
        let output = command.env("ILINST_OUTPUT", format!("{target}.ilprof")).output().expect("it starts");
        assert_eq!(output.status.code(), Some(9), "{:?}", said(&output));
    }
    let counted = Counted { source, profile: folder.join("all.ilprof"), folder };
    assert_eq!(counted.ilinst(&["merge", "older.ilprof", "newer.ilprof", "-o", "all.ilprof", "-q"]).2, Some(0));
    let export = |profiles: &[&str]| {
        let (written, errors, code) = counted.ilinst(&[&["export", "--to", "cobertura", "-o", "-"], profiles].concat());
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{written}");
        written
    };
    let (stated, counts) = (counted.stated(), of_cobertura(&export(&["all.ilprof"])));
    assert!(stated.len() > 15, "{stated:?}");
    for (line, count) in &stated {
        assert_eq!(counts.get(line), Some(count), "line {line}");
    }
    let [older, newer] = ["older.ilprof", "newer.ilprof"].map(|profile| of_cobertura(&export(&[profile])));
    let mut sums = older.clone();
    newer.iter().for_each(|(line, count)| *sums.entry(*line).or_default() += count);
    assert_eq!(counts, sums);
    assert!(older.keys().any(|line| !newer.contains_key(line)) && newer.keys().any(|line| !older.contains_key(line)));
    assert_eq!(of_cobertura(&export(&["newer.ilprof", "older.ilprof"])), counts);
}

/// Counts of a file that has changed between two runs cannot be added.
#[test]
#[ignore = "needs .NET"]
fn of_a_changed_file_the_newest_run_counts() {
    let Some(counted) = Counted::run("changed") else { return };
    let Some(newer) = Counted::run("changed-since") else { return };
    // The same path with another text.
    let bytes = fs::read(&newer.profile).expect("it can be read");
    let profile = profile::Profile::parse(&bytes).expect("it is a profile");
    let mut old = profile::Profile::parse(&fs::read(&counted.profile).expect("it can be read")).expect("it is a profile");
    old.lines.iter_mut().zip(&profile.lines).for_each(|(old, new)| old.path.clone_from(&new.path));
    old.lines.iter_mut().flat_map(|file| &mut file.hash).for_each(|hash| hash.bytes.fill(7));
    let mut merge = profile::merge::Merge::default();
    merge.add(&[], &old).expect("it is the same mode");
    let mut out = Vec::new();
    merge.write(&mut out).expect("memory takes it");
    fs::write(newer.folder.join("runs/old.ilprof"), out).expect("it can be written");
    let (written, errors, code) = newer.ilinst(&["export", "runs", "--to", "cobertura"]);
    assert_counts(&of_cobertura(&written), &newer.stated(), 1);
    let expected = format!(
        "ilinst: warning: runs/old.ilprof: not added: counts of {}, which has changed since that run\n",
        newer.source.display()
    );
    assert_eq!((errors, code), (expected, Some(0)));
}

#[cfg(feature = "full")]
#[test]
#[ignore = "needs .NET and lcov"]
fn genhtml_shows_the_same_numbers() {
    let Some(genhtml) = tests::require("ILINST_GENHTML") else { return };
    let Some(counted) = Counted::run("genhtml") else { return };
    let (lcov, pages) = (counted.folder.join("lcov.info"), counted.folder.join("pages"));
    assert_eq!(counted.ilinst(&["export", "runs", "-o", "lcov.info", "-q"]).2, Some(0));
    let said = printed(Command::new(genhtml).arg(&lcov).arg("-o").arg(&pages));
    let counts = of_lcov(&text_of(&lcov));
    let ran = counts.values().filter(|count| **count > 0).count();
    assert!(said.contains(&format!("({ran} of {} lines)", counts.len())), "{said}");
    // Its page of the source has each count beside its line.
    let page =
        ["src/lines.cs.gcov.html", "lines.cs.gcov.html"].map(|page| pages.join(page)).into_iter().find(|page| page.exists());
    let page = text_of(&page.expect("it is there"));
    let page = Regex::new("<[^>]*>").expect("it is one").replace_all(&page, "").into_owned();
    for (line, count) in counted.stated() {
        let has = |text: &str| {
            let (number, rest) = text.trim_start().split_once(' ')?;
            let (hits, _) = rest.split_once(':')?;
            Some(number.parse() == Ok(line) && hits.trim().parse() == Ok(count))
        };
        assert!(page.lines().any(|text| has(text) == Some(true)), "line {line}: {count}");
    }
}

/// The editor extension Coverage Gutters reads both formats by packages of npm.
#[cfg(feature = "full")]
#[test]
#[ignore = "needs .NET and Node"]
fn the_readers_of_coverage_gutters_find_the_same_counts() {
    const READ: &str = r#"
        const [, files] = process.argv;
        const [cobertura, lcov] = files.split(":");
        const print = (kind) => (found) =>
            found.forEach((file) => file.lines.details.forEach((line) => console.log(kind, file.file, line.line, line.hit)));
        require("@cvrg-report/cobertura-json").parseFile(cobertura).then(print("cobertura"));
        require("lcov-parse")(lcov, (error, found) => { if (error) throw error; print("lcov")(found); });
    "#;
    let Some(readers) = tests::require("ILINST_COVERAGE_GUTTERS") else { return };
    let Some(counted) = Counted::run("gutters") else { return };
    for file in ["coverage.cobertura.xml", "lcov.info"] {
        assert_eq!(counted.ilinst(&["export", "runs", "-o", file, "-q"]).2, Some(0));
    }
    let mut node = Command::new("node");
    node.current_dir(&counted.folder).env("NODE_PATH", readers.join("node_modules"));
    let said = printed(node.args(["-e", READ, "coverage.cobertura.xml:lcov.info"]));
    let expected = of_lcov(&text_of(&counted.folder.join("lcov.info")));
    for (kind, file) in [("cobertura", "lines.cs"), ("lcov", text(&counted.source))] {
        let lines = said.lines().filter_map(|line| line.strip_prefix(&format!("{kind} {file} "))?.split_once(' '));
        let found: BTreeMap<u32, u64> =
            lines.map(|(line, count)| (line.parse().expect("a number"), count.parse().expect("a number"))).collect();
        assert_eq!(found, expected, "{kind}");
        assert_counts(&found, &counted.stated(), 1);
    }
}

/// GitLab takes the name of a file behind each of its `<source>` folders, 100 at most, for a path below the folder of the build, and
/// shows the lines of a path that the repository has (docs.gitlab.com/ci/testing/code_coverage/cobertura). A file may have 10 MiB.
#[test]
#[ignore = "needs .NET"]
fn gitlab_finds_each_source_file() {
    let Some(counted) = Counted::run("gitlab") else { return };
    assert_eq!(counted.ilinst(&["export", "runs", "-o", "coverage.cobertura.xml", "-q"]).2, Some(0));
    let xml = text_of(&counted.folder.join("coverage.cobertura.xml"));
    let all = |pattern: &str| -> Vec<String> {
        Regex::new(pattern).expect("it is one").captures_iter(&xml).map(|found| found[1].to_owned()).collect()
    };
    let (sources, names) = (all("<source>([^<]*)</source>"), all("<class [^>]*filename=\"([^\"]*)\""));
    assert!((1..=100).contains(&sources.len()) && !names.is_empty() && xml.len() < 10 << 20, "{sources:?} {names:?}");
    for name in names {
        let found = sources.iter().map(|source| Path::new(source).join(&name)).find(|path| path.is_file());
        let path = found.unwrap_or_else(|| panic!("{name} in {sources:?}"));
        let in_repository = path.strip_prefix(&counted.folder).expect("it is below the build's folder");
        assert_eq!(in_repository, Path::new("src/lines.cs"));
    }
}

#[test]
#[ignore = "needs .NET"]
fn profiles_that_are_named_twice_count_once() {
    let Some(counted) = Counted::run("twice") else { return };
    let written = printed(ilinst().args(["export", "--to", "lcov", "-o", "-"]).arg(&counted.profile).arg(&counted.profile));
    assert_counts(&of_lcov(&written), &counted.stated(), 1);
}

/// A build's command for a program of tests.
#[test]
#[ignore = "needs .NET"]
fn a_profile_that_cannot_be_merged_is_kept() {
    let (Some(counted), Some(runtime)) = (Counted::run("collect"), Runtime::find(".NET 8")) else { return };
    let temporary = counted.folder.join("temporary");
    fs::create_dir(&temporary).expect("it can be made");
    let program = runtime.program(&counted.folder.join("woven/lines.exe"), &counted.folder);
    let collect = |profiles: &str| {
        let mut command = ilinst();
        command.args(["collect", "--profiles", profiles, "--name=tests", "--assemblies=woven", "--coverage=all.xml", "--"]);
        command.arg(program.get_program()).args(program.get_args()).current_dir(&counted.folder).env("TMPDIR", &temporary);
        tests::take_environment(&mut command, &program);
        said(&command.output().expect("ilinst runs"))
    };
    let left = || fs::read_dir(&temporary).expect("it is there").map(|entry| entry.expect("it can be read").path());
    let (_, errors, code) = collect("collected");
    assert_eq!((errors.as_str(), code, left().count()), ("", Some(9), 0));
    assert_counts(&of_cobertura(&text_of(&counted.folder.join("all.xml"))), &counted.stated(), 1);
    // A file where the folder should be.
    let (_, errors, code) = collect("lines.exe");
    let kept: Vec<PathBuf> = left().collect();
    let [kept] = &kept[..] else { panic!("{kept:?}: {errors}") };
    assert!(errors.contains(&format!("the profiles are kept in {}", kept.display())) && code == Some(9), "{errors}");
    assert_eq!(tests::profile_in(kept).lines.len(), 1);
}
