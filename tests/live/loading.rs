//! A profiler that records nothing says so; the program runs as it would.

use super::{ways::Way, *};
use std::os::unix::fs::symlink;

/// The tool in a folder of its own, with something in the profiler's place.
fn tool_beside(work: &Work, library: Option<&[u8]>) -> PathBuf {
    let (folder, own) = (work.folder.join("tool"), PathBuf::from(ilinst().get_program()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    fs::copy(&own, folder.join("ilinst")).expect("it can be copied");
    if let Some(bytes) = library {
        fs::write(folder.join("libilinst_clr_profiler.so"), bytes).expect("it can be written");
    }
    folder.join("ilinst")
}

/// Returns the messages and the output of `--live` for a program that runs to its end in any case.
fn live(tool: &Path, work: &Work, runtime: &Runtime, app: &Path, variable: (&str, &str)) -> (String, String, Option<i32>) {
    let program = runtime.program(app, &work.folder);
    let mut command = Command::new(tool);
    command.args(["run", "--live", "--"]).arg(program.get_program()).args(program.get_args()).arg("once");
    command.env_remove("DOTNET_ROOT").env_remove("DOTNET_ROLL_FORWARD").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    said(&output(command.env(variable.0, variable.1)))
}

#[test]
#[ignore = "needs runtimes"]
fn a_profiler_that_does_not_begin_is_not_silent() {
    for runtime in runtimes() {
        let work = Work::new("loading");
        let Some(app) = work.app() else { return };
        let none = ("ILINST_NOTHING", "");
        let (text, errors, code) = live(&tool_beside(&work, None), &work, &runtime, &app, none);
        assert!(errors.contains("is missing beside ilinst") && text.is_empty() && code == Some(3), "{errors}");

        // The program's own exit code is not 0, so it stays.
        let (text, errors, code) = live(&tool_beside(&work, Some(b"no library")), &work, &runtime, &app, none);
        assert!(errors.contains("ILI0031") && errors.contains("no runtime loaded the profiler"), "{errors}");
        assert_eq!((text.as_str(), code), ("work 0\n", Some(42)));

        let own = PathBuf::from(ilinst().get_program());
        let (text, errors, code) = live(&own, &work, &runtime, &app, ("ILINST_OUTPUT", "/proc/nowhere/x.ilprof"));
        assert!(errors.contains("ILI0031") && errors.contains("/proc/nowhere"), "{errors}");
        assert_eq!((text.as_str(), code), ("work 0\n", Some(42)));
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_profiler_of_another_version_is_not_silent() {
    for runtime in runtimes() {
        let work = Work::new("version");
        let Some(app) = work.app() else { return };
        let program = runtime.program(&app, &work.folder);
        let mut command = ilinst();
        command.args(["run", "--live", "--", "env", "ILINST_LIVE_VERSION=0.0.0"]).arg(program.get_program());
        command.args(program.get_args()).arg("once").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        let (text, errors, code) = said(&output(command.env_remove("DOTNET_ROOT").env_remove("DOTNET_ROLL_FORWARD")));
        assert_eq!((text.as_str(), code), ("work 0\n", Some(42)), "{errors}");
        assert!(errors.contains("ILI0031") && errors.contains("ilinst of 0.0.0"), "{errors}");
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_command_without_net_is_not_silent() {
    let Some(_) = Runtime::find(".NET 8") else { return };
    let (text, errors, code) = said(&output(ilinst().args(["run", "--live", "--", "echo", "done"])));
    assert_eq!((text.as_str(), code), ("done\n", Some(3)));
    assert!(errors.contains("ILI0031"), "{errors}");
}

#[test]
#[ignore = "needs runtimes"]
fn a_link_to_the_tool_finds_the_profiler() {
    for runtime in runtimes() {
        let work = Work::new("link");
        let Some(app) = work.app() else { return };
        let link = work.folder.join("ilinst");
        symlink(PathBuf::from(ilinst().get_program()).canonicalize().expect("it is there"), &link).expect("a link can be made");
        let (text, errors, code) = live(&link, &work, &runtime, &app, ("ILINST_NOTHING", ""));
        assert_eq!((text.as_str(), code), ("work 0\n", Some(42)), "{errors}");
        assert!(errors.contains("App.Main"), "{errors}");
    }
}

/// The runtime says a path of 512 characters or more when it is asked for the second time.
#[test]
#[ignore = "needs runtimes"]
fn modules_with_long_paths_are_recorded() {
    let runtimes: Vec<_> = runtimes().collect();
    for (runtime, way) in tests::in_turn(&runtimes, &Way::ALL) {
        let work = Work::new("long-path");
        let Some(app) = work.app() else { return };
        let mut folder = work.folder.clone();
        while folder.as_os_str().len() < 700 {
            folder.push("long".repeat(40));
        }
        fs::create_dir_all(&folder).expect("a folder can be made");
        for file in [&app, &app.with_extension("runtimeconfig.json")] {
            fs::copy(file, folder.join(file.file_name().expect("it has a name"))).expect("it can be copied");
        }
        let long = folder.join(app.file_name().expect("it has a name"));
        let (text, errors, code) = work.recorded_by(way, runtime, &[], &long, &["threads", "8", "10"]);
        assert_eq!((text.as_str(), code), ("work 80\n", Some(42)), "{way:?} on {}: {errors}", runtime.name);
        let calls = calls(&profile_in(&work.profiles(runtime)));
        assert_eq!(calls["App::Work"], 80, "{way:?} on {}", runtime.name);
    }
}
