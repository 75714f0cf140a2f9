//! The same bytes and the same messages as on Linux.

use std::{fs, path::Path};

use tests::{ilinst, root, said};

use crate::{Windows, copy, files_below, into, windows};

/// Returns the samples' folders.
fn samples() -> Vec<String> {
    let folders = fs::read_dir(root().join("samples")).expect("it is there").flatten();
    let mut names: Vec<String> = folders
        .filter(|entry| entry.path().join("bin").is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    names
}

/// The same files with the same bytes: assemblies, PDBs, manifests, the tracker.
#[test]
#[ignore = "needs Wine"]
fn all_samples_are_woven_to_the_same_bytes() {
    let Some(wine) = Windows::new("same") else { return };
    for name in samples() {
        let input = wine.sample(&name);
        let [here, there] = ["linux", "windows"].map(|system| wine.folder.join(format!("{name}-{system}")));
        tests::instrument(&[&input, &"-o", &format!("{}/", here.display())]);
        wine.run(&[&"instrument", &windows(&input), &"-o", &into(&there)]);
        let (here, there) = (files_below(&here), files_below(&there));
        let names = |files: &[(std::path::PathBuf, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&here), names(&there), "{name}");
        for ((file, here), (_, there)) in here.iter().zip(&there) {
            assert!(here == there, "{name}: {} differs", file.display());
        }
    }
}

/// In place, by a folder that ends with a backslash; the original files are restored.
#[test]
#[ignore = "needs Wine"]
fn what_is_woven_in_place_is_put_back() {
    let Some(wine) = Windows::new("in-place") else { return };
    let folder = wine.sample("orders");
    let expected = wine.folder.join("expected");
    copy(&folder, &expected);
    tests::instrument(&[&expected, &"--in-place"]);
    let mut with_backslash = windows(&folder);
    with_backslash.push("\\");
    let before = files_below(&folder);
    wine.run(&[&"instrument", &with_backslash, &"--in-place"]);
    let woven = |folder: &Path| fs::read(folder.join("orders.exe")).expect("it is there");
    assert!(woven(&folder) == woven(&expected), "not what Linux weaves in place");
    wine.run(&[&"restore", &with_backslash]);
    assert!(files_below(&folder) == before, "it is not what it was");
}

/// The output for an assembly is the same for each form of its path.
#[test]
#[ignore = "needs Wine"]
fn what_is_shown_is_the_same() {
    let Some(wine) = Windows::new("shown") else { return };
    let program = wine.sample("orders").join("orders.exe");
    for arguments in [&["list", "--json"][..], &["dis"], &["verify"], &["list", "--methods"]] {
        let (here, errors, code) = said(&ilinst().args(arguments).arg(&program).output().expect("it starts"));
        assert_eq!(code, Some(0), "{errors}");
        let output = wine.ilinst().args(arguments).arg(windows(&program)).output().expect("Wine starts");
        let (there, errors, code) = said(&output);
        assert_eq!(code, Some(0), "{errors}");
        let of_windows = windows(&program).into_string().expect("it is text");
        let plain = |text: &str, file: &str| {
            let text = text.replace(file, "FILE");
            // Removes the duration.
            text.split_once(" errors in ").map_or(text.clone(), |(before, _)| before.to_owned())
        };
        assert_eq!(plain(&here, &program.display().to_string()), plain(&there, &of_windows), "{arguments:?}");
    }
}
