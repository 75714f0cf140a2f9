//! Properties that an instrumented assembly keeps: its strong name, its modules, its role among other assemblies.

mod dangling;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use little_endian::{ByteOrder, LE};

use ecma335::{
    Image, Metadata, Rid, Table, Token,
    schema::{AssemblyRef, CustomAttribute, MemberRef, MethodDef, StandAloneSig, TypeRef},
};
use tests::{Runtime, ilinst, instrument, profile_in, require, root, said, sample, scratch};
use weave::{Options, Tracker, Weave, Woven};

/// Returns a tool that comes with Mono.
fn mono_tool(name: &str) -> Option<PathBuf> {
    require("ILINST_MONO").map(|mono| mono.with_file_name(name))
}

/// Runs a tool in a folder; it must succeed.
fn run(program: &Path, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().expect("it starts");
    let (out, errors, code) = said(&output);
    assert_eq!(code, Some(0), "{} {arguments:?}: {out}{errors}", program.display());
    out
}

/// Returns the result of `sn -v` for an assembly.
fn strong_name(sn: &Path, file: &str, folder: &Path) -> &'static str {
    let output = Command::new(sn).args(["-v", file]).current_dir(folder).output().expect("it starts");
    let said = said(&output).0;
    let known = ["is strongnamed", "is delay-signed but not strongnamed", "is not strongnamed"];
    known.into_iter().find(|words| said.contains(words)).unwrap_or_else(|| panic!("{file}: {said}"))
}

#[test]
#[ignore = "needs Mono"]
fn strong_names_are_signed_again_or_said_to_be_gone() {
    let (Some(sn), Some(mcs)) = (mono_tool("sn"), require("ILINST_MCS")) else { return };
    let folder = scratch("strong-names");
    fs::write(
        folder.join("lib.cs"),
        "public class Lib { public static int Sum(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; } }",
    )
    .expect("it can be");
    run(&sn, &["-q", "-k", "key.snk"], &folder);
    run(&sn, &["-q", "-p", "key.snk", "public.snk"], &folder);
    run(&mcs, &["-t:library", "-keyfile:key.snk", "-out:signed.dll", "lib.cs"], &folder);
    run(&mcs, &["-t:library", "-keyfile:public.snk", "-delaysign+", "-out:delayed.dll", "lib.cs"], &folder);
    let weave = |input: &str, output: &str, options: &[&str]| {
        let (input, output) = (folder.join(input), folder.join(output));
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&input, &"-o", &output, &"-q"];
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        instrument(&arguments);
    };
    let key = folder.join("key.snk").to_string_lossy().into_owned();
    for layout in [&[][..], &["--keep-layout"]] {
        let with_key = [&["--snk", &key], layout].concat();
        weave("signed.dll", "again.dll", &with_key);
        assert_eq!(strong_name(&sn, "again.dll", &folder), "is strongnamed");
        weave("delayed.dll", "completed.dll", &with_key);
        assert_eq!(strong_name(&sn, "completed.dll", &folder), "is strongnamed");
        for input in ["signed.dll", "delayed.dll"] {
            weave(input, "open.dll", layout);
            assert_eq!(strong_name(&sn, "open.dll", &folder), "is delay-signed but not strongnamed");
            // The space for a signature is still there.
            run(&sn, &["-q", "-R", "open.dll", "key.snk"], &folder);
            assert_eq!(strong_name(&sn, "open.dll", &folder), "is strongnamed");
        }
    }
}

/// The assembly of a key may have no method to instrument. A key without any assembly is an error.
#[test]
#[ignore = "needs Mono"]
fn a_key_is_of_an_assembly_that_is_to_be_woven() {
    let (Some(sn), Some(mcs)) = (mono_tool("sn"), require("ILINST_MCS")) else { return };
    let folder = scratch("keys");
    fs::write(folder.join("lib.cs"), "public class Lib { public int Number { get; set; } }").expect("it can be written");
    run(&sn, &["-q", "-k", "own.snk"], &folder);
    run(&sn, &["-q", "-k", "other.snk"], &folder);
    run(&mcs, &["-t:library", "-keyfile:own.snk", "-out:lib.dll", "lib.cs"], &folder);
    let weave = |key: &str, options: &[&str]| {
        let mut command = ilinst();
        command.args(["instrument", "lib.dll", "-o", "out/lib.dll", "-q", "--snk", key]).args(options);
        said(&command.current_dir(&folder).output().expect("ilinst runs"))
    };
    for options in [&[][..], &["--all"]] {
        assert_eq!(weave("own.snk", options), (String::new(), String::new(), Some(0)));
        assert_eq!(strong_name(&sn, "out/lib.dll", &folder), "is strongnamed", "{options:?}");
        fs::remove_dir_all(folder.join("out")).expect("it can be removed");
        let (_, error, code) = weave("other.snk", options);
        assert!(error.contains("--snk: no instrumented assembly has the public key") && code == Some(2), "{error}");
        assert!(!folder.join("out").exists(), "nothing is left behind");
    }
}

