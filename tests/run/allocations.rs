//! `--allocations`: the bytes in the profile are those that the program notes itself, to the byte.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use profile::{
    Profile, SampleType,
    rows::{Row, SortBy},
};
use tests::{Runtime, ilinst, instrument, profile_in, require, root, said, scratch};

use crate::builder;

/// The array that the program's last call allocates, without its header. .NET Core 3.1 does not count arrays of this size.
const OPEN: u64 = 123_456;
/// The size of an array's header at most, with padding.
const HEADER: u64 = 40;
/// Methods that also allocate by what the compiler and the runtime add: exceptions' stack traces, state machines.
const AT_LEAST: [&str; 2] = ["Fails", "Loads"];

/// Compiles a source beside this file.
fn compile(source: &str, assembly: &Path, options: &[String]) -> Option<()> {
    let mut mcs = Command::new(require("ILINST_MCS")?);
    let source = root().join("tests/run/allocations").join(source);
    let output = mcs.arg(format!("-out:{}", assembly.display())).args(options).arg(source).output().expect("it starts");
    assert!(output.status.success(), "{:?}", said(&output));
    let config = root().join("samples/hello/bin/hello.runtimeconfig.json");
    fs::copy(config, assembly.with_extension("runtimeconfig.json")).expect("it can be copied");
    Some(())
}

/// The program, and its instrumented copy.
fn programs(test: &str) -> Option<(PathBuf, PathBuf)> {
    let program = scratch(&format!("allocations-{test}")).join("program.exe");
    compile("program.cs", &program, &[])?;
    let woven = woven(&program, "woven", &[]);
    Some((program, woven))
}

/// A copy of an assembly in a folder beside it, instrumented with these options.
fn woven(assembly: &Path, folder: &str, options: &[&str]) -> PathBuf {
    let woven = assembly.with_file_name(folder).join(assembly.file_name().expect("it has a name"));
    let common = ["--min-il", "0", "--calls", "none", "-q"];
    let options: Vec<&dyn AsRef<OsStr>> = common.iter().chain(options).map(|option| option as &dyn AsRef<OsStr>).collect();
    instrument(&[&[&assembly as &dyn AsRef<OsStr>, &"-o", &woven], &options[..]].concat());
    woven
}

/// Returns what the program prints: bytes by name.
fn notes(runtime: &Runtime, program: &Path, work: &Path, settings: &[(&str, &str)]) -> HashMap<String, u64> {
    let mut command = runtime.program(program, work);
    command.envs(settings.iter().copied()).args(settings.first().map(|_| "phase"));
    let (output, errors, code) = said(&command.output().expect("the runtime starts"));
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{output}");
    let notes = output.lines().map(|line| line.split_once(' ').expect("a name and a number"));
    notes.map(|(name, bytes)| (name.to_owned(), bytes.parse().expect("a number"))).collect()
}

fn row<'r, 'p>(rows: &'r [Row<'p>], method: &str) -> &'r Row<'p> {
    let name = Some(format!("Program::{method}"));
    rows.iter().find(|row| row.raw_name == name).unwrap_or_else(|| panic!("{method} has no row"))
}

fn own(row: &Row<'_>) -> u64 {
    row.self_bytes.expect("bytes were counted")
}

