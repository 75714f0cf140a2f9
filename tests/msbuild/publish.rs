//! Each way to publish takes the instrumented files. The packs that the SDK would download are made of the runtime here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tests::{packages::unpacked, require};

use crate::project::new_project;

/// The version of packs that the SDK asks for.
const PACK_VERSION: &str = "3.1.2";
const CALLS: u64 = 21_891;
/// Stands for the ReadyToRun compiler: writes down what it is to compile, and gives that as its output.
const COMPILER: &str = r#"#!/bin/sh
cat "${1#@}" | tr -d '\r' >> "$(dirname "$0")/log"
input=$(tail -1 "${1#@}" | tr -d '"\r')
output=$(sed -n 's|^/out "\(.*\)"|\1|p' "${1#@}" | tr -d '\r')
cp "$input" "$output"
"#;
/// Where native AOT's targets take the path of the compiler's output, whatever the item says.
const NATIVE_AOT: &str = r#"<Project>
  <ItemDefinitionGroup>
    <ManagedBinary>
      <IlcRspFile>%(Filename).ilc.rsp</IlcRspFile>
    </ManagedBinary>
  </ItemDefinitionGroup>
  <Target Name="ComputeIlcCompileInputs">
    <ItemGroup>
      <ManagedBinary Include="$(IntermediateOutputPath)$(TargetName)$(TargetExt)" />
      <IlcCompileInput Include="@(ManagedBinary)" />
    </ItemGroup>
  </Target>
  <Target Name="ShowNative" DependsOnTargets="Compile;ComputeIlcCompileInputs">
    <Message Importance="high" Text="native: @(IlcCompileInput) by @(ManagedBinary->'%(IlcRspFile)')" />
  </Target>
</Project>
"#;

#[test]
#[ignore = "needs the .NET SDK"]
fn what_is_published_is_woven() {
    let Some(dotnet) = new_project("publish", &[]) else { return };
    dotnet.run(&["publish", "app", "-p:Ilinst=true", "-o", "out", "-c", "Release"]);
    let report = dotnet.profile(&mut dotnet.program("out/app.dll"), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), CALLS);
    // A finished build is published as it is.
    dotnet.run(&["publish", "app", "-p:Ilinst=true", "-o", "again", "-c", "Release", "--no-build"]);
    for file in ["app.dll", "app.pdb", "app.deps.json", "Ilinst.Tracker.dll"] {
        let read = |folder: &str| fs::read(dotnet.folder.join(folder).join(file)).expect("it is published");
        assert!(read("out") == read("again"), "{file}");
    }
    // A single file has it and its tracker in it.
    let single = ["-r", "linux-x64", "--self-contained", "false", "-p:PublishSingleFile=true", "-p:Ilinst=true", "-o", "single"];
    dotnet.run(&[&["publish", "app"][..], &single].concat());
    assert_eq!(names(&dotnet.folder.join("single")), ["app", "app.pdb"]);
    let report = dotnet.profile(&mut dotnet.command_of(&dotnet.folder.join("single/app")), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), CALLS);
    // So has what native AOT compiles.
    dotnet.write("app/Directory.Build.targets", NATIVE_AOT);
    let said = dotnet.run(&["msbuild", "app", "-nologo", "-p:Ilinst=true", "-t:ShowNative"]);
    assert!(said.contains("native: obj/Debug/netcoreapp3.1/ilinst/app.dll by app.ilc.rsp\n"), "{said}");
    let said = dotnet.run(&["msbuild", "app", "-nologo", "-t:ShowNative"]);
    assert!(said.contains("native: obj/Debug/netcoreapp3.1/app.dll by app.ilc.rsp\n"), "{said}");
}

#[test]
#[ignore = "needs the .NET SDK and .NET Core 3.1"]
fn a_program_with_its_own_runtime_is_woven_before_it_is_compiled() {
    let (Some(runtime), Some(dotnet)) = (require("ILINST_DOTNET31"), new_project("self-contained", &[])) else { return };
    let pack = make_packs(&runtime, &dotnet.folder.join("packages"));
    let options = ["-p:Ilinst=true", "-r", "linux-x64", "--self-contained", "true", "-p:PublishReadyToRun=true", "-o", "out"];
    dotnet.run(&[&["publish", "app"][..], &options].concat());
    let log = fs::read_to_string(pack.join("tools/log")).expect("the compiler ran");
    for file in ["obj/Debug/netcoreapp3.1/linux-x64/ilinst/app.dll", "Ilinst.Tracker.dll"] {
        let is_input = |line: &str| !line.starts_with('/') && line.trim_matches('"').ends_with(file);
        assert!(log.lines().any(is_input), "{file} is compiled\n{log}");
    }
    let report = dotnet.profile(&mut dotnet.command_of(&dotnet.folder.join("out/app")), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), CALLS);
}

