//! `ilinst diff --only-probes` reports nothing for an assembly and its instrumented version. It reports a difference if one more
//! byte is changed. The same holds for their PDBs.

mod sources;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Output,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ecma335::{
    Cursor, FileOffset, Image, Metadata, Table,
    image::DirectoryKind,
    schema::{
        AssemblyRef, CustomDebugInformation, Document, ImportScope, LocalScope, LocalVariable, MethodDebugInformation,
        MethodSemantics,
    },
};
use tests::{assemblies, ilinst, in_parallel, in_tier, is_full, library_folders, root, said, sample, scratch, tool};
use weave::{LeaveMode, Options, Tracker, Weave, Woven};

const MODES: [LeaveMode; 2] = [LeaveMode::Finally, LeaveMode::Return];

fn tracker() -> Tracker {
    let bytes = fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is committed");
    Tracker::read(&bytes).expect("it is an assembly")
}

/// An assembly, and the PDB beside it.
#[derive(Clone, Copy)]
struct Original<'f> {
    bytes: &'f [u8],
    pdb: Option<&'f [u8]>,
}

impl Original<'_> {
    /// Returns whether it has a portable PDB, embedded or beside it.
    fn has_pdb(self) -> bool {
        Image::parse(self.bytes).is_ok_and(|image| matches!(weave::pdb::find(&image, self.pdb), Ok(Some(_))))
    }
}

/// Calls a function with the instrumented assembly; does nothing if the file is no assembly or is refused.
fn with_woven<T>(
    Original { bytes, pdb }: Original<'_>,
    leave: LeaveMode,
    tracker: &Tracker,
    work: impl FnOnce(Woven<'_>) -> T,
) -> Option<T> {
    let image = Image::parse(bytes).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    if weave::refusal::for_file(&image, &metadata, tracker).is_some() {
        return None;
    }
    let options = Options { leave, all: true, ..Options::default() };
    let how = Weave { options: &options, tool: "ilinst", pdb, ..Weave::new(tracker) };
    weave::weave(&image, &metadata, &how).ok().map(work)
}

/// Returns the differences beside probes, including the PDBs if there are two.
fn only_probes(before: &Path, after: &Path, has_pdb: bool) -> Output {
    let mut command = ilinst();
    command.arg("diff").args([before, after]).arg("--only-probes").args(has_pdb.then_some("--debug-info"));
    command.output().expect("ilinst runs")
}

/// Writes a file, and the PDB that goes beside it.
fn write(path: &Path, woven: &Woven<'_>) {
    fs::write(path, woven.file.to_vec()).expect("it can be written");
    if let Some(pdb) = &woven.pdb {
        fs::write(path.with_extension("pdb"), pdb).expect("it can be written");
    }
}

/// Returns the failures of a check on each item, tried on as many threads as there are processors.
fn failures<T: Sync>(items: &[T], work: impl Fn(usize, &T) -> Result<(), String> + Sync) -> Vec<String> {
    in_parallel(items, work).into_iter().filter_map(Result::err).collect()
}

/// Outside the full tier, every n-th file is tried.
const EVERY: usize = 16;

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn nothing_but_probes_is_put_into_the_corpus() {
    let mut files = assemblies(&library_folders());
    if files.is_empty() {
        return;
    }
    files.extend(assemblies(&tool("ILINST_CORPUS").into_iter().collect::<Vec<_>>()));
    files = in_tier(files, EVERY);
    files.extend(assemblies(&[root().join("samples")]));
    // Large files come first, so that the end does not wait for one.
    files.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).map_or(0, |metadata| metadata.len())));
    let (folder, tracker) = (scratch("diff-corpus"), tracker());
    let (compared, with_pdb) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = failures(&files, |worker, file| {
        let (bytes, pdb) = (fs::read(file).expect("it can be read"), fs::read(file.with_extension("pdb")).ok());
        let original = Original { bytes: &bytes, pdb: pdb.as_deref() };
        let woven = folder.join(format!("{worker}.dll"));
        for mode in MODES {
            if with_woven(original, mode, &tracker, |output| write(&woven, &output)).is_none() {
                return Ok(());
            }
            let has_pdb = original.has_pdb();
            let (out, errors, code) = said(&only_probes(file, &woven, has_pdb));
            if code != Some(0) || !out.is_empty() {
                let shown: Vec<&str> = out.lines().chain(errors.lines()).take(30).collect();
                return Err(format!("{} by {mode:?}: exit {code:?}\n{}", file.display(), shown.join("\n")));
            }
            compared.fetch_add(1, Ordering::Relaxed);
            with_pdb.fetch_add(usize::from(has_pdb), Ordering::Relaxed);
        }
        Ok(())
    });
    let with_pdb = with_pdb.into_inner();
    println!("{} files, {} comparisons, {with_pdb} of them with PDBs", files.len(), compared.into_inner());
    // Four samples have a PDB, and each is instrumented in both modes.
    assert!(with_pdb >= 8);
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// The distance between changed bytes: odd numbers, so that each bit has its turn.
const STEP: usize = if is_full() { 11 } else { 31 };