#[test]
#[ignore = "needs .NET and Mono"]
fn bytes_are_what_the_program_notes() {
    let Some((program, by_variable)) = programs("notes") else { return };
    let by_option = woven(&program, "option", &["--allocations"]);
    // The tracker allocates for the values, and the program's methods must not see that.
    let captured = woven(&program, "captured", &["--allocations", "--capture", "args,return,this,exception"]);
    for runtime in Runtime::all() {
        for (mode, woven, variable) in
            [("exact", &by_variable, "1"), ("exact", &by_option, ""), ("trace", &by_option, ""), ("exact", &captured, "")]
        {
            println!("mode {mode} on {}, ILINST_ALLOCATIONS={variable}", runtime.name);
            let work = scratch("allocations-work");
            let mut notes_of = notes(&runtime, woven, &work, &[("ILINST_ALLOCATIONS", variable), ("ILINST_MODE", mode)]);
            notes_of.remove("whole");
            let profile = profile_in(&work);
            let rows = profile.rows(SortBy::Bytes);
            for (method, bytes) in &notes_of {
                let own = own(row(&rows, method));
                if AT_LEAST.contains(&method.as_str()) {
                    assert!(own >= *bytes, "{method}: {own}, and {bytes} in notes");
                } else {
                    assert_eq!(own, *bytes, "{method}");
                }
            }
            // It was open when the process ended.
            let open = own(row(&rows, "Open"));
            let expected = if runtime.name == ".NET Core 3.1" { 0..=0 } else { OPEN..=OPEN + HEADER };
            assert!(expected.contains(&open), "{open}");
            // Nothing is lost, or counted twice: Arrays is called by Main, by threads, and by steps on several threads.
            let own_of_all: u64 = rows.iter().map(own).sum();
            assert_eq!(own_of_all, profile.sum(SampleType::ALLOCATED) as u64);
            let [main, threads, loads] = ["Main", "OnThread", "Loads"].map(|method| row(&rows, method));
            assert_eq!(threads.total_bytes, Some(own(threads) + own(row(&rows, "Arrays")) - arrays_elsewhere(&profile)));
            assert!(loads.total_bytes > loads.self_bytes && main.total_bytes > loads.total_bytes);
            // Once all is compiled, async methods allocate what they do without probes. On Mono, whatever flows makes its
            // builders allocate more.
            if !runtime.is_mono() {
                let plain = notes(&runtime, &program, &work, &[]);
                assert_eq!(row(&rows, "Measured").total_bytes, plain.get("whole").copied());
            }
        }
    }
}

/// The bytes of all other methods are their callers'.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_rule_counts_the_bytes_of_its_methods() {
    let Some((program, _)) = programs("rule") else { return };
    let config = program.with_file_name("ilinst.toml");
    let rules = "[[rule]]\nallocations = true\ninclude = ['Program::Main', 'Program::Arrays', 'Program::Loads', 'Program::Depth']\n\n\
                 [[rule]]\nallocations = false\ninclude = ['Program::Depth']\n";
    fs::write(&config, rules).expect("it can be written");
    let woven = woven(&program, "rules", &["--config", config.to_str().expect("the path is text")]);
    for runtime in Runtime::all() {
        println!("on {}", runtime.name);
        let work = scratch("allocations-work-rule");
        let notes = notes(&runtime, &woven, &work, &[("ILINST_MODE", "exact")]);
        let profile = profile_in(&work);
        let rows = profile.rows(SortBy::Bytes);
        assert_eq!(own(row(&rows, "Arrays")), notes["Arrays"]);
        let loads = row(&rows, "Loads");
        assert!(own(loads) >= notes["Loads"] && loads.pending == Some(0), "{loads:?}");
        let names = ["Main", "Arrays", "Loads"].map(|method| Some(format!("Program::{method}")));
        for tree in &profile.trees {
            for (node, bytes) in tree.nodes.iter().zip(profile.flat(tree, SampleType::ALLOCATED)) {
                let name = profile.functions[node.function].raw_name();
                assert!(*bytes == 0 || node.caller.is_none() || names.contains(&name), "{name:?}: {bytes}");
            }
        }
        // Measured and OnThread, which also run elsewhere, are not among these.
        let of_main: u64 = ["Boxes", "Strings", "Closures", "Depth", "Many"].map(|method| notes[method]).iter().sum();
        assert!(own(row(&rows, "Main")) > of_main, "{}, {of_main}", own(row(&rows, "Main")));
        assert!(rows.iter().all(|row| row.calls > 0 && row.raw_name.is_some()), "each method has its name");
    }
}

/// The bytes of Arrays that are not below OnThread.
fn arrays_elsewhere(profile: &Profile) -> u64 {
    let names: Vec<Option<String>> = profile.functions.iter().map(profile::model::Function::raw_name).collect();
    let is = |function: usize, method: &str| names[function].as_deref() == Some(&format!("Program::{method}"));
    let of_tree = |tree: &profile::CallTree| -> i64 {
        let bytes = profile.flat(tree, SampleType::ALLOCATED);
        let nodes = tree.nodes.iter().zip(bytes).filter(|(node, _)| {
            is(node.function, "Arrays") && !node.caller.is_some_and(|caller| is(tree.nodes[caller].function, "OnThread"))
        });
        nodes.map(|(_, bytes)| *bytes).sum()
    };
    profile.trees.iter().map(of_tree).sum::<i64>() as u64
}

