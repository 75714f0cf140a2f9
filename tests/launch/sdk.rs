//! `dotnet run`, `dotnet test` and `dotnet vstest` under `ilinst run`: by the SDK of .NET 10, without a network.

use std::{fs, path::PathBuf, process::Command};

use tests::{Compiler, Report, Sdk, first_in_tier, ilinst, said};

use crate::{Work, output};

/// Projects in the folder of one test, and the SDK.
struct Projects {
    work: Work,
    sdk: Sdk,
}

const LIBRARY: &str = "namespace Lib; public static class Numbers { public static int Sum(int count) { int sum = 0; for (int i = 0; i < count; i++) sum += i; return sum; } }";
const PROGRAM: &str = r#"
static class Program
{
    static int Sum(int count) { int sum = 0; for (int i = 0; i < count; i++) sum += i; return sum; }

    static int Main(string[] arguments)
    {
        foreach (string argument in arguments) System.Console.WriteLine("argument " + argument);
        foreach (string name in new[] { "OF_PROFILE", "ASPNETCORE_URLS", "CustomAfterMicrosoftCommonTargets", "IlinstSession" })
            System.Console.WriteLine(name + "=" + System.Environment.GetEnvironmentVariable(name));
        System.Console.WriteLine(System.Environment.CurrentDirectory + " " + Sum(5));
        return 7;
    }
}
"#;
const LAUNCH_SETTINGS: &str = r#"{ "profiles": {
    "first": { "commandName": "Project", "commandLineArgs": "of \"the profile\"", "applicationUrl": "http://localhost:5018",
               "environmentVariables": { "OF_PROFILE": "yes" } },
    "another": { "commandName": "Executable", "executablePath": "/bin/echo", "commandLineArgs": "another program" } } }"#;

impl Projects {
    /// None where it is not; a line says so.
    fn new(name: &str) -> Option<Self> {
        Some(Self::of(Sdk::newer()?, name))
    }

    /// An SDK that is older than .NET 9, by a newer runtime.
    fn older(name: &str) -> Option<Self> {
        Some(Self::of(Sdk::older()?, name))
    }

    fn of(sdk: Sdk, name: &str) -> Self {
        let projects = Self { work: Work::new(&format!("sdk-{name}")), sdk };
        fs::create_dir(projects.path("home")).expect("a folder can be made");
        projects.write("nuget.config", "<configuration><packageSources><clear /></packageSources></configuration>");
        projects
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.folder.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("it can be written");
    }

    fn project(&self, name: &str, properties: &str, items: &str) {
        let text = format!(
            "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net10.0</TargetFramework>{properties}</PropertyGroup>\n\
             <ItemGroup>{items}</ItemGroup></Project>"
        );
        self.write(name, &text);
    }

    /// `dotnet WORDS`.
    fn dotnet(&self, words: &[&str]) -> Command {
        let mut command = self.sdk.command(&self.sdk.program, &self.work.folder);
        command.args(words);
        match self.sdk.compiler {
            Compiler::Sdk10 => command.env_remove("DOTNET_ROLL_FORWARD"),
            // Its runtime is not there.
            Compiler::Sdk => command.env("DOTNET_ROLL_FORWARD", "Major").env("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1"),
        };
        command
    }

    fn plain(&self, words: &[&str]) -> (String, String, Option<i32>) {
        said(&output(&mut self.dotnet(words)))
    }

    /// The same under `ilinst run OPTIONS --`, and the profiles that come of it.
    fn run(&self, options: &[&str], words: &[&str]) -> ((String, String, Option<i32>), Vec<Report>) {
        let kept = self.path("kept");
        let _ = fs::remove_dir_all(&kept);
        // Relative to the folder of the command line, wherever the program runs.
        let options = [&["--keep=kept"], options].concat();
        let said = said(&output(&mut self.work.run(&options, &self.dotnet(words))));
        let mut files: Vec<PathBuf> = fs::read_dir(kept).into_iter().flatten().flatten().map(|file| file.path()).collect();
        files.sort();
        (said, files.iter().map(|file| Report::of(file).expect("it can be reported")).collect())
    }
}

