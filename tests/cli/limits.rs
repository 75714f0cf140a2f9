//! Small files whose numbers claim large contents: the tool stays within limits of memory and time.

use std::{
    fs::{self, File},
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
    process::Command,
};

use little_endian::{ByteOrder, LE};

use ecma335::{
    FileOffset, Image, ImageWriter, Metadata, MetadataBuilder, MethodBody, Rid, Segments, Table, Token, debug::kind,
    image::DirectoryKind, schema::MethodDef,
};
use flate2::{Compression, write::DeflateEncoder};
use tests::{ilinst, said, sample, scratch};

/// The limit of address space in KiB. Each thread reserves 200 MB for its stack and heap alone.
const MEMORY: &str = "-v 900000";
/// The limit of CPU time in seconds: a hundred times the normal time, but less than the claimed contents would take.
const TIME: &str = "-t 4";

/// Runs the tool within a limit.
fn limited(limit: &str, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> (String, String, Option<i32>) {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit {limit}; exec \"$0\" \"$@\"")).arg(ilinst().get_program());
    said(&command.args(arguments.iter().map(AsRef::as_ref)).output().expect("a shell starts"))
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("the sample is there")
}

fn put(bytes: &mut [u8], at: usize, number: usize) {
    LE::write_u32(&mut bytes[at..], u32::try_from(number).expect("it fits"));
}

#[test]
fn gaps_between_sections_are_no_larger_than_loaders_want_them() {
    let folder = scratch("cli-limits-alignment");
    let (input, output) = (folder.join("in.exe"), folder.join("out/in.exe"));
    // Its headers have room for one more section.
    let mut bytes = read(&sample("shapes").join("shapes.exe"));
    let optional = bytes[0x3C] as usize + 24;
    put(&mut bytes, optional + 36, 0x7000_0000);
    fs::write(&input, bytes).expect("it can be written");
    let (_, errors, code) = limited(MEMORY, &[&"instrument", &"--keep-layout", &input, &"-o", &output]);
    assert!(errors.contains("the file alignment is no power of two up to 64 KiB (file offset 0xbc)"), "{errors}");
    assert_eq!((code, output.exists()), (Some(3), false));
    let (listing, _, code) = limited(MEMORY, &[&"list", &input]);
    assert!(code == Some(0) && listing.ends_with(" to be instrumented\n"), "{listing}");
}

/// Returns `embedded.exe` with another deflated PDB, which claims this size.
fn with_pdb(stated: usize, deflated: &[u8]) -> Vec<u8> {
    let mut bytes = read(&sample("traces").join("embedded.exe"));
    let image = Image::parse(&bytes).expect("it is an assembly");
    let directory = image.directory(DirectoryKind::Debug);
    let start = image.offset_of(directory.rva).expect("it is in the file").0 as usize;
    let entries = (start..start + directory.size as usize).step_by(28);
    let is_embedded = |at: &usize| bytes[at + 12..at + 16] == kind::EMBEDDED_PORTABLE_PDB.to_le_bytes();
    let entry = entries.into_iter().find(is_embedded).expect("it carries one");
    let data = [&b"MPDB"[..], &u32::try_from(stated).expect("it fits").to_le_bytes(), deflated].concat();
    let end = bytes.len();
    put(&mut bytes, entry + 16, data.len());
    put(&mut bytes, entry + 24, end);
    bytes.extend(data);
    bytes
}

#[test]
fn an_embedded_pdb_is_inflated_to_the_size_that_it_states_if_it_can_have_it() {
    let folder = scratch("cli-limits-pdb");
    let (input, output) = (folder.join("in.exe"), folder.join("out/in.exe"));
    let zeros = vec![0; 1 << 20];
    let mut deflater = DeflateEncoder::new(Vec::new(), Compression::best());
    (0..1024).for_each(|_| deflater.write_all(&zeros).expect("there is room"));
    let gigabyte = deflater.finish().expect("there is room");
    for (stated, deflated, why) in [
        (1000, &gigabyte[..], "the metadata root does not start with BSJB"),
        (0xFFFF_FFFF, &gigabyte[..100_000], "states a size that it cannot have"),
        (1000, &[0xFF; 64], "cannot be decompressed"),
        (1000, &[3, 0], "shorter than it states"),
        (0, &gigabyte[..], "truncated"),
    ] {
        fs::write(&input, with_pdb(stated, deflated)).expect("it can be written");
        let (notes, errors, code) = limited(MEMORY, &[&"instrument", &input, &"-o", &output]);
        assert!(code == Some(0) && notes.contains("ILI0005") && notes.contains(why), "{stated}: {code:?}, {notes}{errors}");
    }
}

