//! NuGet packages: this project's in a feed of their own, and others as NuGet unpacks them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{ilinst, said, xtask};

/// The version of this project's packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The times that `dotnet test` waits for its host, which is slow on a busy machine: in seconds until it starts, in ms until it ends.
pub const PATIENT_TESTS: [(&str, &str); 2] =
    [("VSTEST_CONNECTION_TIMEOUT", "600"), ("VSTEST_TESTHOST_SHUTDOWN_TIMEOUT", "600000")];

/// Makes projects in and below a folder get packages from its `feed/`, which contains this project's.
pub fn feed(folder: &Path) {
    let feed = folder.join("feed");
    match env::var_os("ILINST_PACKED") {
        Some(packed) => crate::copy(Path::new(&packed), &feed),
        None => make(&feed),
    }
    let package = feed.join(format!("Ilinst.MSBuild.{VERSION}.nupkg"));
    assert!(package.is_file(), "there is no {}", package.display());
    let sources = r#"<configuration><packageSources><clear /><add key="local" value="feed" /></packageSources></configuration>"#;
    fs::write(folder.join("nuget.config"), sources).expect("it can be written");
}

/// Makes xtask build this project's packages, with the tested tool.
pub fn make(folder: &Path) {
    let tool = format!("linux-x64={}", ilinst().get_program().display());
    let output = xtask().args(["dist", "--nupkg", "--tool", &tool, "--output"]).arg(folder).output();
    let (_, errors, code) = said(&output.expect("xtask starts"));
    assert_eq!(code, Some(0), "{errors}");
}

/// Creates a package with some files, as if NuGet had unpacked it into its folder of packages. Returns the package's folder.
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