/// The names of the methods that were called.
fn methods(report: &Report) -> Vec<&str> {
    report.rows.iter().filter(|row| row["calls"].as_u64() > Some(0)).filter_map(|row| row["name"].as_str()).collect()
}

/// Output, working folder and exit code are those of the command alone.
#[test]
#[ignore = "needs .NET 10"]
fn a_project_is_built_and_run_as_by_the_sdk() {
    let Some(projects) = Projects::new("run") else { return };
    let properties = "<OutputType>Exe</OutputType><RunWorkingDirectory>$(MSBuildProjectDirectory)/data</RunWorkingDirectory>";
    projects.project("app/app.csproj", properties, "");
    projects.write("app/Program.cs", PROGRAM);
    projects.write("app/data/file", "");
    projects.write("app/Properties/launchSettings.json", LAUNCH_SETTINGS);
    let mut built = None;
    let commands = [
        &["run", "--project", "app", "--", "a", "b c", "", "\"d\"\\", "@e"][..],
        &["run", "--project", "app", "-c", "Release", "-e", "OF_PROFILE=of the command line", "--", "--no-build"],
        &["run", "--project", "app"],
        &["run", "--project", "app", "--no-build", "--no-launch-profile"],
    ];
    for words in first_in_tier(&commands, 2) {
        // ilinst's is the first that builds.
        let ((text, errors, code), reports) = projects.run(&["-q", "--no-report"], words);
        assert_eq!((errors.as_str(), code), ("", Some(7)), "{words:?} {text}");
        assert_eq!((text, errors, code), projects.plain(words), "{words:?}");
        let [report] = &reports[..] else { panic!("{} profiles", reports.len()) };
        assert_eq!(report.calls("Program::Sum"), 1, "{words:?}");
        // An imported file is no reason to compile again.
        let time =
            fs::metadata(projects.path("app/obj/Debug/net10.0/app.dll")).and_then(|file| file.modified()).expect("it is there");
        assert_eq!(*built.get_or_insert(time), time, "{words:?}");
    }
    let alone = ["run", "--project", "app", "--no-build", "--no-launch-profile"];
    let plain = projects.plain(&alone);
    for options in first_in_tier(&[&["--live"][..], &["--in-place"], &["--live", "--rewrite"]], 2) {
        let (said, reports) = projects.run(&[*options, &["-q", "--no-report"]].concat(), &alone);
        assert_eq!(said, plain, "{options:?}");
        assert_eq!(reports.iter().map(|report| report.calls("Program::Sum")).collect::<Vec<_>>(), [1], "{options:?}");
    }
    // The report is the program's.
    let ((_, errors, _), _) = projects.run(&["--live", "--limit=3"], &alone);
    assert!(
        errors.starts_with("app (process ") && errors.contains("Program.Main") && !errors.contains("more process"),
        "{errors}"
    );

    let ((text, errors, code), _) = projects.run(&["-q"], &["run", "--project", "app", "--launch-profile", "another"]);
    assert!(text.ends_with("another program\n") && code == Some(3), "{text}");
    assert!(errors.contains("error ILI0031: ") && errors.contains(" run: the SDK started no program of a project"), "{errors}");
    let ((text, errors, code), _) = projects.run(&[], &["run", "--project", "none"]);
    assert!(code == Some(1) && errors.contains("run: the SDK started no program of a project"), "{text}{errors}");
}

/// It asks for properties alone, when no task of MSBuild can run.
#[test]
#[ignore = "needs the .NET SDK"]
fn an_older_sdk_starts_programs_by_way_of_ilinst() {
    let Some(projects) = Projects::older("older") else { return };
    // It greets its user once.
    projects.plain(&["msbuild", "-version"]);
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>netcoreapp3.1</TargetFramework></PropertyGroup></Project>";
    projects.write("app/app.csproj", project);
    projects.write("app/Program.cs", PROGRAM);
    // It cannot hash a cache of its own on a newer runtime, and says so.
    let own = |text: &str| text.lines().filter(|line| !line.contains("warning MSB3")).map(str::to_owned).collect::<Vec<_>>();
    for words in [&["run", "--project", "app", "--", "a", "b c", "\"d\"\\"][..], &["run", "--no-build", "--project", "app"]] {
        let ((text, errors, code), reports) = projects.run(&["-q", "--no-report"], words);
        assert_eq!((errors.as_str(), code), ("", Some(7)), "{words:?} {text}");
        assert_eq!(own(&text), own(&projects.plain(words).0), "{words:?}");
        assert_eq!(reports.iter().map(|report| report.calls("Program::Sum")).collect::<Vec<_>>(), [1], "{words:?}");
    }
}