#[test]
#[ignore = "needs Mono"]
fn the_manifest_of_several_modules_holds_their_new_hashes() {
    let (Some(mono), Some(mcs)) = (require("ILINST_MONO"), require("ILINST_MCS")) else { return };
    let folder = scratch("modules");
    fs::write(folder.join("part.cs"), "public class Part { public static int Twice(int n) { return n * 2; } }")
        .expect("it can be");
    let main = "class Program { static int Main() { System.Console.WriteLine(Part.Twice(21)); return 6; } }";
    fs::write(folder.join("main.cs"), main).expect("it can be written");
    run(&mcs, &["-t:module", "part.cs"], &folder);
    run(&mcs, &["-addmodule:part.netmodule", "-out:main.exe", "main.cs"], &folder);
    instrument(&[&folder.join("main.exe"), &folder.join("part.netmodule"), &"-o", &folder.join("woven/"), &"--all", &"-q"]);
    let part = fs::read(folder.join("woven/part.netmodule")).expect("it is there");
    let hash: [u8; 20] = sha1::Digest::finalize(<sha1::Sha1 as sha1::Digest>::new_with_prefix(&part)).into();
    let main = fs::read(folder.join("woven/main.exe")).expect("it is there");
    assert!(main.windows(20).any(|window| window == hash), "the manifest does not hold the module's hash");
    let output = Command::new(&mono).arg("woven/main.exe").current_dir(&folder).output().expect("it starts");
    assert_eq!(said(&output), ("42\n".into(), String::new(), Some(6)));
    let profile = profile_in(&folder);
    let rows = profile.rows(profile::rows::SortBy::Name);
    let calls = |name: &str| rows.iter().find(|row| row.raw_name.as_deref() == Some(name)).map(|row| row.calls);
    assert_eq!((calls("Program::Main"), calls("Part::Twice")), (Some(1), Some(1)));
    // Instrumenting the assembly with the manifest alone copies its module.
    instrument(&[&folder.join("main.exe"), &"-o", &folder.join("alone/"), &"-q"]);
    assert_eq!(fs::read(folder.join("alone/part.netmodule")).ok(), fs::read(folder.join("part.netmodule")).ok());
    let output = Command::new(mono).arg("alone/main.exe").current_dir(&folder).output().expect("it starts");
    assert_eq!(said(&output), ("42\n".into(), String::new(), Some(6)));
}

/// Creates the native host that starts a program, as the SDK does: the program's name replaces a hash in its template.
fn make_host(path: &Path, program: &str) -> bool {
    const PLACE: &[u8; 64] = b"c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2";
    let Some(sdk) = require("ILINST_SDK") else { return false };
    fs::copy(sdk.join("AppHostTemplate/apphost"), path).expect("it can be copied");
    let mut host = fs::read(path).expect("it can be read");
    let at = host.windows(PLACE.len()).position(|window| window == PLACE).expect("the template has a place for the name");
    host[at..at + PLACE.len()].fill(0);
    host[at..at + program.len()].copy_from_slice(program.as_bytes());
    fs::write(path, host).expect("it can be written");
    // The SDK stores the template without the permission to execute.
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it can be");
    true
}

