//! The call tree of the profile is the one in the program's source.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use profile::{Profile, SampleType};
use tests::{Runtime, instrument, profile_in, require, root, said, scratch};

use crate::MODES;

/// Programs whose source says what they call, in lines of `//> caller > callee calls`.
#[test]
#[ignore = "needs .NET and Mono"]
fn the_call_tree_is_what_the_source_says() {
    let (Some(mcs), Some(ilasm)) = (require("ILINST_MCS"), require("ILINST_ILASM")) else { return };
    for entry in fs::read_dir(root().join("tests/run/paths")).expect("it is there").flatten() {
        let source = entry.path();
        let name = source.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&source).expect("it can be read");
        let expected: BTreeSet<String> = text.lines().filter_map(|line| line.strip_prefix("//> ")).map(str::to_owned).collect();
        let folder = scratch(&format!("paths-{name}"));
        let program = folder.join(format!("{name}.exe"));
        let mut compiler = if source.extension().is_some_and(|extension| extension == "il") {
            let mut ilasm = Command::new(&ilasm);
            ilasm.arg(format!("/output:{}", program.display()));
            ilasm
        } else {
            let mut mcs = Command::new(&mcs);
            mcs.arg(format!("-out:{}", program.display()));
            mcs
        };
        let output = compiler.arg(&source).output().expect("it starts");
        assert!(output.status.success(), "{name}: {:?}", said(&output));
        fs::copy(root().join("samples/hello/bin/hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))
            .expect("it can be copied");
        for mode in MODES {
            let woven = folder.join(mode);
            instrument(&[
                &program,
                &"-o",
                &woven.join(format!("{name}.exe")),
                &"--leave",
                &mode,
                &"--all",
                &"--calls",
                &"none",
                &"-q",
            ]);
            for runtime in Runtime::all() {
                compare(&runtime, &program, &woven.join(format!("{name}.exe")), mode, &expected);
            }
        }
    }
}

fn compare(runtime: &Runtime, program: &Path, woven: &Path, mode: &str, expected: &BTreeSet<String>) {
    let context = format!("{} on {} by {mode}", program.display(), runtime.name);
    println!("{context}");
    let work = scratch("paths-work");
    let start = |program: &Path| said(&runtime.program(program, &work).output().expect("the runtime starts"));
    assert_eq!(start(program), start(woven), "{context}");
    assert_eq!(&paths(&profile_in(&work)), expected, "{context}");
}

/// Each caller with a callee and the number of calls. Nothing runs any more, so every call has ended.
fn paths(profile: &Profile) -> BTreeSet<String> {
    let name = |function: usize| profile.functions[function].raw_name().expect("every method is named");
    let mut paths = BTreeSet::new();
    for tree in &profile.trees {
        let counts = profile.flat(tree, SampleType::CALLS).iter().zip(profile.flat(tree, SampleType::LEAVES));
        for (node, (calls, leaves)) in tree.nodes.iter().zip(counts) {
            assert_eq!(calls, leaves, "{}", name(node.function));
            let caller = node.caller.map_or("-".into(), |caller| name(tree.nodes[caller].function));
            paths.insert(format!("{caller} > {} {calls}", name(node.function)));
        }
    }
    paths
}