#[test]
fn listing_reads_no_more_of_a_file_than_its_headers_say_that_there_is() {
    let folder = scratch("cli-limits-sparse");
    let input = folder.join("sparse.exe");
    fs::copy(sample("hello").join("hello.exe"), &input).expect("it can be copied");
    let mut file = File::options().write(true).open(&input).expect("it can be opened");
    file.seek(SeekFrom::Start(3_900_000_000)).and_then(|_| file.write_all(&[0])).expect("a sparse file");
    let (listing, errors, code) = limited(TIME, &[&"list", &input]);
    fs::remove_file(&input).expect("it is there");
    assert!(code == Some(0) && listing.ends_with("19 methods, 15 to be instrumented\n"), "{code:?}, {errors}");
}

#[test]
fn a_body_that_thousands_share_does_not_become_thousands() {
    let folder = scratch("cli-limits-shared");
    let (input, output) = (folder.join("in.exe"), folder.join("out/in.exe"));
    let original = read(&sample("hello").join("hello.exe"));
    let image = Image::parse(&original).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let (mut il, writer, mut builder) =
        (vec![0; 200_000], ImageWriter::new(&image, &metadata, true), MetadataBuilder::new(&metadata));
    il.push(0x2A);
    let (name, signature) = (builder.string("Shared").expect("room"), builder.blob(&[0, 0, 1]).expect("room"));
    let param_list = Rid::new(metadata.tables.count(Table::Param) + 1);
    let rva = writer.code_rva().expect("there is room").0;
    for _ in 0..8000 {
        builder.add(&MethodDef { rva, impl_flags: 0, flags: 0x16, name, signature, param_list }).expect("room");
    }
    let body = MethodBody {
        is_tiny: false,
        max_stack: 8,
        init_locals: false,
        local_var_sig: Token::default(),
        il: &il,
        il_offset: FileOffset(0),
        clauses: Vec::new(),
    };
    let (mut bytes, mut code) = (Vec::new(), Segments::default());
    body.write_fat(&mut bytes);
    code.push(bytes);
    let file = writer.finish(code, builder).expect("it can be written").into_segments().to_vec();
    fs::write(&input, &file).expect("it can be written");
    let (notes, errors, code) = limited(MEMORY, &[&"instrument", &input, &"-o", &output]);
    let size = fs::metadata(&output).map_or(0, |output| output.len());
    assert!(code == Some(0) && size < 16 * file.len() as u64, "{code:?}, {size} bytes: {errors}");
    assert!(notes.contains("it shares its body with others"), "{notes}");
}

#[test]
fn response_files_that_name_each_other_end() {
    let folder = scratch("cli-limits-response");
    for number in 0..64 {
        let next = format!("@{}.rsp\n", number + 1);
        fs::write(folder.join(format!("{number}.rsp")), next.repeat(2)).expect("it can be written");
    }
    // Each file names the next one twice, and the last one is empty.
    fs::write(folder.join("64.rsp"), "").expect("it can be written");
    let (_, errors, code) = limited(TIME, &[&format!("@{}", folder.join("0.rsp").display())]);
    assert!(code == Some(2) && errors.contains("come to more than 1000: do they name each other?"), "{errors}");
    // A large file that is named often.
    fs::write(folder.join("large.rsp"), ("x".repeat(1023) + "\n").repeat(2048)).expect("it can be written");
    fs::write(folder.join("often.rsp"), "@large.rsp\n".repeat(900)).expect("it can be written");
    let (_, errors, code) = limited(TIME, &[&format!("@{}", folder.join("often.rsp").display())]);
    assert!(code == Some(2) && errors.contains("come to more than 16777216 bytes"), "{errors}");
}