#[test]
#[ignore = "needs .NET and Mono"]
fn a_phase_has_the_bytes_of_its_own_calls() {
    let Some((_, woven)) = programs("phases") else { return };
    for runtime in Runtime::all() {
        println!("on {}", runtime.name);
        let work = scratch("allocations-work-phases");
        let noted = notes(&runtime, &woven, &work, &[("ILINST_ALLOCATIONS", "1")]);
        let profiles = fs::read_dir(&work).expect("it is there").flatten().map(|entry| entry.path());
        let path =
            profiles.into_iter().find(|path| path.extension().is_some_and(|it| it == "ilprof")).expect("there is a profile");
        let bytes = fs::read(path).expect("it can be read");
        let phase = Profile::parse_phase(&bytes, "second").expect("it is a profile").expect("there is such a phase");
        let rows = phase.rows(SortBy::Bytes);
        assert_eq!(own(row(&rows, "InPhase")), noted["InPhase"]);
        assert_eq!(rows.iter().filter(|row| row.raw_name.as_deref() == Some("Program::BeforePhase")).count(), 0);
        // The array of this call was allocated before, and the mark itself is the tracker's.
        let again = row(&rows, "Again");
        assert_eq!(again.total_bytes, Some(own(again) + noted["InPhase"]));
    }
}

#[test]
#[ignore = "needs .NET and Mono"]
fn modes_that_do_not_see_each_call_are_refused() {
    let Some((program, by_variable)) = programs("refused") else { return };
    let by_option = woven(&program, "option", &["--allocations"]);
    for runtime in Runtime::all() {
        for (woven, mode, variable, is_refused) in [
            (&by_variable, "count", "1", true),
            (&by_variable, "sampled", "1", true),
            (&by_option, "count", "", true),
            (&by_option, "count", "0", false),
        ] {
            let work = scratch("allocations-work-refused");
            let mut command = runtime.program(woven, &work);
            let output = command.envs([("ILINST_ALLOCATIONS", variable), ("ILINST_MODE", mode)]).output();
            let (_, errors, code) = said(&output.expect("the runtime starts"));
            assert_eq!(code, Some(0));
            assert_eq!(errors.contains("allocated bytes (--allocations) need ILINST_MODE=exact"), is_refused, "{errors}");
            assert_eq!(fs::read_dir(&work).expect("it is there").count(), usize::from(!is_refused));
        }
    }
}

/// The library is loaded after the first call, and may have a tracker of its own.
#[test]
#[ignore = "needs .NET and Mono"]
fn modules_loaded_at_the_first_call_decide_for_all() {
    let folder = scratch("allocations-modules");
    let [caller, library] = ["caller.exe", "library.dll"].map(|name| folder.join(name));
    let reference = format!("-r:{}", library.display());
    let Some(()) = compile("library.cs", &library, &["-target:library".to_owned()]) else { return };
    let Some(()) = compile("caller.cs", &caller, &[reference]) else { return };
    let file = folder.join("bytes.toml");
    fs::write(&file, "allocations = true\n").expect("it can be written");
    let by_file = ["--config", file.to_str().expect("it is text")];
    let (none, by_option, embed): (&[&str], &[&str], &[&str]) = (&[], &["--allocations"], &["--embed"]);
    let embedded = [by_option, embed].concat();
    for (place, (of_caller, of_library, variable, are_counted)) in [
        (by_option, none, "", true),
        (&by_file, none, "", true),
        (none, by_option, "", false),
        (&embedded, embed, "", true),
        (embed, &embedded, "", false),
        (by_option, by_option, "0", false),
        (none, none, "1", true),
    ]
    .into_iter()
    .enumerate()
    {
        let woven_folder = format!("woven-{place}");
        let program = woven(&caller, &woven_folder, of_caller);
        woven(&library, &woven_folder, of_library);
        for runtime in Runtime::all() {
            println!("{of_caller:?}, {of_library:?}, ILINST_ALLOCATIONS={variable} on {}", runtime.name);
            let work = scratch("allocations-work-modules");
            let mut command = runtime.program(&program, &work);
            let said = said(&command.env("ILINST_ALLOCATIONS", variable).output().expect("the runtime starts"));
            assert_eq!(said, (String::new(), String::new(), Some(0)));
            let profile = profile_in(&work);
            let rows = profile.rows(SortBy::Name);
            for (method, size) in [("Caller::Array", 1000), ("Library::Array", 3000)] {
                let row = rows.iter().find(|row| row.raw_name.as_deref() == Some(method)).expect("it was called");
                assert_eq!((row.calls, row.self_bytes.is_some()), (1, are_counted), "{method}");
                // Its first call may have bytes of the runtime's.
                assert!(row.self_bytes.is_none_or(|bytes| bytes >= size), "{method}: {:?}", row.self_bytes);
            }
        }
    }
}