#[test]
fn a_byte_of_a_woven_body_is_told_apart() {
    let (folder, tracker) = (scratch("diff-bytes"), tracker());
    let samples = ["hello/hello.exe", "orders/orders.exe", "shapes/shapes.exe", "endings/endings.exe"];
    for (name, mode) in samples.iter().flat_map(|name| MODES.map(|mode| (name, mode))) {
        let (sample_name, file_name) = name.split_once('/').expect("a folder and a file");
        let before = sample(sample_name).join(file_name);
        let bytes = fs::read(&before).expect("it is committed");
        let (file, places) = with_woven(Original { bytes: &bytes, pdb: None }, mode, &tracker, |woven| {
            let places: Vec<usize> = woven.bodies.iter().flat_map(|(_, range)| range.clone()).step_by(STEP).collect();
            (woven.file.to_vec(), places)
        })
        .expect("it can be woven");
        let failures = failures(&places, |worker, place| {
            let mut changed = file.clone();
            changed[*place] ^= 1 << (place % 8);
            let after = folder.join(format!("{worker}.exe"));
            fs::write(&after, &changed).expect("it can be written");
            match said(&only_probes(&before, &after, false)) {
                (out, _, Some(1)) if !out.is_empty() => Ok(()),
                (out, errors, code) => Err(format!("{name} by {mode:?}, byte {place:#x}: exit {code:?}\n{out}{errors}")),
            }
        });
        println!("{name} by {mode:?}: {} bytes changed", places.len());
        assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    }
}

