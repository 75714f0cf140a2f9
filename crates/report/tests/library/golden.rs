//! A profile that the real tracker wrote (golden/golden.cs): whole, cut short and damaged.

use std::{env, fs, ops::Range, path::PathBuf};

use little_endian::{ByteOrder, LE};

use profile::{
    End, Error, Profile, SampleType,
    rows::{Row, SortBy},
    unpacked,
};
use profile_format::{
    ChunkKind, chunk,
    header::{BLOCK, CLOCK_AT, FLAGS_AT, MAX_NODES_AT, MODE_AT, VERSION_AT},
    node, tree as tree_layout,
};
use report::{
    head,
    views::{ViewOptions, Wanted},
};

use crate::{
    packed::packed,
    shown::{shown, table, tree},
};

const START: Range<usize> = node::START_AT..node::START_AT + 8;
const CALLS: Range<usize> = node::CALLS_AT..node::CALLS_AT + 8;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../profile/tests/golden").join(name)
}

fn golden_bytes() -> Vec<u8> {
    fs::read(golden("golden.ilprof")).expect("the golden profile is there")
}

fn read(bytes: &[u8]) -> Profile {
    Profile::parse(bytes).expect("it is a profile")
}

fn row<'p>(profile: &'p Profile, name: &str) -> Row<'p> {
    profile.rows(SortBy::Name).into_iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name} was called"))
}

/// Uses all functions on a profile; none may panic.
fn use_all(bytes: &[u8]) -> Option<Profile> {
    let profile = Profile::parse(bytes).ok()?;
    assert!(table(&profile, SortBy::SelfTime).starts_with("     calls"));
    head(&profile);
    tree(&profile, true);
    shown(&profile, &Wanted::Tree, ViewOptions { by_thread: true, ..ViewOptions::default() });
    shown(&profile, &Wanted::Threads, ViewOptions::default());
    Some(profile)
}

#[test]
fn the_header_says_what_ran() {
    let profile = read(&golden_bytes());
    assert_eq!((profile.program.as_str(), profile.end, profile.damage.as_ref()), ("golden", End::Clean, None));
    assert!(profile.runtime.starts_with("Mono 6.8"), "{}", profile.runtime);
    assert_eq!(profile.ticks_per_second, 10_000_000);
    let [module] = &profile.modules[..] else { panic!("one module") };
    assert_eq!((module.key, module.name.as_str(), module.tool.as_str()), (0x98_7654_3210, "golden.exe", "golden.cs"));
}

#[test]
fn calls_are_counted_and_leaves_that_were_lost_are_seen() {
    let profile = read(&golden_bytes());
    let counts = |name: &str| {
        let row = row(&profile, name);
        (row.calls, row.leaves, row.open)
    };
    assert_eq!(counts("Golden.Leaf"), (30 + 5 + 4 * 5, 55, 0));
    assert_eq!(counts("Golden.Repeat"), (3 + 4, 7, 0));
    assert_eq!(counts("Golden.Recurse"), (5, 5, 0));
    assert_eq!(counts("Golden.Throw"), (3, 3, 0), "an exception passed its leaves by, and ended it");
    assert_eq!(row(&profile, "Golden.Throw").exceptions, 3);
    assert_eq!(counts("Golden.Catch"), (1, 1, 0));
    assert_eq!(counts("Golden.Wait"), (1, 0, 1), "a thread was in it at the end");
    assert_eq!(counts("Golden.Main"), (1, 0, 1));
    assert_eq!((profile.trees.len(), profile.threads()), (2, 6), "threads that come after one another share a tree");
}

#[test]
fn calls_that_were_not_recorded_are_said() {
    let mut bytes = golden_bytes();
    let old = read(&bytes);
    assert_eq!((old.lost_calls(), old.max_nodes), (0, 1_000_000));
    LE::write_u32(&mut bytes[MAX_NODES_AT..], 200);
    let tree = first_tree(&bytes);
    bytes[tree + tree_layout::LOST_CALLS_AT] = 7;
    let new = read(&bytes);
    assert_eq!((new.lost_calls(), new.max_nodes), (7, 200));
    assert!(head(&new).contains("warning ILI0021: 7 calls not recorded,"), "{}", head(&new));
}

