//! Names with terminal control sequences, in assemblies, PDBs, profiles, file names and arguments. Output never contains them
//! unescaped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use little_endian::{ByteOrder, LE};

use ecma335::{Image, Metadata};
use names::is_hidden;
use tests::{ilinst, root, sample, scratch};

/// Texts that a terminal acts on. The longest that fits replaces the end of a name.
const HOSTILE: &[&str] =
    &["\x1b]0;title\x07", "\n+forged line", "\u{9b}31m\u{202e}", "\x1b[2J", "\r\u{2028}", "\u{2066}", "\u{85}", "\x7f"];

/// Names that instrumenting and checking depend on.
const KEPT: &[&[u8]] = &[b"mscorlib", b"System.Runtime"];

/// Makes the end of each name in a #Strings heap hostile.
fn spoil_names(heap: &mut [u8]) {
    for (number, name) in heap.split_mut(|byte| *byte == 0).enumerate().filter(|(_, name)| !KEPT.contains(&&**name)) {
        spoil(name, number);
    }
}

/// Makes a name's end hostile, if there is room.
fn spoil(name: &mut [u8], number: usize) {
    let fits = HOSTILE.iter().filter(|each| each.len() < name.len()).collect::<Vec<_>>();
    if let Some(hostile) = fits.get(number % fits.len().max(1)) {
        let start = name.len() - hostile.len();
        name[start..].copy_from_slice(hostile.as_bytes());
    }
}

/// The contents of a heap.
enum Kind {
    Names,
    Blobs,
    UserStrings,
}

/// Makes every name of a module or PDB hostile, and text in blobs and strings.
fn spoil_heaps(file: &mut [u8], heaps: &[(usize, usize, Kind)]) {
    for (start, size, kind) in heaps {
        let bytes = &mut file[*start..*start + *size];
        match kind {
            Kind::Names => spoil_names(bytes),
            Kind::Blobs => {
                // Runs of letters are names or values in attributes, documents and security declarations.
                for (number, run) in
                    bytes.split_mut(|byte| !byte.is_ascii_alphabetic()).enumerate().filter(|(_, run)| run.len() > 5)
                {
                    spoil(run, number);
                }
            }
            Kind::UserStrings => {
                let units = ['\x1b', '\u{9b}', '\u{202e}', '\r', '\n', '\u{2028}'];
                for (number, unit) in
                    bytes.chunks_exact_mut(2).enumerate().filter(|(_, unit)| unit[0].is_ascii_lowercase() && unit[1] == 0)
                {
                    if number % 3 == 0 {
                        LE::write_u16(unit, units[number / 3 % units.len()] as u16);
                    }
                }
            }
        }
    }
}

/// Returns the offsets of the metadata heaps in their file.
fn heaps(metadata: &Metadata<'_>) -> Vec<(usize, usize, Kind)> {
    let place = |heap: &ecma335::heap::Heap<'_>, kind| (heap.offset.0 as usize, heap.bytes.len(), kind);
    vec![
        place(&metadata.strings, Kind::Names),
        place(&metadata.blobs, Kind::Blobs),
        place(&metadata.user_strings, Kind::UserStrings),
    ]
}

fn hostile_assembly(original: &Path) -> Vec<u8> {
    let mut file = fs::read(original).expect("the sample is there");
    let heaps = heaps(&Metadata::parse(Image::parse(&file).expect("it is PE").metadata().expect("managed")).expect("metadata"));
    spoil_heaps(&mut file, &heaps);
    file
}

fn hostile_pdb(original: &Path) -> Vec<u8> {
    let mut file = fs::read(original).expect("the sample is there");
    let heaps = heaps(&Metadata::parse(ecma335::Cursor::new(&file, ecma335::FileOffset(0))).expect("a portable PDB"));
    spoil_heaps(&mut file, &heaps);
    file
}

/// Runs the tool, and checks its output: control characters are escaped, and no line begins with a name.
fn clean(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().expect("ilinst runs");
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).unwrap_or_else(|_| panic!("{command:?}: it is UTF-8"));
        let found = text.char_indices().find(|(_, character)| is_hidden(*character) && !matches!(character, '\n' | '\t'));
        if let Some((at, hidden)) = found {
            let before: String = text[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect();
            panic!("{command:?} prints {hidden:?} behind {before:?}");
        }
        assert!(!text.contains("\n+forged"), "{command:?}: a name begins a line\n{text}");
    }
    assert!(matches!(output.status.code(), Some(0..=4)), "{command:?}: {:?}", output.status);
    output
}

const LISTS: &[&[&str]] = &[&[], &["--methods"], &["--refs", "-v"], &["--strings"], &["--attributes"], &["--il-size"]];
const PRINTS: &[&[&str]] = &[&[], &["--offsets", "--bytes", "--tokens"], &["--source"], &["--method", "no\x1b]0;\u{202e}\r\n"]];
const DIFFS: &[&[&str]] = &[&[], &["--stat"], &["--json"], &["--debug-info"], &["--only-probes"], &["--method", "\x1b[2J"]];
const VERIFIES: &[&[&str]] =
    &[&["--pedantic"], &["--types", "--pedantic"], &["--json", "--pedantic"], &["--sarif", "--pedantic"]];

