//! Crafted files, which no compiler produces: unreadable parts in two compared files, and resources with names that no file can
//! have.

use std::fs;

use ecma335::{
    Image, ImageWriter, Metadata, MetadataBuilder, Rid, Segments, Table,
    image::Directory,
    schema::{Blob, Field, Implementation, ManifestResource, TypeDef, TypeDefOrRef},
};
use tests::{ilinst, said, sample, scratch, set_cell};

/// The bytes of the largest #US heap whose literals all have tokens.
const MOST_USER_STRINGS: usize = 1 << 24;

/// Returns the sample `hello` with additions, with the original layout or a new one.
fn crafted(keep_layout: bool, resources: &[u8], add: impl FnOnce(&Metadata<'_>, &mut MetadataBuilder<'_, '_>)) -> Vec<u8> {
    let file = fs::read(sample("hello").join("hello.exe")).expect("the sample is there");
    let image = Image::parse(&file).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it is managed")).expect("it can be read");
    let mut builder = MetadataBuilder::new(&metadata);
    add(&metadata, &mut builder);
    let mut writer = ImageWriter::new(&image, &metadata, keep_layout);
    let mut code = Segments::default();
    if !resources.is_empty() {
        let rva = writer.code_rva().expect("room");
        writer.cli_header_mut().resources = Directory { rva, size: resources.len() as u32 };
        code.push(resources.to_vec());
    }
    writer.finish(code, builder).expect("it can be written").into_segments().to_vec()
}

/// Equal damage at different places is no difference.
#[test]
fn damage_is_compared_without_its_place() {
    let folder = scratch("cli-damage");
    let damaged = |keep_layout| {
        crafted(keep_layout, &[], |metadata, builder| {
            let next = |table| metadata.tables.count(table) + 1;
            let name = builder.string("Damaged").expect("room");
            let (field_list, method_list) = (Rid::new(next(Table::Field)), Rid::new(next(Table::MethodDef)));
            let row = TypeDef { flags: 0, name, namespace: name, extends: TypeDefOrRef::default(), field_list, method_list };
            builder.add(&row).expect("room");
            builder.add(&Field { flags: 0x16, name, signature: Blob(0xFFFF) }).expect("room");
        })
    };
    let (one, other) = (folder.join("one.exe"), folder.join("other.exe"));
    fs::write(&one, damaged(true)).expect("it can be written");
    fs::write(&other, damaged(false)).expect("it can be written");
    let text = said(&ilinst().arg("dis").arg(&one).output().expect("ilinst runs")).0;
    assert!(text.contains("beyond the end of its heap (file offset 0x"), "{text}");
    let (out, errors, code) = said(&ilinst().arg("diff").args([&one, &other]).output().expect("ilinst runs"));
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{out}");
}

/// A resource that cannot become a file is skipped with the reason; the others are written.
#[test]
fn odd_resources_are_left_out_alone() {
    let folder = scratch("cli-resources");
    let odd = [
        ("a/b", "no file can have this name"),
        ("..", "no file can have this name"),
        ("tab\there", "no file can have this name"),
        ("turned\u{202e}", "no file can have this name"),
        ("NUL.txt", "no file can have this name"),
        ("c:\\x", "no file can have this name"),
        ("out.il", "another file has this name"),
        ("INPUT.exe", "another file has this name"),
        ("Plain.txt", "another file has this name"),
    ];
    let long = "x".repeat(300);
    let all = ["plain.txt"].into_iter().chain(odd.map(|(name, _)| name)).chain([long.as_str(), "behind.bin"]);
    let input = folder.join("input.exe");
    let file = crafted(true, b"\x04\0\0\0data", |_, builder| {
        for name in all {
            let name = builder.string(name).expect("room");
            let row = ManifestResource { offset: 0, flags: 1, name, implementation: Implementation::default() };
            builder.add(&row).expect("room");
        }
        let name = builder.string("cut").expect("room");
        builder
            .add(&ManifestResource { offset: 0xFFFF_FF00, flags: 1, name, implementation: Implementation::default() })
            .expect("room");
    });
    fs::write(&input, file).expect("it can be written");
    let (out, errors, code) =
        said(&ilinst().args(["dis", "-o"]).args([folder.join("out.il"), input]).output().expect("ilinst runs"));
    assert_eq!((out.as_str(), code), ("", Some(0)), "{errors}");
    assert_eq!(errors.lines().count(), odd.len() + 2, "{errors}");
    let text = fs::read_to_string(folder.join("out.il")).expect("it was written");
    for (name, why) in odd {
        let shown = names::Visible(name).to_string();
        assert!(errors.contains(&format!("resource {shown} left out: {why}")), "{name}: {errors}");
    }
    assert_eq!(text.matches("\n.mresource ").count(), 2, "{text}");
    assert_eq!(text.matches("// .mresource ").count(), odd.len() + 2, "{text}");
    for name in ["plain.txt", "behind.bin"] {
        assert_eq!(fs::read(folder.join(name)).expect("it was written"), b"data");
    }
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 4, "input, text and two resources");
}

