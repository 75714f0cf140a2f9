//! Linux on arm64, by qemu: .NET and ilinst are the real ones, and times mean nothing.

use std::{fs, path::Path, process::Command};

use tests::{ilinst, require, root, said};

use super::{
    application::{assert_same, contents, copy_project},
    check::{exact, healthy, tool},
    program,
};
use crate::dotnet::Dotnet;

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// The modes of the tracker.
const MODES: [(&str, &str); 5] = [
    ("ILINST_MODE", "exact"),
    ("ILINST_CLOCK", "tsc"),
    ("ILINST_MODE", "sampled"),
    ("ILINST_MODE", "count"),
    ("ILINST_MODE", "trace"),
];

#[test]
#[ignore = "needs .NET 10 and qemu"]
fn on_linux_arm64() {
    let Some(dotnet) = Dotnet::newer("matrix-arm64") else { return };
    let (Some(qemu), Some(linker)) = (require("ILINST_QEMU_ARM64"), require("ILINST_LINKER_ARM64")) else { return };
    let emulated = |program: &Path| {
        let mut command = dotnet.command_of(&qemu);
        command.args(["-L", "/"]).arg(program).env_remove("DOTNET_ROOT");
        command
    };
    copy_project(&dotnet, "console", "app");
    // qemu has no ICU for it, and the packs of ASP.NET are not at hand.
    let options = ["-p:InvariantGlobalization=true", "-p:DisableTransitiveFrameworkReferenceDownloads=true"];
    dotnet.run(&[&["publish", "app", "-r", "linux-arm64", "--self-contained", "-o", "plain"][..], &options].concat());
    let (plain, woven) = (dotnet.folder.join("plain"), dotnet.folder.join("woven"));
    let original = said(&emulated(&plain.join("console")).output().expect("qemu starts"));
    assert_eq!(original.2, Some(3), "{original:?}");
    let ended = tool(&["instrument".as_ref(), plain.as_ref(), "-q".as_ref(), "-o".as_ref(), woven.as_ref()]);
    assert_eq!(ended, (String::new(), String::new(), Some(0)));
    healthy(&[&woven]);
    for (variable, value) in MODES {
        println!("{variable}={value}");
        let profiles = dotnet.folder.join(format!("profiles-{value}"));
        fs::create_dir(&profiles).expect("a folder can be made");
        let mut command = emulated(&woven.join("console"));
        let ended = said(&command.env(variable, value).env("ILINST_OUTPUT", &profiles).output().expect("qemu starts"));
        assert_eq!(ended, original);
        exact(program("console"), &profiles);
    }
    // The tool for arm64 makes the same files.
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--package", "ilinst", "--target", TARGET, "--target-dir"]);
    build.arg(root().join("target/arm64")).current_dir(root());
    build.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker);
    let (_, errors, code) = said(&build.output().expect("cargo starts"));
    assert_eq!(code, Some(0), "{errors}");
    let built = root().join("target/arm64").join(TARGET).join("debug/ilinst");
    let samples = root().join("samples/orders/bin");
    for (name, input) in [("console", &plain), ("orders", &samples)] {
        let [native, foreign] = ["x64", "arm64"].map(|machine| dotnet.folder.join(format!("{name}-{machine}")));
        for (mut command, output) in [(ilinst(), &native), (emulated(&built), &foreign)] {
            let ended = said(&command.arg("instrument").arg(input).arg("-o").arg(output).output().expect("it starts"));
            assert_eq!(ended.2, Some(0), "{ended:?}");
        }
        assert_same(&contents(&foreign), &contents(&native));
    }
}
