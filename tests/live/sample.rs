//! `--sample`: samples of programs of known shares, and programs that samples must not harm.

use super::*;
use profile::{Profile, SampleType, model::Mode};
#[cfg(target_os = "linux")]
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use tests::{compile_with, step};

/// The program of these tests for a runtime; none without a compiler.
fn program(work: &Work, runtime: &Runtime) -> Option<PathBuf> {
    let (name, of, options) = if runtime.is_mono() {
        ("sample-mono.exe", References::All, &["-unsafe", "-define:MONO"][..])
    } else {
        ("sample.exe", References::Core, &["-unsafe"][..])
    };
    let program = work.folder.join(name);
    compile_with(&root().join("tests/live/sample.cs"), &program, of, &[], options)?;
    Some(program)
}

/// `ilinst run --sample` of the program.
fn sampled(work: &Work, runtime: &Runtime, program: &Path, options: &[&str], arguments: &[&str]) -> Command {
    work.run(runtime, &[&["--sample"], options].concat(), program, arguments)
}

/// The times of a method with its callees, in percent of all.
fn share(profile: &Profile, sample_type: SampleType, method: &str) -> f64 {
    let names = profile.display_names();
    let place = names.iter().position(|name| name == method).unwrap_or_else(|| panic!("{method} is not among {names:?}"));
    profile.cumulative_by_function(sample_type)[place] as f64 * 100.0 / profile.sum(sample_type).max(1) as f64
}

/// A program prints the same alone and with samples.
fn is_unharmed(name: &str, options: &[&str], ways: &[[&str; 2]]) {
    is_unharmed_with(&[], name, options, ways);
}

/// The same, with variables in the environment of both.
fn is_unharmed_with(variables: &[(&str, &str)], name: &str, options: &[&str], ways: &[[&str; 2]]) {
    let runtimes = Runtime::all();
    let work = Work::new(name);
    for (runtime, arguments) in tests::in_turn(&runtimes, ways) {
        // Mono also interrupts threads that wait, and ends some of their system calls.
        if runtime.is_mono() && arguments[0] == "polls" {
            continue;
        }
        let Some(program) = program(&work, runtime) else { return };
        let variables = || variables.iter().copied();
        let alone = said(&output(runtime.program(&program, &work.folder).args(arguments).envs(variables())));
        let found = said(&output(sampled(&work, runtime, &program, options, &arguments).envs(variables())));
        assert_eq!((found.0, found.2), (alone.0, alone.2), "{} {arguments:?}: {}", runtime.name, found.1);
    }
}

/// Mono's own sampler would end the process in the middle of an abort.
#[test]
#[ignore = "needs Mono"]
fn threads_that_mono_aborts_are_sampled() {
    let (Some(mono), work) = (Runtime::find("Mono"), Work::new("sample-aborting")) else { return };
    let (source, app) = (root().join("tests/live/aborting.cs"), work.folder.join("aborting.exe"));
    let Some(()) = compile(&source, &app, References::All, &[]) else { return };
    for arguments in [["threads", "2000"], ["domains", "10"]] {
        let (text, errors, code) = said(&output(&mut sampled(&work, &mono, &app, &["--frequency", "1000"], &arguments)));
        assert_eq!((text.as_str(), code), ("done\n", Some(0)), "{arguments:?}: {errors}");
    }
}

#[test]
#[ignore = "needs runtimes"]
fn short_methods_have_their_share() {
    for runtime in Runtime::all() {
        let work = Work::new("sample-shares");
        let Some(profile) = profile_of_phases(&work, &runtime, output) else { return };
        assert_eq!((profile.mode, profile.sum(SampleType::CALLS)), (Mode::Cpu, 0));
        let (samples, all) = (profile.sum(SampleType::SAMPLES), phases(&profile));
        for phase in ["Short", "Middle", "Long"] {
            let share = share(&profile, SampleType::CPU, &format!("Sample.{phase}")) * 100.0 / all;
            let late = profile.sample_losses.late as f64 * 100.0 / samples as f64;
            assert!((share - 100.0 / 3.0).abs() < 3.0 + late.min(10.0), "{}: {phase} has {share} %, {late} % late", runtime.name);
        }
    }
}

