//! Merging the profiles of many processes: the same bytes in any order, and sums of all profiles.

use std::{collections::BTreeSet, fs, path::PathBuf};

use little_endian::{ByteOrder, LE};

use profile::{Profile, SampleType, merge::Merge, rows::SortBy};
use report::views::{ViewOptions, Wanted, threads};

use crate::{
    builder,
    shown::{shown, table, tree},
};

/// Profiles with clocks of 1 MHz, 10 MHz, 2.5 GHz and 1 GHz, with phases, an exception, an async method, named threads,
/// recursion.
const PROFILES: [&str; 4] = [
    "profile end=100000 inside=1 outside=1 cpu=5000000 shift=0\nmethod 1 Shop.Program::Main\nmethod 2 Shop.Order::Load\n\
     method 3 Shop.Order::Save\nexception 1 System.IO.IOException\ntree cpu=1000\nthread 1 main\n Main total=90000\n  Load calls=3 \
     total=60000 times=1000,20000,30000 exceptions=2 exception=1\n  Save total=5000\n",
    "profile end=1000000 ticks=10000000 cpu=7000000\nmethod 2 Shop.Order::Load\nmethod 1 Shop.Program::Main\ntree threads=2\n Main \
     total=900000\n  Load async calls=3 total=600000 latency=800000 completed=3 faulted=1 steps=4\n   Load calls=2 total=1001\n",
    "profile end=250000000 ticks=2500000000 start=7 clock=1\nmethod 4 Shop.Program::Wait waits\nmethod 1 Shop.Program::Main\n\
     exception 7 System.Exception\ntree\nthread 9 main\n Main total=200000001 exceptions=1 exception=7\n  Wait total=100000003\n",
    "profile end=100000 ticks=1000000000 flags=2\nmethod 1 Shop.Program::Main\nmodule assembly=Shop name=shop.dll path=/app/shop.dll\n\
     tree threads=3 lost=2 bad=1\n Main total=90000 calls=2 times=7,11\n overflow total=9\ncaptured\n",
];

fn merge<'b>(profiles: impl IntoIterator<Item = &'b Vec<u8>>) -> Merge {
    let mut merge = Merge::default();
    for bytes in profiles {
        merge.add(bytes, &Profile::parse(bytes).expect("it is a profile")).expect("it is of the same mode");
    }
    merge
}

fn merged<'b>(profiles: impl IntoIterator<Item = &'b Vec<u8>>) -> Vec<u8> {
    written(&merge(profiles))
}

fn written(merge: &Merge) -> Vec<u8> {
    let mut out = Vec::new();
    merge.write(&mut out).expect("memory takes it");
    out
}

fn profiles() -> Vec<Vec<u8>> {
    // Ids identify methods, so these profiles get ids that differ from those of the golden profile and of the phases.
    let overflow = PROFILES.map(|text| text.replace(" overflow total", " Main overflow total").replace("method ", "method 5"));
    let mut profiles: Vec<Vec<u8>> = overflow.iter().map(|text| builder::build(text)).collect();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../profile/tests");
    profiles.push(fs::read(folder.join("golden/golden.ilprof")).expect("it is there"));
    let phases = fs::read_to_string(folder.join("cases/phases.txt")).expect("it is there");
    let phases = phases.split_once("----\n").expect("a case").0.replace("method ", "method 10").replace("Shop.", "Other.");
    profiles.push(builder::build(&phases));
    profiles
}

#[test]
fn the_order_changes_no_byte() {
    let profiles = profiles();
    let expected = merged(&profiles);
    for rotation in 0..profiles.len() {
        let (behind, before) = profiles.split_at(rotation);
        assert_eq!(merged(before.iter().chain(behind)), expected, "{rotation}");
        assert_eq!(merged(before.iter().chain(behind).rev()), expected, "{rotation}, from behind");
        // Threads that merge their parts.
        let mut one = Merge::default();
        for part in [before, behind] {
            let mut own = Merge::default();
            part.iter().for_each(|bytes| own.add(bytes, &Profile::parse(bytes).expect("it is one")).expect("it fits"));
            one.absorb(own).expect("it fits");
        }
        assert_eq!(written(&one), expected, "{rotation}, by threads");
    }
}

#[test]
fn what_is_measured_is_added_up() {
    let all = profiles();
    let parsed: Vec<Profile> = all.iter().map(|bytes| Profile::parse(bytes).expect("it is a profile")).collect();
    let bytes = merged(&all);
    let merged = Profile::parse(&bytes).expect("it is a profile");
    assert_eq!(merged.damage, None);
    assert_eq!((merged.processes, merged.threads()), (6, parsed.iter().map(Profile::threads).sum()));
    assert_eq!((merged.lost_calls(), merged.bad_tokens(), merged.has_captured_calls), (2, 1, true));
    for sample_type in &merged.sample_types {
        let is_time = sample_type.unit == profile::model::Unit::Ticks;
        let sum: f64 = parsed
            .iter()
            .map(|profile| {
                let sum = profile.sum(*sample_type);
                if is_time { profile.milliseconds(sum) } else { sum as f64 }
            })
            .sum();
        let found = merged.sum(*sample_type);
        let found = if is_time { merged.milliseconds(found) } else { found as f64 };
        assert!((found - sum).abs() < 1e-4, "{}: {found} for {sum}", sample_type.name);
    }
    let rows = merged.rows(SortBy::Name);
    let main = rows.iter().find(|row| row.name == "Shop.Program.Main").expect("it was called");
    assert_eq!((main.exceptions, main.exception_type), (1, Some("System.Exception")));
    let load = rows.iter().find(|row| row.name == "Shop.Order.Load").expect("it was called");
    assert_eq!((load.calls, load.faulted, load.exception_type), (8, Some(1), Some("System.IO.IOException")));
    // Equal paths on threads of the same name become one.
    let names: Vec<String> = threads(&merged, |_| true).into_iter().map(|row| row.name).collect();
    assert!(names.contains(&"main, 2 threads".to_owned()), "{names:?}");
    assert_eq!(tree(&merged, false).matches("Shop.Order.Save").count(), 1);
}

