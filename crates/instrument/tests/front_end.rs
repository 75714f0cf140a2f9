//! The crate as other front ends call it, such as a build task, or the launcher of a profiler.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use instrument::{Destination, FileReport, Options, Outcome, Request, TRACKER_FILE};
use sha2::Digest as _;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/orders/bin/orders.exe");

/// A folder that contains the sample, and is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ilinst-front-end-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::copy(SAMPLE, folder.join("orders.exe")).unwrap();
        Self(folder)
    }

    /// Returns every file below the folder, by its relative path.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    collect(root, &path, files);
                } else {
                    files.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
                }
            }
        }
        let mut files = BTreeMap::new();
        collect(&self.0, &self.0, &mut files);
        files
    }

    fn request(&self, destination: Destination) -> Request {
        Request { inputs: vec![self.0.join("orders.exe")], destination, pdb: None, copies: None, dry_run: false }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_front_end_weaves_in_place_reads_what_was_done_and_restores() {
    let folder = Folder::new("in-place");
    let before = folder.files();
    let request = folder.request(Destination::InPlace);
    let mut options = Options { names_expected: true, ..Options::default() };
    options.weave.selection.exclude.push("*::get_*".parse().unwrap());
    let jobs = request.jobs().unwrap();
    assert_eq!(jobs.len(), 1);
    assert!(jobs[0].is_named && jobs[0].output == jobs[0].input);

    let told = AtomicUsize::new(0);
    let progress = |_: &FileReport| {
        told.fetch_add(1, Ordering::Relaxed);
    };
    let report = instrument::run(&request, &jobs, &options, &progress).unwrap().commit().unwrap();
    assert_eq!(told.into_inner(), 1);

    let [file] = &report.files[..] else { panic!("{report:?}") };
    let Outcome::Processed { methods, left_alone, .. } = &file.outcome else { panic!("{file:?}") };
    assert!(file.woven() > 0 && !file.has_findings() && file.warnings.is_empty(), "{file:?}");
    assert_eq!(file.woven() + left_alone.len(), methods.len());
    assert!(left_alone.iter().any(|method| method.name.contains("::get_") && method.reason.code() == "excluded"));
    assert_eq!(file.output_size, fs::metadata(&file.output).unwrap().len());
    assert_eq!(file.input_size, before[Path::new("orders.exe")].len() as u64);
    for name in ["orders.exe", "orders.exe.ilinst.json", TRACKER_FILE] {
        assert!(report.written.contains(&folder.0.join(name)), "{name}: {:?}", report.written);
    }
    assert_ne!(folder.files(), before);

    let restored = instrument::restore(&folder.0).unwrap();
    assert_eq!((restored.put_back, restored.changed.len()), (1, 0));
    assert_eq!(folder.files(), before);
}

#[test]
fn nothing_is_left_of_a_run_that_is_not_committed() {
    let folder = Folder::new("dropped");
    let before = folder.files();
    let request = folder.request(Destination::Path(folder.0.join("woven/")));
    let run = instrument::run(&request, &request.jobs().unwrap(), &Options::default(), &|_| {}).unwrap();
    assert!(run.files[0].woven() > 0);
    assert!(folder.files().len() > before.len());
    drop(run);
    assert_eq!(folder.files(), before);
    assert!(!folder.0.join("woven").exists());
}

#[test]
fn what_ends_a_run_has_a_number_and_leaves_nothing() {
    let folder = Folder::new("fails");
    for (name, number) in (0..20).map(|number| (format!("lib{number:02}.dll"), number)) {
        let bytes = if number == 7 || number == 15 { b"no assembly".to_vec() } else { fs::read(SAMPLE).unwrap() };
        fs::write(folder.0.join(name), bytes).unwrap();
    }
    let before = folder.files();
    let inputs = before.keys().map(|name| folder.0.join(name)).collect();
    let destination = Destination::Path(folder.0.join("woven"));
    let request = Request { inputs, ..folder.request(destination) };
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let run = || instrument::run(&request, &request.jobs().unwrap(), &Options::default(), &|_| {});
        let failure = pool.install(run).err().unwrap();
        assert_eq!((failure.code, failure.exit), ("ILI0011", 3));
        assert!(failure.message.contains("lib07.dll: "), "the first of two, whatever the threads: {failure}");
        assert_eq!(folder.files(), before);
        assert!(!folder.0.join("woven").exists());
    }
    let request = folder.request(Destination::Path(folder.0.join("orders.exe")));
    assert_eq!(request.jobs().unwrap_err().code, "ILI0013");
}

/// The manifest matches `docs/manifest-format.md`: a reader finds every method, and its result with the reason.
#[test]
fn the_manifest_names_every_method_and_what_became_of_it() {
    let folder = Folder::new("manifest");
    let request = folder.request(Destination::Path(folder.0.join("woven.exe")));
    let mut options = Options { names_expected: true, ..Options::default() };
    options.weave.selection.exclude.push("*::get_*".parse().unwrap());
    let report = instrument::run(&request, &request.jobs().unwrap(), &options, &|_| {}).unwrap().commit().unwrap();
    let Outcome::Processed { methods, left_alone, .. } = &report.files[0].outcome else { panic!("{report:?}") };

    let manifest = fs::read(folder.0.join("woven.exe.ilinst.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["schema"], 3);
    for (file, name) in [("input", "orders.exe"), ("output", "woven.exe"), ("tracker", TRACKER_FILE)] {
        let bytes = fs::read(folder.0.join(name)).unwrap();
        assert_eq!(manifest[file]["size"], bytes.len(), "{file}");
        assert_eq!(manifest[file]["sha256"], hex::encode(sha2::Sha256::digest(&bytes)), "{file}");
    }
    let texts = |name: &str| manifest[name].as_array().unwrap().iter();
    assert_eq!(texts("methods").len(), methods.len());
    let type_name = |mut row: u64| {
        let mut name = String::new();
        while row > 0 {
            let own = &manifest["types"][row as usize - 1];
            name = format!("{}{}{name}", own[0].as_str().unwrap(), if name.is_empty() { "" } else { "/" });
            row = own[1].as_u64().unwrap_or(0);
        }
        name
    };
    let said = texts("methods").filter_map(|method| {
        let code = manifest["decisions"][method[2].as_u64().unwrap() as usize].as_str().unwrap();
        let name = format!("{}::{}", type_name(method[0].as_u64().unwrap()), method[1].as_str().unwrap());
        (code != "finally").then(|| (name, code.to_owned()))
    });
    let left_alone = left_alone.iter().map(|method| (method.name.clone(), method.reason.code().to_owned()));
    assert_eq!(said.collect::<Vec<_>>(), left_alone.collect::<Vec<_>>());
    assert!(texts("methods").any(|method| method[3] == "PrintOrder [lambda]"));
}