/// The profile of three phases of 600 ms. Stacks reach the callers of methods that on-stack replacement has compiled, and the
/// program's entry point.
fn profile_of_phases(work: &Work, runtime: &Runtime, run: impl FnOnce(&mut Command) -> Output) -> Option<Profile> {
    let program = program(work, runtime)?;
    let found = said(&run(&mut sampled(work, runtime, &program, &[], &["phases", "600"])));
    assert_eq!(found.2, Some(0), "{}: {}", runtime.name, found.1);
    let profile = profile_in(&work.profiles(runtime));
    let samples = profile.sum(SampleType::SAMPLES);
    // On Mono, a sample stands for all periods since the last one.
    let least = if runtime.is_mono() { 100 } else { 400 };
    assert!(samples >= least, "{}: {samples} samples of 1.8 s", runtime.name);
    let phases = phases(&profile);
    for method in ["Sample.Phases", "Sample.Main"] {
        let share = share(&profile, SampleType::CPU, method);
        assert!(share > 0.95 * phases, "{}: {method} has {share} % of {phases} %", runtime.name);
    }
    Some(profile)
}

/// The times of the three phases, in percent of all.
fn phases(profile: &Profile) -> f64 {
    ["Sample.Short", "Sample.Middle", "Sample.Long"].map(|phase| share(profile, SampleType::CPU, phase)).iter().sum()
}

/// Services and containers forbid system calls. Samples come by timers then, and stacks are read from a file.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs runtimes"]
fn programs_that_may_not_make_some_system_calls_are_sampled() {
    const PERF_EVENT_OPEN: i64 = if cfg!(target_arch = "x86_64") { 298 } else { 241 };
    const PROCESS_VM_READV: i64 = if cfg!(target_arch = "x86_64") { 310 } else { 270 };
    const NOT_PERMITTED: u32 = 1;
    for runtime in runtimes() {
        let work = Work::new("sample-forbidden");
        // The filters hold for the thread, and for the programs that it starts.
        let run = |command: &mut Command| {
            let filtered = || {
                forbid(PERF_EVENT_OPEN, SeccompAction::KillProcess);
                forbid(PROCESS_VM_READV, SeccompAction::Errno(NOT_PERMITTED));
                output(command)
            };
            std::thread::scope(|scope| scope.spawn(filtered).join().expect("the program runs"))
        };
        if profile_of_phases(&work, &runtime, run).is_none() {
            return;
        }
    }
}

