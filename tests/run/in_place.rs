//! A program woven where it is, and put back: it runs as before, each time.

use std::{collections::BTreeMap, ffi::OsString, fs, path::Path};

use tests::{Runtime, ilinst, instrument, profile_in, said, sample, scratch};

/// With it the host loads only what it lists.
const DEPS_JSON: &str = r#"{
  "runtimeTarget": { "name": ".NETCoreApp,Version=v3.1" },
  "targets": { ".NETCoreApp,Version=v3.1": { "hello/1.0.0": { "runtime": { "hello.exe": {} } } } },
  "libraries": { "hello/1.0.0": { "type": "project", "serviceable": false, "sha512": "" } }
}"#;

#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_with_a_deps_json_is_woven_in_place_and_put_back() {
    for (runtime, (embed, expected)) in
        Runtime::all().iter().flat_map(|runtime| [("--embed=false", 3), ("--embed", 2)].map(|way| (runtime, way)))
    {
        let folder = scratch(&format!("in-place-{}", runtime.name.replace(' ', "-")));
        let app = folder.join("app");
        fs::create_dir(&app).expect("a folder can be made");
        for name in ["hello.exe", "hello.pdb", "hello.runtimeconfig.json"] {
            fs::copy(sample("hello").join(name), app.join(name)).expect("it can be copied");
        }
        fs::write(app.join("hello.deps.json"), DEPS_JSON).expect("it can be written");
        let start = || said(&runtime.program(&app.join("hello.exe"), &folder).output().expect("the runtime starts"));
        let before = (start(), files(&app));
        assert_eq!(before.0.2, Some(0), "{}: {}", runtime.name, before.0.1);

        instrument(&[&app, &"--in-place", &embed, &"-q"]);
        assert_eq!(app.join(instrument::TRACKER_FILE).exists(), embed == "--embed=false");
        assert_eq!(start(), before.0, "woven, on {}", runtime.name);
        assert_eq!(profile_in(&folder).program, "hello");
        let changed = files(&app).iter().filter(|(name, content)| before.1.get(*name).is_some_and(|old| old != *content)).count();
        assert_eq!(changed, expected, "the program, its PDB and, if the tracker is beside it, the list");

        let restored = ilinst().arg("restore").arg(&app).arg("-q").output().expect("ilinst runs");
        assert!(restored.status.success(), "{restored:?}");
        assert_eq!(files(&app), before.1, "restored, on {}", runtime.name);
        assert_eq!(start(), before.0, "restored, on {}", runtime.name);
        profile_in(&folder);
    }
}

/// Returns the files of a folder by name, without subfolders.
fn files(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("it can be read").flatten();
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap_or_default())).collect()
}
