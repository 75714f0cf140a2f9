//! The files of a program's folder, and the faults that can be seen before anything runs.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use ecma335::{FileKind, is_named_as_assembly};
use ecma335::{
    Metadata,
    schema::{MethodDef, TypeDef},
};
use instrument::{BundledFile, Input, NativeProgram, TRACKER, TRACKER_FILE, browser, bundled_files, deps_json};
use names::Mark;
use sha2::{Digest as _, Sha256};

use crate::{
    finding::{Code, Finding},
    manifest::Manifest,
};

/// A native host is larger than this, in bytes.
const SMALLEST_HOST: u64 = 64 << 10;
/// How many reasons, or files, are named.
const MANY: usize = 3;
/// The library that a program with a .NET of its own has beside it: only such a program can be trimmed.
const CORE_LIBRARY: &str = "System.Private.CoreLib.dll";
/// A name that the tracker has as a UTF-16 text, which native AOT keeps.
const OUTPUT_VARIABLE: &str = "ILINST_OUTPUT";

/// A program's folder, with what is in it.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    /// The woven assemblies, in order.
    pub woven: Vec<WovenFile>,
    /// Programs of native AOT with a tracker in them: their methods' ids cannot be told from the file.
    pub native: Vec<PathBuf>,
    /// How many assemblies are not woven, not counting those that were.
    others: usize,
    findings: Vec<Finding>,
}

/// A woven assembly.
#[derive(Debug)]
pub struct WovenFile {
    /// Its path, or that of the bundle that it is in.
    pub path: PathBuf,
    /// The first digits of its method ids.
    pub module_key: u64,
    /// Whether the tracker is in it, or in the bundle with it.
    pub has_tracker: bool,
}

impl WovenFile {
    /// Its path without links.
    pub(crate) fn real_path(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }
}

