//! The CLR profiler for Linux on arm64, by an emulator: it records what that for x64 does. Times mean nothing there.

use super::*;
use tests::{require, step, tool};

/// An emulator, and .NET 10 for it.
struct Arm64 {
    emulator: PathBuf,
    /// The tool with the profiler for arm64 beside it.
    tool: PathBuf,
    runtime: PathBuf,
    host: Vec<u8>,
    work: Work,
}

impl Arm64 {
    /// None where something of it cannot be had.
    fn new(name: &str) -> Option<Self> {
        let (emulator, library) = (require("ILINST_QEMU_ARM64")?, require("ILINST_ARM64_PROFILER")?);
        let only = |folder: PathBuf| fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).max();
        let native = |package: &str| {
            let package = tool("ILINST_PACKAGES")?.join(format!("microsoft.netcore.app.{package}.linux-arm64"));
            Some(only(package)?.join("runtimes/linux-arm64"))
        };
        let (Some(runtime), Some(host)) = (native("runtime"), native("host")) else {
            println!("without: .NET 10 for arm64");
            return None;
        };
        let work = Work::new(name);
        let folder = work.folder.join("tool");
        fs::create_dir_all(&folder).expect("a folder can be made");
        let own = folder.join("ilinst");
        fs::copy(ilinst().get_program(), &own).expect("it can be copied");
        fs::copy(library, folder.join("libilinst_clr_profiler.so")).expect("it can be copied");
        let host = fs::read(host.join("native/apphost")).expect("it is there");
        Some(Self { emulator, tool: own, runtime, host, work })
    }

    /// Makes a self-contained program of an assembly, beside the runtime; gives its host.
    fn contained(&self, assembly: &Path) -> PathBuf {
        let name = assembly.file_stem().expect("it has a name").to_str().expect("it is text");
        let folder = self.work.folder.join(format!("{name}-arm64"));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let (mut managed, mut native) = (Vec::new(), Vec::new());
        for (from, list) in [("lib/net10.0", &mut managed), ("native", &mut native)] {
            for file in fs::read_dir(self.runtime.join(from)).expect("it is there").flatten() {
                std::os::unix::fs::symlink(file.path(), folder.join(file.file_name())).expect("a link can be made");
                list.push(file.file_name().into_string().expect("it is text"));
            }
        }
        // Wherever a library came from, it belongs to the list of one kind.
        let (libraries, assemblies): (Vec<_>, Vec<_>) = managed.into_iter().chain(native).partition(|file| file.ends_with(".so"));
        let listed = |files: &[String]| {
            let files = files.iter().filter(|file| file.ends_with(".dll") || file.ends_with(".so"));
            files.map(|file| (file.clone(), serde_json::json!({}))).collect::<serde_json::Map<_, _>>()
        };
        let (target, pack) =
            (".NETCoreApp,Version=v10.0/linux-arm64", "runtimepack.Microsoft.NETCore.App.Runtime.linux-arm64/10.0.0");
        let program = format!("{name}/1.0.0");
        let dependencies = serde_json::json!({
            "runtimeTarget": { "name": target, "signature": "" },
            "targets": { target: {
                &program: { "runtime": { format!("{name}.dll"): {} } },
                pack: { "runtime": listed(&assemblies), "native": listed(&libraries) },
            } },
            "libraries": {
                &program: { "type": "project", "serviceable": false, "sha512": "" },
                pack: { "type": "runtimepack", "serviceable": false, "sha512": "" },
            },
        });
        let configuration = serde_json::json!({ "runtimeOptions": {
            "includedFrameworks": [{ "name": "Microsoft.NETCore.App", "version": "10.0.0" }],
            "configProperties": { "System.Globalization.Invariant": true },
        } });
        let write = |file: String, bytes: &[u8]| fs::write(folder.join(file), bytes).expect("it can be written");
        write(format!("{name}.deps.json"), dependencies.to_string().as_bytes());
        write(format!("{name}.runtimeconfig.json"), configuration.to_string().as_bytes());
        fs::copy(assembly, folder.join(format!("{name}.dll"))).expect("it can be copied");
        // The host has this text in place of the assembly's name.
        const PLACE: &[u8] = b"c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2";
        let at = self.host.windows(PLACE.len()).position(|bytes| bytes == PLACE).expect("a host has it");
        let mut host = self.host.clone();
        host[at..at + PLACE.len()].fill(0);
        host[at..at + name.len() + 4].copy_from_slice(format!("{name}.dll").as_bytes());
        let path = folder.join(name);
        fs::write(&path, host).expect("it can be written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("they can be set");
        path
    }

    /// Returns the output of a program under the profiler, the messages of `ilinst`, and the profile.
    fn recorded(&self, host: &Path, options: &[&str], arguments: &[&str]) -> (String, String, profile::Profile) {
        let profiles = self.work.folder.join("arm64");
        let _ = fs::remove_dir_all(&profiles);
        let mut command = Command::new(&self.tool);
        command.args(["run", "--live", "--all", "--calls=none", "--no-report"]).arg(format!("--keep={}", profiles.display()));
        command.args(options).args((!options.contains(&"--rewrite")).then_some("--hooks"));
        command.arg("--").arg(&self.emulator).args(["-L", "/"]).arg(host).args(arguments);
        command
            .current_dir(&self.work.folder)
            .env("ILINST_CACHE", self.work.folder.join("cache"))
            .env("DOTNET_RuntimeAsync", "1");
        command.env_remove("DOTNET_ROOT").env_remove("DOTNET_ROLL_FORWARD");
        let (text, errors, code) = said(&output(&mut command));
        assert_eq!(code, Some(42), "{options:?} {arguments:?}: {errors}");
        (text, errors, profile_in(&profiles))
    }
}

