//! The targets as Windows has them: by `cmd`, backslashes and `ilinst.exe`, under Wine. The SDK here is Linux's, whose
//! ReadyToRun code Windows refuses: woven, its MSBuild is IL again, and runs there.

use std::{fs, path::Path};

use tests::{Wine, ilinst, require, root, said, scratch};

const PROJECT: &str = r#"<Project>
  <PropertyGroup>
    <IntermediateOutputPath>obj\Debug\</IntermediateOutputPath>
    <TargetName>hello</TargetName>
    <Ilinst>true</Ilinst>
    <IlinstTool>$(MSBuildThisFileDirectory)the tools\ilinst.exe</IlinstTool>
    <IlinstInclude>Hello.*;*::Main</IlinstInclude>
  </PropertyGroup>
  <ItemGroup>
    <IntermediateAssembly Include="obj\Debug\hello.exe" />
  </ItemGroup>
  <Target Name="Compile" />
  <Target Name="Clean" />
  <Import Project="build\Ilinst.MSBuild.targets" />
</Project>
"#;

#[test]
#[ignore = "needs the .NET SDK, Wine and ilinst.exe"]
fn windows_weaves_in_its_builds() {
    let Some(sdk) = require("ILINST_SDK") else { return };
    let (Some(wine), [Some(dotnet), Some(exe)]) = (Wine::find(), ["ILINST_WINDOWS_DOTNET8", "ILINST_EXE"].map(require)) else {
        return;
    };
    let folder = scratch("msbuild windows");
    let msbuild = folder.join("msbuild");
    fs::create_dir(&msbuild).expect("a folder can be made");
    let mut weave = ilinst();
    weave.arg("instrument").arg("-o").arg(&msbuild).args(["--all", "-q"]);
    for path in fs::read_dir(&sdk).expect("it is there").flatten().map(|entry| entry.path()) {
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        let is_its_own =
            ["MSBuild.", "Microsoft.Build", "Microsoft.Common.", "System."].iter().any(|start| name.starts_with(start));
        if is_its_own && name.ends_with(".dll") {
            weave.arg(path);
        } else if is_its_own && path.is_file() {
            fs::copy(&path, msbuild.join(name)).expect("it can be copied");
        }
    }
    assert_eq!(said(&weave.output().expect("ilinst runs")), (String::new(), String::new(), Some(0)));

    let project = folder.join("a project");
    let copy = |from: &Path, to: &str| {
        let to = project.join(to);
        fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::copy(from, to).expect("it can be copied");
    };
    copy(&root().join("samples/hello/bin/hello.exe"), "obj/Debug/hello.exe");
    copy(&root().join("msbuild/build/Ilinst.MSBuild.targets"), "build/Ilinst.MSBuild.targets");
    for tool in fs::read_dir(exe.parent().expect("it is in a folder")).expect("it is there").flatten().map(|entry| entry.path()) {
        if tool.extension().is_some_and(|extension| extension == "exe" || extension == "dll") {
            copy(&tool, &format!("the tools/{}", tool.file_name().expect("it has a name").display()));
        }
    }
    fs::write(project.join("hello.proj"), PROJECT).expect("it can be written");
    let build = |target: &str| {
        let mut command = wine.command(&dotnet);
        command.arg("exec").arg(msbuild.join("MSBuild.dll")).args(["hello.proj", target, "-nologo", "-v:normal"]);
        command.args(["-nodeReuse:false", "-m:1"]).current_dir(&project);
        command.env("WINEDLLOVERRIDES", "winedbg.exe=d;bcryptprimitives=n");
        command.env("DOTNET_ROLL_FORWARD", "Major").env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        command.env("ILINST_MODE", "count").env("ILINST_OUTPUT", folder.join("msbuild.ilprof"));
        let (text, errors, code) = said(&command.output().expect("Wine starts"));
        assert_eq!(code, Some(0), "{text}{errors}");
        text.replace("\r\n", "\n")
    };
    let text = build("-t:Compile");
    assert!(text.contains(r"obj\Debug\hello.exe: 19 methods, ") && text.contains("0 Warning(s)"), "{text}");
    let response = fs::read_to_string(project.join("obj/Debug/ilinst/hello.rsp")).expect("it is there");
    assert!(response.lines().any(|line| line == "--include=*::Main"), "{response}");
    // The same bytes as here.
    let here = folder.join("here/hello.exe");
    tests::instrument(&[&project.join("obj/Debug/hello.exe"), &"-o", &here, &"--include", &"Hello.*", &"--include", &"*::Main"]);
    assert!(fs::read(project.join("obj/Debug/ilinst/hello.exe")).expect("it is woven") == fs::read(here).expect("it is woven"));
    assert!(build("-t:Compile").contains("Skipping target \"_IlinstRun\" because all output files are up-to-date"));
    build("-t:Clean");
    assert!(!project.join("obj/Debug/ilinst").exists());
}
