//! Damaged files that only a command reads. It reports the damage with a suitable exit code, and stays within the memory of a
//! small machine.

use std::{
    fs,
    io::{Cursor, Write as _},
    path::Path,
    process::{self, Command},
};

use fuzz_harness::{Fields, Outcome, Seed, fields::Format};
use tests::{ilinst, root, scratch};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::{Tried, try_all};

/// A configuration with values of each kind, and rules.
const CONFIG: &str = r#"
include = ["Shop.*", "[Core]Shop.Order::Load(int, *)"]
exclude = "attribute:Obsolete"
leave = "return"
min-il = 0x20
strict = true
calls = ["none", 'System.*']

[[rule]]
include = "kind:async"
weave = true

[[rule]]
exclude = ["re:^Shop\\.Till::.*$", "il:100.."]
capture = "args,return"
"#;
/// The limit of a command's address space, in KiB.
const MEMORY: u32 = 4 << 20;

#[test]
fn config_files() {
    let fields = Fields::of(CONFIG.as_bytes(), Format::Json);
    let seed = Seed { name: "ilinst.toml".into(), bytes: CONFIG.into(), beside: None, fields };
    let folder = scratch(&format!("fuzz-config-{}", process::id()));
    let file = folder.join("ilinst.toml");
    fs::write(&file, CONFIG).expect("it can be written");
    assert_eq!(refuses_or_accepts(&["config", "--config"], &[file.as_path()]), Ok(Outcome::Accepted), "before it is damaged");
    try_all(Tried { name: "config", number: 50, share: 2 }, &[seed], &|bytes, _, _| {
        fs::write(&file, bytes).map_err(|error| error.to_string())?;
        refuses_or_accepts(&["config", "--config"], &[file.as_path()])
    });
}

#[test]
fn packages() {
    let mut seeds = Vec::new();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let seed = Seed { name: format!("{method}"), bytes: package(method), beside: None, fields: Fields::default() };
        seeds.push(seed);
    }
    let folder = scratch(&format!("fuzz-packages-{}", process::id()));
    let (damaged, whole) = (folder.join("damaged.nupkg"), folder.join("whole.nupkg"));
    fs::write(&whole, package(CompressionMethod::Deflated)).expect("it can be written");
    for seed in &seeds {
        fs::write(&damaged, &seed.bytes).expect("it can be written");
        let outcome = refuses_or_accepts(&["diff"], &[damaged.as_path(), whole.as_path()]);
        assert_eq!(outcome, Ok(Outcome::Accepted), "{} before it is damaged", seed.name);
    }
    try_all(Tried { name: "package", number: 51, share: 2 }, &seeds, &|bytes, _, _| {
        fs::write(&damaged, bytes).map_err(|error| error.to_string())?;
        refuses_or_accepts(&["diff"], &[damaged.as_path(), whole.as_path()])
    });
}

/// Returns a package with two assemblies.
fn package(method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, file) in [("lib/net8.0/bare.dll", "bare"), ("lib/net48/hello.dll", "hello")] {
        let bytes = fs::read(root().join(format!("samples/{file}/bin/{file}.exe"))).expect("it is committed");
        writer.start_file(name, options).expect("it can be written");
        writer.write_all(&bytes).expect("it can be written");
    }
    writer.finish().expect("it can be written").into_inner()
}

/// Runs a command, which must end by itself, with less memory than the file claims to need.
fn refuses_or_accepts(arguments: &[&str], files: &[&Path]) -> Result<Outcome, String> {
    let tool = ilinst();
    let limited = format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(limited).arg(tool.get_program()).args(tool.get_args()).args(arguments).args(files);
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.code() {
        Some(0 | 1) => Ok(Outcome::Accepted),
        Some(2..=4) => Ok(Outcome::Refused),
        _ => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