#[test]
#[ignore = "needs arm64"]
fn programs_on_arm64_print_and_call_what_they_do_on_x64() {
    let (Some(arm64), Some(x64)) = (Arm64::new("arm64"), Runtime::find(".NET 10")) else { return };
    let Some(app) = arm64.work.app() else { return };
    let host = arm64.contained(&app);
    // Integers, floats, structs in registers and in memory; exceptions; threads; depth.
    for arguments in [&["registers"][..], &["exceptions"], &["threads", "16", "100"], &["deep", "300"]] {
        for options in [&[][..], &["--capture=args,return"], &["--rewrite"]] {
            let _ = fs::remove_dir_all(arm64.work.profiles(&x64));
            let expected = arm64.work.recorded(&x64, &[&["--calls=none"], options].concat(), &app, arguments);
            let (text, _, profile) = arm64.recorded(&host, options, arguments);
            assert_eq!(text, said(&output(x64.program(&app, &arm64.work.folder).args(arguments))).0);
            assert_eq!(calls(&profile), expected, "{options:?} {arguments:?}");
        }
    }
}

#[test]
#[ignore = "needs arm64"]
fn calls_on_arm64_stand_where_stack_traces_have_them() {
    let Some(arm64) = Arm64::new("arm64-shapes") else { return };
    let Some(app) = shapes::program(&arm64.work) else { return };
    let host = arm64.contained(&app);
    for options in [&[][..], &["--capture=args,return"]] {
        let (text, _, profile) = arm64.recorded(&host, options, &[]);
        shapes::check(ways::Way::Hooks, &text, &profile);
    }
}

#[test]
#[ignore = "needs arm64"]
fn continuations_pass_by_the_hooks_on_arm64() {
    let Some(arm64) = Arm64::new("arm64-async") else { return };
    let Some(app) = arm64.work.by_sdk_10("async") else { return };
    let host = arm64.contained(&app);
    for options in [&[][..], &["--capture=args,return"], &["--rewrite"]] {
        let (text, errors, profile) = arm64.recorded(&host, options, &[]);
        let calls = calls(&profile);
        let counted: i64 = text.trim().parse().expect("a number");
        assert_eq!((calls["App::Count"], calls["App::Plain"]), (counted, 120), "{options:?}");
        assert_eq!(errors.contains("11 runtime-async methods"), options != ["--rewrite"], "{errors}");
    }
}

#[test]
#[ignore = "needs arm64"]
fn a_running_program_on_arm64_is_attached_to() {
    let Some(arm64) = Arm64::new("arm64-attach") else { return };
    let Some(app) = arm64.work.app() else { return };
    let host = arm64.contained(&app);
    let mut command = Command::new(&arm64.emulator);
    command.args(["-L", "/"]).arg(host).arg("steps").current_dir(&arm64.work.folder);
    // A folder of its own has no ports of earlier processes with the same number.
    let temporary = arm64.work.folder.join("tmp");
    fs::create_dir(&temporary).expect("a folder can be made");
    let mut child = tests::waiting(command.env_remove("DOTNET_ROOT").env("TMPDIR", &temporary));
    // The emulator tells a program another start than the system has, and the port is named by it.
    name_port_by_start(child.id(), &temporary);
    let profiles = arm64.work.folder.join("attached");
    let mut command = Command::new(&arm64.tool);
    command.args(["attach", &child.id().to_string(), "--all", "--for=1h"]).arg(format!("--keep={}", profiles.display()));
    let recording = attach::attached(command.current_dir(&arm64.work.folder).env("TMPDIR", &temporary));
    for _ in 0..3 {
        step(&mut child);
    }
    drop(child.stdin.take());
    let ended = said(&child.wait_with_output().expect("it ends"));
    let recorded = said(&recording.wait_with_output().expect("it ends"));
    assert_eq!((ended.0.as_str(), ended.2), ("work 300\n", Some(42)), "{}", ended.1);
    assert_eq!(recorded.2, Some(0), "{}", recorded.1);
    let calls = calls(&profile_in(&profiles));
    assert_eq!((calls["App::Work"], calls["App::Repeat"]), (300, 3));
}

/// Gives a process's diagnostics port the name with the process's start, unless it has that.
fn name_port_by_start(process: u32, folder: &Path) {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let start = status.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(19)).expect("it has begun");
    let is_port = |path: &PathBuf| path.to_string_lossy().ends_with("-socket");
    let port = fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path()).find(is_port);
    fs::rename(port.expect("it has a port"), folder.join(format!("dotnet-diagnostic-{process}-{start}-socket")))
        .expect("it can be renamed");
}