#[test]
fn tokens_that_were_passed_over_are_said() {
    let mut bytes = golden_bytes();
    assert_eq!(read(&bytes).bad_tokens(), 0);
    let tree = first_tree(&bytes);
    bytes[tree + tree_layout::BAD_TOKENS_AT] = 2;
    let new = read(&bytes);
    assert_eq!(new.bad_tokens(), 2);
    assert!(
        head(&new).contains("warning ILI0022: 2 probes ignored, whose calls were not open on their thread; please report this\n")
    );
}

#[test]
fn times_add_up() {
    let mut profile = read(&golden_bytes());
    profile.keep_probes();
    let wall = profile.milliseconds(profile.duration);
    let rows = profile.rows(SortBy::SelfTime);
    assert!(rows.iter().all(|row| row.self_ms <= row.total_ms && row.total_ms <= wall), "{rows:#?}");
    assert!(row(&profile, "Golden.Wait").self_ms > 0.0);
    let of_trees: i64 = profile.trees.iter().flat_map(|tree| profile.flat(tree, SampleType::WALL)).sum();
    let of_rows: f64 = rows.iter().map(|row| row.self_ms).sum();
    assert!((profile.milliseconds(of_trees) - of_rows).abs() < 1e-6);
}

#[test]
fn a_call_that_was_just_beginning_or_ending_takes_no_time() {
    // States while threads are running: the start of a call is not yet written, or its caller is not yet the current node.
    let beginning = with_nodes(|node| node[START].fill(0));
    let ending = with_nodes(|node| node.copy_within(CALLS, node::LEAVES_AT));
    for (bytes, open) in [(beginning, 1), (ending, 0)] {
        let profile = read(&bytes);
        let wall = profile.milliseconds(profile.duration);
        assert!(profile.rows(SortBy::Name).iter().all(|row| row.total_ms <= wall), "{}", table(&profile, SortBy::Name));
        assert_eq!(row(&profile, "Golden.Wait").open, open);
    }
}

#[test]
fn reports_are_as_they_were() {
    let profile = read(&golden_bytes());
    let first = shown(&profile, &Wanted::Methods, ViewOptions { sort: SortBy::Total, limit: 8, ..ViewOptions::default() });
    let threads = shown(&profile, &Wanted::Threads, ViewOptions::default());
    let text = [first, tree(&profile, false), tree(&profile, true), threads].join("\n");
    let path = golden("golden.txt");
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &text).expect("it can be written");
    }
    assert_eq!(text, fs::read_to_string(path).expect("it is there"), "BLESS=1 rewrites it");
}

/// Returns the offsets of the words of eight bytes that are not zero.
fn words(bytes: &[u8]) -> impl Iterator<Item = usize> {
    (0..bytes.len() / 8).map(|word| 8 * word).filter(|at| bytes[*at..at + 8] != [0; 8])
}

#[test]
fn what_is_cut_short_reads_as_far_as_it_goes() {
    let bytes = golden_bytes();
    for length in words(&bytes).chain(chunk_ends(&bytes)) {
        let profile = use_all(&bytes[..length]);
        assert!(profile.is_some() || length < BLOCK, "{length}: its header is whole");
        // At the end of a chunk, nothing shows that another one should follow.
        let is_silent = profile.is_some_and(|profile| profile.damage.is_none());
        assert!(!is_silent || chunk_ends(&bytes).contains(&length), "{length}: it says that something is missing");
    }
}

#[test]
fn what_is_damaged_never_panics() {
    let bytes = golden_bytes();
    // Replaces eight bytes at once: by the largest numbers, and by an address of other nodes.
    let address = bytes[BLOCK + chunk::ADDRESS_AT..][..8].to_vec();
    for position in words(&bytes) {
        for value in [&[0xFF; 8][..], &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], &address] {
            let mut damaged = bytes.clone();
            damaged[position..position + 8].copy_from_slice(value);
            use_all(&damaged);
        }
    }
    // The largest numbers in all nodes: sums saturate.
    for field in (0..node::SIZE).step_by(8) {
        for last in [0x7F, 0xFF] {
            use_all(&with_nodes(|node| node[field..field + 8].copy_from_slice(&[!0, !0, !0, !0, !0, !0, !0, last])));
        }
    }
}