/// Mono with a core library that lacks the method, as that of an old version.
#[test]
#[ignore = "needs Mono"]
fn a_runtime_that_does_not_count_bytes_is_reported() {
    let (Some(mono), Some(libraries)) = (Runtime::find("Mono"), require("ILINST_MONO_LIB")) else { return };
    const METHOD: &[u8] = b"GetAllocatedBytesForCurrentThread\0";
    let folder = scratch("allocations-old-runtime");
    let mut core = fs::read(libraries.join("4.5/mscorlib.dll")).expect("Mono has it");
    let at = core.windows(METHOD.len()).position(|bytes| bytes == METHOD).expect("this version has the method");
    core[at] = b'X';
    fs::write(folder.join("mscorlib.dll"), core).expect("it can be written");
    let program = folder.join("hello.exe");
    fs::copy(root().join("samples/hello/bin/hello.exe"), &program).expect("it can be copied");
    let work = scratch("allocations-work-old-runtime");
    let mut command = mono.program(&woven(&program, "woven", &["--allocations"]), &work);
    let (_, errors, code) = said(&command.env("MONO_PATH", &folder).output().expect("it starts"));
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let profile = profile_in(&work);
    assert!(!profile.has(SampleType::ALLOCATED) && profile.sum(SampleType::CALLS) > 0);
    let (output, errors, _) = said(&ilinst().current_dir(&work).arg("report").output().expect("it starts"));
    let note = "allocated bytes were not counted (--allocations): this runtime cannot count those of a thread";
    assert!(format!("{output}{errors}").contains(note), "{output}{errors}");
}

/// Returns output, errors and exit code of `compare` with a gate, in a folder of the test. `Load` allocated these bytes in the two
/// profiles (none: not counted).
fn gate(test: &str, base: Option<u64>, new: Option<u64>, condition: &str) -> (String, String, Option<i32>) {
    let folder = scratch(&format!("allocations-{test}"));
    for (name, bytes) in [("base", base), ("new", new)] {
        let text = format!(
            "profile end=100000 flags={}\nmethod 1 T::Main\nmethod 2 T::Load\ntree\n Main total=90000 bytes={}\n  Load total=50000 \
             bytes={}\n",
            if bytes.is_some() { 513 } else { 1 },
            bytes.unwrap_or_default() + 100,
            bytes.unwrap_or_default(),
        );
        fs::write(folder.join(name).with_extension("ilprof"), builder::build(&text)).expect("it can be written");
    }
    let mut command = ilinst();
    command.current_dir(&folder).args(["compare", "base.ilprof", "new.ilprof", "--fail-if", condition]);
    said(&command.output().expect("it starts"))
}

#[test]
fn a_gate_sees_each_byte() {
    for (base, new, condition, code) in [
        (Some(1_000_000), Some(1_000_000), "bytes > +0%", 0),
        (Some(1_000_000), Some(1_000_001), "bytes > +0%", 1),
        (Some(1_000_000), Some(1_000_001), "bytes > +1%", 0),
        (Some(1_000_000), Some(1_020_000), "bytes > +1%", 1),
        (Some(1_000_000), Some(1_020_000), "program.bytes > +1%", 1),
        (Some(1_000_000), Some(1_020_000), "total-bytes > +10KiB and method ~ T.Main", 1),
        (Some(1_000_000), Some(1_020_000), "total-bytes > +1MiB", 0),
        (Some(1_000_000), Some(900_000), "bytes < -5%", 1),
    ] {
        let (output, errors, found) = gate("gate", base, new, condition);
        assert_eq!(found, Some(code), "{condition}: {output}{errors}");
        assert!(output.contains("bytes: "), "{output}");
    }
    let (_, errors, _) = gate("gate", Some(1_000_000), Some(1_020_000), "bytes > +1%");
    assert!(errors.contains("T.Load: bytes 1000000 -> 1020000 B, +2.0 %"), "{errors}");
}

#[test]
fn runs_without_bytes_are_unknown_to_a_gate() {
    let (output, errors, code) = gate("gate-unknown", None, None, "bytes > +1%");
    assert!(errors.contains("no method has 'bytes': --allocations counts"), "{errors}");
    assert!(code != Some(1) && !output.contains("bytes: "), "{output}{errors}");
}
