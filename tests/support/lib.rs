//! Shared code of the tests: the tool, the runtimes, working folders.

mod browser;
mod compile;
pub mod live;
mod mounted;
mod node;
pub mod packages;
mod report;
mod sdk;
mod wait;
mod webcil;
mod wine;
mod workflow;

use std::{
    collections::BTreeSet,
    env,
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

pub use browser::Browser;
pub use compile::{Compiler, References, compile, compile_fsharp, compile_with};
use ecma335::{Cursor, FileOffset, Image, Metadata, Table};
pub use mounted::Mounted;
pub use node::{browser_program, fetched, pack_as_webcil, put_browser_net};
pub use report::Report;
pub use sdk::Sdk;
pub use wait::{end_of, until};
pub use wine::Wine;
pub use workflow::{workflow_steps, write_command};

/// Returns the repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository").to_owned()
}

/// Returns a sample's folder of built files.
pub fn sample(name: &str) -> PathBuf {
    root().join("samples").join(name).join("bin")
}

/// Returns a command of the tool: the program in `ILINST_BIN`, or one that is built first, with the test's own profile.
pub fn ilinst() -> Command {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    Command::new(PATH.get_or_init(|| env::var_os("ILINST_BIN").map_or_else(build, PathBuf::from)))
}

/// Returns a command of xtask: the program in `ILINST_XTASK`, or one that is built first.
pub fn xtask() -> Command {
    let mut command = match env::var_os("ILINST_XTASK") {
        Some(xtask) => Command::new(xtask),
        None => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["run", "--quiet", "--package", "xtask", "--profile", "corpus", "--"]);
            cargo
        }
    };
    command.current_dir(root());
    command
}

/// Has cargo build the tool and the profiler's library, unless they are up to date. Returns the tool's path.
fn build() -> PathBuf {
    let test = env::current_exe().expect("a test knows itself");
    let folder = test.parent().and_then(Path::parent).expect("tests are built below a profile's folder");
    let profile = folder.file_name().filter(|name| *name != "debug").unwrap_or("dev".as_ref());
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "ilinst", "--package", "ilinst-clr-profiler", "--profile"])
        .arg(profile)
        .status();
    assert!(status.expect("cargo starts").success(), "ilinst cannot be built");
    folder.join("ilinst").with_extension(env::consts::EXE_EXTENSION)
}

/// Runs the tool, which must succeed.
pub fn instrument(arguments: &[&dyn AsRef<OsStr>]) {
    let output = ilinst().arg("instrument").args(arguments.iter().map(AsRef::as_ref)).output().expect("ilinst runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Lets a file be run.
#[cfg(unix)]
pub fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is our own");
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("it can be read").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(path, to).expect("it can be copied");
        }
    }
}