/// A file that is cut off or damaged has what comes before that.
#[test]
fn a_packed_file_is_read_as_it_was() {
    let bytes = golden_bytes();
    let whole = packed(&bytes);
    assert!(whole.len() < bytes.len() / 2, "{} of {} bytes", whole.len(), bytes.len());
    assert_eq!(*unpacked(&whole).expect("it is a profile"), bytes);
    assert_eq!(read(&whole).trees.len(), read(&bytes).trees.len());
    for end in (BLOCK..whole.len() - 4).step_by(1009) {
        let profile = read(&whole[..end]);
        assert!(profile.damage.is_some(), "cut at {end}");
    }
    assert!(Profile::parse(&whole[..BLOCK - 1]).is_err());
    let first = LE::read_u32(&whole[BLOCK..]) as usize;
    // The size of the second block; and the first block's first sequence, as a copy of what is not there.
    for (at, value) in [(BLOCK + 4 + first, u32::MAX), (BLOCK + 4, 0xFFFF_FF00)] {
        assert!(read(&with_u32(&whole, at, value)).damage.is_some(), "damaged at {at}");
    }
}

#[test]
fn what_is_unknown_is_refused_or_said() {
    let bytes = golden_bytes();
    for (offset, value, message) in [
        (VERSION_AT, 1, "format version 1; this ilinst reads version 2"),
        (VERSION_AT, 3, "format version 3; this ilinst reads version 2"),
        (FLAGS_AT, 0x8000_0001, "flags 2147483649, which this ilinst does not know (file offset 0xc)"),
        (CLOCK_AT, 3, "clock 3, which this ilinst does not know (file offset 0x18)"),
        (MODE_AT, 6, "mode 6, which this ilinst does not know (file offset 0x44)"),
    ] {
        let error = Profile::parse(&with_u32(&bytes, offset, value)).expect_err(message);
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(Profile::parse(b"MZ").err(), Some(Error::NotAProfile));
}

#[test]
fn chunks_of_unknown_kind_are_said_and_the_others_are_read() {
    let bytes = golden_bytes();
    let unknown = with_u32(&with_u32(&[0; BLOCK], chunk::KIND_AT, 99), chunk::SIZE_AT, BLOCK as u32);
    let longer = [&bytes[..BLOCK], &unknown, &bytes[BLOCK..]].concat();
    let profile = read(&longer);
    let message = "a chunk of kind 99, which this ilinst does not know (file offset 0x10000)";
    assert_eq!(profile.damage.as_ref().map(ToString::to_string).as_deref(), Some(message));
    assert!(head(&profile).contains(message), "{}", head(&profile));
    assert_eq!(table(&profile, SortBy::Name), table(&read(&bytes), SortBy::Name));
}

#[test]
fn chunks_that_come_again_are_said_and_not_counted() {
    let bytes = golden_bytes();
    let first = first_tree(&bytes) - chunk::HEADER;
    let profile = read(&[&bytes[..], &bytes[first..first + BLOCK]].concat());
    let message = format!("a chunk of nodes where there was one before (file offset 0x{:x})", bytes.len());
    assert_eq!(profile.damage.as_ref().map(ToString::to_string), Some(message));
    assert_eq!(profile.rows(SortBy::Name), read(&bytes).rows(SortBy::Name));
}

/// Returns the golden profile with all its nodes changed.
fn with_nodes(change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = golden_bytes();
    for at in chunks_of_nodes(&bytes) {
        bytes[at + node::FIRST_AT..at + BLOCK].chunks_exact_mut(node::SIZE).for_each(&change);
    }
    bytes
}

/// Returns the offsets of chunks of nodes, each a block.
fn chunks_of_nodes(bytes: &[u8]) -> Vec<usize> {
    let is_of_nodes = |at: &usize| bytes.get(*at..at + 4) == Some(&ChunkKind::Nodes.number().to_le_bytes());
    chunk_ends(bytes).into_iter().filter(is_of_nodes).collect()
}

/// Returns the offset of the first tree.
fn first_tree(bytes: &[u8]) -> usize {
    chunks_of_nodes(bytes)[0] + chunk::HEADER
}

/// Returns the bytes with a number in them changed.
fn with_u32(bytes: &[u8], offset: usize, value: u32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    LE::write_u32(&mut bytes[offset..], value);
    bytes
}

/// Returns the offsets where the header and the chunks of a whole file end.
fn chunk_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = vec![BLOCK];
    while let Some(size) = ends.last().and_then(|end| bytes.get(end + chunk::SIZE_AT..end + chunk::SIZE_AT + 4)) {
        ends.push(ends[ends.len() - 1] + LE::read_u32(size) as usize);
    }
    ends
}