/// An endless file is never read, whichever option names it.
#[test]
fn devices_are_no_files() {
    let hello = sample("hello").join("hello.exe");
    let endless = "/dev/zero";
    let cases: &[&[&str]] = &[
        &["@/dev/zero"],
        &["list", "--enter=/dev/zero!A::B"],
        &["list", "--preset=classic=/dev/zero"],
        &["list", "--config=/dev/zero"],
        &["list", "--only-hot=/dev/zero"],
        &["list", "--except-noise=/dev/zero"],
        &["instrument", "--snk=/dev/zero", "-o", "/nowhere/else"],
        &["view", endless],
        &["report", endless],
        &["diff", endless],
    ];
    for case in cases {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = Vec::new();
        for word in *case {
            arguments.push(word);
        }
        arguments.push(&hello);
        let arguments = if ["view", "report"].contains(&case[0]) { &arguments[..2] } else { &arguments[..] };
        let (_, errors, code) = limited(MEMORY, arguments);
        let is_refused = ["neither a regular file nor a pipe", "no regular file"].iter().any(|why| errors.contains(why));
        assert!(matches!(code, Some(2 | 3)) && is_refused && errors.contains(endless), "{case:?}: {code:?}, {errors}");
    }
}

/// A shell's `@<(COMMAND)` is a pipe.
#[test]
fn a_response_file_may_be_a_pipe() {
    let mut command = Command::new("sh");
    let hello = sample("hello").join("hello.exe");
    command.args(["-c", "printf '%s\\n' list \"$1\" | \"$0\" @/dev/stdin"]).arg(ilinst().get_program()).arg(hello);
    let (listing, errors, code) = said(&command.output().expect("a shell starts"));
    assert!(code == Some(0) && listing.contains("Main"), "{listing}{errors}");
}

/// Patterns and rules are compared only with names that they can match. Many patterns that match nothing change no result.
#[test]
fn many_patterns_name_what_few_do() {
    let folder = scratch("cli-limits-patterns");
    let input = sample("shapes").join("shapes.exe");
    let few = ["--all", "--include=Shapes*", "--exclude=*::get_*"].map(str::to_owned);
    let list = |many: usize| {
        let unused = (0..many).map(|number| format!("--exclude=Nobody.Type{number}::Run{number}"));
        let text: String = few.iter().cloned().chain(unused).map(|line| line + "\n").collect();
        let (options, output) = (folder.join("options.rsp"), folder.join("out.exe"));
        fs::write(&options, text).expect("it can be written");
        let arguments: [&dyn AsRef<std::ffi::OsStr>; 5] =
            [&"instrument", &input, &"-o", &output, &format!("@{}", options.display())];
        let (text, errors, code) = limited("-t 600", &arguments);
        assert_eq!(code, Some(0), "{errors}");
        let unused = text.matches("names nothing").count() + errors.matches("names nothing").count() - many;
        let manifest: serde_json::Value = serde_json::from_slice(&read(&folder.join("out.exe.ilinst.json"))).expect("JSON");
        (unused, manifest["methods"].clone(), manifest["decisions"].clone())
    };
    assert_eq!(list(20_000), list(0));
}

/// The assemblies of a package are read one at a time: together they are larger than the memory.
#[test]
fn a_package_is_never_in_memory_as_a_whole() {
    let folder = scratch("cli-limits-package");
    let mut assembly = read(&sample("hello").join("hello.exe"));
    assembly.resize(assembly.len() + (64 << 20), 0);
    let package = |name: &str| {
        let path = folder.join(name);
        let mut writer = zip::ZipWriter::new(fs::File::create(&path).expect("it can be made"));
        for number in 0..16 {
            writer.start_file(format!("lib/net48/{number}.dll"), zip::write::SimpleFileOptions::default()).expect("a file");
            writer.write_all(&assembly).expect("it can be written");
        }
        writer.finish().expect("it can be written");
        path
    };
    let (old, new) = (package("old.nupkg"), package("new.nupkg"));
    let size = fs::metadata(&old).expect("it was written").len();
    assert!(size < 2 << 20, "{size} bytes");
    let (text, errors, code) = limited(MEMORY, &[&"diff", &old, &new]);
    assert_eq!((text.as_str(), code), ("", Some(0)), "{errors}");
}