#[test]
#[ignore = "needs .NET 10"]
fn a_program_of_one_file_is_built_and_run_as_by_the_sdk() {
    let Some(projects) = Projects::new("file") else { return };
    projects.write("app.cs", PROGRAM);
    projects.write("app.run.json", LAUNCH_SETTINGS);
    for words in
        first_in_tier(&[&["run", "app.cs", "a", "b c"][..], &["run", "-c", "Release", "--file", "app.cs"], &["app.cs"]], 2)
    {
        let ((text, errors, code), reports) = projects.run(&["-q", "--no-report"], words);
        assert_eq!((errors.as_str(), code), ("", Some(7)), "{words:?} {text}");
        // The SDK keeps how it is started, and not by way of ilinst.
        assert_eq!((text, errors, code), projects.plain(words), "{words:?}");
        assert_eq!(reports.iter().map(|report| report.calls("Program::Sum")).collect::<Vec<_>>(), [1], "{words:?}");
        assert!(!projects.path("app-0.ilprof").exists());
    }
    let ((_, errors, code), _) = projects.run(&[], &["run", "--no-build", "app.cs"]);
    assert!(code == Some(2) && errors.contains(" run --no-build: ") && errors.contains("leave out --no-build"), "{errors}");
}

#[test]
#[ignore = "needs .NET 10"]
fn commands_that_run_no_program_are_refused() {
    let Some(projects) = Projects::new("refused") else { return };
    for (words, why) in [
        (&["build", "app"][..], "it runs no program; use ilinst run -- "),
        (&["publish"], "it runs no program"),
        (&["watch", "run"], "it changes the program while it runs (hot reload)"),
    ] {
        for options in [&[][..], &["--live"]] {
            let ((text, errors, code), _) = projects.run(options, words);
            assert_eq!((text.as_str(), code), ("", Some(2)), "{words:?}");
            assert!(errors.starts_with("ilinst: error ILI0015: ") && errors.contains(why), "{errors}");
        }
    }
    let ((_, errors, code), _) = projects.run(&["--in-place"], &["test"]);
    assert!(code == Some(2) && errors.contains("--in-place is not for tests"), "{errors}");
}