/// The linker gets the instrumented file; so it finds the tracker, and keeps what it needs of the runtime.
#[test]
#[ignore = "needs the .NET SDK and .NET Core 3.1"]
fn what_is_trimmed_is_woven() {
    let (Some(runtime), Some(dotnet)) = (require("ILINST_DOTNET31"), new_project("trimmed-3.1", &[])) else { return };
    make_packs(&runtime, &dotnet.folder.join("packages"));
    let options = ["-p:Ilinst=true", "-r", "linux-x64", "--self-contained", "true", "-p:PublishTrimmed=true", "-o", "out"];
    dotnet.run(&[&["publish", "app"][..], &options].concat());
    let published = names(&dotnet.folder.join("out"));
    let has = |name: &str| published.iter().any(|published| published == name);
    assert!(has("Ilinst.Tracker.dll") && !has("System.Xml.XDocument.dll"), "{published:?}");
    let report = dotnet.profile(&mut dotnet.command_of(&dotnet.folder.join("out/app")), "fib 6765\n");
    assert_eq!(report.calls("Program::Fib"), CALLS);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The runtime pack of an installed runtime, with a compiler in it, and an empty one of ASP.NET's, as if NuGet had unpacked
/// them; gives the first.
fn make_packs(runtime: &Path, packages: &Path) -> PathBuf {
    let installed = runtime.parent().expect("it is in a folder");
    let only = |folder: PathBuf| fs::read_dir(folder).expect("it is there").flatten().next().expect("there is one").path();
    let (shared, resolver) = (only(installed.join("shared/Microsoft.NETCore.App")), only(installed.join("host/fxr")));
    let pack = packages.join("microsoft.netcore.app.runtime.linux-x64").join(PACK_VERSION);
    let mut list = String::new();
    let files = [shared, resolver].into_iter().flat_map(|folder| fs::read_dir(folder).expect("it is there").flatten());
    for path in files.map(|entry| entry.path()) {
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        let is_managed = name.ends_with(".dll") && name != "System.Private.CoreLib.dll";
        let is_native = name.ends_with(".so") || name == "System.Private.CoreLib.dll";
        if !is_managed && !is_native {
            continue;
        }
        let to = if is_managed {
            format!("runtimes/linux-x64/lib/netcoreapp3.1/{name}")
        } else {
            format!("runtimes/linux-x64/native/{name}")
        };
        let kind = if is_managed {
            let assembly = name.trim_end_matches(".dll");
            format!(r#"Type="Managed" AssemblyName="{assembly}" PublicKeyToken="b03f5f7f11d50a3a" AssemblyVersion="4.0.0.0""#)
        } else {
            r#"Type="Native""#.to_owned()
        };
        list += &format!("<File {kind} Path=\"{to}\" FileVersion=\"4.700.0.0\" />\n");
        let to = pack.join(to);
        fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::copy(path, to).expect("it can be copied");
    }
    unpacked_pack(packages, "Microsoft.NETCore.App", &list);
    let compiler = pack.join("tools/crossgen");
    fs::create_dir_all(pack.join("tools")).expect("a folder can be made");
    fs::write(&compiler, COMPILER).expect("it can be written");
    executable(&compiler);
    unpacked_pack(packages, "Microsoft.AspNetCore.App", "");
    pack
}

/// A runtime pack with a list of files.
fn unpacked_pack(packages: &Path, framework: &str, list: &str) {
    let list = format!(
        "<FileList Name=\"{framework}\" TargetFrameworkIdentifier=\".NETCoreApp\" TargetFrameworkVersion=\"3.1\" \
         FrameworkName=\"{framework}\">\n{list}</FileList>\n"
    );
    let id = format!("{framework}.Runtime.linux-x64");
    unpacked(packages, &id, PACK_VERSION, &[("data/RuntimeList.xml", list.as_bytes())]);
}

#[cfg(unix)]
fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[cfg(not(unix))]
fn executable(_: &Path) {}