/// An empty folder for one test.
pub fn scratch(name: &str) -> PathBuf {
    let folder = root().join("target/tests").join(name);
    claim(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder.canonicalize().expect("it is there")
}

/// Notes which test uses a folder. A second test of the same run fails, even if the first has ended: in another run both may run at
/// once. `ILINST_TEST` has the process id of xtask, the suite and the test. Without it, nothing is checked.
fn claim(folder: &str) {
    let Ok(test) = env::var("ILINST_TEST") else { return };
    let owners = root().join("target/tests/owners");
    fs::create_dir_all(&owners).expect("a folder can be made");
    let file = owners.join(folder.replace('/', " "));
    let owner = fs::read_to_string(&file).unwrap_or_default();
    let run = |test: &str| test.split(' ').next().map(str::to_owned);
    assert!(owner == test || run(&owner) != run(&test), "two tests use the folder {folder}: {owner}, {test}");
    fs::write(file, test).expect("it can be written");
}

/// Makes another user the owner of a file or folder. If only root can do so, the test fails, or goes without if
/// `ILINST_ALLOW_MISSING` is set.
#[cfg(unix)]
pub fn give_away(path: &Path) -> bool {
    const ANOTHER_USER: u32 = 54321;
    let given = std::os::unix::fs::lchown(path, Some(ANOTHER_USER), Some(ANOTHER_USER));
    if given.is_err() {
        skip("another user's files: only root can create them; run the tests as root");
    }
    given.is_ok()
}

/// Calls a function for each item, on as many threads as there are processors. Returns the results in the order of the items. The
/// function gets the number of its thread, and may use files named by it alone.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            let (next, done, work) = (&next, &done, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(worker, item);
                    done.lock().expect("no other thread panics").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Compares each file of a folder with the result of `run`, in parallel. If `run` returns `None` because a tool is missing, the
/// test ends. `BLESS=1` writes the current results.
pub fn check_cases(folder: &Path, run: impl Fn(&Path, &str) -> Option<String> + Sync) {
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).expect("there are cases").flatten().map(|entry| entry.path()).collect();
    cases.sort();
    let results = in_parallel(&cases, |_, case: &PathBuf| {
        let text = fs::read_to_string(case).expect("a case is text");
        Some((case.clone(), run(case, &text)?, text))
    });
    let Some(results) = results.into_iter().collect::<Option<Vec<_>>>() else { return };
    let mut failures = Vec::new();
    for (case, actual, expected) in results {
        if actual == expected {
            continue;
        }
        if env::var_os("BLESS").is_some() {
            fs::write(case, actual).expect("a case can be written");
        } else {
            failures.push(format!("{}:\n--- expected\n{expected}\n--- printed\n{actual}", case.display()));
        }
    }
    println!("{} cases", cases.len());
    assert!(failures.is_empty(), "{}\nBLESS=1 accepts this", failures.join("\n"));
}

/// Returns whether this is the full tier: more runtimes, more inputs. Modules that belong to it have `#[cfg(feature = "full")]`.
pub const fn is_full() -> bool {
    cfg!(feature = "full")
}

/// Returns the files of a corpus that this tier tries: all in the full tier, otherwise every n-th, always the same ones.
pub fn in_tier(mut files: Vec<PathBuf>, every: usize) -> Vec<PathBuf> {
    files.sort();
    if is_full() { files } else { files.into_iter().step_by(every).collect() }
}

/// Returns the items that this tier tries: all in the full tier, otherwise the first ones.
pub fn first_in_tier<T>(items: &[T], count: usize) -> &[T] {
    if is_full() { items } else { &items[..count.min(items.len())] }
}

/// Returns the pairs of runtimes and items that this tier tries: all in the full tier, otherwise as few as have each runtime and each
/// item.
pub fn in_turn<'r, T: Copy>(runtimes: &'r [Runtime], items: &[T]) -> Vec<(&'r Runtime, T)> {
    if is_full() {
        return runtimes.iter().flat_map(|runtime| items.iter().map(move |item| (runtime, *item))).collect();
    }
    let count = runtimes.len().max(items.len());
    runtimes.iter().cycle().zip(items.iter().copied().cycle()).take(count).collect()
}

/// Returns the runtimes on which this tier tries the item of a number: all in the full tier, otherwise Mono, and one of the others for
/// each item in turn.
pub fn of_turn<'r>(runtimes: impl Iterator<Item = &'r Runtime>, number: usize) -> Vec<&'r Runtime> {
    let (mut mono, others): (Vec<_>, Vec<_>) = runtimes.partition(|runtime| runtime.is_mono());
    match others.len() {
        0 => {}
        _ if is_full() => mono.extend(others),
        count => mono.push(others[number % count]),
    }
    mono
}

/// Returns a tool that `cargo xtask test` found, by its variable.
pub fn tool(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from)
}

/// Returns .NET's ilasm.
pub fn dotnets_ilasm() -> Option<PathBuf> {
    Some(tool("ILINST_PACKAGES")?.join("runtime.linux-x64.microsoft.netcore.ilasm/11.0.0/runtimes/linux-x64/native/ilasm"))
}

/// Returns a tool that the test needs. Without it, the test fails, or is skipped if `ILINST_ALLOW_MISSING` is set.
pub fn require(variable: &str) -> Option<PathBuf> {
    tool(variable).or_else(|| without(variable, skip))
}