#[test]
fn names_in_assemblies_steer_no_terminal() {
    let folder = scratch("cli-hostile").join("\x1b[31m\u{202e}\u{9b}");
    fs::create_dir_all(&folder).expect("a folder can be made");
    for name in ["orders", "shapes", "odd", "modern", "bare"] {
        let extension = if name == "modern" { "dll" } else { "exe" };
        let original = sample(name).join(name).with_extension(extension);
        let input = folder.join(format!("{name}\r\n\x1b]0;x\x07.{extension}"));
        fs::write(&input, hostile_assembly(&original)).expect("it can be written");
        let pdb = original.with_extension("pdb");
        if pdb.is_file() {
            fs::write(input.with_extension("pdb"), hostile_pdb(&pdb)).expect("it can be written");
        }
        let run = |command: &str, arguments: &[&str], files: &[&Path]| clean(ilinst().arg(command).args(files).args(arguments));
        for arguments in LISTS {
            run("list", arguments, &[&input]);
            let json = run("list", &[*arguments, &["--json"]].concat(), &[&input]);
            serde_json::from_slice::<serde_json::Value>(&json.stdout).expect("it is JSON");
        }
        PRINTS.iter().for_each(|arguments| drop(run("dis", arguments, &[&input])));
        DIFFS.iter().for_each(|arguments| drop(run("diff", arguments, &[&original, &input])));
        VERIFIES.iter().for_each(|arguments| drop(run("verify", arguments, &[&input, &original])));
        run("verify", &["--pedantic", "--compare"], &[&input, &original]);
        let woven = folder.join("woven\u{1b}c").join(input.file_name().expect("it has a name"));
        let output = woven.to_str().expect("it is text");
        run("instrument", &["-v", "--dry-run"], &[&input]);
        run("instrument", &["-v", "--json", "--dry-run"], &[&input]);
        run("instrument", &["-v", "-o", output], &[&input]);
        run("diff", &[], &[&input, &woven]);
        run("list", &[], &[&woven]);
        let page = folder.join("page.html");
        run("diff", &["--html", page.to_str().expect("it is text")], &[&original, &input]);
        let page = fs::read_to_string(&page).expect("it was written");
        assert!(!page.contains(|character| is_hidden(character) && character != '\n'), "{name}: in HTML");
    }
    clean(ilinst().args(["instrument", "-v"]).arg(&folder).arg("-o").arg(folder.with_file_name("all\x07")));
    clean(ilinst().args(["instrument", "-v", "--in-place"]).arg(&folder));
    fs::write(folder.join("bare\r\n\x1b]0;x\x07.exe"), "changed").expect("it can be written");
    clean(ilinst().arg("restore").arg(&folder));
    clean(ilinst().arg("restore").arg(&folder));
}

#[test]
fn json_has_names_as_they_are() {
    let folder = scratch("cli-hostile-json");
    let input = folder.join("orders.exe");
    fs::write(&input, hostile_assembly(&sample("orders").join("orders.exe"))).expect("it can be written");
    let output = clean(ilinst().args(["list", "--json", "--strings", "--methods"]).arg(&input));
    let names = serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("it is JSON").to_string();
    let unescaped: Vec<String> = HOSTILE.iter().map(|each| serde_json::Value::from(*each).to_string()).collect();
    assert!(unescaped.iter().filter(|each| names.contains(each.trim_matches('"'))).count() > 4, "{names}");
}

#[test]
fn names_in_profiles_steer_no_terminal() {
    let folder = scratch("cli-hostile-profile");
    let golden = root().join("crates/profile/tests/golden/golden.ilprof");
    let mut bytes = fs::read(golden).expect("it is there");
    for (number, run) in bytes.split_mut(|byte| !matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'.' | b' ')).enumerate() {
        if run.len() > 5 && run != b"ILPROF" {
            spoil(run, number);
        }
    }
    let input: PathBuf = folder.join("\x1b[2J\u{202e}\r.ilprof");
    fs::write(&input, &bytes).expect("it can be written");
    for arguments in [&["--limit", "0"][..], &["--tree", "--min-percent", "0"], &["--json"], &["--sort", "name"]] {
        let output = clean(ilinst().arg("report").args(arguments).arg(&input));
        assert!(output.status.success() && output.stdout.len() > 200, "{output:?}");
    }
    bytes.truncate(40);
    fs::write(&input, &bytes).expect("it can be written");
    clean(ilinst().arg("report").arg(&input));
}

/// Any error is reported on a line that names the file.
#[test]
fn errors_steer_no_terminal() {
    let folder = scratch("cli-hostile-errors");
    let file = folder.join("no\x1b[2J\n+forged\u{9b}31m\u{202e}\r.dll");
    for content in [None, Some(&b"MZ\x1b"[..]), Some(b"")] {
        if let Some(content) = content {
            fs::write(&file, content).expect("it can be written");
        }
        for command in ["list", "dis", "verify", "report", "restore"] {
            clean(ilinst().arg(command).arg(&file));
        }
        clean(ilinst().arg("diff").args([&file, &file]));
        clean(ilinst().args(["instrument", "-o"]).arg(folder.join("out")).arg(&file));
        clean(ilinst().args(["instrument", "--in-place"]).arg(&file));
    }
    for arguments in [
        &["\x1b[2J\u{202e}"][..],
        &["list", "--\x1b[2J"],
        &["list", "a", "\u{9b}31m\x07"],
        &["list", "a", "--include", "re:(\x1b[2J\u{202e}"],
        &["list", "a", "--sort", "\x1b]0;x\x07"],
        &["instrument", "a", "-o", "b", "--snk", "\x1b[2J"],
        &["instrument", "a", "-o", "b", "--threads", "\x1b[2J"],
    ] {
        clean(ilinst().args(arguments).current_dir(&folder));
    }
}