/// Changed rows without a name, and changed bytes of heaps without a reference, are reported, too.
#[test]
fn a_byte_of_a_woven_heap_or_row_is_told_apart() {
    let (folder, tracker) = (scratch("diff-metadata"), tracker());
    let before = sample("orders").join("orders.exe");
    let bytes = fs::read(&before).expect("it is committed");
    let original = Original { bytes: &bytes, pdb: None };
    let file = with_woven(original, LeaveMode::Finally, &tracker, |woven| woven.file.to_vec()).expect("it can be woven");
    let image = Image::parse(&file).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let place = |bytes: &[u8]| bytes.as_ptr().addr() - file.as_ptr().addr();
    let mut places = Vec::new();
    for name in [&b"#Strings"[..], b"#US", b"#Blob"] {
        let stream = metadata.streams.iter().find(|stream| stream.name == name).expect("it is there");
        places.extend((0..stream.bytes.len()).step_by(97).map(|at| stream.offset.0 as usize + at));
    }
    for table in [Table::TypeRef, Table::MemberRef, Table::StandAloneSig, Table::CustomAttribute, Table::Param] {
        let rows = metadata.tables.bytes(table);
        places.extend((0..rows.len()).step_by(61).map(|at| place(rows) + at));
    }
    let failures = failures(&places, |worker, at| {
        let mut changed = file.clone();
        changed[*at] ^= 1 << (at % 7);
        let after = folder.join(format!("{worker}.exe"));
        fs::write(&after, &changed).expect("it can be written");
        match said(&only_probes(&before, &after, false)) {
            (out, _, Some(1)) if !out.is_empty() => Ok(()),
            (_, errors, Some(2)) if !errors.is_empty() => Ok(()),
            (out, errors, code) => Err(format!("byte {at:#x}: exit {code:?}\n{out}{errors}")),
        }
    });
    println!("{} bytes changed", places.len());
    assert!(places.len() > 100 && failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_a_pdb_says_otherwise_is_told_apart() {
    let (folder, tracker) = (scratch("diff-pdb"), tracker());
    let before = sample("orders").join("orders.exe");
    let (bytes, pdb) =
        (fs::read(&before).expect("it is committed"), fs::read(before.with_extension("pdb")).expect("it is committed"));
    let after = folder.join("orders.exe");
    for mode in MODES {
        let original = Original { bytes: &bytes, pdb: Some(&pdb) };
        let woven = with_woven(original, mode, &tracker, |woven| (woven.pdb.clone(), write(&after, &woven)).0);
        let woven = woven.flatten().expect("it can be woven, and its PDB too");
        assert_eq!(said(&only_probes(&before, &after, true)), (String::new(), String::new(), Some(0)));
        let metadata = Metadata::parse(Cursor::new(&woven, FileOffset(0))).expect("it can be read");
        // The last significant byte of each row in these tables.
        let mut said_by: BTreeMap<Table, Vec<usize>> = BTreeMap::new();
        // An empty heap item is not part of the file.
        let place = |bytes: &[u8]| bytes.last().map(|last| std::ptr::from_ref(last).addr() - woven.as_ptr().addr());
        let mut add = |table, bytes: &[u8]| said_by.entry(table).or_default().extend(place(bytes));
        for (_, row) in metadata.tables.rows::<MethodDebugInformation>() {
            add(Table::MethodDebugInformation, metadata.blob(row.sequence_points).expect("a blob"));
        }
        for (_, row) in metadata.tables.rows::<LocalVariable>() {
            add(Table::LocalVariable, metadata.strings.string_bytes(row.name).expect("a name"));
        }
        for (_, row) in metadata.tables.rows::<ImportScope>() {
            add(Table::ImportScope, metadata.blob(row.imports).expect("a blob"));
        }
        for (_, row) in metadata.tables.rows::<Document>() {
            add(Table::Document, metadata.blob(row.hash).expect("a blob"));
        }
        for (_, row) in metadata.tables.rows::<CustomDebugInformation>() {
            add(Table::CustomDebugInformation, metadata.blob(row.value).expect("a blob"));
        }
        for (rid, _) in metadata.tables.rows::<LocalScope>() {
            // The third byte of a scope's length.
            let end = metadata.tables.offset(rid).0 as usize + metadata.tables.widths().row_size(Table::LocalScope);
            said_by.entry(Table::LocalScope).or_default().push(end - 2);
        }
        for (table, places) in said_by {
            assert!(!places.is_empty(), "{table}");
            println!("{mode:?}: {} of {table}", places.len());
            for place in places {
                let mut changed = woven.clone();
                changed[place] ^= 1;
                fs::write(after.with_extension("pdb"), &changed).expect("it can be written");
                let (out, errors, code) = said(&only_probes(&before, &after, true));
                assert!(code == Some(1) && !out.is_empty(), "{table}, byte {place:#x}: exit {code:?}\n{out}{errors}");
            }
        }
    }
}

/// Returns the comparison of an assembly with a copy whose bytes were changed.
fn against_changed(folder: &Path, change: impl FnOnce(&mut [u8], &Metadata<'_>), options: &[&str]) -> (String, Option<i32>) {
    let before = sample("orders").join("orders.exe");
    let bytes = fs::read(&before).expect("it is committed");
    let image = Image::parse(&bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let mut changed = bytes.clone();
    change(&mut changed, &metadata);
    let after = folder.join("orders.exe");
    fs::write(&after, &changed).expect("it can be written");
    let output = ilinst().arg("diff").args([&before, &after]).args(options).output().expect("ilinst runs");
    let (out, errors, code) = said(&output);
    assert_eq!(errors, "");
    (out, code)
}

#[test]
fn types_of_another_core_library_are_the_same_if_that_is_asked_for() {
    let folder = scratch("diff-scopes");
    let rename = |bytes: &mut [u8], metadata: &Metadata<'_>| {
        let (_, row) = metadata.tables.rows::<AssemblyRef>().next().expect("it refers to mscorlib");
        let strings = metadata.streams.iter().find(|stream| stream.name == b"#Strings").expect("it has names");
        let place = strings.offset.0 as usize + row.name.0 as usize;
        assert_eq!(&bytes[place..place + 9], b"mscorlib\0");
        bytes[place] = b'n';
    };
    let (out, code) = against_changed(&folder, rename, &["--stat"]);
    assert!(code == Some(1) && out.contains("methods changed"), "{out}");
    let (out, code) = against_changed(&folder, rename, &["--stat", "--ignore-scopes"]);
    assert!(code == Some(1) && !out.contains("changed"), "{out}");
    assert!(out.contains("1 reference added, 1 reference removed;"), "{out}");
}

/// Changes that only the loader sees are reported, too: directories, entry point, flags of sections.
#[test]
fn what_only_the_loader_sees_is_told_apart() {
    /// Offsets in the optional header and in a section's header (PE format).
    const DIRECTORIES: usize = 96;
    const ENTRY_POINT: usize = 16;
    const OPTIONAL_HEADER: usize = 224;
    const SECTION_FLAGS: usize = 36;
    let (folder, tracker) = (scratch("diff-native"), tracker());
    let before = sample("orders").join("orders.exe");
    let bytes = fs::read(&before).expect("it is committed");
    let original = Original { bytes: &bytes, pdb: None };
    let file = with_woven(original, LeaveMode::Finally, &tracker, |woven| woven.file.to_vec()).expect("it can be woven");
    let optional = file[0x3C] as usize + 24;
    let directory = |number: usize| optional + DIRECTORIES + 8 * number;
    let library = file.windows(8).position(|name| name == b"mscoree.").expect("it imports its loader");
    for (what, place, word) in [
        ("architecture", directory(7), "architecture"),
        ("global pointer", directory(8), "global pointer"),
        ("thread local storage", directory(9), "thread local storage"),
        ("load configuration", directory(10), "load configuration"),
        ("bound imports", directory(11), "bound imports"),
        ("delayed imports", directory(13), "delayed imports"),
        ("the table of imports", directory(1), "imports"),
        ("an imported library", library, "imports"),
        ("the entry point", optional + ENTRY_POINT, "native entry point"),
        ("a section's flags", optional + OPTIONAL_HEADER + SECTION_FLAGS, "sections"),
        ("the DOS header", 2, "DOS stub"),
        ("the DOS stub", 0x50, "DOS stub"),
    ] {
        let mut changed = file.clone();
        changed[place] ^= 4;
        // A directory without a size is ignored.
        if place >= directory(2) && place < directory(16) {
            changed[place + 4] = 8;
        }
        let after = folder.join("orders.exe");
        fs::write(&after, &changed).expect("it can be written");
        let (out, errors, code) = said(&only_probes(&before, &after, false));
        assert!(code == Some(1) && out.contains(&format!("{word}: ")), "{what}: exit {code:?}\n{out}{errors}");
    }
}

/// The same without an original to weave again.
#[test]
fn changes_of_headers_are_shown_for_any_two_files() {
    const SECTION_FLAGS: usize = 36;
    let folder = scratch("diff-headers");
    let optional = |file: &[u8]| file[0x3C] as usize + 24;
    let changed = |change: &dyn Fn(&mut [u8])| against_changed(&folder, |bytes, _| change(bytes), &[]);
    let relocation = |file: &[u8]| {
        let image = Image::parse(file).expect("it is an assembly");
        image.offset_of(image.directory(DirectoryKind::BaseRelocation).rva).expect("it has one").0 as usize + 8
    };
    for (what, change, word) in [
        (
            "section flags",
            &(|file: &mut [u8]| file[optional(file) + 224 + SECTION_FLAGS + 3] ^= 0x80) as &dyn Fn(&mut [u8]),
            "sections",
        ),
        ("DOS stub", &|file: &mut [u8]| file[0x60] ^= 1, "DOS stub"),
        ("a relocation's place", &|file: &mut [u8]| file[relocation(file)] ^= 4, "base relocations"),
        ("a relocation's type", &|file: &mut [u8]| file[relocation(file) + 1] ^= 0x10, "base relocations"),
    ] {
        let (out, code) = changed(change);
        assert!(code == Some(1) && out.contains(&format!("\n+{word}: ")), "{what}: {code:?}\n{out}");
    }
}

/// A link to a file is compared as that file, and other links are reported.
#[test]
fn links_in_folders_are_followed_or_reported() {
    let folder = scratch("diff-links");
    let [old, new] = ["old", "new"].map(|name| folder.join(name));
    let assembly = sample("orders").join("orders.exe");
    for side in [&old, &new] {
        fs::create_dir_all(side).expect("it can be made");
        fs::copy(&assembly, side.join("orders.exe")).expect("it can be copied");
    }
    fs::copy(&assembly, new.join("within.exe")).expect("it can be copied");
    let diff = || said(&ilinst().arg("diff").args([&old, &new]).output().expect("ilinst runs"));
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, old.join(name)).expect("a link can be made");
    link(Path::new("orders.exe"), "within.exe");
    assert_eq!(diff(), (String::new(), String::new(), Some(0)));
    link(&assembly, "beyond.exe");
    link(Path::new("nothing"), "lost.dll");
    link(&new, "folder");
    let (out, errors, code) = diff();
    assert!(code == Some(1) && out.lines().count() == 1 && out.contains("beyond.exe"), "{out}");
    for (name, why) in [("lost.dll", "it leads to no file"), ("folder", "it leads to a folder")] {
        assert!(errors.contains(&format!("{name}: link not followed: {why}")), "{errors}");
    }
}

#[test]
fn accessors_come_in_any_order() {
    let swap = |bytes: &mut [u8], metadata: &Metadata<'_>| {
        let size = metadata.tables.widths().row_size(Table::MethodSemantics);
        let rows: Vec<_> = metadata.tables.rows::<MethodSemantics>().collect();
        let pair = rows.windows(2).find(|pair| pair[0].1.association == pair[1].1.association).expect("two accessors of one");
        let start = metadata.tables.offset(pair[0].0).0 as usize;
        bytes[start..start + 2 * size].rotate_left(size);
    };
    assert_eq!(against_changed(&scratch("diff-accessors"), swap, &[]), (String::new(), Some(0)));
}

/// Returns bytes with a few of them changed by pseudo-random numbers (Knuth's generator), the same in each run.
fn damaged(bytes: &[u8], seed: usize) -> Vec<u8> {
    let mut state = seed as u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut damaged = bytes.to_vec();
    for _ in 0..1 + random() % 8 {
        let place = random() % damaged.len();
        damaged[place] = random() as u8;
    }
    damaged
}

/// A comparison ends with a result for a file of any bytes.
#[test]
fn damaged_files_are_compared_or_refused() {
    const FILES: usize = 600;
    let (folder, tracker) = (scratch("diff-damage"), tracker());
    let before = sample("shapes").join("shapes.exe");
    let original = fs::read(&before).expect("it is committed");
    let woven = with_woven(Original { bytes: &original, pdb: None }, LeaveMode::Finally, &tracker, |woven| woven.file.to_vec());
    let woven = woven.expect("it can be woven");
    answers(FILES, |worker, number| {
        let path = folder.join(format!("{worker}.exe"));
        fs::write(&path, damaged(if number % 2 == 0 { &woven } else { &original }, number)).expect("it can be written");
        let (one, other) = if number % 3 == 0 { (&path, &before) } else { (&before, &path) };
        only_probes(one, other, false)
    });
}

/// A comparison ends with a result for a PDB of any bytes.
#[test]
fn damaged_pdbs_are_compared_or_refused() {
    const FILES: usize = 300;
    let folder = scratch("diff-damaged-pdb");
    let before = sample("orders").join("orders.exe");
    let pdb = fs::read(before.with_extension("pdb")).expect("it is committed");
    answers(FILES, |worker, number| {
        let path = folder.join(worker.to_string()).join("orders.exe");
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::copy(&before, &path).expect("it can be copied");
        fs::write(path.with_extension("pdb"), damaged(&pdb, number)).expect("it can be written");
        only_probes(&before, &path, true)
    });
}

/// Checks that each comparison has one of three exit codes, and reports an error in one line.
fn answers(count: usize, compare: impl Fn(usize, usize) -> Output + Sync) {
    let codes: Mutex<[usize; 3]> = Mutex::default();
    let failures = failures(&(0..count).collect::<Vec<_>>(), |worker, number| {
        let (out, errors, code) = said(&compare(worker, *number));
        match code {
            Some(code @ 0..=2) if (code == 2) != errors.is_empty() && errors.lines().count() <= 1 => {
                codes.lock().expect("no other thread panics")[code as usize] += 1;
                Ok(())
            }
            _ => Err(format!("file {number}: exit {code:?}\n{out}{errors}")),
        }
    });
    println!("the same, different, refused: {:?}", codes.into_inner().expect("no thread panicked"));
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