/// Returns a tool that the test can replace by others.
fn prefer(variable: &str) -> Option<PathBuf> {
    tool(variable).or_else(|| without(variable, skip_part))
}

fn without(variable: &str, skip: fn(&str)) -> Option<PathBuf> {
    let reason = format!("{variable} is not set; `cargo xtask test --only TEXT` runs tests with all that they need");
    assert!(may_be_missing(), "{reason}");
    skip(&reason);
    None
}

/// Returns whether tools, runtimes and downloads may be missing: `cargo xtask test --allow-missing`.
fn may_be_missing() -> bool {
    env::var_os("ILINST_ALLOW_MISSING").is_some()
}

/// Reports that a test tested nothing, with the reason. Fails the test unless `ILINST_ALLOW_MISSING` is set.
pub fn skip(reason: &str) {
    assert!(may_be_missing(), "{reason}");
    println!("skipped: {reason}");
}

/// Reports a part that a test skipped because the system cannot do it, such as mounting a file system.
pub fn skip_part(reason: &str) {
    println!("skipped in part: {reason}");
}

/// The runtimes by name, and the variables with their programs.
const RUNTIMES: [(&str, &str); 6] = [
    ("Mono", "ILINST_MONO"),
    (".NET 8", "ILINST_DOTNET8"),
    (".NET 10", "ILINST_DOTNET10"),
    (".NET 11", "ILINST_DOTNET11"),
    (".NET 9", "ILINST_DOTNET9"),
    (".NET Core 3.1", "ILINST_DOTNET31"),
];
/// Runtimes that run all tests only in the full tier.
const FULL_TIER: [&str; 3] = [".NET 9", ".NET 11", ".NET Core 3.1"];
/// Runtimes that suspend methods themselves (runtime-async). Tests of this run on both in each tier.
const SUSPENDING: [&str; 2] = [".NET 10", ".NET 11"];
/// Runtimes that no package registry has; a machine may lack them.
const NOT_FETCHED: [&str; 3] = [".NET 9", ".NET 10", ".NET 11"];

/// Reports a skipped test if there is nothing to test with.
fn some_of<T>(found: Vec<T>, otherwise: &str) -> Vec<T> {
    if found.is_empty() {
        skip(otherwise);
    }
    found
}

/// A .NET runtime.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Its name.
    pub name: &'static str,
    path: PathBuf,
}

impl Runtime {
    /// Returns every runtime of this tier. If one that can be fetched is missing, the test fails, or goes without if
    /// `ILINST_ALLOW_MISSING` is set. If another is missing, a line reports that.
    pub fn all() -> Vec<Self> {
        let in_tier = RUNTIMES.iter().filter(|(name, _)| is_full() || !FULL_TIER.contains(name));
        some_of(in_tier.filter_map(|(name, variable)| Self::at_hand(name, variable, prefer)).collect(), "there is no runtime")
    }

    /// Returns .NET 8 and later; see [`Runtime::all`].
    pub fn modern() -> Vec<Self> {
        Self::all().into_iter().filter(|runtime| !["Mono", ".NET Core 3.1"].contains(&runtime.name)).collect()
    }

    /// Returns the runtimes that can suspend methods themselves (runtime-async).
    pub fn suspending() -> Vec<Self> {
        SUSPENDING.into_iter().filter_map(Self::find).collect()
    }

    /// Returns a runtime by name; see [`require`].
    pub fn find(name: &str) -> Option<Self> {
        let (name, variable) = RUNTIMES.iter().find(|(known, _)| *known == name)?;
        Self::at_hand(name, variable, require)
    }

    fn at_hand(name: &'static str, variable: &str, fetched: fn(&str) -> Option<PathBuf>) -> Option<Self> {
        if NOT_FETCHED.contains(&name) && tool(variable).is_none() {
            println!("without: {name}");
            return None;
        }
        Some(Self { name, path: fetched(variable)? })
    }

