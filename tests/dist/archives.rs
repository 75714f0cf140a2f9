//! Archives, unpacked by common programs.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tests::{ilinst, require, said};

use crate::{VERSION, pack, pack_all, tools};

/// The library that `run --live` makes the CLR load.
const LIBRARY: &str = "libilinst_clr_profiler.so";

/// Runs a command in a folder, which must succeed; returns its output.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect("it starts");
    let (text, errors, code) = said(&output);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{program} {arguments:?}: {text}");
    text
}

/// Returns the files below a folder, as relative paths.
fn files(folder: &Path) -> BTreeSet<String> {
    let (mut files, mut left) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(next) = left.pop() {
        for path in fs::read_dir(next).expect("it is there").flatten().map(|entry| entry.path()) {
            match path.is_dir() {
                true => left.push(path),
                false => {
                    files.insert(path.strip_prefix(folder).expect("it lies there").display().to_string());
                }
            }
        }
    }
    files
}

#[test]
#[ignore = "needs crates.io"]
fn archives_have_what_users_install_and_the_same_bytes_each_time() {
    let folder = pack_all("archives");
    let dist = folder.join("dist");
    run(&dist, "sha256sum", &["--check", "--quiet", "--strict", "SHA256SUMS"]);
    let sums = fs::read_to_string(dist.join("SHA256SUMS")).expect("it is there");
    let summed: BTreeSet<String> = sums.lines().filter_map(|line| Some(line.split_once("  ")?.1.to_owned())).collect();
    let mut written = files(&dist);
    assert!(written.remove("SHA256SUMS"));
    assert_eq!(summed, written);
    pack(&tools(&folder), &folder.join("again"));
    assert_eq!(fs::read_to_string(folder.join("again/SHA256SUMS")).expect("it is there"), sums);

    let here = format!("ilinst-{VERSION}-x86_64-unknown-linux-gnu");
    let archives: Vec<&String> = written.iter().filter(|name| name.ends_with(".tar.gz")).collect();
    for archive in &archives {
        run(&folder, "tar", &["--extract", "--file", &format!("dist/{archive}")]);
    }
    // The CLR profiler's library is beside the tool only where it was built.
    let common = |folder: &Path| {
        let names = files(folder).into_iter().filter(|name| !name.contains("ilinst_clr_profiler"));
        names.map(|name| if name == "ilinst.exe" { "ilinst".into() } else { name }).collect::<BTreeSet<_>>()
    };
    for archive in archives {
        assert_eq!(common(&folder.join(archive.trim_end_matches(".tar.gz"))), common(&folder.join(&here)), "{archive}");
    }
    let zip = format!("ilinst-{VERSION}-x86_64-pc-windows-gnu");
    // Only the full tier builds it.
    if tests::is_full() {
        run(&folder, "python3", &["-m", "zipfile", "-e", &format!("dist/{zip}.zip"), "."]);
        assert_eq!(common(&folder.join(&zip)), common(&folder.join(&here)));
        assert!(folder.join(zip).join("ilinst_clr_profiler.dll").is_file());
    }
    for (package, tools) in [("Ilinst.MSBuild", "tools"), ("ilinst", "tools/netcoreapp2.1/any")] {
        let listed = run(&dist, "python3", &["-m", "zipfile", "-l", &format!("{package}.{VERSION}.nupkg")]);
        assert!(listed.contains(&format!("\n{tools}/linux-x64/{LIBRARY} ")), "{package}: {listed}");
    }
    is_complete(&folder.join(here));
}

/// Checks that the tool runs, that shells accept the completion scripts, and that the manual's reader reports no error.
fn is_complete(folder: &Path) {
    let version = run(folder, "./ilinst", &["--version"]);
    assert_eq!(version, format!("ilinst {VERSION}\n"));
    let library = Path::new(ilinst().get_program()).with_file_name(LIBRARY);
    assert!(fs::read(folder.join(LIBRARY)).expect("it is there") == fs::read(library).expect("it is there"));
    run(folder, "bash", &["-n", "completions/ilinst.bash"]);
    let completed = "source completions/ilinst.bash && COMP_WORDS=(ilinst instrument --in-p) COMP_CWORD=2 && \
                     _ilinst ilinst --in-p instrument && echo \"${COMPREPLY[@]}\"";
    assert_eq!(run(folder, "bash", &["-c", completed]), "--in-place\n");
    let pages: Vec<PathBuf> = files(&folder.join("man")).iter().map(|page| folder.join("man").join(page)).collect();
    assert!(pages.len() > 20, "{pages:?}");
    let Some(groff) = require("ILINST_GROFF") else { return };
    for page in pages {
        let arguments = ["-man", "-Tutf8", "-P-cbou", "-ww", "-Wbreak", &page.display().to_string()];
        let text = run(folder, &groff.display().to_string(), &arguments);
        assert!(text.contains("SYNOPSIS") && text.contains("ilinst"), "{}: {text}", page.display());
    }
    for beside in ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT"] {
        let root = tests::root().join(beside);
        assert_eq!(fs::read(folder.join(beside)).expect("it is there"), fs::read(root).expect("it is there"), "{beside}");
    }
    has_all_terms(folder);
}

/// Checks that each crate of the bill of materials is in the list of third-party components, with its licence text below.
fn has_all_terms(folder: &Path) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("it is there");
    let bill: Value = serde_json::from_str(&read("ilinst.cdx.json")).expect("it is JSON");
    let terms = read("THIRD-PARTY-LICENSES");
    let line = format!("{}\n", "-".repeat(80));
    let mut sections = terms.split(&line);
    let list = sections.next().expect("there is a list");
    let with_terms: BTreeSet<&str> =
        sections.filter_map(|section| section.split_once(":\n")).flat_map(|(names, _)| names.split(", ")).collect();
    let components = bill["components"].as_array().expect("there are some");
    for component in components.iter().filter(|component| !component["purl"].is_null() && !component["hashes"].is_null()) {
        let [name, version] = ["name", "version"].map(|key| component[key].as_str().expect("it is text"));
        assert!(list.contains(&format!("\n{name} {version}: ")), "{name} {version} is not in {list}");
        assert!(with_terms.contains(name), "{name} has no terms");
    }
    assert!(with_terms.contains("GNU C Library"), "{with_terms:?}");
}