/// A program of three assemblies, instrumented as a folder, runs by its original command. One is strong-named, and one is in a
/// folder of its own with a satellite.
#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn an_application_runs_woven_from_its_folder() {
    let (Some(sn), Some(mcs), Some(al)) = (mono_tool("sn"), require("ILINST_MCS"), mono_tool("al")) else { return };
    let folder = scratch("application");
    let app = folder.join("app");
    fs::create_dir_all(app.join("de")).expect("a folder can be made");
    for entry in fs::read_dir(root().join("tests/fidelity/application")).expect("it is there").flatten() {
        fs::copy(entry.path(), folder.join(entry.file_name())).expect("it can be copied");
    }
    run(&sn, &["-q", "-k", "key.snk"], &folder);
    run(&mcs, &["-t:library", "-keyfile:key.snk", "-out:app/Signed.dll", "Signed.cs"], &folder);
    run(&mcs, &["-t:library", "-r:app/Signed.dll", "-out:app/Plain.dll", "Plain.cs"], &folder);
    run(&mcs, &["-r:app/Plain.dll", "-r:app/Signed.dll", "-out:app/app.exe", "App.cs"], &folder);
    run(&al, &["-embed:words.txt", "-culture:de", "-out:app/de/app.resources.dll"], &folder);
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), app.join("app.runtimeconfig.json")).expect("it can be copied");
    fs::copy(folder.join("app.deps.json"), app.join("app.deps.json")).expect("it can be copied");
    let has_host = make_host(&app.join("app"), "app.exe");
    // A library is instrumented in its place: the program's `deps.json` must name the tracker.
    let placed = folder.join("placed");
    for file in ["app.exe", "Plain.dll", "Signed.dll", "de/app.resources.dll", "app.runtimeconfig.json", "app.deps.json"] {
        let to = placed.join(file);
        fs::create_dir_all(to.parent().expect("it has one")).expect("a folder can be made");
        fs::copy(app.join(file), to).expect("it can be copied");
    }
    instrument(&[&placed.join("Plain.dll"), &"--in-place", &"--all", &"-q"]);
    for runtime in Runtime::all() {
        let work = scratch(&format!("application-placed-{}", runtime.name.replace(' ', "-")));
        let start = |folder: &Path| said(&runtime.program(&folder.join("app.exe"), &work).output().expect("the runtime starts"));
        assert_eq!(start(&app), start(&placed), "{}", runtime.name);
        assert_eq!(profile_in(&work).rows(profile::rows::SortBy::Name).len(), 1);
    }
    for (mode, signed) in [("finally", true), ("return", false)] {
        let woven = folder.join(format!("woven-{mode}"));
        let key = folder.join("key.snk");
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&app, &"-o", &woven, &"--leave", &mode, &"--all", &"-q"];
        if signed {
            arguments.extend([&"--snk" as &dyn AsRef<std::ffi::OsStr>, &key]);
        }
        instrument(&arguments);
        assert_eq!(strong_name(&sn, "Signed.dll", &woven) == "is strongnamed", signed);
        assert_eq!(fs::read(app.join("de/app.resources.dll")).ok(), fs::read(woven.join("de/app.resources.dll")).ok());
        for runtime in Runtime::all() {
            println!("application on {} by {mode}", runtime.name);
            let work = scratch(&format!("application-{mode}-{}", runtime.name.replace(' ', "-")));
            let start = |program: &Path| said(&runtime.program(program, &work).output().expect("the runtime starts"));
            let before = start(&app.join("app.exe"));
            assert_eq!(before.2, Some(9), "{before:?}");
            assert_eq!(before, start(&woven.join("app.exe")));
            let profile = profile_in(&work);
            if has_host && !runtime.is_mono() {
                println!("the same by its own host");
                let work = scratch(&format!("application-host-{mode}-{}", runtime.name.replace(' ', "-")));
                let by_host = |host: &Path| said(&runtime.host(host, &work).output().expect("the host starts"));
                assert_eq!(by_host(&app.join("app")), before);
                assert_eq!(by_host(&woven.join("app")), before);
                assert_eq!(profile_in(&work).rows(profile::rows::SortBy::Name).len(), 3);
            }
            let rows = profile.rows(profile::rows::SortBy::Name);
            for (name, calls) in [("App::Main", 1), ("Plain::Sum", 1), ("Signed::Square", 3)] {
                let row = rows.iter().find(|row| row.raw_name.as_deref() == Some(name));
                assert_eq!(row.map(|row| row.calls), Some(calls), "{name} on {}", runtime.name);
            }
        }
    }
}

/// Returns a sample and the tracker.
fn orders() -> (Image<'static>, Metadata<'static>, Tracker) {
    let bytes = fs::read(sample("orders").join("orders.exe")).expect("it is committed");
    let image = Image::parse(bytes.leak()).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    (image, metadata, the_tracker())
}

fn the_tracker() -> Tracker {
    let tracker = fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is committed");
    Tracker::read(&tracker).expect("it is an assembly")
}

fn weave<'a>(image: &Image<'a>, metadata: &Metadata<'a>, tracker: &Tracker, keep_layout: bool) -> Result<Woven<'a>, String> {
    let options = Options { keep_layout, ..Options::default() };
    weave::weave(image, metadata, &Weave { options: &options, ..Weave::new(tracker) }).map_err(|error| error.to_string())
}

