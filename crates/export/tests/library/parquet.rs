//! Parquet files of other tools are read correctly.

use std::collections::BTreeMap;

use export::read_parquet;
use profile::{Profile, SampleType};

use crate::parquet_files;

/// Returns the sums of calls and times by path.
fn sums<'r>(rows: impl Iterator<Item = (&'r [String], i64, i64)>) -> BTreeMap<Vec<String>, (i64, i64)> {
    let mut sums = BTreeMap::new();
    for (path, calls, time) in rows {
        let sum: &mut (i64, i64) = sums.entry(path.to_vec()).or_default();
        *sum = (sum.0 + calls, sum.1 + time);
    }
    sums.retain(|_, sum| *sum != (0, 0));
    sums
}

fn of_profile(profile: &Profile) -> BTreeMap<Vec<String>, (i64, i64)> {
    let (names, tree) = (profile.display_names(), &profile.trees[0]);
    let (calls, times) = (profile.flat(tree, SampleType::CALLS), profile.flat(tree, SampleType::WALL));
    let mut paths: Vec<Vec<String>> = Vec::new();
    for node in &tree.nodes {
        let mut path = node.caller.map_or_else(Vec::new, |caller| paths[caller].clone());
        path.push(names[node.function].clone());
        paths.push(path);
    }
    sums(paths.iter().enumerate().map(|(index, path)| (&path[..], calls[index], times[index])))
}

#[test]
fn each_way_of_writing_is_read() {
    let rows = parquet_files::rows(1000);
    for (name, file) in parquet_files::files(1000) {
        let profile = read_parquet(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Each half of the rows is a group. In optional columns, every fifth value is null.
        let is_null = |index: usize| !name.starts_with("schema 0") && (index % 500).is_multiple_of(5);
        let expected = rows
            .iter()
            .enumerate()
            .map(|(index, (path, calls, time))| (&path[..], *calls, if is_null(index) { 0 } else { *time }));
        assert_eq!(of_profile(&profile), sums(expected), "{name}");
    }
}

#[test]
fn what_is_no_such_file_says_why() {
    let (_, file) = parquet_files::files(10).swap_remove(0);
    for (bytes, expected) in [
        (&b"PAR1"[..], "it is no Parquet file, or is cut short"),
        (&file[..file.len() - 1], "it is no Parquet file, or is cut short"),
        (&[&file[..4], &file[30..]].concat(), "byte "),
    ] {
        let error = read_parquet(bytes).expect_err("it is none");
        assert!(error.contains(expected), "{error}");
    }
}

/// Repeated names and values take no bytes, so a small file may claim any number of them.
#[test]
fn what_no_file_of_its_size_can_have_is_refused() {
    let path = |names: usize| vec!["A".to_owned(); names];
    for (rows, expected) in [
        (vec![(path(1 << 16), 1, 1)], "it has more paths than a file of its size can have"),
        (vec![(path((1 << 16) + 1), 1, 1)], "a path has more than 65536 names"),
        (vec![(path(8_000), 1, 1); 600], "it has more values than a file of its size can have"),
    ] {
        let file = parquet_files::of_rows(&rows);
        let error = read_parquet(&file).expect_err("it has too many");
        assert!(error.contains(expected), "{} bytes: {error}", file.len());
    }
}
