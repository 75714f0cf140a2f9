//! Errors have MSBuild's form, and leave no output.

use std::fs;

use crate::project::{PROGRAM, new_project};

const PAGE: &str = "https://github.com/ilinst/ilinst/blob/main/docs/errors.md";
const OUTPUT: &str = "app/bin/Debug/netcoreapp3.1/app.dll";

#[test]
#[ignore = "needs the .NET SDK"]
fn what_fails_is_an_error_of_the_build() {
    let Some(dotnet) = new_project("errors", &[]) else { return };
    let build = |options: &[&str]| dotnet.try_run(&[&["build", "app", "-nologo", "-p:Ilinst=true"], options].concat());
    dotnet.write("no.snk", "no key");
    let key = format!("-p:IlinstOptions=--snk={}", dotnet.folder.join("no.snk").display());
    let (said, code) = build(&[&key]);
    let project = dotnet.folder.join("app/app.csproj");
    let expected = format!("ilinst : error ILI0017: {}", dotnet.folder.join("no.snk").display());
    let line = said.lines().find(|line| line.starts_with(&expected)).unwrap_or_else(|| panic!("{said}"));
    assert!(line.ends_with(&format!(" ({PAGE}#ili0017) [{}]", project.display())), "{line}");
    assert_eq!(code, Some(1));
    let written = dotnet.files("app/obj/Debug/netcoreapp3.1/ilinst");
    let names: Vec<_> = written.keys().map(|path| path.file_name().expect("it has a name").to_owned()).collect();
    assert_eq!(names, ["app.rsp"], "nothing else is written");
    assert!(!dotnet.folder.join(OUTPUT).exists());
    // The next build tries again.
    assert_eq!(build(&[&key]).1, Some(1));

    // A value that an option does not have is an error without a number.
    let (said, code) = build(&["-p:IlinstLeave=retrun"]);
    assert!(said.contains("ilinst : error : invalid value 'retrun' for '--leave <MODE|HOOK>'"), "{said}");
    assert_eq!(code, Some(1));

    let (said, code) = build(&["-p:IlinstPlatform=plan9-vax"]);
    assert!(said.contains("error ILI0030: this package brings no ilinst for plan9-vax: "), "{said}");
    assert!(said.contains(&format!(" ({PAGE}#ili0030) ")), "{said}");
    assert_eq!(code, Some(1));
    assert!(!dotnet.folder.join(OUTPUT).exists());

    // Warnings are those of a compiler: of a file, to be switched off or made errors by their number.
    dotnet.write("app/Program.cs", "public class Trivial { public int Property { get; set; } }");
    let nothing = ["-p:OutputType=Library"];
    let (said, code) = build(&nothing);
    let warning = "obj/Debug/netcoreapp3.1/app.dll : warning ILI0006: nothing to instrument, ";
    let line = said.lines().find(|line| line.starts_with(warning)).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(&format!(" ({PAGE}#ili0006) ")) && code == Some(0), "{said}");
    fs::remove_file(dotnet.folder.join("app/obj/Debug/netcoreapp3.1/ilinst/app.stamp")).expect("it is there");
    let (said, _) = build(&[&nothing[..], &["-warnaserror:ILI0006"]].concat());
    // Its exit code is 0 now and then, with any warning in any project: MSBuild 16.4 asks too early whether there were errors.
    assert!(said.contains("error ILI0006: nothing to instrument, ") && said.contains("\nBuild FAILED.\n"), "{said}");
    fs::remove_file(dotnet.folder.join("app/obj/Debug/netcoreapp3.1/ilinst/app.stamp")).expect("it is there");
    let (said, code) = build(&[&nothing[..], &["-p:MSBuildWarningsAsMessages=ILI0006"]].concat());
    assert!(!said.contains("warning ILI0006") && code == Some(0), "{said}");

    // Patterns choose among the projects of a build, so it is no fault if they leave one out.
    dotnet.write("app/Program.cs", PROGRAM);
    let (said, code) = build(&["-p:IlinstInclude=Nobody"]);
    assert!(said.contains("/app.dll: note ILI0006: ") && !said.contains("warning ILI0006"), "{said}");
    assert_eq!(code, Some(0));
}