/// The output check: a file that differs from the instrumented module is a fault, reported with the method.
#[test]
fn a_fault_in_what_was_written_is_caught_and_names_the_method() {
    let (image, metadata, tracker) = orders();
    let weave = || weave(&image, &metadata, &tracker, false).expect("it can be woven");
    let mut woven = weave();
    let file = woven.file.to_vec();
    let check = |file: &[u8], woven: &Woven<'_>| weave::output_check::check(file, woven, (&image, &metadata));
    assert_eq!(check(&file, &woven), Ok(()));

    for at in [0, 400, file.len() / 2, file.len() - 1] {
        let mut damaged = file.clone();
        damaged[at] ^= 1;
        assert!(check(&damaged, &woven).is_err(), "byte {at}");
    }
    assert!(check(&file[..file.len() - 1], &woven).is_err());
    assert!(check(&[&file[..], &[0]].concat(), &woven).is_err());
    // The row points to another place than the checked body.
    let (method, place) = woven.bodies[7].clone();
    woven.bodies[7].1 = place.start + 4..place.end;
    assert_eq!(check(&file, &woven).map_err(|fault| fault.method), Err(Some(method)));
    // A body that was to be skipped is changed.
    let mut woven = weave();
    let (method, _) = woven.bodies.remove(7);
    assert_eq!(check(&file, &woven).map_err(|fault| fault.method), Err(Some(method)));
}

/// A method of a damaged file may point anywhere in it. The output check reports no fault for it, instrumented or skipped.
#[test]
fn a_row_that_leads_anywhere_is_no_fault() {
    let (image, metadata, tracker) = orders();
    let rows = metadata.tables.bytes(Table::MethodDef);
    let size = rows.len() / metadata.tables.count(Table::MethodDef) as usize;
    let at = rows.as_ptr() as usize - image.bytes().as_ptr() as usize + 20 * size;
    let end = image.sections().last().map_or(0, |section| section.virtual_address.0 + section.raw_size);
    let (mut woven, mut rest) = (0, 0);
    for rva in (1..image.size_of_headers()).chain((1..end).step_by(92)) {
        let mut bytes = image.bytes().to_vec();
        LE::write_u32(&mut bytes[at..], rva);
        let Ok(damaged) = Image::parse(&bytes) else { continue };
        let metadata = Metadata::parse(damaged.metadata().expect("it is where it was")).expect("it can be read");
        for keep_layout in [false, true] {
            let made = self::weave(&damaged, &metadata, &tracker, keep_layout);
            let Ok(made) = made else {
                rest += 1;
                continue;
            };
            woven += 1;
            let found = weave::output_check::check(&made.file.to_vec(), &made, (&damaged, &metadata));
            assert_eq!(found, Ok(()), "{rva:#x}, layout kept: {keep_layout}");
        }
    }
    assert!(woven > 100, "{woven} were woven, {rest} were not");
}