    /// Returns a command of the program's own native host, which looks for the runtime itself.
    pub fn host(&self, host: &Path, folder: &Path) -> Command {
        let mut command = Command::new(host);
        command.current_dir(folder).env_remove("DOTNET_ROLL_FORWARD").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        command.env("DOTNET_ROOT", self.path.parent().expect("it is in a folder"));
        command
    }

    /// Returns whether the runtime is Mono.
    pub fn is_mono(&self) -> bool {
        self.name == "Mono"
    }

    /// Prepares a program that hosts the runtime: sets the variable with its path.
    pub fn hosting<'c>(&self, host: &'c mut Command) -> &'c mut Command {
        let folder = self.path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
        host.env_remove("DOTNET_ROLL_FORWARD").env("DOTNET_ROOT", folder.expect("it is in a folder"))
    }

    /// Returns a command that runs a program in a folder.
    pub fn program(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(folder).arg(program);
        // Each host must find its own runtime, regardless of others installed beside it.
        command.env_remove("DOTNET_ROOT").env_remove("DOTNET_ROLL_FORWARD").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        // Mono prints characters and numbers by the user's locale.
        command.env("LC_ALL", "C.UTF-8");
        command
    }
}

/// The name of the JIT compiler's time in profiles. It has no calls.
pub const JIT: &str = "(JIT compilation)";

/// Returns the only profile in a folder.
pub fn profile_in(folder: &Path) -> profile::Profile {
    let paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ilprof"))
        .collect();
    let [path] = &paths[..] else { panic!("one profile in {}, not {paths:?}", folder.display()) };
    let profile = parsed(&fs::read(path).expect("it can be read"));
    assert_eq!(profile.damage, None);
    profile
}

/// Returns a profile. The time of the JIT compiler is that of the methods that waited for it: runtimes differ in what they compile.
pub fn parsed(bytes: &[u8]) -> profile::Profile {
    let mut profile = profile::Profile::parse(bytes).expect("it is a profile");
    profile.fold(|function| function.name.as_ref().is_some_and(|name| name.method == JIT));
    profile
}

/// Starts a program and waits until it prints the line "ready". Its later output stays in the pipe.
pub fn waiting(command: &mut Command) -> Child {
    await_ready(starting(command))
}