/// A program that alternates between system calls and a method of its own.
#[test]
#[ignore = "needs runtimes"]
fn time_in_the_kernel_belongs_to_the_system_call() {
    for runtime in Runtime::all() {
        let work = Work::new("sample-kernel");
        let Some(program) = program(&work, &runtime) else { return };
        let found = said(&output(&mut sampled(&work, &runtime, &program, &["--frequency", "1000"], &["kernel", "110"])));
        assert_eq!(found.2, Some(0), "{}: {}", runtime.name, found.1);
        let profile = profile_in(&work.profiles(&runtime));
        let functions = profile.display_names().into_iter().zip(profile.flat_by_function(SampleType::CPU));
        let is_read = |name: &str| name.ends_with("read") || name == "[kernel, caller unknown]";
        let read: i64 = functions.filter(|(name, _)| is_read(name)).map(|(_, ns)| ns).sum();
        let read = read as f64 * 100.0 / profile.sum(SampleType::CPU) as f64;
        let other = share(&profile, SampleType::CPU, "Sample.Long");
        assert!(read > 0.6 * other, "{}: {read} % and {other} %", runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_program_that_closes_all_files_is_sampled() {
    for runtime in Runtime::all() {
        let work = Work::new("sample-closed");
        let Some(program) = program(&work, &runtime) else { return };
        let found = said(&output(&mut sampled(&work, &runtime, &program, &[], &["closed", "1000"])));
        assert_eq!((found.0.as_str(), found.2), ("closed: done\n", Some(0)), "{}: {}", runtime.name, found.1);
        let profile = profile_in(&work.profiles(&runtime));
        let short = share(&profile, SampleType::CPU, "Sample.Short") * profile.milliseconds(profile.sum(SampleType::CPU)) / 100.0;
        assert!((900.0..1100.0).contains(&short), "{}: {short} ms", runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn threads_that_block_the_signal_are_reported() {
    let (runtimes, work) = (runtimes().collect::<Vec<_>>(), Work::new("sample-blocked"));
    for (runtime, options) in tests::in_turn(&runtimes, &[&[][..], &["--wall"]]) {
        let Some(program) = program(&work, runtime) else { return };
        let _ = fs::remove_dir_all(work.profiles(runtime));
        let found = said(&output(&mut sampled(&work, runtime, &program, options, &["blocked", "2500"])));
        assert_eq!((found.0.as_str(), found.2), ("blocked: done\n", Some(0)), "{}: {}", runtime.name, found.1);
        let unsampled = profile_in(&work.profiles(runtime)).sample_losses.unsampled_threads;
        assert_eq!(unsampled, 1, "{} {options:?}", runtime.name);
    }
}

/// Forbids a system call to this thread and its child processes.
#[cfg(target_os = "linux")]
fn forbid(number: i64, action: SeccompAction) {
    let machine = std::env::consts::ARCH.try_into().expect("a machine that is known");
    let filter = SeccompFilter::new([(number, Vec::new())].into(), SeccompAction::Allow, action, machine).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    apply_filter(&program).expect("the filter is taken");
    let status = fs::read_to_string("/proc/thread-self/status").expect("it can be read");
    assert!(status.contains("Seccomp:\t2"), "{status}");
}

#[test]
#[ignore = "needs runtimes"]
fn programs_do_what_they_do_without_samples() {
    let ways = [
        ["nulls", "3000"],
        ["contexts", "20"],
        ["dynamic", "60"],
        ["garbage", "1"],
        ["polls", "20"],
        ["processes", "5"],
        ["threads", "100"],
        ["recursion", "20"],
        ["async", "8"],
        ["stacks", "10"],
    ];
    is_unharmed("sample-unharmed", &["--frequency", "1000"], &ways);
}

#[test]
#[ignore = "needs runtimes"]
fn programs_do_what_they_do_with_samples_of_elapsed_time() {
    let ways = [
        ["nulls", "1000"],
        ["contexts", "12"],
        ["garbage", "1"],
        ["threads", "60"],
        ["async", "8"],
        ["waits", "100"],
        ["stacks", "10"],
    ];
    is_unharmed("sample-wall-unharmed", &["--wall", "--frequency", "1000"], &ways);
}

/// The smallest youngest generation: three times as many collections. Released runtimes have no `GCStress`.
#[cfg(feature = "full")]
#[test]
#[ignore = "needs runtimes"]
fn programs_that_collect_all_the_time_are_sampled() {
    let ways = [["garbage", "1"], ["dynamic", "20"], ["contexts", "8"], ["async", "6"], ["threads", "60"]];
    let variables = [("DOTNET_GCgen0size", "10000"), ("COMPlus_GCgen0size", "10000")];
    is_unharmed_with(&variables, "sample-collections", &["--frequency", "1000"], &ways);
    is_unharmed_with(&variables, "sample-wall-collections", &["--wall", "--frequency", "1000"], &ways);
}

#[cfg(feature = "full")]
#[test]
#[ignore = "needs runtimes"]
fn two_thousand_threads_and_many_null_references_are_sampled() {
    is_unharmed("sample-many", &["--frequency", "1000"], &[["threads", "2000"], ["nulls", "30000"]]);
}

#[test]
#[ignore = "needs runtimes"]
fn elapsed_time_has_waiting_threads() {
    for runtime in Runtime::all() {
        let work = Work::new("sample-wall");
        let Some(program) = program(&work, &runtime) else { return };
        let found = said(&output(&mut sampled(&work, &runtime, &program, &["--wall"], &["waits", "800"])));
        assert_eq!(found.2, Some(0), "{}: {}", runtime.name, found.1);
        let profile = profile_in(&work.profiles(&runtime));
        assert_eq!(profile.mode, Mode::Wall);
        // .NET Core 3.1 compiles these two without frames, so their callers may be missing. Or it inlines what they call.
        let methods =
            [["Sample.Sleeper", "System.Threading.Thread.Sleep"], ["Sample.Waiter", "System.Threading.WaitHandle.WaitOne"]];
        let known = if runtime.name.contains("3.1") { 2 } else { 1 };
        let names = profile.display_names();
        let [sleeping, waiting] = methods.map(|methods| {
            let places =
                names.iter().enumerate().filter(|(_, name)| methods[..known].contains(&name.as_str())).map(|(place, _)| place);
            let times = places.map(|place| profile.cumulative_by_function(SampleType::WAITING)[place]);
            profile.milliseconds(times.max().unwrap_or_else(|| panic!("{}: {methods:?} are not among {names:?}", runtime.name)))
        });
        // Two threads each, for as long as the main thread works: 0.8 s or more.
        assert!(sleeping > 1200.0 && waiting > 1200.0, "{}: {sleeping} ms, {waiting} ms", runtime.name);
        assert!(share(&profile, SampleType::CPU, "Sample.Short") > 50.0, "{}", runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn a_running_program_is_sampled_several_times() {
    const BEFORE: usize = 5;
    for runtime in runtimes() {
        let work = Work::new("sample-attach");
        let Some(program) = program(&work, &runtime) else { return };
        let mut child = tests::waiting(runtime.program(&program, &work.folder).arg("steps"));
        // CPU time before the recording is not in it.
        let before_ms = 300.0 * BEFORE as f64;
        (0..BEFORE).for_each(|_| step(&mut child));
        for name in ["first", "second"] {
            let options = ["--sample", "--for=1h", "--no-report"];
            let attached = attach::begun(&mut attach::attach(&work, child.id(), name, &options), "samples are taken");
            step(&mut child);
            attach::interrupted(attached, runtime.name);
            let profile = profile_in(&work.folder.join(name));
            let short = share(&profile, SampleType::CPU, "Sample.Short");
            assert!(short > 50.0, "{} {name}: {short} %", runtime.name);
            let of_threads: i64 = profile.trees.iter().filter_map(|tree| tree.cpu_ns).sum();
            let [process, threads] = [profile.cpu_ns.unwrap_or_default(), of_threads].map(|ns| ns as f64 / 1e6);
            assert!((290.0..before_ms).contains(&process), "{} {name}: {process} ms", runtime.name);
            assert!((290.0..before_ms).contains(&threads), "{} {name}: {threads} ms of threads", runtime.name);
        }
        drop(child.stdin.take());
        let (text, errors, code) = said(&child.wait_with_output().expect("it ends"));
        assert_eq!((text.as_str(), code), (format!("steps: {}\n", BEFORE + 2).as_str(), Some(0)), "{}: {errors}", runtime.name);
    }
}

#[test]
#[ignore = "needs runtimes"]
fn running_programs_do_what_they_do_without_samples() {
    let ways = [["nulls", "3000"], ["contexts", "20"], ["dynamic", "60"], ["garbage", "1"], ["threads", "100"], ["async", "8"]];
    let (runtimes, work) = (runtimes().collect::<Vec<_>>(), Work::new("sample-attach-unharmed"));
    for (runtime, arguments) in tests::in_turn(&runtimes, &ways) {
        let Some(program) = program(&work, runtime) else { return };
        let alone = said(&output(runtime.program(&program, &work.folder).args(arguments)));
        for (clock, of_clock) in [("cpu", &[][..]), ("wall", &["--wall"])] {
            let mut child = tests::waiting(runtime.program(&program, &work.folder).arg("late").args(arguments));
            let name = format!("{}-{}-{clock}", runtime.name.replace(' ', ""), arguments[0]);
            let options = [&["--sample", "--frequency=1000", "--for=1h", "--no-report"], of_clock].concat();
            let attached = attach::begun(&mut attach::attach(&work, child.id(), &name, &options), "samples are taken");
            step(&mut child);
            attach::interrupted(attached, runtime.name);
            drop(child.stdin.take());
            let found = said(&child.wait_with_output().expect("it ends"));
            assert_eq!((found.0, found.2), (alone.0.clone(), alone.2), "{} {name}: {}", runtime.name, found.1);
            assert!(profile_in(&work.folder.join(&name)).sum(SampleType::SAMPLES) > 0, "{} {name}", runtime.name);
        }
    }
}

#[test]
fn options_of_instrumentation_are_refused() {
    for options in [&["--include", "Shop.*"][..], &["--all"], &["--capture", "args"]] {
        let refused = said(&output(ilinst().args(["run", "--sample"]).args(options).args(["--", "dotnet", "app.dll"])));
        assert!(refused.2 == Some(2) && refused.1.contains("does not apply to --sample"), "{options:?}: {refused:?}");
    }
    for options in [&["--exact"][..], &["--mode=count"], &["--clock=tsc"], &["--in-place"], &["--live"]] {
        let refused = said(&output(ilinst().args(["run", "--sample"]).args(options).args(["--", "dotnet", "app.dll"])));
        assert!(refused.2 == Some(2) && refused.1.contains("cannot be used with"), "{options:?}: {refused:?}");
    }
}
