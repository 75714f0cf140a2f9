//! Types in several assemblies and modules: access rules, and look-up.

use std::{fs, process::Command};

use ecma335::Image;
use tests::{ilinst, require, said, scratch};
use verify::{Library, Scope};

use crate::{
    PEDANTIC,
    faults::{AROUND, assemble, assemble_text, judge_types, of_f, parse},
    read,
};

/// Internal members are accessible to friends, and to assemblies that runtimes exempt from the check.
#[test]
#[ignore = "needs Mono"]
fn friends_use_what_is_an_assemblys_own() {
    let (Some(ilasm), Some(mono)) = (require("ILINST_ILASM"), require("ILINST_MONO_LIB")) else { return };
    let mscorlib = read(&mono.join("4.5/mscorlib.dll"));
    let ignoring = ".assembly Faulty { .custom instance void System.Runtime.CompilerServices.IgnoresAccessChecksToAttribute::.ctor(string) \
        = (01 00 08 6D 73 63 6F 72 6C 69 62 00 00) }
        .class System.Runtime.CompilerServices.IgnoresAccessChecksToAttribute extends [mscorlib]System.Attribute {
          .method public specialname rtspecialname instance void .ctor(string a) cil managed { ldarg.0 call instance void [mscorlib]System.Attribute::.ctor() ret }
        }";
    for (assembly, is_found) in [(".assembly Faulty { }", true), (".assembly System.Core { }", false), (ignoring, false)] {
        let around = AROUND.replace(".assembly Faulty { }", assembly);
        let bytes = assemble(
            &ilasm,
            "verify-friends",
            &around,
            "void F()",
            "call valuetype [mscorlib]System.PlatformID [mscorlib]System.Environment::get_Platform() pop ret",
        );
        assert_eq!(judge_types(&bytes, &mscorlib).contains("I.8.5.3.2-a"), is_found, "{assembly}");
    }
}

/// A friend must have the key it is named with. Compiler-controlled members are not accessible to friends (II.23.1.10).
#[test]
#[ignore = "needs Mono"]
fn friends_have_the_key_that_they_are_named_with() {
    let (Some(ilasm), Some(mono)) = (require("ILINST_ILASM"), require("ILINST_MONO_LIB")) else { return };
    let mscorlib = read(&mono.join("4.5/mscorlib.dll"));
    let with_key = ".assembly Faulty { .publickey = (00 AB 01) }";
    let cases = [
        ("Faulty", with_key, "Own", false),
        ("faulty, PublicKey=00ab01", with_key, "Own", false),
        ("Faulty, PublicKey=00ab02", with_key, "Own", true),
        ("Faulty, PublicKey=00ab02", ".assembly Faulty { }", "Own", false),
        ("Another, PublicKey=00ab01", with_key, "Own", true),
        ("Faulty", with_key, "Nameless", true),
    ];
    for (friend, assembly, method, is_found) in cases {
        let text: String = friend.bytes().map(|byte| format!("{byte:02X} ")).collect();
        let made = format!(
            ".assembly extern mscorlib {{ .ver 4:0:0:0 }} .module Made.dll
            .assembly Made {{
              .custom instance void [mscorlib]System.Runtime.CompilerServices.InternalsVisibleToAttribute::.ctor(string)
                = (01 00 {:02X} {text} 00 00)
            }}
            .class public auto ansi Made extends [mscorlib]System.Object {{
              .method assembly static void Own() cil managed {{ ret }}
              .method privatescope static void Nameless() cil managed {{ ret }}
            }}",
            friend.len()
        );
        let made = assemble_text(&ilasm, "verify-keys", &made);
        let around = AROUND.replace(".assembly Faulty { }", &format!("{assembly} .assembly extern Made {{ }}"));
        let user = assemble(&ilasm, "verify-keys", &around, "void F()", &format!("call void [Made]Made::{method}() ret"));
        let image = Image::parse(&user).expect("it is an assembly");
        let mut library = Library::new();
        let [module, made, system] = [&user, &made, &mscorlib].map(|bytes| library.add(parse(bytes)));
        [module, made].into_iter().for_each(|of| library.link(of, b"mscorlib", system));
        library.link(module, b"Made", made);
        let found = of_f(&verify::verify_types(&image, &PEDANTIC, Scope { library: &library, module }));
        assert_eq!(found.contains("I.8.5.3.2-a"), is_found, "{friend} {assembly} {method}: {found:?}");
    }
}