/// Starts the program, with pipes.
pub fn starting(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Waits until the program prints "ready".
pub fn await_ready(mut child: Child) -> Child {
    let mut line = String::new();
    // Reads no byte beyond the line: later output belongs to the caller.
    BufReader::with_capacity(1, child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("it can be read");
    if line != "ready\n" {
        panic!("{line}{:?}", child.wait_with_output());
    }
    child
}

/// Makes a program that reads lines do one step, and waits until it prints "done".
pub fn step(child: &mut Child) {
    child.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("it can be read");
    assert_eq!(line, "done\n");
}

/// Returns a command with `starter` in front that ignores no signal. The process that started the tests may ignore some, and
/// children inherit that.
pub fn with_default_signals(starter: &[&OsStr], command: &Command) -> Command {
    let mut plain = Command::new("env");
    plain.arg("--default-signal").args(starter).arg(command.get_program()).args(command.get_args());
    plain.current_dir(command.get_current_dir().expect("it runs somewhere"));
    take_environment(&mut plain, command);
    plain
}

/// Sets the environment variables of a command that another one sets or removes.
pub fn take_environment(command: &mut Command, other: &Command) {
    for (name, value) in other.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Returns a program's standard output, standard error and exit code.
pub fn said(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// Removes places from the stack trace in an error text. Mono prints IL offsets, which instrumenting moves, and line numbers,
/// which are lost with the link to the PDB.
pub fn without_places(text: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("at ") {
        Some(method) => {
            let end = method.find(" in /").into_iter().chain(method.find(" [0x")).min().unwrap_or(method.len());
            method[..end].to_owned()
        }
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Fetched files that monodis lists or crashes on depending on the shape of their bodies: Mono lacks a base type of their types.
const NOT_FOR_MONODIS: [&str; 2] = ["System.ComponentModel.Composition.dll", "Microsoft.Extensions.VectorData.Abstractions.dll"];
/// monodis takes minutes for this file, and crashes.
const TOO_LARGE_FOR_MONODIS: &str = "FSharp.Compiler.Private.dll";
/// monodis takes 15 s for this file. The full tier has it listed.
const SLOW_FOR_MONODIS: &str = "FSharp.Core.dll";

/// Returns whether monodis lists a file into `listing`; false without monodis. References are looked up beside another file.
pub fn lists(file: &Path, beside: &Path, listing: &Path) -> bool {
    let (Some(monodis), Some(references)) = (prefer("ILINST_MONODIS"), beside.parent()) else { return false };
    let is_fetched = tool("ILINST_CORPUS").is_some_and(|corpus| beside.starts_with(corpus));
    let is_too_large = beside.ends_with(TOO_LARGE_FOR_MONODIS) || beside.ends_with(SLOW_FOR_MONODIS) && !is_full();
    if is_too_large || is_fetched && NOT_FOR_MONODIS.iter().any(|name| beside.ends_with(name)) {
        return false;
    }
    let text = fs::File::create(listing).expect("a listing can be made");
    let mut command = Command::new(monodis);
    let Ok(mut child) = command.arg(file).env("MONO_PATH", references).stdout(text).stderr(Stdio::null()).spawn() else {
        return false;
    };
    end_of(&mut child, &format!("monodis {}", file.display())).success()
}

/// The extensions of assemblies, including those that Python and Node load.
const ASSEMBLY_EXTENSIONS: [&str; 5] = ["dll", "exe", "winmd", "pyd", "node"];

/// Returns the folders of real assemblies: the SDK's, and Mono's. Missing ones are handled as in [`Runtime::all`].
pub fn library_folders() -> Vec<PathBuf> {
    let mono = prefer("ILINST_MONO_LIB").into_iter().flat_map(|mono| [mono.join("4.5"), mono.join("gac")]);
    some_of(prefer("ILINST_SDK").into_iter().chain(mono).collect(), "there are no real assemblies")
}

/// Returns every assembly below some folders, sorted by name, each content once.
pub fn assemblies(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| collect(folder, &mut files));
    let (mut paths, mut contents) = (BTreeSet::new(), BTreeSet::new());
    files.retain(|file| file.canonicalize().is_ok_and(|real| paths.insert(real)));
    files.retain(|file| fs::read(file).is_ok_and(|content| contents.insert(hash(&content))));
    files
}

fn hash(content: &[u8]) -> [u8; 20] {
    sha1::Digest::finalize(<sha1::Sha1 as sha1::Digest>::new_with_prefix(content)).into()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| ASSEMBLY_EXTENSIONS.iter().any(|known| extension == *known)) {
            files.push(path);
        }
    }
}

/// A value for [`set_cell`] that stands for the value in the row above.
pub const ABOVE: u32 = u32::MAX - 1;

/// Returns a file, an assembly or a portable PDB, with another number in one cell.
pub fn set_cell(bytes: &[u8], table: Table, rid: u32, column: &str, value: u32) -> Vec<u8> {
    let root = match Image::parse(bytes) {
        Ok(image) => image.metadata().expect("it has metadata"),
        Err(_) => Cursor::new(bytes, FileOffset(0)),
    };
    let metadata = Metadata::parse(root).expect("it can be read");
    let rows = metadata.tables.bytes(table);
    let widths = metadata.tables.widths();
    assert!((1..=metadata.tables.count(table)).contains(&rid), "{table} {rid}");
    let index = table.columns().iter().position(|each| each.name == column).expect("there is such a column");
    let before: usize = widths.columns(table)[..index].iter().map(|width| usize::from(*width)).sum();
    let width = usize::from(widths.columns(table)[index]);
    let start = rows.as_ptr() as usize - bytes.as_ptr() as usize + (rid as usize - 1) * widths.row_size(table) + before;
    let mut damaged = bytes.to_vec();
    if value == ABOVE {
        damaged.copy_within(start - widths.row_size(table)..start - widths.row_size(table) + width, start);
        return damaged;
    }
    damaged[start..start + width].copy_from_slice(&value.to_le_bytes()[..width]);
    damaged
}
