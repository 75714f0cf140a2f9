//! A real program of .NET 10, trimmed, self-contained, in a single file: taken apart, woven, put together again and run.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use little_endian::{ByteOrder, LE};

use tests::{fetched, ilinst, instrument, profile_in, said, scratch};

#[test]
#[ignore = "needs a large download"]
fn a_trimmed_program_in_a_single_file_runs_woven() {
    let Some(folder) = fetched("azure-mcp") else { return };
    let original = folder.join("package/dist/azmcp");
    let folder = scratch("bundle");
    let bundle = Bundle::read(&original);
    let apart = folder.join("apart");
    bundle.unpack(&apart);
    let ways = [("--embed=false", "--version"), ("--embed=false", "--help"), ("--embed", "--version"), ("--embed", "--help")];
    for (number, (embed, argument)) in ways.into_iter().enumerate() {
        let (woven, program) = (folder.join(format!("woven{embed}")), folder.join(format!("azmcp{embed}")));
        if !program.exists() {
            instrument(&[&apart, &"-o", &woven, &embed, &"--all-assemblies", &"-q"]);
            bundle.write_with(&woven, &program);
            assert_eq!(woven.join(instrument::TRACKER_FILE).exists(), embed == "--embed=false");
        }
        let work = folder.join(number.to_string());
        fs::create_dir(&work).expect("a folder can be made");
        let start = |program: &Path| said(&Command::new(program).arg(argument).current_dir(&work).output().expect("it starts"));
        let (before, after) = (start(&original), start(&program));
        assert!(!before.0.is_empty());
        assert_eq!(before, after, "{argument}");
        profile_in(&work);
        // The program has nothing left to ask for names: what was woven has them.
        let mut command = ilinst();
        command.args(["report", "--symbols"]).arg(&woven);
        command.args(fs::read_dir(&work).expect("it is there").flatten().map(|entry| entry.path()));
        let (report, errors, _) = said(&command.output().expect("ilinst runs"));
        assert!(report.contains("  Azure.Mcp.Server.Program.Main") && !report.contains("!0x06"), "{report}{errors}");
    }
}

/// The signature that the host looks for, behind the offset of the header.
const SIGNATURE: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef,
    0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];
const ASSEMBLY: u8 = 1;
const DEPS_JSON: u8 = 3;
const RUNTIME_CONFIG: u8 = 4;
/// Where assemblies are mapped from.
const PAGE: usize = 4096;

/// A host with files in it (header version 6, none of them compressed).
pub(crate) struct Bundle {
    bytes: Vec<u8>,
    /// Where the offset of the header stands.
    place: usize,
    id: String,
    flags: u64,
    files: Vec<File>,
}

#[derive(Clone)]
struct File {
    offset: usize,
    size: usize,
    kind: u8,
    path: String,
}

impl Bundle {
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).expect("it can be read");
        let found = bytes.windows(SIGNATURE.len()).rposition(|window| window == SIGNATURE).expect("it is a bundle");
        let place = found - 8;
        let mut reader = Reader { bytes: &bytes, at: number(&bytes[place..found]) as usize };
        assert_eq!((reader.take(4), reader.take(4)), (6, 0), "the header's version");
        let count = reader.take(4);
        let id = reader.text();
        let [.., flags] = [(); 5].map(|()| reader.take(8));
        let file = |_| {
            let (offset, size, compressed) = (reader.take(8) as usize, reader.take(8) as usize, reader.take(8));
            assert_eq!(compressed, 0, "none is compressed");
            File { offset, size, kind: reader.take(1) as u8, path: reader.text() }
        };
        let files = (0..count).map(file).collect();
        Self { place, id, flags, files, bytes }
    }

    pub(crate) fn unpack(&self, folder: &Path) {
        for file in &self.files {
            let path = folder.join(&file.path);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
            fs::write(path, &self.bytes[file.offset..file.offset + file.size]).expect("it can be written");
        }
    }

    /// Writes it with the files of a folder: what is new goes behind, the tracker too if it is there, and another header behind all.
    pub(crate) fn write_with(&self, folder: &Path, path: &PathBuf) {
        let mut bytes = self.bytes.clone();
        let tracker = File { offset: 0, size: 0, kind: ASSEMBLY, path: instrument::TRACKER_FILE.into() };
        let mut put = |file: &File| {
            let content = fs::read(folder.join(&file.path)).expect("it was written");
            if file.size > 0 && content == self.bytes[file.offset..file.offset + file.size] {
                return file.clone();
            }
            bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
            bytes.extend_from_slice(&content);
            File { offset: bytes.len() - content.len(), size: content.len(), ..file.clone() }
        };
        let tracker = Some(&tracker).filter(|_| folder.join(instrument::TRACKER_FILE).exists());
        let files: Vec<File> = self.files.iter().chain(tracker).map(&mut put).collect();
        let header = bytes.len() as u64;
        let mut put = |number: u64, size: usize| bytes.extend_from_slice(&number.to_le_bytes()[..size]);
        [6, 0, files.len() as u64].iter().for_each(|number| put(*number, 4));
        put_text(&self.id, &mut put);
        for kind in [DEPS_JSON, RUNTIME_CONFIG] {
            let file = files.iter().find(|file| file.kind == kind).expect("it is there");
            [file.offset, file.size].iter().for_each(|number| put(*number as u64, 8));
        }
        put(self.flags, 8);
        for file in &files {
            [file.offset, file.size, 0].iter().for_each(|number| put(*number as u64, 8));
            put(file.kind.into(), 1);
            put_text(&file.path, &mut put);
        }
        LE::write_u64(&mut bytes[self.place..], header);
        fs::write(path, bytes).expect("it can be written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it can be made to run");
    }
}

/// A string: its length in sevens of bits, then UTF-8.
fn put_text(text: &str, put: &mut impl FnMut(u64, usize)) {
    let mut length = text.len() as u64;
    while length >= 0x80 {
        put(length & 0x7F | 0x80, 1);
        length >>= 7;
    }
    put(length, 1);
    text.bytes().for_each(|byte| put(byte.into(), 1));
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, size: usize) -> u64 {
        self.at += size;
        number(&self.bytes[self.at - size..self.at])
    }

    fn text(&mut self) -> String {
        let (mut length, mut shift) = (0, 0);
        loop {
            let byte = self.take(1);
            length |= (byte as usize & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        self.at += length;
        String::from_utf8_lossy(&self.bytes[self.at - length..self.at]).into_owned()
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