/// Types in another module of an assembly are looked up in the module's file, whether code names the module or the assembly.
#[test]
#[ignore = "needs Mono"]
fn types_of_other_modules_are_found() {
    let needed = (require("ILINST_ILASM"), require("ILINST_MCS"), require("ILINST_MONO_LIB"));
    let (Some(ilasm), Some(mcs), Some(mono)) = needed else { return };
    let folder = scratch("verify-modules");
    let compile = |source: &str, name: &str, arguments: &[&str]| {
        fs::write(folder.join("source.cs"), source).expect("it can be written");
        let command =
            Command::new(&mcs).current_dir(&folder).args(arguments).arg(format!("-out:{name}")).arg("source.cs").output();
        assert!(command.expect("mcs starts").status.success(), "{source}");
        read(&folder.join(name))
    };
    let other = compile("public class Base { } public class Other : Base { }", "other.netmodule", &["-target:module"]);
    let manifest = compile("class Own { }", "Whole.dll", &["-target:library", "-addmodule:other.netmodule"]);
    let mscorlib = read(&mono.join("4.5/mscorlib.dll"));
    let scopes = [
        ("[.module other.netmodule]", ".file other.netmodule .module extern other.netmodule"),
        ("[Whole]", ".assembly extern Whole { }"),
    ];
    for (scope, declared) in scopes {
        let around = AROUND.replace(".module Faulty.dll", &format!("{declared} .module Faulty.dll"));
        let take = format!("}} .method static void TakeBase(class {scope}Base a) cil managed {{ ret");
        for (given, is_found) in [("ldarg.0", false), ("ldstr \"\"", true)] {
            let body = format!("{given} call void C::TakeBase(class {scope}Base) ret {take}");
            let bytes = assemble(&ilasm, "verify-module", &around, &format!("void F(class {scope}Other)"), &body);
            let image = Image::parse(&bytes).expect("it is an assembly");
            let mut library = Library::new();
            let [module, whole, file, system] = [&bytes, &manifest, &other, &mscorlib].map(|bytes| library.add(parse(bytes)));
            [module, file].into_iter().for_each(|of| library.link(of, b"mscorlib", system));
            library.link(module, b"Whole", whole);
            [module, whole].into_iter().for_each(|of| library.link_file(of, b"other.netmodule", file));
            let found = of_f(&verify::verify_types(&image, &PEDANTIC, Scope { library: &library, module }));
            assert_eq!(found.contains("III.1.8.1.2-a"), is_found, "{scope} {given}: {found:?}");
        }
    }
    assert!(Library::files(&parse(&manifest)).contains(&b"other.netmodule"[..]));
}

/// A reference accepts an assembly of its own version or of a later one; others are not searched.
#[test]
#[ignore = "needs Mono"]
fn references_ask_for_a_version() {
    let (Some(ilasm), Some(mono)) = (require("ILINST_ILASM"), require("ILINST_MONO_LIB")) else { return };
    let folder = scratch("verify-versions");
    let declared = ".assembly extern Made { .ver 2:0:0:0 } .module Faulty.dll";
    let around = AROUND.replace(".module Faulty.dll", declared);
    let user =
        assemble(&ilasm, "verify-version", &around, "void F()", "ldstr \"\" call void [Made]Made::Take(class [Made]Made) ret");
    for (version, is_found) in [("1:9:9:9", false), ("2:0:0:0", true), ("2:0:0:1", true)] {
        let made = format!(
            ".assembly extern mscorlib {{ .ver 4:0:0:0 }} .assembly Made {{ .ver {version} }} .module Made.dll
            .class public auto ansi Made extends [mscorlib]System.Object {{
              .method public static void Take(class Made a) cil managed {{ ret }}
            }}"
        );
        let made = assemble_text(&ilasm, "verify-version", &made);
        fs::write(folder.join("Made.dll"), made).expect("it can be written");
        fs::write(folder.join("user.dll"), &user).expect("it can be written");
        let mut command = ilinst();
        command.args(["verify", "--types", "--ref"]).arg(mono.join("4.5")).arg(folder.join("user.dll"));
        let (text, _, _) = said(&command.output().expect("ilinst runs"));
        assert_eq!(text.contains("III.1.8.1.2-a"), is_found, "{version}: {text}");
    }
}