impl Folder {
    /// Looks at a folder, or at a single assembly with what lies beside it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(path: &Path, is_deep: bool) -> instrument::Result<Self> {
        let is_file = path.is_file();
        let root = if is_file { path.parent().unwrap_or(Path::new("")) } else { path };
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let mut folder = Self { root: root.to_owned(), woven: Vec::new(), native: Vec::new(), others: 0, findings: Vec::new() };
        let mut paths = if is_file { vec![path.to_owned()] } else { Vec::new() };
        if !is_file {
            let unreadable = |error| instrument::Failure::unreadable(format_args!("{}: {error}", root.display()));
            collect(root, is_deep, &mut paths).map_err(unreadable)?;
            paths.sort();
        }
        for path in &paths {
            folder.look_at(path);
        }
        folder.look_for_tracker();
        if folder.woven.is_empty() && folder.native.is_empty() && folder.findings.is_empty() {
            let (what, advice) = match folder.others {
                0 => match browser::why_no_assembly(root) {
                    Some(why) => (why, browser::IN_ITS_BUILD.to_owned()),
                    None => ("no assembly is there".to_owned(), "name the folder that the program is started from".to_owned()),
                },
                others => {
                    let advice = format!("ilinst instrument {} -o woven/, and start woven/", root.display());
                    (format!("none of its {others} assemblies is instrumented"), advice)
                }
            };
            folder.findings.push(Finding::new(Code::NotWoven, root, what, advice));
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The faults of the folder.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn find(&mut self, code: Code, place: &Path, what: impl Into<String>, advice: impl Into<String>) {
        self.findings.push(Finding::new(code, place, what, advice));
    }

    fn look_at(&mut self, path: &Path) {
        let may_be_host = path.extension().is_none_or(OsStr::is_empty) || FileKind::by_name(path) == Some(FileKind::Program);
        let is_host = may_be_host && fs::metadata(path).is_ok_and(|file| file.len() >= SMALLEST_HOST);
        if !is_host && !is_named_as_assembly(path) {
            return;
        }
        let Ok(bytes) = Input::open(path) else { return };
        let Ok((_, metadata)) = ecma335::open(&bytes) else {
            match NativeProgram::find(&bytes).filter(|_| is_host) {
                Some(NativeProgram::SingleFile) => self.look_into_bundle(path, &bundled_files(&bytes)),
                Some(NativeProgram::Aot) if has_tracker_compiled_in(&bytes) => self.native.push(path.to_owned()),
                Some(native) => self.find_native(path, native),
                None => {}
            }
            return;
        };
        if path.file_name().is_some_and(|name| name == TRACKER_FILE) {
            return;
        }
        if let Some(listed) = browser::listed(path, &bytes).filter(|listed| !listed.has_hash) {
            let list = listed.list.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let what = format!("{list} has another SHA-256 for it, so browsers do not load it");
            self.find(Code::OtherHashListed, path, what, format!("publish again, and {}", browser::IN_ITS_BUILD));
        }
        let manifest = Manifest::beside(path);
        let mark = Mark::read(&metadata);
        match (&mark, &manifest) {
            (_, Some(manifest)) if manifest.has_no_code() => self.others += 1,
            (_, Some(manifest)) if manifest.woven == 0 => self.find_nothing_matched(path, manifest),
            (None, Some(manifest)) => self.find_copied_back(path, manifest, &bytes),
            (None, None) => self.others += 1,
            (Some(mark), _) => self.woven.push(woven(path, &metadata, mark)),
        }
    }

    /// A program in one file runs what is in it.
    fn look_into_bundle(&mut self, path: &Path, files: &[BundledFile<'_>]) {
        let name = |file: &BundledFile<'_>| file.path.rsplit('/').next().unwrap_or_default().to_owned();
        let found = files.iter().filter(|file| is_named_as_assembly(file.path.as_ref())).filter_map(|file| {
            let bytes = file.read()?;
            let (_, metadata) = ecma335::open(&bytes).ok()?;
            Mark::read(&metadata).map(|mark| woven(path, &metadata, &mark))
        });
        let mut found: Vec<WovenFile> = found.collect();
        if found.is_empty() {
            return self.find_native(path, NativeProgram::SingleFile);
        }
        if found.iter().any(|file| !file.has_tracker) && !files.iter().any(|file| name(file) == TRACKER_FILE) {
            let what = "its instrumented code calls the tracker, which is not in this single file";
            self.find(
                Code::TrackerNotFound,
                path,
                what,
                "publish again with the tracker, as Ilinst.MSBuild does, or with IlinstEmbed=true",
            );
        }
        found.iter_mut().for_each(|file| file.has_tracker = true);
        self.woven.extend(found);
    }

    fn find_native(&mut self, path: &Path, native: NativeProgram) {
        let text = native.to_string();
        let (what, advice) = text.split_once("; ").unwrap_or((&text, ""));
        self.find(Code::SingleFile, path, what, advice);
    }

    fn find_nothing_matched(&mut self, path: &Path, manifest: &Manifest) {
        let reasons = manifest.left_alone.iter().take(MANY).map(|(reason, count)| format!("{count} {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let what = format!("none of its methods was instrumented ({reasons}); options: {}", manifest.options);
        let advice = format!("ilinst list --methods {} says what would be, with the same patterns", path.display());
        self.find(Code::NothingMatched, path, what, advice);
    }

    fn find_copied_back(&mut self, path: &Path, manifest: &Manifest, bytes: &[u8]) {
        let is_original = hex::encode(Sha256::digest(bytes)) == manifest.input;
        let what = match is_original {
            true => "the original has replaced the instrumented file, as when a build copies it there again",
            false => "another file has replaced the instrumented file, as when a build copies one there",
        };
        self.find(Code::CopiedBack, path, what, "instrument after the last copy of the build, or again before each start");
    }

    /// The tracker has to be beside what is woven, or in the program's folder, and be named by the lists there.
    fn look_for_tracker(&mut self) {
        let calls_it = self.woven.iter().filter(|file| !file.has_tracker);
        let folders: BTreeSet<PathBuf> = calls_it.filter_map(|file| file.path.parent()).map(Path::to_owned).collect();
        for folder in folders {
            let tracker = folder.join(TRACKER_FILE);
            let found = fs::read(&tracker).or_else(|_| fs::read(self.root.join(TRACKER_FILE)));
            let has_own_library = [&*folder, &*self.root].iter().any(|folder| folder.join(CORE_LIBRARY).is_file());
            if found.as_ref().is_ok_and(|found| is_published_tracker(found, has_own_library)) {
                continue;
            }
            match (instrument::tracker_for(&folder, &self.root), found) {
                (Err(failure), _) => {
                    self.find(Code::TrackerUnfit, &folder, failure.to_string(), "publish the program untrimmed");
                }
                (Ok(_), Err(_)) => self.find(
                    Code::TrackerNotFound,
                    &tracker,
                    "the tracker is missing, so the instrumented program cannot start",
                    "copy all files from the output folder of `ilinst instrument`, or instrument again",
                ),
                (Ok(own), Ok(found)) if own != found => self.find(
                    Code::OtherTracker,
                    &tracker,
                    "it is of another version of ilinst, or of a program with another .NET",
                    "instrument again with the same version of ilinst that reads the profiles",
                ),
                (Ok(_), Ok(_)) => {}
            }
        }
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        let lists = entries.flatten().map(|entry| entry.path());
        let mut lists: Vec<PathBuf> = lists.filter(|path| path.to_string_lossy().ends_with(".deps.json")).collect();
        lists.sort();
        for list in lists {
            let Ok(text) = Input::open(&list) else { continue };
            let name = |file: &WovenFile| Some(file.path.file_name()?.to_string_lossy().into_owned());
            let is_its_list =
                self.woven.iter().filter(|file| !file.has_tracker).filter_map(name).any(|name| deps_json::names(&text, &name));
            if is_its_list && matches!(deps_json::add_tracker(&text), Ok(Some(_))) {
                let what = "it lists what the program may load, and the tracker is not in it";
                let advice = "instrument the whole folder, or in place: then the list is written too, unless a build puts its own \
                              back; where a project that this one refers to has Ilinst.MSBuild, give it the package too, or \
                              build once with --no-incremental";
                self.find(Code::TrackerNotListed, &list, what, advice);
            }
        }
    }
}

/// Returns what `doctor` needs to know of an instrumented assembly.
fn woven(path: &Path, metadata: &Metadata<'_>, mark: &Mark<'_>) -> WovenFile {
    let has_tracker = names::first_embedded(metadata).is_some();
    WovenFile { path: path.to_owned(), module_key: mark.module_key, has_tracker }
}

/// Whether a native program contains the tracker's code. The compiler packs data and drops zeros at the end of a text, so the
/// last byte is not looked for.
fn has_tracker_compiled_in(bytes: &[u8]) -> bool {
    let mut text: Vec<u8> = OUTPUT_VARIABLE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    text.pop();
    bytes.windows(text.len()).any(|window| window == text)
}

/// Whether a file is our tracker after publishing, which fits what was published with it: compiled to ReadyToRun, or, where the
/// program has a .NET of its own, trimmed. Compiling keeps the MVID; trimming gives a new one, and only takes members away.
fn is_published_tracker(found: &[u8], may_be_trimmed: bool) -> bool {
    let (Ok((image, found)), Ok((_, own))) = (ecma335::open(found), ecma335::open(TRACKER)) else { return false };
    let is_compiled = image.precompiled().is_some() && found.mvid().ok() == own.mvid().ok();
    let is_trimmed = || {
        let (rest, all) = (members(&found), members(&own));
        rest.len() < all.len() && rest.is_subset(&all)
    };
    is_compiled || may_be_trimmed && is_trimmed()
}

/// The methods of an assembly by their types' names and their own.
fn members(metadata: &Metadata<'_>) -> BTreeSet<(String, String)> {
    let names = metadata.full_names();
    let methods = metadata.tables.rows::<TypeDef>().flat_map(|(owner, _)| {
        let name = names.name_of(owner).unwrap_or_default();
        metadata.children::<TypeDef, MethodDef>(owner).map(move |method| (name.clone(), method))
    });
    let name = |method| metadata.row::<MethodDef>(method).and_then(|row| metadata.name(row.name)).unwrap_or_default();
    methods.map(|(owner, method)| (owner, name(method))).collect()
}

/// The files of a folder; of those in it too, if that is wanted. Links are not followed.
fn collect(folder: &Path, is_deep: bool, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_file() || kind.is_symlink() && entry.path().is_file() {
            files.push(entry.path());
        } else if kind.is_dir() && is_deep {
            // One that cannot be read hides nothing that could be woven.
            let _ = collect(&entry.path(), is_deep, files);
        }
    }
    Ok(())
}