/// Tests of a library by xunit: two that succeed, and one that fails where it is not filtered out. They find their project by its place.
fn test_project(projects: &Projects, name: &str, properties: &str, packages: &[(&str, &str)]) {
    let packages: String =
        packages.iter().map(|(id, version)| format!(r#"<PackageReference Include="{id}" Version="{version}" />"#)).collect();
    let items = format!(r#"<ProjectReference Include="../lib/Lib.csproj" />{packages}"#);
    projects.project(&format!("{name}/{name}.csproj"), properties, &items);
    let tests = format!(
        "using Xunit; using System.IO;\nnamespace {name};\npublic class Numbers\n{{\n    [Fact] public void Adds() => Assert.Equal(10, Lib.Numbers.Sum(5));\n    \
         [Fact] public void Finds() => Assert.True(File.Exists(Path.Combine(System.AppContext.BaseDirectory, \"../../../{name}.csproj\")));\n    \
         [Fact] public void Fails() => Assert.Equal(11, Lib.Numbers.Sum(5));\n}}\n"
    );
    projects.write(&format!("{name}/Tests.cs"), &tests);
}

const XUNIT: [(&str, &str); 3] =
    [("Microsoft.NET.Test.Sdk", "18.11.0"), ("xunit", "2.9.3"), ("xunit.runner.visualstudio", "3.1.5")];

/// Whether each folder of a project's output is its own, and none of what is in it instrumented.
fn is_as_built(projects: &Projects, name: &str) {
    let folders: Vec<_> = fs::read_dir(projects.path(name).join("bin/Debug")).expect("it is there").flatten().collect();
    assert_eq!(folders.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["net10.0"], "{name}");
    let library = ilinst().args(["list", "--json"]).arg(folders[0].path().join("Lib.dll")).output().expect("ilinst runs");
    assert!(said(&library).0.contains(r#""woven": null"#), "{name}");
}

/// Each project's own methods, and none of the test framework's.
fn are_of(reports: &[Report], projects: &[&str], context: &str) {
    assert_eq!(reports.len(), projects.len(), "{context}");
    for project in projects {
        let of = |report: &&Report| methods(report).iter().any(|name| name.starts_with(&format!("{project}.")));
        let report = reports.iter().find(of).unwrap_or_else(|| panic!("{context}: there is no profile of {project}"));
        assert_eq!(report.calls("Lib.Numbers::Sum"), 1, "{context}");
        // An entry point is generated into the project.
        let is_framework = |name: &&str| name.starts_with("Xunit.") && !name.starts_with("Xunit.AutoGenerated.");
        let others = methods(report).into_iter().filter(is_framework);
        assert_eq!(others.collect::<Vec<_>>(), [""; 0], "{context}");
    }
}

#[test]
#[ignore = "needs .NET 10"]
fn tests_by_vstest_are_run_as_by_the_sdk() {
    let Some(projects) = Projects::new("vstest") else { return };
    projects.project("lib/Lib.csproj", "", "");
    projects.write("lib/Numbers.cs", LIBRARY);
    for name in ["One", "Two"] {
        test_project(&projects, name, "", &XUNIT);
    }
    // Its projects dispatch to one for each framework.
    let two = fs::read_to_string(projects.path("Two/Two.csproj")).expect("it is there");
    projects.write("Two/Two.csproj", &two.replace("TargetFramework>", "TargetFrameworks>"));
    let solution = r#"<Solution><Project Path="lib/Lib.csproj" /><Project Path="One/One.csproj" /><Project Path="Two/Two.csproj" /></Solution>"#;
    projects.write("all.slnx", solution);
    let filter = ["--filter", "FullyQualifiedName!~Fails"];
    let ((text, errors, code), reports) = projects.run(&["-q", "--no-report"], &[&["test", "all.slnx"][..], &filter].concat());
    assert_eq!(code, Some(0), "{text}{errors}");
    assert_eq!(text.matches("Passed:     2").count(), 2, "{text}");
    are_of(&reports, &["One", "Two"], "a solution");
    is_as_built(&projects, "One");

    // One project, which is built; its exit code; the report is shown.
    let ((text, errors, code), _) = projects.run(&["--limit=0"], &["test", "One", "--no-build"]);
    assert!(code == Some(1) && text.contains("Failed:     1, Passed:     2"), "{text}{errors}");
    assert!(errors.contains("Lib.Numbers.Sum") && errors.contains("the profile is "), "{errors}");

    let one = "One/bin/Debug/net10.0/One.dll";
    for words in [["vstest", one], ["test", one]] {
        let ((text, errors, code), reports) = projects.run(&["-q", "--no-report"], &words);
        assert!(code == Some(1) && text.contains("Failed:     1, Passed:     2"), "{text}{errors}");
        assert_eq!(reports.iter().map(|report| report.calls("Lib.Numbers::Sum")).collect::<Vec<_>>(), [2], "{words:?}");
    }
    is_as_built(&projects, "One");

    // Of all processes that the SDK starts, the tests' hosts are recorded.
    let (hooks, rewriting) = (&["--live"][..], &["--live", "--rewrite"][..]);
    let (solution, assembly) = (&["test", "all.slnx", "--no-build"][..], &["vstest", one][..]);
    let more = [(hooks, assembly), (rewriting, solution)].into_iter().filter(|_| tests::is_full());
    for (options, words) in [(hooks, solution), (rewriting, assembly)].into_iter().chain(more) {
        let quiet = ["-q", "--no-report"];
        let ((text, errors, _), reports) = projects.run(&[options, &quiet].concat(), words);
        assert!(text.contains("Failed:     1, Passed:     2"), "{text}{errors}");
        let calls: Vec<u64> = reports.iter().map(|report| report.calls("Lib.Numbers::Sum")).collect();
        let frameworks = reports.iter().flat_map(methods).filter(|name| name.starts_with("Xunit."));
        assert_eq!(frameworks.collect::<Vec<_>>(), [""; 0], "{options:?} {words:?}");
        assert_eq!(calls, vec![2; if words == solution { 2 } else { 1 }], "{options:?} {words:?} {errors}");
    }
}

#[test]
#[ignore = "needs .NET 10"]
fn tests_that_are_programs_are_run_as_by_the_sdk() {
    let Some(projects) = Projects::new("platform") else { return };
    projects.project("lib/Lib.csproj", "", "");
    projects.write("lib/Numbers.cs", LIBRARY);
    projects.write("global.json", r#"{ "test": { "runner": "Microsoft.Testing.Platform" } }"#);
    test_project(&projects, "Three", "<OutputType>Exe</OutputType>", &[("xunit.v3", "4.0.2")]);
    let filter = ["--filter-not-method", "*.Fails"];
    let ((text, errors, code), reports) =
        projects.run(&["-q", "--no-report"], &[&["test", "--project", "Three"][..], &filter].concat());
    assert!(code == Some(0) && text.contains("succeeded: 2"), "{text}{errors}");
    are_of(&reports, &["Three"], "xunit.v3");
    is_as_built(&projects, "Three");
    for options in [&[][..], &["--live"]] {
        let options = [options, &["-q", "--no-report"]].concat();
        let ((text, errors, code), reports) = projects.run(&options, &["test", "--project", "Three", "--no-build"]);
        assert!(code == Some(2) && text.contains("failed: 1"), "{text}{errors}");
        assert_eq!(reports.iter().map(|report| report.calls("Lib.Numbers::Sum")).collect::<Vec<_>>(), [2], "{options:?}");
    }
    // As it is run alone.
    let ((text, errors, code), reports) = projects.run(&["-q", "--no-report"], &["run", "--project", "Three", "--no-build"]);
    assert!(code == Some(1) && reports.len() == 1, "{text}{errors}");
}

/// Files that the copy of a folder needs are removed with it; after a kill, by the next run.
#[test]
#[ignore = "needs .NET 10"]
fn what_a_killed_run_of_tests_left_is_removed() {
    let Some(projects) = Projects::new("left") else { return };
    projects.project("lib/Lib.csproj", "", "");
    projects.write("lib/Numbers.cs", LIBRARY);
    test_project(&projects, "One", "", &XUNIT);
    let (text, errors, code) = projects.plain(&["build", "One"]);
    assert_eq!(code, Some(0), "{text}{errors}");
    let mut ended = Command::new("true").spawn().expect("it starts");
    ended.wait().expect("it ends");
    let left = [format!("net10.0.ilinst-{}", ended.id()), format!("net10.0.ilinst-{}-1", ended.id())];
    for left in &left {
        projects.write(&format!("One/bin/Debug/{left}/One.dll"), "left");
    }
    projects.write(&format!("One/bin/Debug/net10.0.ilinst-{}/One.dll", std::process::id()), "of one that runs");
    let ((text, errors, code), _) = projects.run(&["-q"], &["test", "One", "--no-build", "--filter=FullyQualifiedName~Adds"]);
    assert_eq!(code, Some(0), "{text}{errors}");
    let is_there = |name: &String| projects.path("One/bin/Debug").join(name).exists();
    assert!(!left.iter().any(is_there) && is_there(&format!("net10.0.ilinst-{}", std::process::id())));
}

/// Programs in native code: each command says what they are, and what to do.
#[cfg(feature = "full")]
#[test]
#[ignore = "needs .NET 10"]
fn native_programs_are_named_by_each_command() {
    let Some(projects) = Projects::new("native") else { return };
    projects.project("app/app.csproj", "<OutputType>Exe</OutputType>", "");
    let source = PROGRAM.replace(
        "return 7;",
        "if (arguments.Length > 0) { System.Console.WriteLine(\"ready\"); System.Console.ReadLine(); } return 7;",
    );
    projects.write("app/Program.cs", &source.replace("System.Console.WriteLine(\"argument \" + argument)", ""));
    let publish = |folder: &str, options: &[&str]| {
        let (text, errors, code) = projects.plain(&[&["publish", "app", "-r", "linux-x64", "-o", folder], options].concat());
        assert_eq!(code, Some(0), "{text}{errors}");
        projects.path(folder).join("app")
    };
    for (program, what) in [
        (publish("single", &["--self-contained", "-p:PublishSingleFile=true"]), "a program in a single file (a bundle)"),
        (publish("native", &["-p:PublishAot=true"]), "a program compiled to native code (native AOT)"),
    ] {
        let name = program.to_str().expect("it is text");
        let command = |words: &[&str]| {
            let mut command = ilinst();
            command.args(words).current_dir(&projects.work.folder).env("ILINST_CACHE", projects.work.cache());
            command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
            said(&output(&mut command))
        };
        for words in [
            &["run", "--", name][..],
            &["instrument", name, "-o", "woven"],
            &["verify", name],
            &["list", name],
            &["dis", name],
            &["diff", name, name],
            &["explain", name, "Main"],
            &["doctor", name],
            &["doctor", "--", name],
        ] {
            let (text, errors, code) = command(words);
            assert!(code != Some(0) && (text.clone() + &errors).contains(what), "{words:?}: {text}{errors}");
            assert!((text + &errors).contains("-p:Ilinst=true"), "{words:?}");
        }
        let is_aot = what.contains("AOT");
        let (text, errors, code) = command(&["run", "--live", "--", name]);
        assert!(
            if is_aot { text.is_empty() && code == Some(3) && errors.contains(what) } else { code == Some(7) },
            "{text}{errors}"
        );
        assert_eq!(errors.contains("Program.Sum"), !is_aot, "{errors}");
        let mut running = Command::new(&program);
        running.arg("ready").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        let mut child = running.stdin(std::process::Stdio::piped()).spawn().expect("it starts");
        let (text, errors, code) = command(&["attach", &child.id().to_string(), "--for=10ms"]);
        assert!(!is_aot || code == Some(3) && errors.contains(what), "{text}{errors}");
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
}

/// An environment in which no profiler of ours is loaded.
#[test]
#[ignore = "needs .NET 10"]
fn an_environment_that_has_no_room_for_the_profiler_is_named() {
    let Some(projects) = Projects::new("environment") else { return };
    projects.project("app/app.csproj", "<OutputType>Exe</OutputType>", "");
    projects.write("app/Program.cs", PROGRAM);
    let (text, errors, code) = projects.plain(&["build", "app"]);
    assert_eq!(code, Some(0), "{text}{errors}");
    let live = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = projects.work.run(&["--live"], &projects.dotnet(words));
        said(&output(command.envs(variables.iter().copied())))
    };
    let app = ["app/bin/Debug/net10.0/app.dll"];
    for (variable, value) in [("DOTNET_EnableDiagnostics", "0"), ("COMPlus_EnableDiagnostics", "0")] {
        let (text, errors, code) = live(&app, &[(variable, value)]);
        assert_eq!((text.as_str(), code), ("", Some(2)));
        assert!(errors.contains(&format!("{variable}=0 in the environment has .NET load no profiler; unset it")), "{errors}");
    }
    let another = ("CORECLR_PROFILER", "{11111111-2222-3333-4444-555555555555}");
    let (_, errors, code) = live(&app, &[("CORECLR_ENABLE_PROFILING", "1"), another, ("CORECLR_PROFILER_PATH", "/nowhere.so")]);
    assert!(
        code == Some(7) && errors.contains("note: CORECLR_PROFILER={11111111-2222-3333-4444-555555555555} of the environment"),
        "{errors}"
    );
    assert!(errors.contains("Program.Sum"), "{errors}");
    let (_, errors, _) = live(&app, &[another]);
    assert!(!errors.contains("CORECLR_PROFILER"), "it is not switched on: {errors}");
}
