//! Work grows with the input, and not with its square: callgrind counts the instructions for an input and for a larger one. Counts
//! do not depend on the load of the machine.

#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../crates/profile/tests/builder/mod.rs"]
mod builder;
#[path = "../../crates/profile/tests/large/mod.rs"]
mod large;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use little_endian::PutNumbers;
use profile_format::{CallFlags, CallRecordKind, ChunkKind, DescriptionKind, TypeShape, ValueKind, calls};
use tests::{first_in_tier, ilinst, require, said, scratch};

use self::large::{Paths, Shape};

/// The sizes to compare.
const SIZES: [u32; 2] = [400, 3200];
/// The most that the instructions may grow by, where the size grows eightfold. Its square grows 64-fold.
const GROWTH: u64 = 16;

/// Returns the number of instructions that the tool executes.
fn instructions(valgrind: &Path, folder: &Path, arguments: &[&str]) -> u64 {
    let mut command = Command::new(valgrind);
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", folder.join("callgrind").display()));
    command.arg(ilinst().get_program()).args(arguments).current_dir(folder);
    let (_, errors, code) = said(&command.output().expect("valgrind starts"));
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    let count = errors.lines().find_map(|line| line.split_once("Collected : ")).expect("a count").1;
    count.trim().parse().expect("a number")
}

/// Fails if the work for a profile grows much faster than its size.
fn grows_with(name: &str, profile: impl Fn(u32) -> Vec<u8>, commands: &[&[&str]]) {
    let Some(valgrind) = require("ILINST_VALGRIND") else { return };
    let folder = scratch(&format!("cli-work-{name}"));
    let files: [PathBuf; 2] = SIZES.map(|size| {
        let path = folder.join(format!("{size}.ilprof"));
        fs::write(&path, profile(size)).expect("it can be written");
        path
    });
    for command in commands {
        let [small, more] = files.each_ref().map(|file| {
            let file = file.display().to_string();
            instructions(&valgrind, &folder, &[&[command[0], &file][..], &command[1..]].concat())
        });
        println!("{command:?}: {small} and {more} instructions");
        assert!(more < small * GROWTH, "{command:?}: {small} and {more} instructions");
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.put_u32(text.len() as u32);
    out.extend(text.as_bytes());
}

fn description(kind: DescriptionKind, body: &[u8]) -> Vec<u8> {
    [&[kind.number(), 0, 0, 0][..], &(8 + body.len() as u32).to_le_bytes(), body].concat()
}

/// A method with parameters by reference, of which the last one is `last`.
fn signature(parameters: u32) -> Vec<u8> {
    let mut body = [&1_u32.to_le_bytes()[..], &7_u64.to_le_bytes(), &0x0600_0001_u32.to_le_bytes()].concat();
    ["app.dll", "App.Program.Run", "void", ""].iter().for_each(|name| text(&mut body, name));
    body.put_u32(parameters);
    for parameter in 1..=parameters {
        body.push(1);
        text(&mut body, "T");
        text(&mut body, &if parameter == parameters { "last".to_owned() } else { format!("p{parameter}") });
    }
    description(DescriptionKind::Signature, &body)
}

/// The type 5: an enum with the members 0, 1, 2 ...
fn members(count: u32) -> Vec<u8> {
    let mut body = [&5_u32.to_le_bytes()[..], &[TypeShape::Enum.number()]].concat();
    text(&mut body, "App.T");
    body.put_u32(count);
    for member in 0..count {
        body.put_i64(member.into());
        text(&mut body, &format!("M{member}"));
    }
    description(DescriptionKind::Type, &body)
}

fn call(flags: CallFlags, kind: CallRecordKind, number: u32, values: &[u8]) -> Vec<u8> {
    let size = (calls::HEADER + values.len()) as u16;
    let number = u64::from(number).to_le_bytes();
    [&size.to_le_bytes()[..], &[kind.number(), flags.bits()], &1_u32.to_le_bytes(), &number, &number, values].concat()
}

fn captured(descriptions: &[u8], records: &[u8]) -> Vec<u8> {
    let profile = builder::build("profile end=1000\nmethod 7 App.Program::Run\ntree\n Run\n");
    [profile, builder::chunk(ChunkKind::Descriptions.number(), descriptions), builder::chunk(ChunkKind::Calls.number(), records)]
        .concat()
}

/// As many calls as the method has parameters.
#[test]
#[ignore = "needs valgrind"]
fn calls_with_parameters() {
    let profile = |size: u32| {
        let of_call = |number| {
            let enter = call(CallFlags::ARGUMENTS, CallRecordKind::Enter, number, &[ValueKind::Null.number()]);
            [enter, call(CallFlags::BY_REFERENCE, CallRecordKind::Leave, number, &[ValueKind::Null.number()])].concat()
        };
        captured(&signature(size), &(1..=size).flat_map(of_call).collect::<Vec<u8>>())
    };
    grows_with("parameters", profile, &[&["report", "--calls"], &["report", "--calls", "--where", "last != 5"]]);
}

/// As many calls as the enum has members.
#[test]
#[ignore = "needs valgrind"]
fn calls_with_members() {
    let profile = |size: u32| {
        let of_call = |number: u32| {
            let value = [
                &[ValueKind::Enum.number()][..],
                &5_u32.to_le_bytes(),
                &[ValueKind::Int32.number()],
                &(number - 1).to_le_bytes(),
            ]
            .concat();
            call(CallFlags::ARGUMENTS, CallRecordKind::Enter, number, &value)
        };
        captured(&[members(size), signature(1)].concat(), &(1..=size).flat_map(of_call).collect::<Vec<u8>>())
    };
    grows_with("members", profile, &[&["report", "--calls"], &["report", "--calls", "--where", "last == M1"]]);
}

/// Each method calls the next.
#[test]
#[ignore = "needs valgrind"]
fn views_and_exports_of_a_path() {
    let paths = Paths::Deep { siblings: 1 };
    let profile = |size: u32| large::build(Shape { nodes: size.into(), statistics: false, seed: 1, paths });
    // Sizes of csv and Parquet are limited by the same code as those of folded stacks.
    let commands: [&[&str]; 5] = [
        &["report", "--method", "*"],
        &["export", "--to", "folded", "-o", "out.folded"],
        &["report", "--tree"],
        &["export", "--to", "pprof", "-o", "out.pb.gz"],
        &["export", "--to", "speedscope", "-o", "out.json"],
    ];
    grows_with("path", profile, first_in_tier(&commands, 2));
}
