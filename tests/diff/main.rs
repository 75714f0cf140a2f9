//! `ilinst diff --only-probes` of an assembly and what was woven of it says nothing; of one that was changed by a byte
//! besides, it does.

use std::{
    fs,
    path::Path,
    process::Output,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ecma335::{Image, Metadata};
use tests::{assemblies, ilinst, library_folders, root, said, sample, scratch, skip};
use weave::{LeaveMode, Plan, Tracker, Weave, Woven, plan::Selection};

const MODES: [LeaveMode; 2] = [LeaveMode::Finally, LeaveMode::Return];

fn tracker() -> Tracker {
    let bytes = fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is committed");
    Tracker::read(&bytes).expect("it is an assembly")
}

/// Does something with what an assembly becomes; nothing if it is none, or one that is refused.
fn with_woven<T>(bytes: &[u8], leave: LeaveMode, tracker: &Tracker, work: impl FnOnce(Woven<'_>) -> T) -> Option<T> {
    let image = Image::parse(bytes).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    if weave::plan::refusal(&image, &metadata, tracker).is_some() {
        return None;
    }
    let plan = Plan::new(&image, &metadata, &Selection::default()).ok()?;
    let how = Weave { leave, tool: "ilinst", options: "--test", ..Weave::new(tracker) };
    weave::weave(&image, &metadata, plan, &how).ok().map(work)
}

fn only_probes(before: &Path, after: &Path) -> Output {
    ilinst().arg("diff").args([before, after]).arg("--only-probes").output().expect("ilinst runs")
}

/// Does something with each item on as many threads as there are processors; gives what failed.
fn in_parallel<T: Sync>(items: &[T], work: impl Fn(usize, &T) -> Result<(), String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let failures: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            let (next, failures, work) = (&next, &failures, &work);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(failure) = work(worker, item) {
                        failures.lock().expect("no other thread panics").push(failure);
                    }
                }
            });
        }
    });
    failures.into_inner().expect("no thread panicked")
}

#[test]
fn nothing_but_probes_is_put_into_the_corpus() {
    let mut files = assemblies(&library_folders());
    if files.is_empty() {
        return skip("neither the .NET SDK nor Mono was found");
    }
    // The large ones first, so that they are not what is waited for at the end.
    files.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).map_or(0, |metadata| metadata.len())));
    let (folder, tracker, compared) = (scratch("diff-corpus"), tracker(), AtomicUsize::new(0));
    let failures = in_parallel(&files, |worker, file| {
        let bytes = fs::read(file).expect("it can be read");
        let woven = folder.join(format!("{worker}.dll"));
        for mode in MODES {
            let written = with_woven(&bytes, mode, &tracker, |output| fs::write(&woven, output.file.to_vec()));
            let Some(written) = written else { return Ok(()) };
            written.expect("it can be written");
            let (out, errors, code) = said(&only_probes(file, &woven));
            if code != Some(0) || !out.is_empty() {
                let shown: Vec<&str> = out.lines().chain(errors.lines()).take(30).collect();
                return Err(format!("{} by {mode:?}: exit {code:?}\n{}", file.display(), shown.join("\n")));
            }
            compared.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    println!("{} files, {} comparisons", files.len(), compared.into_inner());
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Bytes between those that are changed.
const STEP: usize = 11;

#[test]
fn a_byte_of_a_woven_body_is_told_apart() {
    let (folder, tracker) = (scratch("diff-bytes"), tracker());
    let samples = ["hello/hello.exe", "orders/orders.exe", "shapes/shapes.exe", "endings/endings.exe"];
    for (name, mode) in samples.iter().flat_map(|name| MODES.map(|mode| (name, mode))) {
        let (sample_name, file_name) = name.split_once('/').expect("a folder and a file");
        let before = sample(sample_name).join(file_name);
        let bytes = fs::read(&before).expect("it is committed");
        let (file, places) = with_woven(&bytes, mode, &tracker, |woven| {
            let places: Vec<usize> = woven.bodies.iter().flat_map(|(_, range)| range.clone()).step_by(STEP).collect();
            (woven.file.to_vec(), places)
        })
        .expect("it can be woven");
        let failures = in_parallel(&places, |worker, place| {
            let mut changed = file.clone();
            changed[*place] ^= 1 << (place % 8);
            let after = folder.join(format!("{worker}.exe"));
            fs::write(&after, &changed).expect("it can be written");
            match said(&only_probes(&before, &after)) {
                (out, _, Some(1)) if !out.is_empty() => Ok(()),
                (out, errors, code) => Err(format!("{name} by {mode:?}, byte {place:#x}: exit {code:?}\n{out}{errors}")),
            }
        });
        println!("{name} by {mode:?}: {} bytes changed", places.len());
        assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    }
}

/// Whatever bytes a file has, there is an answer.
#[test]
fn damaged_files_are_compared_or_refused() {
    const FILES: usize = 600;
    let (folder, tracker) = (scratch("diff-damage"), tracker());
    let before = sample("shapes").join("shapes.exe");
    let original = fs::read(&before).expect("it is committed");
    let woven = with_woven(&original, LeaveMode::Finally, &tracker, |woven| woven.file.to_vec()).expect("it can be woven");
    let numbers: Vec<usize> = (0..FILES).collect();
    let codes: Mutex<[usize; 3]> = Mutex::default();
    let failures = in_parallel(&numbers, |worker, number| {
        // Numbers that look random, and are the same each time (Knuth's).
        let mut state = *number as u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let mut damaged = if number % 2 == 0 { woven.clone() } else { original.clone() };
        for _ in 0..1 + random() % 8 {
            let place = random() % damaged.len();
            damaged[place] = random() as u8;
        }
        let path = folder.join(format!("{worker}.exe"));
        fs::write(&path, &damaged).expect("it can be written");
        let (one, other) = if number % 3 == 0 { (&path, &before) } else { (&before, &path) };
        let (out, errors, code) = said(&only_probes(one, other));
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