/// A profile with allocated bytes, in a phase too.
fn with_bytes() -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../profile/tests/cases/allocations.txt");
    builder::build(fs::read_to_string(path).expect("it is there").split_once("----\n").expect("a case").0)
}

#[test]
fn allocated_bytes_are_added_up_if_all_profiles_have_them() {
    let own = |bytes: &[u8]| -> Vec<(String, Option<u64>, Option<u64>)> {
        let profile = Profile::parse(bytes).expect("it is a profile");
        profile.rows(SortBy::Name).iter().map(|row| (row.name.clone(), row.self_bytes, row.total_bytes)).collect()
    };
    let one = with_bytes();
    let twice: Vec<_> = own(&one)
        .into_iter()
        .map(|(name, own, total)| (name, own.map(|bytes| 2 * bytes), total.map(|bytes| 2 * bytes)))
        .collect();
    assert!(twice.iter().all(|(_, own, _)| own.is_some_and(|bytes| bytes > 0)), "{twice:?}");
    assert_eq!(own(&merged([&one, &one])), twice);
    // The bytes of the others are not known, which is not 0.
    let without = builder::build(PROFILES[0]);
    assert_eq!([merge([&one, &one]), merge([&without])].map(|merge| merge.profiles_without_bytes()), [None, None]);
    for parts in [[&one, &without], [&without, &one]] {
        assert_eq!(merge(parts).profiles_without_bytes(), Some(1));
        let bytes = merged(parts);
        let profile = Profile::parse(&bytes).expect("it is a profile");
        assert!(!profile.has(SampleType::ALLOCATED));
        let rows = own(&bytes);
        assert!(!rows.is_empty() && rows.iter().all(|(_, own, total)| (*own, *total) == (None, None)), "{rows:?}");
        // A later one cannot bring them back.
        assert_eq!(own(&merged([&bytes, &one])).iter().filter(|(_, own, _)| own.is_some()).count(), 0);
    }
}

#[test]
fn one_profile_merged_says_what_it_said() {
    for bytes in profiles().into_iter().chain([with_bytes()]) {
        let (one, other) = (Profile::parse(&bytes).expect("it is one"), Profile::parse(&merged([&bytes])).expect("it is one"));
        let by_name = |profile: &Profile| {
            let mut rows: Vec<String> = table(profile, SortBy::Name).lines().map(str::to_owned).collect();
            rows.sort();
            rows
        };
        assert_eq!(by_name(&other), by_name(&one));
        assert_eq!(other.has_captured_calls, one.has_captured_calls);
        // Processes may set marks in any order.
        assert_eq!(other.phases.iter().collect::<BTreeSet<_>>(), one.phases.iter().collect());
        // Merging a merged profile does not change it.
        let again = merged([&merged([&bytes])]);
        assert_eq!(again, merged([&bytes]));
        for name in &one.phases {
            let phase = |bytes: &[u8]| Profile::parse_phase(bytes, name).expect("it is a profile").expect("it is there");
            assert_eq!(by_name(&phase(&again)), by_name(&phase(&bytes)), "{name}");
            assert_eq!(phase(&again).milliseconds(phase(&again).duration), phase(&bytes).milliseconds(phase(&bytes).duration));
        }
    }
}

#[test]
fn what_was_measured_otherwise_is_refused() {
    let [exact, count] = [0, 2].map(|mode| builder::build(&format!("profile mode={mode}\nmethod 1 P::Main\n")));
    let mut merge = Merge::default();
    merge.add(&exact, &Profile::parse(&exact).expect("it is one")).expect("it is the first");
    let before = written(&merge);
    let error = merge.add(&count, &Profile::parse(&count).expect("it is one")).expect_err("it counts alone");
    assert_eq!(error.to_string(), "it was measured in mode Count, others in mode Exact: these are not the same numbers");
    assert_eq!(written(&merge), before);
}

#[test]
fn what_is_damaged_never_panics() {
    let bytes = merged(&profiles());
    let set: Vec<usize> =
        (0..bytes.len() / 8).filter(|word| bytes[word * 8..word * 8 + 8] != [0; 8]).map(|word| word * 8).collect();
    for (count, at) in set.iter().enumerate() {
        for value in [0, 1, u64::MAX, i64::MAX as u64, 1 << 63].into_iter().skip(count % 3).step_by(2) {
            let mut damaged = bytes.clone();
            LE::write_u64(&mut damaged[*at..], value);
            let Ok(profile) = Profile::parse(&damaged) else { continue };
            shown(&profile, &Wanted::Tree, ViewOptions::default());
            table(&profile, SortBy::SelfTime);
            merged([&damaged]);
        }
    }
}