/// The output check: rows and heap items added against the rules are a fault.
#[test]
fn a_fault_in_what_was_added_is_caught() {
    let (image, metadata, tracker) = orders();
    let weave = || weave(&image, &metadata, &tracker, false).expect("it can be woven");
    let file = weave().file.to_vec();
    let woven_image = Image::parse(&file).expect("it is an assembly");
    let woven_metadata = Metadata::parse(woven_image.metadata().expect("it has metadata")).expect("it can be read");
    let tables = &woven_metadata.tables;
    // Added rows follow the input's own, except the mark.
    let added = |table: Table, place: u32| metadata.tables.count(table) + 1 + place;
    let assembly = Rid::<AssemblyRef>::new(added(Table::AssemblyRef, 0));
    let mark_type = Rid::<TypeRef>::new(added(Table::TypeRef, 1));
    let [entering, leaving] = [0, 1].map(|place| Rid::<MemberRef>::new(added(Table::MemberRef, place)));
    let is_mark =
        |row: &CustomAttribute| woven_metadata.attribute_type_name(row).is_some_and(|name| name == "Ilinst.WovenAttribute");
    let (mark, _) = tables.rows::<CustomAttribute>().find(|(_, row)| is_mark(row)).expect("it is woven");
    let signature = tables.count(Table::StandAloneSig);
    let used_by = |rid: u32| {
        let token = (Token::new(Table::StandAloneSig, rid).0).to_le_bytes();
        weave().bodies.into_iter().find(|(_, place)| file[place.start + 8..place.start + 12] == token).map(|(method, _)| method)
    };
    let blob = woven_metadata.row(Rid::<StandAloneSig>::new(signature)).expect("it is there").signature;
    let blob = woven_metadata.blobs.blob(blob).expect("it is there").offset();
    let body = weave().bodies[7].clone();
    // The fault, the offset of the byte that causes it, and the method to be named.
    let faults = [
        ("the tracker's version", tables.offset(assembly).0, None),
        ("the name of what the probes call", tables.offset(entering).0 + 2, None),
        ("the class of what the probes call", tables.offset(leaving).0, None),
        ("the name of the mark's type", tables.offset(mark_type).0 + 2, None),
        ("what the mark is on", tables.offset(mark).0, None),
        ("the attribute before the mark", tables.offset(Rid::<CustomAttribute>::new(mark.get() - 1)).0 + 4, None),
        ("the attribute behind the mark", tables.offset(Rid::<CustomAttribute>::new(mark.get() + 1)).0 + 4, None),
        ("a name of the input", woven_metadata.strings.offset.0 + 20, None),
        ("a blob of the input", woven_metadata.blobs.offset.0 + 20, None),
        ("a row of the input", tables.offset(Rid::<TypeRef>::new(3)).0 + 2, None),
        ("the kind of a signature", blob.0, used_by(signature)),
        ("how many locals a signature has", blob.0 + 1, used_by(signature)),
        ("where a signature is", tables.offset(Rid::<StandAloneSig>::new(signature)).0 + 1, used_by(signature)),
        ("the table that a body's locals are in", (body.1.start + 11) as u64, Some(body.0)),
        ("the row that a body's locals are in", (body.1.start + 10) as u64, Some(body.0)),
    ];
    let check = |what: &str, woven: &Woven<'_>, method: Option<Rid<MethodDef>>| {
        let found = weave::output_check::check(&woven.file.to_vec(), woven, (&image, &metadata));
        println!("{what}: {}", found.as_ref().err().map_or("nothing", |fault| &fault.what));
        let fault = found.expect_err(what);
        assert!(method.is_none() || fault.method == method, "{what}: {fault:?}");
    };
    for (what, place, method) in faults {
        let mut woven = weave();
        let place = usize::try_from(place).expect("it is in the file");
        woven.file.patch(place, &[file[place] ^ 0x40]);
        check(what, &woven, method);
    }
    // The mark is moved behind all other attributes, which must be sorted.
    let mut attributes = tables.bytes(Table::CustomAttribute).to_vec();
    let size = tables.widths().row_size(Table::CustomAttribute);
    attributes[(mark.get() as usize - 1) * size..].rotate_left(size);
    let mut woven = weave();
    woven.file.patch(tables.offset(Rid::<CustomAttribute>::new(1)).0 as usize, &attributes);
    check("where the mark is", &woven, None);
}

/// Damaged files are refused, or pass the output check once instrumented; the tool never panics.
#[test]
fn random_damage_is_refused_or_woven() {
    const ROUNDS: usize = 3000;
    let tracker = the_tracker();
    let files = [("orders", "orders.exe"), ("traces", "embedded.exe"), ("modern", "modern.dll"), ("odd", "odd.exe")];
    let (mut woven_files, mut refused) = (0, 0);
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    // Xorshift: the same damage in every run.
    let mut random = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % limit
    };
    for (name, file) in files {
        let original = fs::read(sample(name).join(file)).expect("it is committed");
        for _ in 0..ROUNDS {
            let mut bytes = original.clone();
            for _ in 0..1 + random(3) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
            if random(10) == 0 {
                bytes.truncate(random(bytes.len()));
            }
            match weave_and_check(&bytes, &tracker, random(2) == 0) {
                Ok(()) => woven_files += 1,
                Err(_) => refused += 1,
            }
        }
    }
    println!("{woven_files} woven, {refused} refused");
    assert!(woven_files > ROUNDS && refused > ROUNDS / 4);
}

/// Instruments a file, and runs the output check; an error means that the file was refused.
fn weave_and_check(bytes: &[u8], tracker: &Tracker, keep_layout: bool) -> Result<(), String> {
    let text = |error: ecma335::Error| error.to_string();
    let image = Image::parse(bytes).map_err(text)?;
    let metadata = Metadata::parse(image.metadata().map_err(text)?).map_err(text)?;
    if let Some(refusal) = weave::refusal::for_file(&image, &metadata, tracker) {
        return Err(refusal.to_string());
    }
    let woven = weave(&image, &metadata, tracker, keep_layout)?;
    let checked = weave::output_check::check(&woven.file.to_vec(), &woven, (&image, &metadata));
    assert_eq!(checked, Ok(()), "the output check found a fault");
    Ok(())
}
