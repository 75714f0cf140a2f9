//! Published programs for browsers: the list of files with their hashes, and assemblies in Webcil containers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use base64ct::{Base64, Encoding as _};
use sha2::{Digest as _, Sha256};
use tests::{ilinst, said, sample, scratch};

fn run(command: &str, folder: &Path, options: &[&str]) -> (String, Option<i32>) {
    let (out, errors, code) = said(&ilinst().arg(command).arg(folder).args(options).output().expect("ilinst runs"));
    (out + &errors, code)
}

/// A published program of one assembly, with its list in a file.
fn published(name: &str, list: &str, text: &dyn Fn(&str) -> String) -> (PathBuf, PathBuf) {
    let site = scratch(&format!("cli-browser-{name}"));
    let framework = site.join("wwwroot/_framework");
    fs::create_dir_all(&framework).expect("it can be made");
    let assembly = fs::read(sample("hello").join("hello.exe")).expect("the sample is there");
    fs::write(framework.join("App.dll"), &assembly).expect("it can be written");
    let hash = format!("sha256-{}", Base64::encode_string(&Sha256::digest(&assembly)));
    fs::write(framework.join(list), text(&hash)).expect("it can be written");
    (site.join("wwwroot"), framework)
}

/// The list of .NET 8 and 9, and that of .NET 10.
#[test]
fn an_assembly_whose_hash_is_listed_is_refused() {
    let old = |hash: &str| format!(r#"{{ "resources": {{ "assembly": {{ "App.dll": "{hash}" }} }} }}"#);
    let new = |hash: &str| {
        let entry = format!(r#"{{ "virtualPath": "App.dll", "name": "App.dll", "hash": "{hash}" }}"#);
        format!(r#"run(/*json-start*/{{ "resources": {{ "assembly": [{entry}] }} }}/*json-end*/);"#)
    };
    for (name, list, text) in [
        ("old", "blazor.boot.json", &old as &dyn Fn(&str) -> String),
        ("new", "dotnet.js", &new),
        ("boot", "dotnet.abc1.js", &new),
    ] {
        let (site, framework) = published(name, list, text);
        let before = fs::read(framework.join("App.dll")).expect("it is there");
        for (input, options) in [(&site, &["--in-place"][..]), (&framework.join("App.dll"), &["--in-place"])] {
            let (text, code) = run("instrument", input, options);
            assert_eq!(code, Some(3), "{text}");
            for word in ["ILI0012", "App.dll", list, "Ilinst.MSBuild"] {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
        assert!(fs::read(framework.join("App.dll")).expect("it is there") == before);

        fs::write(framework.join("App.dll"), [&before[..], b"\0"].concat()).expect("it can be written");
        let (text, code) = run("doctor", &framework, &["--json"]);
        assert!(code == Some(1) && text.contains("other-hash-listed") && text.contains(list), "{text}");
        fs::write(framework.join("App.dll"), &before).expect("it can be written");
        let (text, _) = run("doctor", &framework, &["--json"]);
        assert!(!text.contains("other-hash-listed"), "{text}");
    }
}

#[test]
fn assemblies_in_containers_are_named_as_that() {
    let folder = scratch("cli-webcil");
    for name in ["App.wasm", "System.Linq.9ffwb85ft1.wasm"] {
        fs::write(folder.join(name), b"\0asm\x01\0\0\0\x10getWebcilPayload\0\0WbIL").expect("it can be written");
    }
    fs::write(folder.join("dotnet.native.wasm"), b"\0asm\x01\0\0\0").expect("it can be written");
    let output = folder.with_extension("out");
    let to = output.to_string_lossy().into_owned();
    let expected = [("instrument", &["-o", &*to][..], 3, true), ("doctor", &[], 1, true), ("verify", &[], 3, false)];
    for (command, options, exit, names_package) in expected {
        let (text, code) = run(command, &folder, options);
        assert_eq!(code, Some(exit), "{command}: {text}");
        assert!(text.contains("2 assemblies, in Webcil containers (.wasm)"), "{command}: {text}");
        assert_eq!(text.contains("Ilinst.MSBuild"), names_package, "{command}: {text}");
    }
    assert!(!output.exists());
}
