//! Methods that the runtime suspends (impl flag 0x2000).

use std::{fs, path::Path, process::Command};

use ecma335::{Image, Metadata, Table, schema::MethodDef};
use tests::{References, Runtime, compile, ilinst, instrument, require, root, said, scratch, set_cell};

/// An await stands between the probes that say so, whatever runtime will run it.
#[test]
#[ignore = "needs Mono's ilasm"]
fn awaits_of_what_the_runtime_suspends_have_probes() {
    let Some(ilasm) = require("ILINST_ILASM") else { return };
    let folder = scratch("runtime-async-probes");
    let (original, woven) = (folder.join("azmcp.dll"), folder.join("woven/azmcp.dll"));
    assemble(&ilasm, &original);
    instrument(&[&original, &"-o", &woven, &"-q"]);
    let (text, errors, code) = said(&ilinst().arg("dis").arg(&woven).output().expect("ilinst runs"));
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let calls: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("::")?.1.split_once('(')).map(|(name, _)| name).collect();
    let of = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
    assert_eq!((of("WhenStarting"), of("UnsafeAwaitAwaiter")), (4, 4));
    let around = |window: &[&str]| {
        window[1].starts_with("UnsafeAwaitAwaiter") && window[0] == "WhenSuspending" && window[2] == "WhenContinuing"
    };
    assert_eq!(calls.windows(3).filter(|window| around(window)).count(), 4, "{calls:?}");
    let mut verify = ilinst();
    let (_, errors, code) =
        said(&verify.arg("verify").arg(&woven).arg("--compare").arg(&original).output().expect("ilinst runs"));
    assert_eq!(code, Some(0), "{errors}");
}

/// The address of a struct is lost when the runtime suspends its method: hooks get the struct where it begins, and null later.
#[test]
#[ignore = "needs .NET"]
fn hooks_of_a_suspended_struct_get_it_once() {
    let folder = scratch("runtime-async-struct");
    let (program, hooks) = (folder.join("app.exe"), folder.join("hooks.dll"));
    let source = |name: &str| root().join("tests/run/suspended").join(name);
    let compiled = compile(&source("app.cs"), &program, References::RuntimeAsync, &[]);
    if compiled.and_then(|()| compile(&source("hooks.cs"), &hooks, References::RuntimeAsync, &[])).is_none() {
        return;
    }
    let hook = |name: &str| format!("{}!Hooks::{name}", hooks.display());
    for mode in [&[][..], &["--leave", "return"]] {
        let woven = folder.join("woven/app.exe");
        let mut command = ilinst();
        command.arg("instrument").arg(&program).arg("-o").arg(&woven).args([
            "-q",
            "--include",
            "Item::Load",
            "--include",
            "Item::Recover",
        ]);
        command.args(["--enter", &hook("Enter"), "--leave", &hook("Leave"), "--handle", &hook("Handle")]).args(mode);
        assert_eq!(said(&command.output().expect("ilinst runs")), (String::new(), String::new(), Some(0)));
        for runtime in Runtime::suspending() {
            let output = runtime.program(&woven, &folder).env("DOTNET_RuntimeAsync", "1").output().expect("the runtime starts");
            let expected = "enter Item::Load item 5\nleave Item::Load null\nenter Item::Recover item 5\nhandle Item::Recover null\n\
                            leave Item::Recover null\n";
            assert_eq!(said(&output), (expected.to_owned(), String::new(), Some(11)), "{mode:?} on {}", runtime.name);
        }
    }
}

/// Assembles it, with the flag that no assembler has.
pub(crate) fn assemble(ilasm: &Path, output: &Path) {
    let mut command = Command::new(ilasm);
    command.arg("/quiet").arg("/dll").arg(format!("/output:{}", output.display())).arg(root().join("tests/run/runtime_async.il"));
    assert!(command.status().expect("it starts").success());
    let bytes = fs::read(output).expect("it was written");
    let image = Image::parse(&bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let rows = metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.is_synchronized());
    let with_flag =
        rows.fold(bytes.clone(), |bytes, (rid, _)| set_cell(&bytes, Table::MethodDef, rid.get(), "impl_flags", 0x2000));
    fs::write(output, with_flag).expect("it can be written");
}