/// Damage in an instrumented assembly is an error of the input, not of the output.
#[test]
fn a_mark_without_its_tracker_is_refused() {
    let folder = scratch("cli-damaged-mark");
    let (woven, damaged, output) = (folder.join("woven.exe"), folder.join("damaged.exe"), folder.join("out.exe"));
    let instrument = |input: &std::path::Path, output: &std::path::Path| {
        said(&ilinst().arg("instrument").arg(input).arg("-o").arg(output).output().expect("ilinst runs"))
    };
    assert_eq!(instrument(&sample("hello").join("hello.exe"), &woven).2, Some(0));
    let mut bytes = fs::read(&woven).expect("it was written");
    let name = b"Ilinst.Tracker\0";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("its reference");
    bytes[at] ^= 1;
    fs::write(&damaged, bytes).expect("it can be written");
    let (_, errors, code) = instrument(&damaged, &output);
    assert!(code == Some(3) && errors.contains("ILI0012"), "{errors}");
    assert!(errors.contains("does not refer to the tracker") && errors.contains("instrument the original"), "{errors}");
    assert!(!output.exists());
}

/// Preset `coverage` passes the name of each method, and the file's string literals leave no room for those.
#[test]
fn an_assembly_that_passes_a_limit_does_not_keep_others_from_being_instrumented() {
    let folder = scratch("cli-limit");
    let [input, output] = ["in", "out"].map(|name| folder.join(name));
    fs::create_dir(&input).expect("it can be made");
    let full = crafted(false, &[], |_, builder| {
        builder.user_string(&"x".repeat((MOST_USER_STRINGS - 16) / 2)).expect("room");
    });
    fs::write(input.join("full.exe"), &full).expect("it can be written");
    fs::copy(sample("hello").join("hello.exe"), input.join("hello.exe")).expect("it can be copied");
    let instrument = |from: &std::path::Path, to: &std::path::Path| {
        said(&ilinst().args(["instrument", "--preset=coverage", "--json"]).arg(from).arg("-o").arg(to).output().expect("it runs"))
    };
    let (summary, errors, code) = instrument(&input, &output);
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        summary.contains(r#""status": "limit""#) && summary.contains("#US heap") && summary.contains("--include"),
        "{summary}"
    );
    assert!(fs::read(output.join("full.exe")).expect("it is there") == full, "it is what it was");
    let hello = ilinst().arg("list").arg("--json").arg(output.join("hello.exe")).output().expect("it runs");
    assert!(!said(&hello).0.contains(r#""woven": null"#), "{hello:?}");

    let (_, errors, code) = instrument(&input.join("full.exe"), &folder.join("named.exe"));
    assert!(code == Some(3) && errors.contains("ILI0012") && errors.contains("#US heap"), "{errors}");
    assert!(!folder.join("named.exe").exists());
}

/// A list of members that begins behind the end of its table leaves no place for the type that holds the counters.
#[test]
fn lines_that_cannot_be_counted_are_reported() {
    let folder = scratch("cli-no-place");
    let original = sample("orders").join("orders.exe");
    let bytes = fs::read(&original).expect("the sample is there");
    let image = Image::parse(&bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it is managed")).expect("it can be read");
    let [types, fields] = [Table::TypeDef, Table::Field].map(|table| metadata.tables.count(table));
    let crafted = folder.join("orders.exe");
    fs::write(&crafted, set_cell(&bytes, Table::TypeDef, types, "field_list", fields + 2)).expect("it can be written");
    fs::copy(original.with_extension("pdb"), crafted.with_extension("pdb")).expect("the sample is there");
    let output = ilinst().arg("instrument").arg(&crafted).arg("-o").arg(folder.join("out/")).arg("--lines").output();
    let (text, errors, code) = said(&output.expect("ilinst runs"));
    let note = "note ILI0035: its lines are not counted: its metadata has no place for counters";
    assert!(code == Some(0) && text.contains(note), "{text}{errors}");
}
