//! Damaged input, the same in every run. The tool never panics, hangs, takes memory that the file only claims to need, or breaks
//! a property of `fuzz/harness`.
//!
//! `cargo xtask fuzz` runs more inputs. Variables control the tests: `ILINST_FUZZ_INPUTS` is the number of inputs.
//! `ILINST_FUZZ_PART` is the part of this process (`2/3`: the third of three). `ILINST_FUZZ_REPORT` is the file that gets a line
//! of figures. `ILINST_FUZZ_INPUT` is a single input to try.

mod commands;
mod found;

use std::{
    collections::BTreeMap,
    env,
    fs::{self, OpenOptions},
    io::Write as _,
    panic::{self, AssertUnwindSafe},
    sync::Mutex,
    time::{Duration, Instant},
};

use fuzz_harness::{Outcome, Random, Seed, Target, mutate, seeds};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The default number of inputs of all targets.
const INPUTS: u64 = if tests::is_full() { 20_000 } else { 5_000 };
/// The limit of CPU time for an input, reached only by endless work. A file of a megabyte may take seven times as long, but
/// inputs are small.
const LIMIT: Duration = Duration::from_secs(10);
/// The limit of memory at one moment: bytes for each byte of input, and bytes beside.
const PER_BYTE: usize = 256;
const BESIDE: usize = 16 << 20;
/// The length of text, without numbers, by which findings count as equal.
const ALIKE: usize = 64;

macro_rules! targets {
    ($($test:ident: $target:ident)*) => {$(
        #[test]
        fn $test() {
            run(Target::$target);
        }
    )*};
}
targets! {
    images: Image
    metadata: Metadata
    signatures: Signature
    bodies: Body
    text: Text
    verified: Verify
    woven: Weave
    pdbs: Pdb
    profiles: Profile
    deps_json: DepsJson
    originals: Originals
    files: Files
    comparisons: Compare
    exports: Export
    parquet: Parquet
    manifests: Manifest
    requests: Request
}

/// `cargo xtask fuzz --guided` runs each target, too.
#[test]
fn each_target_is_guided() {
    let read = |file: &str| fs::read_to_string(tests::root().join("fuzz").join(file)).expect("it can be read");
    let programs = read("Cargo.toml");
    for (target, name, _) in Target::ALL {
        let path = format!("fuzz_targets/{name}.rs");
        assert!(read(&path).contains(&format!("(fuzz_harness::Target::{target:?})")), "{path}");
        assert!(programs.contains(&format!("[[bin]]\nname = \"{name}\"\npath = \"{path}\"\n")), "{name}");
    }
}

/// The results of a target's inputs.
#[derive(Default)]
struct Figures {
    refused: u64,
    left_alone: u64,
    accepted: u64,
    /// By text without numbers: the number of findings, and the first.
    findings: BTreeMap<String, (u64, String)>,
    slowest: Duration,
    /// The longest time for a byte, among inputs of a page and more.
    slowest_byte: f64,
    memory: usize,
}

/// A check of bytes, with `variant` and the companion file.
type Check<'c> = &'c (dyn Fn(&[u8], u64, Option<&[u8]>) -> Result<Outcome, String> + Sync);

/// A target under test: its name, its number, and its share of 1,000 inputs.
#[derive(Clone, Copy)]
struct Tried<'t> {
    name: &'t str,
    number: u64,
    share: u64,
}

/// Tries a target's share of the inputs.
fn run(target: Target) {
    let (_, name, share) = Target::ALL.into_iter().find(|(each, ..)| *each == target).expect("it is a target");
    let folders: Vec<_> = env::var_os("ILINST_FUZZ_SEEDS").iter().flat_map(env::split_paths).collect();
    let check = |bytes: &[u8], variant: u64, beside: Option<&[u8]>| target.check(bytes, variant, beside);
    try_all(Tried { name, number: target as u64, share }, &seeds::seeds(target, &folders), &check);
}

