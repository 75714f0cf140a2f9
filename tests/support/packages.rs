//! NuGet packages: ours, in a feed that holds nothing else, and others as if NuGet had unpacked them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{ilinst, said, xtask};

/// Our packages' version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How many seconds `dotnet test` waits for its host, which takes long to start on a busy machine.
pub const PATIENT_TESTS: (&str, &str) = ("VSTEST_CONNECTION_TIMEOUT", "600");

/// Has projects in a folder and below get packages from its `feed/`, which holds ours.
pub fn feed(folder: &Path) {
    let package = folder.join(format!("feed/Ilinst.MSBuild.{VERSION}.nupkg"));
    make(package.parent().expect("it is in a folder"));
    assert!(package.is_file(), "there is no {}", package.display());
    let sources = r#"<configuration><packageSources><clear /><add key="local" value="feed" /></packageSources></configuration>"#;
    fs::write(folder.join("nuget.config"), sources).expect("it can be written");
}

/// Has xtask make our packages, with the tool that is tested.
pub fn make(folder: &Path) {
    let tool = format!("linux-x64={}", ilinst().get_program().display());
    let output = xtask().args(["dist", "--nupkg", "--tool", &tool, "--output"]).arg(folder).output();
    let (_, errors, code) = said(&output.expect("xtask starts"));
    assert_eq!(code, Some(0), "{errors}");
}

/// A package with some files, as if NuGet had unpacked it into its folder of packages; gives its own.
pub fn unpacked(packages: &Path, id: &str, version: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = packages.join(id.to_lowercase()).join(version);
    let metadata = format!("<id>{id}</id><version>{version}</version><authors>none</authors><description>none</description>");
    let own = [
        (".nupkg.metadata".to_owned(), r#"{"version":1,"contentHash":"","source":""}"#.to_owned()),
        (format!("{}.nuspec", id.to_lowercase()), format!("<package><metadata>{metadata}</metadata></package>")),
    ];
    let own = own.iter().map(|(name, text)| (name.as_str(), text.as_bytes()));
    for (name, bytes) in own.chain(files.iter().copied()) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(path, bytes).expect("it can be written");
    }
    folder
}
