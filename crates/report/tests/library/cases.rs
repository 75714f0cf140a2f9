//! Profiles described in words (crates/profile/tests/cases), and the reports on them.

use std::{env, fs, path::PathBuf};

use little_endian::{ByteOrder, LE};

use profile::{Profile, SampleType, rows::SortBy};
use report::{
    head,
    views::{GroupBy, ViewOptions, Wanted},
};

use crate::{
    builder,
    shown::{shown, table, tree},
};

const LINE: &str = "----\n";

fn cases() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../profile/tests/cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path()).collect();
    cases.sort();
    cases
}

fn describe(bytes: &[u8], profile: &Profile) -> String {
    let threads = shown(profile, &Wanted::Threads, ViewOptions::default());
    let parts = [head(profile), table(profile, SortBy::Total), tree(profile, true), threads].join("\n");
    let phases = profile.phases.iter().map(|name| {
        let phase = Profile::parse_phase(bytes, name).expect("it is a profile").expect("the phase is there");
        format!("\nphase {name}\n{}{}", head(&phase), table(&phase, SortBy::Total))
    });
    parts + &phases.collect::<String>()
}

#[test]
fn reports_are_as_they_were() {
    for path in cases() {
        let text = fs::read_to_string(&path).expect("it can be read");
        let (description, expected) = text.split_once(LINE).unwrap_or((&text, ""));
        let bytes = builder::build(description);
        let profile = Profile::parse(&bytes).expect("it is a profile");
        assert_eq!(profile.damage, None, "{}", path.display());
        let found = describe(&bytes, &profile);
        if env::var_os("BLESS").is_some() {
            fs::write(&path, format!("{description}{LINE}{found}")).expect("it can be written");
        } else {
            assert_eq!(found, expected, "{}: BLESS=1 rewrites it", path.display());
        }
    }
}

/// Uses all functions on a profile; none may panic.
fn use_all(bytes: &[u8]) {
    if let Ok(mut profile) = Profile::parse(bytes) {
        describe(bytes, &profile);
        profile::events(bytes).into_iter().flatten().for_each(drop);
        shown(&profile, &Wanted::Tree, ViewOptions { by_thread: true, ..ViewOptions::default() });
        for wanted in [Wanted::HotPath, Wanted::Method((0..profile.functions.len()).collect()), Wanted::Groups(GroupBy::Type)] {
            shown(&profile, &wanted, ViewOptions::default());
        }
        profile.keep_probes();
        profile.rows(SortBy::SelfTime);
    }
}

#[test]
fn what_is_damaged_or_cut_short_never_panics() {
    for path in cases() {
        let text = fs::read_to_string(&path).expect("it can be read");
        let bytes = builder::build(text.split_once(LINE).map_or(text.as_str(), |(description, _)| description));
        let set: Vec<usize> =
            (0..bytes.len() / 8).filter(|word| bytes[word * 8..word * 8 + 8] != [0; 8]).map(|word| word * 8).collect();
        let mut addresses = vec![0, 1, u64::MAX, i64::MAX as u64, 1 << 63];
        addresses.extend(set.iter().map(|at| LE::read_u64(&bytes[*at..])).take(40));
        for (count, at) in set.iter().enumerate() {
            use_all(&bytes[..*at]);
            for (index, value) in addresses.iter().enumerate() {
                // Tries a few of the addresses at each place, which find as much as all of them.
                if index < 5 || (index + count) % 11 == 0 {
                    let mut damaged = bytes.clone();
                    LE::write_u64(&mut damaged[*at..], *value);
                    use_all(&damaged);
                }
            }
        }
    }
}

#[test]
fn a_ring_of_frames_or_callers_comes_to_an_end() {
    let ring = "profile end=100\nmethod 1 P::A\ntree current=a frame=f\n A label=a calls=2 leaves=1 start=5\n frame label=f node=a \
                previous=b below=g start=7\n B label=b calls=1\n frame label=g node=b previous=a below=f start=8\n";
    let ring = ring.replace("method 1 P::A", "method 1 P::A\nmethod 2 P::B");
    let profile = Profile::parse(&builder::build(&ring)).expect("it is a profile");
    assert!(profile.sum(SampleType::CALLS) >= 3);
}

/// Methods that await run little, so the table of all methods leaves them out first.
#[test]
fn async_methods_have_a_limit_of_their_own() {
    let text = "profile end=9000000 flags=1\nmethod 1 P::Busy\nmethod 2 P::Often\nmethod 3 P::Once\nmethod 4 P::Fails\ntree\n \
                Busy calls=1 leaves=1 total=5000000\n Often async calls=10 leaves=10 total=1000 latency=3000000 completed=10 \
                steps=20\n Once async calls=1 leaves=1 total=2000 latency=2000000 completed=1 steps=2\n Fails async calls=2 \
                leaves=2 total=3000 latency=4000 completed=2 faulted=1 steps=2\n";
    let profile = Profile::parse(&builder::build(text)).expect("it is a profile");
    let shown = shown(&profile, &Wanted::Methods, ViewOptions { limit: 2, ..ViewOptions::default() });
    let of_async: Vec<&str> = shown.lines().skip_while(|line| !line.ends_with("async method")).collect();
    assert_eq!(
        of_async,
        [
            "     calls  latency      p95 running ms suspended ms failures  async method",
            "        10   300 ms               1.000     2999.000        0  P.Often",
            "         1   2.00 s               2.000     1998.000        0  P.Once",
            "           and 1 async method more; --limit 0 shows all"
        ],
        "{shown}"
    );
    let failures: Vec<Option<u64>> = profile.rows(SortBy::Name).iter().map(|row| row.faulted).collect();
    assert_eq!(failures, [None, Some(1), Some(0), Some(0)]);
}

/// The statistics of a path are made with its second call; the first may have ended in another tree than the others.
#[test]
fn the_first_async_call_counts_where_it_ended() {
    let text = "profile end=9000000 flags=1\nmethod 1 P::Load\ntree\n Load async calls=2 leaves=2 latency=10000 completed=1 steps=2 \
                times=10000x1\ntree\n Load async calls=0 latency=244000 completed=1 steps=1 first-here=244000\n";
    let profile = Profile::parse(&builder::build(text)).expect("it is a profile");
    let rows = profile.rows(SortBy::Name);
    assert_eq!(rows.iter().map(|row| row.first_ms).collect::<Vec<_>>(), [Some(244.0)]);
}

#[test]
fn own_cost_can_be_left_in() {
    let text = fs::read_to_string(cases().iter().find(|path| path.ends_with("own_cost.txt")).expect("it is there"));
    let text = text.expect("it can be read");
    let bytes = builder::build(text.split_once(LINE).expect("a case").0);
    let mut profile = Profile::parse(&bytes).expect("it is a profile");
    let self_of = |profile: &Profile, name: &str| {
        profile.rows(SortBy::Name).iter().find(|row| row.name.ends_with(name)).map(|row| row.self_ms).expect("it was called")
    };
    let (without, waiting) = (self_of(&profile, "Tiny"), profile.sum(SampleType::WAITING));
    profile.keep_probes();
    assert!(self_of(&profile, "Tiny") > 2.0 * without);
    assert_eq!(profile.sum(SampleType::WAITING), waiting);
    assert_eq!(profile.running(), profile.sum(SampleType::WALL) - waiting);
}