fn try_all(tried: Tried<'_>, seeds: &[Seed], check: Check<'_>) {
    // Memory is counted for the process, so only one target runs at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect("it is a number"));
    let count = number("ILINST_FUZZ_INPUTS").unwrap_or(INPUTS) * tried.share / 1000;
    let part = env::var("ILINST_FUZZ_PART").unwrap_or_else(|_| "0/1".into());
    let (first, step) = part.split_once('/').expect("a part of how many");
    let numbers: Vec<u64> = match number("ILINST_FUZZ_INPUT") {
        Some(one) => vec![one],
        None => (first.parse().expect("a number")..count).step_by(step.parse().expect("a number")).collect(),
    };
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|panic| *LAST_PANIC.lock().expect("nobody panics with it") = panic.to_string()));
    let mut figures = Figures::default();
    // All work is done by one thread, so that each input has the same order of work.
    pool.install(|| numbers.iter().for_each(|number| try_input(tried, *number, seeds, check, &mut figures)));
    panic::set_hook(hook);
    figures.print(tried.name);
    figures.findings.values().for_each(|(count, first)| println!("{count} times: {first}"));
    let findings: Vec<String> = figures.findings.into_values().map(|(_, first)| first).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// The message of the last panic.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn try_input(tried: Tried<'_>, number: u64, seeds: &[Seed], check: Check<'_>, figures: &mut Figures) {
    let name = tried.name;
    let folder = tests::root().join("target/tests/fuzz");
    let mut random = Random::new(number.wrapping_mul(64).wrapping_add(tried.number));
    let seed = random.pick(seeds);
    let bytes = mutate(&seed.bytes, &seed.fields, &mut random);
    let variant = random.number();
    let size = bytes.len() + seed.beside.as_ref().map_or(0, Vec::len);
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let check = || panic::catch_unwind(AssertUnwindSafe(|| check(&bytes, variant, seed.beside.as_deref())));
    let (started, of_processor) = (Instant::now(), processor_time());
    let result = check();
    let (mut time, of_processor) = (started.elapsed(), processor_time().saturating_sub(of_processor));
    let memory = MEMORY.peak_usage().saturating_sub(before);
    if time > figures.slowest {
        // The machine may have been slow, so the input is measured again.
        let started = Instant::now();
        let _ = check();
        time = time.min(started.elapsed());
    }
    figures.slowest = figures.slowest.max(time);
    if size >= 4096 {
        figures.slowest_byte = figures.slowest_byte.max(time.as_nanos() as f64 / size as f64);
    }
    figures.memory = figures.memory.max(memory);
    let found = match result {
        Err(_) => Err(LAST_PANIC.lock().expect("nobody panics with it").clone()),
        Ok(Err(what)) => Err(what),
        Ok(Ok(_)) if of_processor > LIMIT => Err(format!("{of_processor:?} for {size} bytes")),
        Ok(Ok(_)) if memory > PER_BYTE * size + BESIDE => Err(format!("{memory} bytes of memory for {size}")),
        Ok(Ok(outcome)) => Ok(outcome),
    };
    match found {
        Ok(Outcome::Refused) => figures.refused += 1,
        Ok(Outcome::LeftAlone) => figures.left_alone += 1,
        Ok(Outcome::Accepted) => figures.accepted += 1,
        Err(what) => {
            let alike: String = what.chars().filter(|character| !character.is_ascii_digit()).take(ALIKE).collect();
            let (count, _) = figures.findings.entry(alike).or_insert_with(|| {
                fs::create_dir_all(&folder).expect("a folder can be made");
                fs::write(folder.join(format!("{name}-{number}.bin")), &bytes).expect("it can be written");
                (0, format!("{name} {number} (variant {}, of {}): {what}", variant & 15, seed.name))
            });
            *count += 1;
        }
    }
}

/// Returns the CPU time of this thread, which other programs do not affect. Returns zero where the system does not provide it.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default())
}

impl Figures {
    /// Prints the figures, and adds a line to the report if there is one.
    fn print(&self, name: &str) {
        let findings: u64 = self.findings.values().map(|(count, _)| count).sum();
        let line = json!({
            "target": name,
            "inputs": self.refused + self.left_alone + self.accepted + findings,
            "refused": self.refused,
            "leftAlone": self.left_alone,
            "accepted": self.accepted,
            "findings": findings,
            "slowestMs": self.slowest.as_secs_f64() * 1e3,
            "slowestNsPerByte": self.slowest_byte,
            "memory": self.memory,
        });
        println!("{line}");
        if let Some(report) = env::var_os("ILINST_FUZZ_REPORT") {
            let file = OpenOptions::new().append(true).create(true).open(report);
            file.and_then(|mut file| writeln!(file, "{line}")).expect("it can be written");
        }
    }
}
